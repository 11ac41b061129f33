"""Set up what a command needs, each thing only where it is missing: `python3 -I docs/coursebuild/setup_env.py site`.

    site        .venv from requirements.lock with torch, and Graphviz: enough for `make serve` and `make build`
    test        site, a browser, a Chinese font, the npm packages of tests/, and .venv-downloads
    downloads   .venv-downloads alone: the second environment, in which the tests run what readers download
    bench       .venv-bench: as .venv, with what the build is compared with
    compare     .venv-compare: as .venv, but with the versions named after it, such as torch==2.14.0 torchao==0.19.0; a
                name alone means the newest. .venv stays as it is

It runs under the machine's own python3 before any environment exists: standard library only, and no syntax newer than
Python 3.8, so that a python3 that is too old or too new can still say so. When everything is there it prints nothing.

An environment is complete when its stamp is there and right; the stamp is written last. Anything else (an interrupted
install, another lock file, a Python that is gone) makes the environment anew, so it never holds more or less than its
lock file says. Downloads come from pip's own cache the second time.

Environment variables: PYTHON, the interpreter to build on; CHROMIUM, the browser to test with.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ((3, 11), (3, 12), (3, 13))
TORCH = "2.13.0"
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


class SetupError(Exception):
    """What is wrong and what to do, in words for the person at the keyboard."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment: its folder and the lock file that it is made from, both relative to the project.

    `instead`: requirements that replace what is locked, such as "torchao==0.19.0".
    """

    folder: str
    lock: str
    instead: tuple[str, ...] = ()

    def python(self, root: Path) -> Path:
        """Return the path of the environment's interpreter."""
        return root / self.folder / "bin" / "python"

    def stamp(self, root: Path) -> Path:
        """Return the path of the file that says for what the environment is complete."""
        return root / self.folder / "setup-stamp"


SITE = Environment(".venv", "requirements.lock")
DOWNLOADS = Environment(".venv-downloads", "requirements-downloads.lock")


@dataclass(frozen=True)
class Tool:
    """Something that pip cannot install.

    `present` says whether it is there, `apt` and `brew` name the packages that hold it (empty: not to be had that way),
    `hint` says in one line how a person gets it.
    """

    name: str
    present: Callable[[], bool]
    apt: tuple
    brew: tuple
    hint: str


# ---------------------------------------------------------------------------------------------------- progress


class Step:
    """A long step: one line with its name, how far it is, and its seconds; rewritten in place on a terminal."""

    def __init__(self, name: str) -> None:
        self.name, self.detail = name, ""
        self._live = sys.stdout.isatty()
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Step:
        self._start = time.monotonic()
        if self._live:
            self._ticker.start()
        else:
            print(f"setup: {self.name} ...", flush=True)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._stop.set()
        if self._live:
            self._ticker.join()
            print("\r\033[K", end="")
        outcome = "done" if kind is None else "failed"
        print(f"setup: {self.name}: {outcome}, {time.monotonic() - self._start:.0f} s", flush=True)

    def _tick(self) -> None:
        while not self._stop.wait(0.5):
            seconds = time.monotonic() - self._start
            print(f"\r\033[Ksetup: {self.name} ... {self.detail} {seconds:.0f} s", end="", flush=True)


def run(command: Sequence[str | Path], step: Step, log: Path, describe: Callable[[str], str] = lambda line: "") -> str:
    """Run a command without showing what it prints; return that, and append it to `log`.

    `describe` turns a line of the output into the step's new detail; an empty string leaves it as it is.
    Raises SetupError with the command's own error lines.
    """
    lines: list[str] = []
    # NODE_USE_SYSTEM_CA: npm then trusts whom the machine trusts, as pip and apt do (a company's proxy, for example).
    environment = {"DEBIAN_FRONTEND": "noninteractive", "NODE_USE_SYSTEM_CA": "1", **os.environ}
    with log.open("a", encoding="utf-8") as file:
        print("$", *command, file=file)
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                file.write(line)
                step.detail = describe(line) or step.detail
        except BaseException:  # Ctrl-C, above all: nothing may go on writing into an environment that is given up
            process.kill()
            raise
        finally:
            process.wait()
    if process.returncode != 0:
        errors = [line for line in lines if re.match(r"(?i)(e:|error|fatal|npm error)", line)] or lines[-5:]
        said = " ".join(errors[-3:]) or "no message"
        raise SetupError(f"{step.name}: {said} (if it was the network, run the same command again; all of it: {log})")
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------- Python


def python_version(python: str | Path) -> tuple[int, ...] | None:
    """Return an interpreter's (major, minor, patch), or None when it does not run."""
    code = "import sys; print(*sys.version_info[:3])"
    try:
        done = subprocess.run([str(python), "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60)
        return tuple(int(word) for word in done.stdout.split()) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def find_python(environ: Mapping[str, str] = os.environ) -> str:
    """Return an interpreter that the course supports: $PYTHON if set, else this one or the newest on the PATH.

    Raises SetupError when there is none; it lists what was found.
    """
    named = environ.get("PYTHON")
    newest_first = [f"python{major}.{minor}" for major, minor in reversed(PYTHONS)]
    # _base_executable: when a virtual environment is active, what it was made from (it may be about to be remade).
    candidates = [named] if named else [getattr(sys, "_base_executable", sys.executable), *newest_first]
    found = []
    for candidate in candidates:
        version = python_version(candidate)
        if version and version[:2] in PYTHONS:
            return candidate
        if version:
            found.append(f"{candidate} is {dotted(version)}")
    raise SetupError(
        f"the course needs Python 3.11, 3.12 or 3.13 ({', '.join(found) or f'{candidates[0]} does not run'}). Install "
        "one (Debian, Ubuntu: apt-get install python3.12 python3.12-venv; macOS: brew install python@3.13), or name "
        "one: make serve PYTHON=/path/to/python3.12"
    )


def dotted(version: tuple[int, ...]) -> str:
    """Return (3, 11, 2) as "3.11.2"."""
    return ".".join(map(str, version))


# ---------------------------------------------------------------------------------------------------- environments


def torch_requirement(platform: str = sys.platform, wanted: str = "") -> str:
    """Return the requirement that names torch's CPU build: on Linux a version has a name of its own.

    `wanted`: another torch than the course's, such as "torch==2.14.0", or "torch" for the newest.
    """
    wanted = wanted or f"torch=={TORCH}"
    return wanted if platform == "darwin" or "==" not in wanted or "+" in wanted else f"{wanted}+cpu"


def fingerprint(lock: Path, version: tuple[int, ...], instead: Sequence[str] = ()) -> str:
    """Return the stamp of a complete environment: a hash of its lock file, of Python's version, of torch's, and of what
    replaces the locked versions."""
    wanted = "".join(f"{requirement}\n" for requirement in sorted(instead))
    content = lock.read_bytes() + f"\n{torch_requirement()}\nPython {dotted(version)}\n{wanted}".encode()
    return hashlib.sha256(content).hexdigest()


def is_complete(environment: Environment, root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether the environment runs, was finished, and is the one that its lock file and $PYTHON ask for."""
    stamp = environment.stamp(root)
    version = python_version(environment.python(root)) if stamp.is_file() else None
    if version is None or any("==" not in requirement for requirement in environment.instead):  # newest: when?
        return False
    if stamp.read_text().strip() != fingerprint(root / environment.lock, version, environment.instead):
        return False
    return not environ.get("PYTHON") or python_version(environ["PYTHON"]) == version


def lock_entries(lock: str, names: Iterable[str]) -> str:
    """Return the entries of a lock file (text) for some packages, with their hashes.

    Raises SetupError when one is not locked.
    """
    entries = {entry.split("==")[0]: entry for entry in re.split(r"\n(?=\S)", lock) if "==" in entry.split("\n")[0]}
    missing = [name for name in names if name not in entries]
    if missing:
        raise SetupError(f"not in the lock file: {', '.join(missing)}; run `make lock`")
    return "\n".join(entries[name] for name in names) + "\n"


def pip_progress(line: str) -> str:
    """Turn a line that pip prints into a few words on how far it is, or an empty string."""
    size = re.match(r"Progress (\d+) of (\d+)", line)
    if size:
        return f"{int(size[1]) / 1e6:.0f} of {int(size[2]) / 1e6:.0f} MB,"
    if line.startswith("Installing collected"):
        return f"unpacking {line.count(',') + 1} packages,"
    name = re.match(r"Collecting ([\w.-]+)", line)
    return f"{name[1]}," if name else ""


def make_environment(environment: Environment, root: Path = ROOT) -> None:
    """Make the environment from nothing, whatever is there now, and stamp it. Raises SetupError."""
    folder, python, lock = root / environment.folder, environment.python(root), root / environment.lock
    base = find_python()
    ensure_venv_module(base)
    if folder.is_symlink():  # `venv --clear` would empty what the link points to
        folder.unlink()
    environment.stamp(root).unlink(missing_ok=True)
    log = root / f"{environment.folder}.log"
    log.unlink(missing_ok=True)

    version = python_version(base)
    with Step(f"{environment.folder}: Python {dotted(version)}") as step:
        run([base, "-I", "-m", "venv", "--clear", folder], step, log)
        # The locked pip and setuptools first: every machine then installs and builds with the same ones.
        tools = folder / "setup-tools.txt"
        tools.write_text(lock_entries(lock.read_text(), ["pip", "setuptools"]))
        run([python, "-I", "-m", "pip", "install", "--no-input", "--require-hashes", "-r", tools], step, log)
    pip = [python, "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "raw", "--no-compile"]
    with Step(f"{environment.folder}: packages of {environment.lock}") as step:
        run([*pip, "--require-hashes", "--no-build-isolation", "-r", lock], step, log, pip_progress)
    torch = torch_requirement(wanted=next((r for r in environment.instead if name_of(r) == "torch"), ""))
    with Step(f"{environment.folder}: {torch}") as step:
        install_torch(pip, step, log, torch)
        check_torch(python, step, log)
    if environment.instead:
        others = [requirement for requirement in environment.instead if name_of(requirement) != "torch"]
        with Step(f"{environment.folder}: {' '.join([*others, 'and what is required now'])}") as step:
            if others:
                upgrade = ["--upgrade", "--upgrade-strategy", "only-if-needed"]
                run([*pip, *upgrade, *others], step, log, pip_progress)
            run([*pip, "torch"], step, log, pip_progress)  # it is there and stays, and gets what it requires
            check_torch(python, step, log)

    stamp = environment.stamp(root)
    unfinished = stamp.with_suffix(".new")
    unfinished.write_text(fingerprint(lock, version, environment.instead) + "\n")
    unfinished.replace(stamp)


def name_of(requirement: str) -> str:
    """Return the package that a requirement is about."""
    return re.split(r"[^\w.-]", requirement)[0].lower()


def install_torch(pip: Sequence[str | Path], step: Step, log: Path, requirement: str = "") -> None:
    """Install torch's CPU build from the indexes that pip is configured for, else from PyTorch's own CPU index.

    Its dependencies are in the lock file; asking for them here could bring others. Without a version it is the newest
    of PyTorch's index, since other indexes have CUDA builds under the same name. Raises SetupError.
    """
    requirement = requirement or torch_requirement()
    command = [*pip, "--no-deps", requirement]
    anywhere = "==" in requirement or sys.platform == "darwin"
    for place in ([], ["--index-url", TORCH_CPU_INDEX]) if anywhere else (["--index-url", TORCH_CPU_INDEX],):
        try:
            run([*command, *place], step, log, pip_progress)
            return
        except SetupError:
            continue
    raise SetupError(
        f"{requirement} is neither in the indexes that pip is configured for nor, as far as this machine can "
        f"reach it, in {TORCH_CPU_INDEX}: check the network, and whether there is one for this Python (log: {log})"
    )


def check_torch(python: Path, step: Step, log: Path) -> None:
    """Raise SetupError unless torch can be imported and is a CPU build."""
    printed = run([python, "-I", "-c", "import torch; print('CUDA', torch.version.cuda)"], step, log)
    if "CUDA None" not in printed.splitlines():
        raise SetupError(
            f"a CUDA build of torch was installed, and the course is checked on the CPU build: run "
            f"`PIP_EXTRA_INDEX_URL={TORCH_CPU_INDEX} make serve`"
        )


# ---------------------------------------------------------------------------------------------------- system packages


def find_browser(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of a Chromium or Chrome: $CHROMIUM if set, else the first one found; None if there is none."""
    named = environ.get("CHROMIUM")
    places = (
        [named]
        if named
        else [
            "chromium",
            "chromium-browser",
            "google-chrome",
            "google-chrome-stable",
            "/Applications/Chromium.app/Contents/MacOS/Chromium",
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        ]
    )
    return next((path for path in map(shutil.which, places) if path), None)


def has_libatomic() -> bool:
    """Say whether the driver of the browser tests finds libatomic, which a minimal Linux lacks."""
    if sys.platform != "linux":
        return True
    try:
        ctypes.CDLL("libatomic.so.1")
    except OSError:
        return False
    return True


def has_chinese_font() -> bool:
    """Say whether a page in Traditional Chinese has glyphs; macOS brings a font of its own."""
    if sys.platform == "darwin":
        return True
    if not shutil.which("fc-list"):
        return False
    return bool(subprocess.run(["fc-list", ":lang=zh-tw", "family"], capture_output=True).stdout.strip())


GRAPHVIZ = Tool(
    "Graphviz",
    lambda: shutil.which("dot") is not None,
    ("graphviz",),
    ("graphviz",),
    "install Graphviz so that `dot` is on the PATH (graphviz.org)",
)
BROWSER = Tool(
    "Chromium",
    lambda: find_browser() is not None,
    ("chromium",),
    (),
    "install Chromium or Google Chrome (Ubuntu: snap install chromium), or set CHROMIUM=/path/to/the/browser",
)
LIBATOMIC = Tool(
    "libatomic",
    has_libatomic,
    ("libatomic1",),
    (),
    "install the library libatomic.so.1, which the driver of the browser tests needs",
)
CHINESE_FONT = Tool(
    "a Chinese font",
    has_chinese_font,
    ("fonts-noto-cjk", "fontconfig"),
    (),
    "install a font with Traditional Chinese that fontconfig finds, for example Noto Sans CJK",
)


def as_root() -> list[str] | None:
    """Return what to put before a command that needs root: nothing, sudo, or None when there is no way."""
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        return None
    # sudo asks for its password here, before a progress line could hide the question.
    asks = ["sudo", "-v"] if sys.stdin.isatty() else ["sudo", "-n", "-v"]
    return ["sudo"] if subprocess.run(asks).returncode == 0 else None


def install_packages(name: str, apt: Sequence[str], brew: Sequence[str], hint: str, root: Path = ROOT) -> None:
    """Install system packages with apt or Homebrew. Raises SetupError with `hint` where that is not possible."""
    log = root / ".venv.log"
    if brew and shutil.which("brew"):
        commands = [["brew", "install", "--quiet", *brew]]
    elif apt and shutil.which("apt-get"):
        prefix = as_root()
        if prefix is None:
            raise SetupError(f"{name} is missing and needs root or sudo: apt-get install {' '.join(apt)}")
        quiet = ["-q", "-y", "-o", "Dpkg::Use-Pty=0", "--no-install-recommends"]
        commands = [[*prefix, "apt-get", "update", "-q"], [*prefix, "apt-get", "install", *quiet, *apt]]
    else:
        raise SetupError(f"{name} is missing: {hint}")
    with Step(f"{name} ({' '.join(commands[-1][:2])} {' '.join(apt or brew)})") as step:
        for command in commands:
            try:
                run(command, step, log)
            except SetupError as error:
                raise SetupError(f"{error}; or {hint}") from error


def ensure_tool(tool: Tool) -> None:
    """Install the tool if it is missing, and raise SetupError if it still is afterwards."""
    if tool.present():
        return
    install_packages(tool.name, tool.apt, tool.brew, tool.hint)
    if not tool.present():
        raise SetupError(f"{tool.name} is still missing after its installation: {tool.hint}")


def ensure_venv_module(python: str) -> None:
    """Install the package that Debian keeps `venv` in, if this interpreter lacks it. Raises SetupError."""
    check = [python, "-I", "-c", "import ensurepip, venv"]
    if subprocess.run(check, capture_output=True).returncode == 0:
        return
    package = "python{}.{}-venv".format(*python_version(python))
    install_packages(f"{python}'s venv module", (package,), (), "install Python with its venv and ensurepip modules")


# ---------------------------------------------------------------------------------------------------- npm


def npm_stamp(root: Path = ROOT) -> tuple[Path, str]:
    """Return the path and the right content of the stamp of the npm packages."""
    lock = root / "tests" / "package-lock.json"
    return root / "tests" / "node_modules" / ".setup-stamp", hashlib.sha256(lock.read_bytes()).hexdigest()


def npm_complete(root: Path = ROOT) -> bool:
    """Say whether tests/node_modules is what tests/package-lock.json asks for."""
    stamp, right = npm_stamp(root)
    return stamp.is_file() and stamp.read_text() == right


def install_npm(root: Path = ROOT) -> None:
    """Install the npm packages of the tests with the npm that .venv holds; none of their scripts runs."""
    stamp, right = npm_stamp(root)
    npm = SITE.python(root).with_name("npm")
    command = [
        npm,
        "ci",
        "--prefix",
        root / "tests",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
    ]
    with Step("npm packages of tests/package-lock.json") as step:
        run(command, step, root / ".venv.log")
    stamp.write_text(right)  # `npm ci` began by removing the folder, and the old stamp with it


# ---------------------------------------------------------------------------------------------------- commands

COMMANDS: dict[str, tuple[Sequence[Tool], Sequence[Environment], bool]] = {
    "site": ((GRAPHVIZ,), (SITE,), False),
    "test": ((GRAPHVIZ, BROWSER, LIBATOMIC, CHINESE_FONT), (SITE, DOWNLOADS), True),
    "downloads": ((), (DOWNLOADS,), False),
    "bench": ((GRAPHVIZ,), (Environment(".venv-bench", "requirements-bench.lock"),), False),
    "compare": ((GRAPHVIZ,), (Environment(".venv-compare", "requirements.lock"),), False),
}
REQUIREMENT = re.compile(r"[A-Za-z][\w.-]*(==[\w.+]+)?")


def what(command: str, instead: tuple[str, ...] = ()) -> tuple[Sequence[Tool], Sequence[Environment], bool]:
    """Return the tools, the environments and whether the npm packages are needed for a command."""
    tools, environments, npm = COMMANDS[command]
    return tools, [Environment(e.folder, e.lock, instead) for e in environments], npm


def is_ready(command: str, instead: tuple[str, ...] = ()) -> bool:
    """Say whether nothing is left to do for a command."""
    tools, environments, npm = what(command, instead)
    return all(tool.present() for tool in tools) and all(map(is_complete, environments)) and (not npm or npm_complete())


def set_up(command: str, instead: tuple[str, ...] = ()) -> None:
    """Install what the command lacks; one set-up at a time in a checkout. Raises SetupError."""
    tools, environments, npm = what(command, instead)
    with (ROOT / ".venv.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("setup: waiting for another set-up of this checkout", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for tool in tools:
            ensure_tool(tool)
        for environment in environments:
            if not is_complete(environment):
                make_environment(environment)
            if environment == SITE and npm and not npm_complete():
                install_npm()


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit status."""
    command, instead = (arguments or [""])[0], tuple(arguments[1:])
    if command not in COMMANDS or (instead and command != "compare"):
        print(f"usage: setup_env.py {{{','.join(COMMANDS)}}}", file=sys.stderr)
        return 2
    if command == "compare" and not (instead and all(map(REQUIREMENT.fullmatch, instead))):
        print("setup: say what to try: make compare WITH='torch==2.14.0 torchao==0.19.0'", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside: as orderly as by Ctrl-C
    try:
        if not is_ready(command, instead):
            set_up(command, instead)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nsetup: interrupted; the same command takes it up again", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
