"""The order of the tests: what fails fast comes first."""

import pytest

ORDER = ("build", "slow", "browser", "downloads")  # by marker; what has none of them runs before


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests, then those that build, then the browser, then the downloads; within each, the files' own order."""

    def place(item: pytest.Item) -> int:
        return max((i + 1 for i, name in enumerate(ORDER) if item.get_closest_marker(name)), default=0)

    # tests/site last: its browser stays open, and no other can be opened beside it
    items.sort(key=lambda item: (place(item), "tests/site/" in item.path.as_posix()))
