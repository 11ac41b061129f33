"""A reader's machine: the second environment, and the built site served on loopback as its only source of packages."""

import functools
import http.server
import os
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from coursebuild.info import Info
from coursebuild.setup_env import DOWNLOADS, ROOT
from tests.site.built import build


@dataclass
class Reader:
    """What a download meets: an interpreter that has the wheel's dependencies, and no network but the site."""

    site: Path
    info: Info
    address: str
    python: Path
    home: Path

    @property
    def wheel(self) -> str:
        """The wheel's address on this machine."""
        return f"{self.address}wheels/{self.info.wheel}"

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        path = f"{self.python.parent}{os.pathsep}{kept['PATH']}"
        return kept | {
            "PATH": path,
            "HOME": str(self.home),
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "OMP_NUM_THREADS": "1",
            "JUPYTER_PATH": str(self.home / "jupyter"),
        }


@pytest.fixture(scope="session")
def reader(tmp_path_factory):
    """The environment `.venv-downloads`, with the site's wheel installed anew from loopback."""
    python = DOWNLOADS.python(ROOT)
    assert python.exists(), (
        "the second environment is missing: run `python3 -I docs/coursebuild/setup_env.py downloads`"
    )
    built_site = build().root
    handler = functools.partial(_Quiet, directory=str(built_site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = tmp_path_factory.mktemp("reader")
    found = Reader(built_site, Info.load(ROOT), f"http://127.0.0.1:{server.server_address[1]}/", python, home)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", found.wheel]
    subprocess.run(pip, check=True, env=found.environment())
    yield found
    server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing of each request."""
