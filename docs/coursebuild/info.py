"""What is put on pages when they are rendered, and is no part of a cached result: addresses, versions, commit."""

import json
import os
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from coursebuild.problems import BuildError, Problem

# placeholders, easy to find; CI sets the real ones
SITE_URL = "https://pt2e.example.org/"
REPO_URL = "https://github.com/OWNER/pt2e-graph-by-graph"
PAGES_BRANCH = "gh-pages"
ADDRESS = re.compile(r"https?://[\w.:-]+(?:/[\w.~%+-]+)*/?")


@dataclass(frozen=True)
class Info:
    """One build. `epoch`: the commit's time in seconds, also the time of everything built (SOURCE_DATE_EPOCH)."""

    site_url: str
    repo_url: str
    commit: str
    epoch: int
    versions: dict[str, str]
    wheel: str

    @property
    def base_path(self) -> str:
        """The path part of the site's address, with slashes at both ends."""
        return "/" + "/".join(self.site_url.split("/")[3:]).strip("/") + ("/" if self.site_url.count("/") > 3 else "")

    @property
    def wheel_url(self) -> str:
        """Where readers install `common` from."""
        return f"{self.site_url}wheels/{self.wheel}"

    def colab_url(self, path: str) -> str:
        """The address that opens a published notebook in Colab; `path`: below the site's root."""
        return f"https://colab.research.google.com/github/{'/'.join(self.repo_url.split('/')[3:])}/blob/{PAGES_BRANCH}/{path}"

    def save(self, root: Path) -> None:
        """Leave it for the rendering step."""
        root.joinpath(".cache", "info.json").write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, root: Path) -> "Info":
        """Read what the last execution step left."""
        return cls(**json.loads(root.joinpath(".cache", "info.json").read_text(encoding="utf-8")))


def configured() -> tuple[str, str]:
    """The site's and the repository's address: SITE_URL and REPO_URL in the environment, else placeholders. Raises
    BuildError."""
    site = os.environ.get("SITE_URL") or SITE_URL
    repo = os.environ.get("REPO_URL") or REPO_URL
    hint = "set it to a whole address, such as https://example.org/site/"
    wrong = {name: url for name, url in (("SITE_URL", site), ("REPO_URL", repo)) if not ADDRESS.fullmatch(url)}
    if wrong:
        raise BuildError(Problem(name, 1, f"is no address of the web: {url}", hint) for name, url in wrong.items())
    return site.rstrip("/") + "/", repo.rstrip("/")


def commit(root: Path) -> tuple[str, int]:
    """The commit that is built and its time; "" and 0 where there is none."""
    git = subprocess.run(["git", "log", "-1", "--format=%H %ct"], cwd=root, capture_output=True, text=True)
    if git.returncode or not git.stdout.strip():
        return "", int(os.environ.get("SOURCE_DATE_EPOCH", 315532800))  # 1980, the earliest time a zip file can hold
    sha, seconds = git.stdout.split()
    return sha, int(os.environ.get("SOURCE_DATE_EPOCH", seconds))
