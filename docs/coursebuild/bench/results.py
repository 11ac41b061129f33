"""Where the results of `make bench` are kept, between the command that writes them and the page that shows them."""

import json
from pathlib import Path

FILE = Path("docs", "benchmark.json")


def load(root: Path) -> dict | None:
    """What the last `make bench` measured, or None."""
    path = root / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def save(root: Path, results: dict) -> None:
    """Replace it, whole or not at all."""
    new = (root / FILE).with_suffix(".new")
    new.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    new.replace(root / FILE)
