"""Looking at the built site in a real Chromium."""

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request
from playwright.sync_api import Response as Answer

from coursebuild.server import Server

PHONE, DESKTOP = {"width": 375, "height": 812}, {"width": 1440, "height": 900}
SCHEMES = ("light", "dark")
FLAGS = (
    "--no-sandbox",  # there is none for root in a container
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",  # Chromium's own, which a test has no use for
    "--disable-component-update",
    "--disable-sync",
)


class Watch:
    """What goes wrong while pages are looked at. `missing`: the address that is meant to give status 404."""

    def __init__(self, page: Page, server: Server, missing: str = ""):
        self._origin, self._missing = urlsplit(server.address)[:2], missing
        self.faults: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("request", self._request)
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and message.location["url"] != self._missing:
            self.faults.append(f"{message.type}: {message.text} ({message.location['url']})")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts[:2] != self._origin:
            self.faults.append(f"asks another host: {request.url}")

    def _response(self, response: Answer) -> None:
        if response.status >= 400 and response.url != self._missing:
            self.faults.append(f"{response.status}: {response.url}")


def visit(page: Page, url: str) -> Answer | None:
    """Open a page, and give its scripts the time to change it."""
    answer = page.goto(url)
    page.wait_for_timeout(150)
    return answer


def unfold(page: Page) -> None:
    """Open every `details`: answers and text twins."""
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")


def address(server: Server, language: str, path: str) -> str:
    """Where a page is served."""
    return f"{server.address}{language}/{path}/" if path else f"{server.address}{language}/"


def path_of(url: str, server: Server) -> str:
    """The path of an address below the site."""
    return urlsplit(url).path.removeprefix(server.base_path)


def report(found: dict[str, Any]) -> str:
    """What was found where, in full: pytest would cut it short."""
    return "\n" + "\n".join(f"{where}:\n    " + "\n    ".join(map(str, what)) for where, what in found.items())
