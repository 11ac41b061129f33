"""The server behind `make serve`: the built site under one address, rebuilt and reloaded when a source changes.

`mkdocs serve` takes one configuration and this course has two, so the built folder itself is served. The builder swaps
that folder whole while requests are being answered. Nothing is written into the site: the few lines of script that
reload a page are added to the HTML on its way out.
"""

import errno
import hashlib
import json
import logging
import mimetypes
import re
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import quote, unquote, urlsplit

from watchdog.events import EVENT_TYPE_CLOSED_NO_WRITE, EVENT_TYPE_OPENED, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

log = logging.getLogger(__name__)

Directory = Path | Callable[[], Path]
Rebuild = Callable[[set[Path]], tuple[bool, str]]  # the changed paths → whether it succeeded, and what it said

EVENTS = "_events"  # below the base path; no page has this name
QUIET, AT_MOST = 0.2, 2.0  # seconds: a rebuild starts when no change has come for QUIET, or AT_MOST after the first
SWAP = 2.0  # seconds to wait for the site while the builder puts a new one in its place
PORTS = 50  # how many ports are tried, from the wanted one up
NEVER_WATCHED = re.compile(
    r"__pycache__|node_modules|site|build|dist|\..+"  # caches, environments, outputs; whatever is hidden, .git included
    r"|.+~|.+\.(?:py[co]|tmp|temp|bak|orig|part)|#.+#|\d{4,}|.+___jb_(?:tmp|old)___"  # what editors leave for a moment
)
TYPES = mimetypes.MimeTypes()  # the table in Python itself, so the same answer on every machine
TYPES.add_type("text/javascript", ".js")
TYPES.add_type("text/x-python", ".py")
TYPES.add_type("application/x-ipynb+json", ".ipynb")
TYPES.add_type("application/zip", ".whl")
TYPES.add_type("font/woff2", ".woff2")
TYPES.add_type("image/webp", ".webp")

SCRIPT = """<script>(() => {
  const served = "VERSION";
  let source;
  const show = (text) => {
    document.getElementById("build-failed")?.remove();
    if (!text) return;
    const box = document.createElement("pre");
    box.id = "build-failed";
    box.setAttribute("role", "alert");
    box.textContent = "The build failed, this page is as it was before:\\n" + text;
    box.style.cssText = "position:fixed;inset:auto 0 0 0;z-index:9999;margin:0;padding:.8em 1.2em;max-height:40vh;" +
      "overflow:auto;white-space:pre-wrap;font:13px/1.5 monospace;color:#fff;background:#8b1a1a";
    document.body.append(box);
  };
  const listen = () => {
    source?.close();
    if (document.visibilityState !== "visible") return; // browsers allow six connections a host: hidden tabs keep none
    source = new EventSource("ADDRESS");
    source.onmessage = (event) => {
      const state = JSON.parse(event.data);
      if (state.version === served) show(state.error);
      else location.reload();
    };
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", listen);
})();</script>"""


class State:
    """What the pages are told: which build they show, and why the last one failed, if it did."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._start = f"{time.time_ns():x}"  # so that a page left open from an earlier server reloads, too
        self._builds = 0
        self._error: str | None = None
        self._closed = False

    @property
    def version(self) -> str:
        """A name for the site as it is now: another one after every successful build and in every server."""
        return f"{self._start}.{self._builds}"

    def built(self) -> None:
        """A build succeeded."""
        with self._changed:
            self._builds, self._error = self._builds + 1, None
            self._changed.notify_all()

    def failed(self, message: str) -> None:
        """A build failed; the site is what it was."""
        with self._changed:
            self._error = message
            self._changed.notify_all()

    def close(self) -> None:
        """End every stream of `messages`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def messages(self, heartbeat: float = 15.0) -> Iterator[str | None]:
        """The state as JSON, now and whenever it changes; None after `heartbeat` seconds without a change."""
        last: str | None = None
        while True:
            with self._changed:
                if last == self._json() and not self._closed:
                    self._changed.wait(heartbeat)
                if self._closed:
                    return
                now = self._json()
            yield None if now == last else now
            last = now

    def _json(self) -> str:
        return json.dumps({"version": self.version, "error": self._error})


class Found(NamedTuple):
    """What is at an address: a file, read whole; or, with content None, a folder asked for without its last slash."""

    name: str
    content: bytes | None
    version: str


class Site:
    """The folder that is served, read so that a request never meets the moment in which the builder swaps it."""

    def __init__(self, directory: Directory, state: State):
        self._directory = directory if callable(directory) else lambda: directory
        self._state = state

    def read(self, path: str) -> Found | None:
        """What is at `path` (decoded, relative to the site's root; "" and "a/" mean the folder's index.html).

        None if there is nothing. What lies outside the folder, by `..` or by a symbolic link, is not there.
        """
        deadline = time.monotonic() + SWAP
        while True:
            version = self._state.version  # taken before the content: rather one reload too many than one too few
            root = self._root()
            found = _find(root[0], path, version) if root else None
            if found or (root and root == self._root()) or time.monotonic() > deadline:
                return found
            time.sleep(0.01)

    def is_built(self) -> bool:
        """Whether there is a site at all."""
        return self._root() is not None

    def _root(self) -> tuple[Path, int] | None:
        """The real folder and its inode: one of them changes when a site is swapped, by a link or by renaming."""
        try:
            path = self._directory().resolve(strict=True)
            return path, path.stat().st_ino
        except OSError:
            return None


def _find(root: Path, path: str, version: str) -> Found | None:
    try:
        real = (root / path).resolve(strict=True)
        if real.is_dir():
            page = (real / "index.html").resolve(strict=True)
            if not page.is_relative_to(root):
                return None
            whole = path == "" or path.endswith("/")
            return Found(page.name, page.read_bytes() if whole else None, version)
        if not real.is_relative_to(root) or path.endswith("/"):
            return None
        return Found(real.name, real.read_bytes(), version)
    except (OSError, ValueError, RuntimeError):  # not there; a NUL in the name; links in a circle
        return None


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD from the server's site."""

    server: "Server"
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60  # seconds that an idle connection is kept

    def do_GET(self) -> None:
        """A file, a folder's page, a redirect to a folder's slash, the stream of reloads, or the 404 page."""
        base, parts = self.server.base_path, urlsplit(self.path)
        path = unquote(parts.path)
        if path == base + EVENTS:
            return self._stream()
        if not path.startswith(base):
            if path in ("/", base[:-1]):
                return self._redirect(base)
            return self._send(HTTPStatus.NOT_FOUND, "text/plain", f"The site begins at {base}\n".encode())
        found = self.server.site.read(path[len(base) :])
        if found is None:
            return self._missing()
        if found.content is None:
            return self._redirect(quote(path) + "/" + (f"?{parts.query}" if parts.query else ""))
        kind, encoding = TYPES.guess_type(found.name)
        kind = f"application/{encoding}" if encoding else kind or "application/octet-stream"
        content = self._live(found.content, found.version) if kind == "text/html" else found.content
        return self._send(HTTPStatus.OK, kind, content)

    do_HEAD = do_GET

    def _missing(self) -> None:
        version = self.server.state.version
        if not self.server.site.is_built():
            content = b"<!doctype html><title>No site yet</title><body><p>No build has succeeded yet.</p></body>"
            return self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/html", self._live(content, version))
        page = self.server.site.read("404.html")
        content = page.content if page and page.content else b"<!doctype html><title>404</title><body>Not found.</body>"
        return self._send(HTTPStatus.NOT_FOUND, "text/html", self._live(content, page.version if page else version))

    def _live(self, page: bytes, version: str) -> bytes:
        """The page with the script that reloads it, if anything is watched."""
        if not self.server.is_live:
            return page
        script = SCRIPT.replace("VERSION", version).replace("ADDRESS", self.server.base_path + EVENTS)
        head, end, tail = page.rpartition(b"</body>")
        return head + script.encode() + end + tail if end else page + script.encode()

    def _redirect(self, address: str) -> None:
        self._send(HTTPStatus.FOUND, "text/plain", b"", Location=address)

    def _send(self, status: HTTPStatus, kind: str, content: bytes, **headers: str) -> None:
        text = kind.startswith("text/") or kind in ("application/json", "application/xml", "image/svg+xml")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if text else kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self) -> None:
        """Server-Sent Events: the state now, and whenever it changes, until the page or the server goes."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(b"retry: 1000\n\n")
        for message in self.server.state.messages():
            self.wfile.write(b":\n\n" if message is None else f"data: {message}\n\n".encode())

    def log_message(self, *args: object) -> None:
        """Nothing: the terminal belongs to the build."""


class Changes(FileSystemEventHandler):
    """The changed sources, gathered until no more come.

    A file whose content is what it was hasn't changed, so a build that writes the same files again is no reason for
    another build.
    """

    def __init__(self, roots: Sequence[Path], ignored: Iterable[Path]):
        self._roots = roots
        self._ignored = [path.resolve() for path in ignored]
        self._arrived = threading.Condition()
        self._paths: set[Path] = set()
        self._closed = False
        found = (path for root in roots for path in (root.rglob("*") if root.is_dir() else [root]))
        self._contents = {path: _digest(path) for path in found if self.concerns(path) and path.is_file()}

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Note what an event is about, unless nothing changed in a source (watchdog calls this)."""
        if event.event_type in (EVENT_TYPE_OPENED, EVENT_TYPE_CLOSED_NO_WRITE):
            return
        if event.is_directory and event.event_type == "modified":
            return  # something inside changed, and is reported by itself
        paths = {Path(str(p)) for p in (event.src_path, event.dest_path) if p}
        sources = {path for path in paths if self.concerns(path)}
        if sources:
            with self._arrived:
                self._paths |= sources
                self._arrived.notify_all()

    def concerns(self, path: Path) -> bool:
        """Whether `path` is a source: below a watched path, and no cache, output or editor's temporary file."""
        if any(path.is_relative_to(folder) for folder in self._ignored):
            return False
        return any(
            path.is_relative_to(root) and not any(map(NEVER_WATCHED.fullmatch, path.relative_to(root).parts))
            for root in self._roots
        )

    def take(self) -> set[Path] | None:
        """Wait for changes and for the quiet after them; None when closed."""
        while (paths := self._next()) is not None:
            below = {path for path in self._contents if any(parent in paths for parent in path.parents)}
            now = {path: _digest(path) for path in paths | below}
            changed = {path for path, content in now.items() if content != self._contents.get(path)}
            self._contents |= {path: now[path] for path in changed}
            if changed:
                return changed
        return None

    def _next(self) -> set[Path] | None:
        with self._arrived:
            self._arrived.wait_for(lambda: self._paths or self._closed)
            deadline = time.monotonic() + AT_MOST
            while not self._closed and time.monotonic() < deadline and self._arrived.wait(QUIET):
                pass
            paths, self._paths = self._paths, set()
            return None if self._closed else paths

    def close(self) -> None:
        """Let `take` return None."""
        with self._arrived:
            self._closed = True
            self._arrived.notify_all()


def _digest(path: Path) -> bytes | None:
    """What stands for a file's content; None if there is no file."""
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return None


def _observe(changes: Changes, roots: Sequence[Path]) -> BaseObserver:
    """Watch `roots`: through the system, or by looking at every file each second where the system refuses."""
    for kind in (Observer, PollingObserver):
        observer = kind()
        for path in roots:  # a file is watched through its folder: editors replace files instead of writing into them
            observer.schedule(changes, str(path if path.is_dir() else path.parent), recursive=path.is_dir())
        try:
            observer.start()
            return observer
        except OSError as error:
            observer.unschedule_all()
            reason = error
    raise reason


class Server(socketserver.ThreadingTCPServer):
    """Serves a built site in the background while it is entered; `serve` is the same for a terminal.

    Without `watch` the pages are sent exactly as they are in the files: for tests, or to look at a finished site.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(
        self,
        directory: Directory,
        watch: Iterable[Path] = (),
        rebuild: Rebuild | None = None,
        host: str = "127.0.0.1",
        port: int = 8000,
        base_path: str = "/",
        ignored: Iterable[Path] = (),
    ):
        self.base_path = f"/{base_path.strip('/')}/" if base_path.strip("/") else "/"
        self.state = State()
        self.site = Site(directory, self.state)
        self._rebuild = rebuild
        self._roots = [path.resolve(strict=True) for path in watch]
        self._changes = Changes(self._roots, ignored)
        super().__init__((host, port), Handler, bind_and_activate=False)
        try:
            self._bind(port)
            self.server_activate()
        except BaseException:
            self.server_close()
            raise

    def _bind(self, port: int) -> None:
        """Bind to `port`, or to the next one that is free."""
        host = self.server_address[0]
        for candidate in range(port, port + PORTS) if port else [0]:
            self.server_address = (host, candidate)
            try:
                return self.server_bind()
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        raise OSError(errno.EADDRINUSE, f"ports {port} to {port + PORTS - 1} of {host} are all taken: name another one")

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self.server_address[1]

    @property
    def address(self) -> str:
        """Where a browser finds the site."""
        host = self.server_address[0]
        return f"http://{'localhost' if host == '0.0.0.0' else host}:{self.port}{self.base_path}"

    @property
    def is_live(self) -> bool:
        """Whether pages are reloaded when a source changes."""
        return bool(self._roots)

    def __enter__(self) -> Self:
        self._observer = _observe(self._changes, self._roots) if self.is_live else None
        self._own = [threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)]
        if self.is_live:
            self._own.append(threading.Thread(target=self._build_on_change, daemon=True))
        for thread in self._own:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._observer:
            self._observer.stop()
        self._changes.close()
        self.state.close()
        self.shutdown()
        self.server_close()
        for thread in self._own:
            thread.join(timeout=2)  # a build that is still going ends with the process; the site was not touched

    def wait(self) -> None:
        """Return when the server has stopped, which by itself it never does."""
        while self._own[0].is_alive():
            self._own[0].join(1)

    def _build_on_change(self) -> None:
        """One rebuild after the other; what changes during one is in the next."""
        while (changed := self._changes.take()) is not None:
            try:
                succeeded, message = self._rebuild(changed)
            except (Exception, SystemExit) as error:  # a fault in the build program
                succeeded, message = False, f"{type(error).__name__}: {error}"
                log.exception("the build program failed")
            if succeeded:
                self.state.built()
            else:
                self.state.failed(message.strip() or "the terminal says why")

    def handle_error(self, request: object, client_address: object) -> None:
        """A page that went away in the middle of an answer is no error."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def serve(
    directory: Directory,
    watch: Iterable[Path],
    rebuild: Rebuild,
    host: str = "127.0.0.1",
    port: int = 8000,
    base_path: str = "/",
    *,
    ignored: Iterable[Path] = (),
) -> None:
    """Serve the site until Ctrl-C.

    directory: the built site, or a function that says which folder it is now.
    watch: folders and files that make the site. Hidden files, caches and editors' temporary files don't count.
    rebuild: called with the changed paths (absolute), in a thread of its own, one call at a time. It swaps the new site
        in and returns (True, ""); on (False, message) the old site stays and its pages show the message.
    base_path: the path below the host at which the site is published, such as "/repo/".
    ignored: folders below `watch` that the build itself writes; what it changes elsewhere causes one build more.
    """
    with Server(directory, watch, rebuild, host, port, base_path, ignored) as server:
        taken = f" (port {port} is taken)" if port and server.port != port else ""
        try:
            print(f"Serving {server.address}{taken}; Ctrl-C stops.", flush=True)
            server.wait()
        except KeyboardInterrupt:
            print("\nStopped.", flush=True)
