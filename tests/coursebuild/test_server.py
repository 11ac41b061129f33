"""The server of `make serve`: what it answers, what it rebuilds, and that a swap of the site is never seen."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from coursebuild import server as server_module
from coursebuild.server import Changes, Server

PAGE = "<!doctype html><html lang=en><body><h1>{}</h1></body></html>"
SECONDS = 10  # after which a wait has failed


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A small site with a page in a folder, a 404 page, and one file of each kind that readers load."""
    folder = tmp_path / "public"
    (folder / "en").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE.format("root"))
    (folder / "404.html").write_text(PAGE.format("missing"))
    (folder / "en" / "index.html").write_text(PAGE.format("home"))
    for name in (
        "a.py",
        "a.ipynb",
        "a.whl",
        "a.js",
        "a.css",
        "a.svg",
        "a.json",
        "a.zip",
        "a.xml",
        "a.xml.gz",
        "a.woff2",
        "a.b",
    ):
        (folder / "en" / name).write_text("x")
    return folder


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder to watch."""
    folder = tmp_path / "sources"
    folder.mkdir()
    return folder


class Answer:
    """Status, headers and body of a GET."""

    def __init__(self, server: Server, path: str, method: str = "GET"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        connection.request(method, path)
        response = connection.getresponse()
        self.status, self.headers, self.body = response.status, response.headers, response.read().decode()
        connection.close()


class Stream:
    """The messages of the event stream, as they come."""

    def __init__(self, server: Server):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        self._connection.request("GET", f"{server.base_path}_events")
        self._response = self._connection.getresponse()

    def next(self) -> dict:
        """The next message; TimeoutError if none comes."""
        while True:
            line = self._response.readline().decode()
            if line.startswith("data: "):
                return json.loads(line.removeprefix("data: "))
            if not line:
                raise EOFError

    def close(self) -> None:
        self._connection.close()


def eventually(condition: Callable[[], object]) -> None:
    """Wait until `condition()` holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def static(site: Path) -> Iterator[Server]:
    """The site below /repo/, without anything watched."""
    with Server(site, port=0, base_path="repo") as server:
        yield server


def test_pages_and_folders(static: Server, site: Path):
    assert Answer(static, "/repo/").body == (site / "index.html").read_text()
    assert Answer(static, "/repo/en/").body == (site / "en" / "index.html").read_text()
    assert Answer(static, "/repo/en/index.html?x=1").status == 200
    for path, target in {"/repo/en?x=1": "/repo/en/?x=1", "/repo": "/repo/", "/": "/repo/"}.items():
        answer = Answer(static, path)
        assert (answer.status, answer.headers["Location"]) == (302, target)


@pytest.mark.parametrize(
    ("name", "kind"),
    {
        "": "text/html; charset=utf-8",
        "a.py": "text/x-python; charset=utf-8",
        "a.ipynb": "application/x-ipynb+json",
        "a.whl": "application/zip",
        "a.zip": "application/zip",
        "a.js": "text/javascript; charset=utf-8",
        "a.css": "text/css; charset=utf-8",
        "a.svg": "image/svg+xml; charset=utf-8",
        "a.json": "application/json; charset=utf-8",
        "a.woff2": "font/woff2",
        "a.xml.gz": "application/gzip",
        "a.b": "application/octet-stream",
    }.items(),
)
def test_content_types_and_no_caching(static: Server, name: str, kind: str):
    answer = Answer(static, f"/repo/en/{name}")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == kind
    assert answer.headers["Cache-Control"] == "no-store"


def test_head_has_the_length_and_no_body(static: Server, site: Path):
    answer = Answer(static, "/repo/", "HEAD")
    assert (answer.status, answer.body) == (200, "")
    assert int(answer.headers["Content-Length"]) == (site / "index.html").stat().st_size


@pytest.mark.parametrize(
    "path", ["/repo/no", "/repo/en/no/deeper/", "/repo/en/a.py/", "/repo/_events/x", "/repo/%00", "/repo/" + "x" * 5000]
)
def test_missing_gives_the_404_page_with_status_404(static: Server, site: Path, path: str):
    answer = Answer(static, path)
    assert (answer.status, answer.body) == (404, (site / "404.html").read_text())


def test_outside_the_base_path_nothing_is_served(static: Server):
    answer = Answer(static, "/en/")
    assert (answer.status, answer.headers["Content-Type"]) == (404, "text/plain; charset=utf-8")
    assert Answer(static, "/repository/").status == 404


@pytest.mark.parametrize(
    "path", ["/repo/../secret", "/repo/%2e%2e/secret", "/repo/en/..%2f..%2fsecret", "/repo//SECRET", "/repo/%2fSECRET"]
)
def test_path_traversal_is_refused(static: Server, site: Path, path: str):
    secret = site.parent / "secret"
    secret.write_text("secret")
    answer = Answer(static, path.replace("SECRET", str(secret).lstrip("/")))
    assert answer.status == 404
    assert "secret" not in answer.body


def test_links_out_of_the_site_are_refused_and_links_inside_are_followed(static: Server, site: Path):
    (site.parent / "secret").mkdir()
    (site.parent / "secret" / "index.html").write_text("secret")
    (site / "file.html").symlink_to(site.parent / "secret" / "index.html")
    (site / "folder").symlink_to(site.parent / "secret")
    (site / "circle").symlink_to(site / "circle")
    (site / "inside").symlink_to(site / "en")
    for path in ("file.html", "folder/", "folder/index.html", "folder", "circle"):
        assert Answer(static, f"/repo/{path}").status == 404
    assert Answer(static, "/repo/inside/").status == 200


def test_the_site_may_itself_be_a_link_that_is_swapped(site: Path, tmp_path: Path):
    second = tmp_path / "second"
    shutil.copytree(site, second)
    (second / "index.html").write_text("second")
    current = tmp_path / "current"
    current.symlink_to(site)
    with Server(current, port=0) as server:
        assert "root" in Answer(server, "/").body
        (tmp_path / "next").symlink_to(second)
        os.replace(tmp_path / "next", current)
        assert Answer(server, "/").body == "second"


def test_the_directory_may_be_a_function(site: Path):
    folders = [site]
    with Server(lambda: folders[0], port=0) as server:
        assert "root" in Answer(server, "/").body
        folders[0] = site / "en"
        assert "home" in Answer(server, "/").body


def test_a_swap_is_never_seen(site: Path, tmp_path: Path):
    for number, folder in enumerate((site, tmp_path / "new")):
        folder.mkdir(exist_ok=True)
        (folder / "index.html").write_text(str(number) * 500_000)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            site.rename(tmp_path / "old")
            time.sleep(0.002)  # the moment without a site
            (tmp_path / "new").rename(site)
            (tmp_path / "old").rename(tmp_path / "new")
            time.sleep(0.002)

    with Server(site, port=0) as server:
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            answers = [Answer(server, "/") for _ in range(150)]
        finally:
            stop.set()
            thread.join()
    assert {answer.status for answer in answers} == {200}
    assert {answer.body for answer in answers} == {"0" * 500_000, "1" * 500_000}


def test_before_the_first_build_a_page_says_so_and_waits(
    tmp_path: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server_module, "SWAP", 0.05)
    with Server(tmp_path / "none", [sources], lambda changed: (True, ""), port=0) as server:
        answer = Answer(server, "/")
        assert answer.status == 503
        assert "No build has succeeded yet" in answer.body
        assert "EventSource" in answer.body


def test_the_next_free_port_is_taken(site: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with Server(site, port=taken) as server:
            assert taken < server.port < taken + server_module.PORTS
            assert Answer(server, "/").status == 200


def test_no_free_port_is_one_clear_message(site: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_module, "PORTS", 1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(OSError, match="all taken: name another one"):
            Server(site, port=other.getsockname()[1])


def test_the_script_goes_into_served_pages_only(site: Path, sources: Path):
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    with Server(site, [sources], lambda changed: (True, ""), port=0, base_path="/repo/") as server:
        page = Answer(server, "/repo/en/")
        assert page.body.count("<script>") == 1
        assert page.body.index("<script>") < page.body.index("</body>")
        assert 'EventSource("/repo/_events")' in page.body
        assert int(page.headers["Content-Length"]) == len(page.body.encode())
        assert "<script>" in Answer(server, "/repo/nowhere").body
        assert Answer(server, "/repo/en/a.py").body == "x"
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before


def test_a_page_without_the_end_of_its_body_gets_the_script_too(site: Path, sources: Path):
    (site / "index.html").write_text("<p>short")
    with Server(site, [sources], lambda changed: (True, ""), port=0) as server:
        assert Answer(server, "/").body.startswith("<p>short<script>")


def test_an_edit_is_rebuilt_and_told_to_the_pages(site: Path, sources: Path):
    calls: list[set[Path]] = []

    def rebuild(changed: set[Path]) -> tuple[bool, str]:
        calls.append(changed)
        (site / "index.html").write_text(PAGE.format("rebuilt"))
        return True, ""

    with Server(site, [sources], rebuild, port=0) as server:
        stream = Stream(server)
        first = stream.next()
        assert f'"{first["version"]}"' in Answer(server, "/").body
        (sources / "chapter.py").write_text("1")
        second = stream.next()
        assert second["version"] != first["version"]
        assert second["error"] is None
        assert "rebuilt" in Answer(server, "/").body
        assert f'"{second["version"]}"' in Answer(server, "/").body
        stream.close()
    assert calls == [{sources / "chapter.py"}]


def test_after_a_failed_build_the_old_site_stays_and_the_pages_say_why(
    site: Path, sources: Path, caplog: pytest.LogCaptureFixture
):
    outcomes = [
        (False, "x.py:7: an assertion failed\n"),
        (False, ""),
        ValueError("odd"),
        SystemExit("stop"),
        (True, "fine"),
    ]

    def rebuild(changed: set[Path]) -> tuple[bool, str]:
        outcome = outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    with Server(site, [sources], rebuild, port=0) as server:
        stream = Stream(server)
        first, seen = stream.next(), []
        for number in range(5):
            (sources / "chapter.py").write_text(str(number))
            seen.append(stream.next())
            assert "root" in Answer(server, "/").body
        late = Stream(server)
        assert late.next() == seen[-1]
        late.close()
        stream.close()
    told = ["x.py:7: an assertion failed", "the terminal says why", "ValueError: odd", "SystemExit: stop", None]
    assert [s["error"] for s in seen] == told
    assert [s["version"] == first["version"] for s in seen] == [True, True, True, True, False]
    assert "raise outcome\nValueError: odd" in caplog.text


def test_changes_during_a_build_are_in_the_next_one_and_builds_never_overlap(site: Path, sources: Path):
    calls: list[set[str]] = []
    running = threading.Lock()
    started, go_on = threading.Event(), threading.Event()

    def rebuild(changed: set[Path]) -> tuple[bool, str]:
        assert running.acquire(blocking=False), "two builds at once"
        calls.append({path.name for path in changed})
        started.set()
        go_on.wait(SECONDS)
        running.release()
        return True, ""

    with Server(site, [sources], rebuild, port=0):
        (sources / "a.py").write_text("1")
        assert started.wait(SECONDS)
        (sources / "b.py").write_text("1")
        (sources / "c.py").write_text("1")
        time.sleep(2 * server_module.QUIET)
        assert calls == [{"a.py"}]
        go_on.set()
        eventually(lambda: len(calls) == 2)
        time.sleep(2 * server_module.QUIET)
    assert calls == [{"a.py"}, {"b.py", "c.py"}]


def test_many_changes_at_once_are_one_build(site: Path, sources: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_module, "QUIET", 1.5)  # on a busy machine, writing takes a while
    monkeypatch.setattr(server_module, "AT_MOST", 20.0)
    calls: list[set[Path]] = []
    with Server(site, [sources], lambda changed: (calls.append(changed) is None, ""), port=0):
        for number in range(20):
            (sources / f"{number}.py").write_text("1")
            time.sleep(0.01)
        eventually(lambda: calls)
        time.sleep(1.2 * server_module.QUIET)
    assert calls == [{sources / f"{number}.py" for number in range(20)}]


def test_a_file_can_be_watched_and_replaced_as_editors_do(site: Path, sources: Path):
    config = sources / "mkdocs.yml"
    config.write_text("1")
    calls: list[set[Path]] = []
    with Server(site, [config], lambda changed: (calls.append(changed) is None, ""), port=0):
        (sources / "other.yml").write_text("1")
        (sources / "mkdocs.yml.new").write_text("2")
        os.replace(sources / "mkdocs.yml.new", config)
        eventually(lambda: calls)
    assert calls == [{config}]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("chapter.py", True),
        ("m00/README.md", True),
        ("theme/main.html", True),
        ("__pycache__/chapter.cpython-311.pyc", False),
        (".git/index", False),
        (".ipynb_checkpoints/lab.ipynb", False),
        (".chapter.py.swp", False),
        (".#chapter.py", False),
        ("#chapter.py#", False),
        ("chapter.py~", False),
        ("4913", False),
        ("chapter.py___jb_tmp___", False),
        ("chapter.tmp", False),
        ("site/index.html", False),
        ("generated/m00/page.md", False),
        ("../elsewhere.py", False),
    ],
)
def test_what_counts_as_a_source(tmp_path: Path, name: str, counts: bool):
    root = tmp_path / ".hidden" / "site" / "docs"  # what stands above a watched folder has no say
    changes = Changes([root], [root / "generated"])
    assert changes.concerns(Path(os.path.normpath(root / name))) is counts


def test_reading_a_source_is_no_change(site: Path, sources: Path):
    (sources / "chapter.py").write_text("1")
    calls: list[set[Path]] = []
    with Server(site, [sources], lambda changed: (calls.append(changed) is None, ""), port=0):
        (sources / "chapter.py").read_text()
        (sources / "__pycache__").mkdir()
        time.sleep(3 * server_module.QUIET)
        assert calls == []
        (sources / "chapter.py").unlink()
        eventually(lambda: calls)
    assert calls == [{sources / "chapter.py"}]


def test_the_same_content_again_is_no_change(site: Path, sources: Path):
    (sources / "m00").mkdir()
    (sources / "m00" / "chapter.py").write_text("1")
    calls: list[set[Path]] = []

    def rebuild(changed: set[Path]) -> tuple[bool, str]:
        calls.append(changed)
        (sources / "made.zip").write_text("the same every time")
        return True, ""

    with Server(site, [sources], rebuild, port=0):
        (sources / "m00" / "chapter.py").write_text("1")
        (sources / "m00" / "empty").mkdir()
        time.sleep(3 * server_module.QUIET)
        assert calls == []
        (sources / "m00" / "chapter.py").write_text("2")
        eventually(lambda: len(calls) == 2)  # the second, because made.zip is new; then no more
        time.sleep(4 * server_module.QUIET)
    assert calls == [{sources / "m00" / "chapter.py"}, {sources / "made.zip"}]


def test_a_folder_that_goes_or_comes_is_a_change_of_its_files(site: Path, sources: Path):
    (sources / "m00").mkdir()
    (sources / "m00" / "chapter.py").write_text("1")
    calls: list[set[Path]] = []
    with Server(site, [sources], lambda changed: (calls.append(changed) is None, ""), port=0):
        (sources / "m00").rename(sources.parent / "away")
        eventually(lambda: calls)
        shutil.copytree(sources.parent / "away", sources / "m00")
        eventually(lambda: len(calls) == 2)
    assert calls == [{sources / "m00" / "chapter.py"}] * 2


def test_where_the_system_cannot_watch_files_are_looked_at(site: Path, sources: Path, monkeypatch: pytest.MonkeyPatch):
    class Refusing(server_module.PollingObserver):
        def start(self) -> None:
            raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(server_module, "Observer", Refusing)
    calls: list[set[Path]] = []
    with Server(site, [sources], lambda changed: (calls.append(changed) is None, ""), port=0):
        (sources / "chapter.py").write_text("1")
        eventually(lambda: calls)
    assert sources / "chapter.py" in calls[0]


def test_a_watched_path_that_does_not_exist_is_named(site: Path, tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="nothing_here"):
        Server(site, [tmp_path / "nothing_here"], lambda changed: (True, ""), port=0)


def test_ctrl_c_stops_cleanly_and_the_address_is_printed_once(site: Path, sources: Path):
    program = (
        "import signal, sys; from pathlib import Path; from coursebuild.server import serve\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a test run in the background ignores it
        "serve(Path(sys.argv[1]), [Path(sys.argv[2])], lambda _: (True, ''), port=int(sys.argv[3]), base_path='/repo/')"
    )
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(site), str(sources), str(port)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = process.stdout.readline()
    used = int(line.split(":")[2].split("/")[0])
    assert line == f"Serving http://127.0.0.1:{used}/repo/ (port {port} is taken); Ctrl-C stops.\n"
    with socket.create_connection(("127.0.0.1", used)) as client:  # an open event stream must not hold it up
        client.sendall(b"GET /repo/_events HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in client.recv(1000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (0, "\nStopped.\n", "")


@pytest.mark.browser
def test_an_open_page_reloads_itself_and_shows_a_failure(site: Path, sources: Path):
    outcomes = [(False, "x.py:7: an <b>assertion</b> failed"), (True, "")]

    def rebuild(changed: set[Path]) -> tuple[bool, str]:
        (site / "en" / "index.html").write_text(PAGE.format("rebuilt"))
        return outcomes.pop(0)

    with Server(site, [sources], rebuild, port=0) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto(f"{server.address}en/")
        (sources / "x.py").write_text("1")
        banner = page.get_by_role("alert")
        banner.wait_for()
        assert "an <b>assertion</b> failed" in banner.inner_text()
        assert page.locator("h1").inner_text() == "home"  # although the file has changed: only a success reloads
        (sources / "x.py").write_text("2")
        page.get_by_text("rebuilt").wait_for()
        assert banner.count() == 0
        browser.close()
