"""What the tests of the built site share: the site, a server for it, and a browser."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from coursebuild.project import LANGUAGES
from coursebuild.server import Server
from coursebuild.setup_env import find_browser
from tests.site.browsing import DESKTOP, FLAGS
from tests.site.built import BuiltSite, build


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the built site, and some of it the one browser, which stays open to the end: only
    the last tests may open it, as there can't be two at once."""
    for item in items:
        if "tests/site/" in item.path.as_posix():
            item.add_marker(pytest.mark.build)
            if "browser" in item.fixturenames:
                item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def site() -> BuiltSite:
    """The built site."""
    return build()


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """Each language in turn."""
    return request.param


@pytest.fixture(scope="session")
def server(site: BuiltSite) -> Iterator[Server]:
    """The built site, served below the path that its address has."""
    with Server(site.root, port=0, base_path=site.base_path) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    path = find_browser()
    assert path, "there is no Chromium: run `make test`, which installs it, or set CHROMIUM to its path"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Makes contexts, which are readers: `context(color_scheme="dark", locale="zh-TW")`."""
    made: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        made.append(browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce"} | options))
        made[-1].set_default_timeout(10_000)
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def page(context: Callable[..., BrowserContext]) -> Page:
    """A page at a desk."""
    return context().new_page()
