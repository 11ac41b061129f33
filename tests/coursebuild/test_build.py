"""Whole builds of the minisite: what is run and what isn't, and every way in which a build must stop."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coursebuild import render
from coursebuild.execution import scheduler
from coursebuild.problems import BuildError
from coursebuild.project import Project
from tests.minisite import SUMMARY, Minisite

pytestmark = pytest.mark.slow
FIRST, SECOND = "m00_1_first", "m00_2_second"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """One good build, which no test changes."""
    site = Minisite.create(tmp_path_factory.mktemp("built"))
    result = site.build()
    assert result.code == 0, result.err
    assert result.last == SUMMARY.format(4, 4, 0, 0)
    return site


@pytest.fixture
def site(built, tmp_path):
    """A copy of the good build, with its cache."""
    shutil.copytree(built.root, tmp_path / "site-copy", symlinks=True)
    return Minisite(tmp_path / "site-copy")


def fails_twice(site: Minisite, *expected: str, summary: str | None = None, flags: tuple[str, ...] = (), **env: str):
    """The build stops twice in a row with these words, and the site stays as it was."""
    before = site.state()
    for _ in range(2):
        result = site.run("build", flags=flags, **env)
        assert result.code == 1, result.out + result.err
        for words in expected:
            assert words in result.err
        if summary:
            assert result.last == summary
        assert site.state() == before
    return result


def test_nothing_changed_runs_nothing(site):
    before = site.state()
    result = site.build()
    assert (result.code, result.last) == (0, SUMMARY.format(4, 0, 4, 0))
    assert site.state() == before


def test_a_changed_chapter_alone_runs_again(site):
    site.edit(f"examples/en/m00/{FIRST}.py", "Computed:", "It was computed:")
    result = site.build()
    assert (result.code, result.last) == (0, SUMMARY.format(4, 1, 3, 0)), result.err
    assert "It was computed:" in site.page(f"en/m00/{FIRST}")


def test_a_string_changed_in_common_shows_on_the_page(site):
    helper = site.root / "common" / "graph_utils.py"
    helper.write_text(helper.read_text(encoding="utf-8") + '\nGREETING = "before"\n', encoding="utf-8")
    site.edit_pair(FIRST, "value = 6 * 7", "from common.graph_utils import GREETING\nprint(GREETING)\nvalue = 6 * 7")
    assert site.build().code == 0
    assert ">before\n" in site.page(f"zh-TW/m00/{FIRST}")
    site.edit("common/graph_utils.py", '"before"', '"after"')
    result = site.build()
    assert (result.code, result.last) == (0, SUMMARY.format(4, 4, 0, 0)), result.err
    for language in ("zh-TW", "en"):
        assert ">after\n" in site.page(f"{language}/m00/{FIRST}")


def test_failing_chapters_are_all_named_and_never_cached(site):
    good = {language: site.chapter(language, FIRST).read_bytes() for language in ("zh-TW", "en")}
    site.edit_pair(FIRST, "assert value == 42", "assert value == 43")
    site.edit_pair(SECOND, "gm = torch.fx", "import os\nos._exit(3)\ngm = torch.fx")
    lines = {language: site.line(language, FIRST, "assert value == 43") for language in good}
    result = fails_twice(
        site,
        *(
            f"examples/{language}/m00/{FIRST}.py:{line}: AssertionError: assert value == 43"
            for language, line in lines.items()
        ),
        *(f"examples/{language}/m00/{SECOND}.py:1: the interpreter ended (exit code 3)" for language in good),
        summary=SUMMARY.format(4, 4, 0, 4),
    )
    assert str(site.root) not in result.err
    for language, content in good.items():
        site.chapter(language, FIRST).write_bytes(content)
    site.edit_pair(SECOND, "import os\nos._exit(3)\n", "")
    result = site.build()
    assert (result.code, result.last) == (0, SUMMARY.format(4, 0, 4, 0)), result.err


BREAKS = [
    ("raise ValueError('no <b>such</b> thing')", "ValueError: no <b>such</b> thing"),
    ("import ctypes\nctypes.string_at(0)", "the interpreter ended (signal SIGSEGV) before the chapter did"),
    ("raise SystemExit(0)", "SystemExit: 0"),
    ("gm.missing", "AttributeError"),
]


def test_each_kind_of_stop_names_its_line(site):
    for number, (code, _) in enumerate(BREAKS):
        for language in ("zh-TW", "en"):
            text = site.chapter(language, SECOND).read_text(encoding="utf-8")
            old = "第二章" if language == "zh-TW" else "The second chapter"
            path = site.chapter(language, f"m00_{number + 5}_broken")
            path.write_text(
                text.replace(
                    "gm = torch.fx.symbolic_trace(Tiny())", f"gm = torch.fx.symbolic_trace(Tiny())\n{code}"
                ).replace(f"M00-2 | {old}", f"M00-{number + 5} | {old}"),
                encoding="utf-8",
            )
        course = site.root / "docs" / "course.yml"
        entry = (
            f"      - stem: m00_{number + 5}_broken\n        label: M00-{number + 5}\n"
            "        title: {zh-TW: 第二章, en: The second chapter}\n        goal: {zh-TW: 壞掉, en: Break}\n"
        )
        course.write_text(
            course.read_text(encoding="utf-8").replace("appendix: []", entry + "appendix: []"), encoding="utf-8"
        )
    assert site.run("restamp").code == 0
    result = fails_twice(site, *(words for _, words in BREAKS), summary=SUMMARY.format(12, 8, 4, 8))
    first = site.line("zh-TW", "m00_5_broken", "raise ValueError")
    assert f"examples/zh-TW/m00/m00_5_broken.py:{first}: ValueError" in result.err


def test_a_value_that_only_a_notebook_would_show(site):
    site.edit_pair(FIRST, "assert value == 42", "assert value == 42\nvalue + 1")
    line = site.line("en", FIRST, "value + 1")
    fails_twice(
        site, f"examples/en/m00/{FIRST}.py:{line}: ShowsValue: this cell ends in an expression with a value (int)"
    )


def test_a_chapter_that_hangs_is_stopped_and_named(site):
    site.edit_pair(SECOND, "gm = torch.fx", "while True: pass\ngm = torch.fx")
    started = time.monotonic()
    result = site.build("--seconds", "3")
    assert time.monotonic() - started < 60
    assert result.code == 1
    assert f"examples/zh-TW/m00/{SECOND}.py:1: still running after 3 s and was stopped" in result.err
    assert result.last == SUMMARY.format(4, 2, 2, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space of a process")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("hoard = bytes(7 << 30)", "MemoryError"),
        ("hoard = torch.empty(7 << 28)", "RuntimeError: [enforce fail at alloc_cpu.cpp"),
    ],
    ids=["Python", "torch"],
)
def test_a_chapter_that_exhausts_memory_is_named_and_the_others_are_finished(site, code, said):
    """7 GB, of which nothing is used, so that no machine would refuse it by itself."""
    assert scheduler.MEMORY == 6 << 30
    site.edit_pair(FIRST, "value = 6 * 7", "value = 6 * 7\nunused = 1")
    site.edit_pair(SECOND, "gm = torch.fx", f"{code}\ngm = torch.fx")
    lines = {language: site.line(language, SECOND, "hoard =") for language in ("zh-TW", "en")}
    places = [f"examples/{language}/m00/{SECOND}.py:{line}: {said}" for language, line in lines.items()]
    result = fails_twice(site, *places)
    assert result.last == SUMMARY.format(4, 2, 2, 2)  # the second time, those that succeeded are cached


def test_two_builds_of_one_source_are_the_same_bytes(built, tmp_path):
    """In another folder, at another time, from nothing."""
    other = Minisite.create(tmp_path / "elsewhere" / "other")
    assert other.build().code == 0
    assert other.state() == built.state()


def test_a_missing_twin(site):
    site.chapter("en", SECOND).unlink()
    fails_twice(site, f"examples/zh-TW/m00/{SECOND}.py:1: there is no examples/en/m00/{SECOND}.py")


def test_a_drifted_pair(site):
    site.edit(f"examples/en/m00/{FIRST}.py", "value = 6 * 7", "value = 7 * 6")
    line = site.line("en", FIRST, "value = 7 * 6")
    result = fails_twice(site, f"examples/en/m00/{FIRST}.py:")
    assert f"examples/zh-TW/m00/{FIRST}.py:" in result.err
    assert line > 1


def test_outputs_that_differ_between_the_languages(site):
    """Same program, other output: what the code reads differs, as a word's length does."""
    for language, word in (("zh-TW", "字"), ("en", "word")):
        site.edit(f"examples/{language}/m00/{FIRST}.py", "value = 6 * 7", f'value = 6 * 7\nprint(len("{word}"))')
    assert site.run("restamp").code == 0
    fails_twice(site, f"examples/en/m00/{FIRST}.py:", f"examples/zh-TW/m00/{FIRST}.py:")


def test_stale_prose(site):
    site.edit(f"examples/zh-TW/m00/{FIRST}.py", "先想一想。", "先自己想一想。")
    result = fails_twice(site, f"examples/en/m00/{FIRST}.py:")
    assert f"examples/zh-TW/m00/{FIRST}.py:" in result.err and "restamp" in result.err
    assert site.run("restamp").code == 0
    assert site.build().code == 0


def test_a_heading_without_an_id(site):
    for language, heading in (("zh-TW", "## 數字"), ("en", "## A number")):
        site.edit(f"examples/{language}/m00/{FIRST}.py", heading + " {#number}", heading)
    site.run("restamp")
    fails_twice(site, f"examples/en/m00/{FIRST}.py:{site.line('en', FIRST, '## A number')}:")


def test_a_duplicate_id(site):
    for language, text in (("zh-TW", "# 算給你看："), ("en", "# Computed:")):
        site.edit(f"examples/{language}/m00/{FIRST}.py", text, f"# ## X {{#number}}\n#\n{text}")
    site.run("restamp")
    fails_twice(site, f"examples/en/m00/{FIRST}.py:{site.line('en', FIRST, '## X')}:")


def test_a_dead_link(site):
    for language in ("zh-TW", "en"):
        site.edit(f"examples/{language}/m00/{FIRST}.py", "chapter:m00_2_second#graph", "chapter:m00_2_second#nowhere")
    site.run("restamp")
    fails_twice(site, "nowhere")


def test_no_dot(site, tmp_path):
    bare = tmp_path / "bin"
    bare.mkdir()
    for name in ("git", "env"):
        (bare / name).symlink_to(shutil.which(name))
    fails_twice(site, "there is no `dot` on the PATH", "install Graphviz", PATH=str(bare))


def test_optimized_python_is_refused(site):
    fails_twice(site, "removes every assert", flags=("-O",))
    fails_twice(site, "removes every assert", PYTHONOPTIMIZE="1")


def test_a_script_that_is_not_utf8(site):
    path = site.chapter("en", FIRST)
    path.write_bytes(path.read_bytes() + b"# caf\xe9\n")
    line = path.read_bytes().count(b"\n")
    fails_twice(site, f"examples/en/m00/{FIRST}.py:{line}: is not UTF-8\n    save it as UTF-8")


def test_what_is_named_like_a_script_and_is_none(site):
    home = site.root / "examples" / "en" / "m00"
    (home / "x.py").mkdir()
    (home / "y.py").symlink_to("nowhere")
    said = ("x.py:1: can't be read: Is a directory", "y.py:1: can't be read: No such file")
    fails_twice(site, *(f"examples/en/m00/{words}" for words in said))


@pytest.mark.parametrize("name", ["SITE_URL", "REPO_URL"])
@pytest.mark.parametrize("url", ["example.org", "/", 'https://a.example/x"><b>', "https://a.example/a b/"])
def test_an_address_that_is_none(site, name, url):
    fails_twice(site, f"{name}:1: is no address of the web: {url}", **{name: url})


def test_a_cache_that_cannot_be_made(site):
    shutil.rmtree(site.root / ".cache")
    (site.root / ".cache").write_text("")
    fails_twice(site, ".cache:1: can't be a folder: File exists", "remove it")


def test_a_title_that_the_course_does_not_know(site):
    site.edit(f"examples/en/m00/{FIRST}.py", "M00-1 | The first chapter", "M00-1 | Another title")
    fails_twice(site, f"examples/en/m00/{FIRST}.py:3: its title isn't the one in docs/course.yml:")


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param("build.lock", id="checking"),
        pytest.param("run/*", id="running"),
        pytest.param("site-*", id="rendering"),
        pytest.param("site-*/robots.txt", id="checking-pages"),
    ],
)
def test_a_killed_build_leaves_a_state_that_the_next_one_repairs(site, built, begun):
    (site.root / ".cache" / "build.lock").unlink(missing_ok=True)
    (site.root / "common" / "graph_utils.py").open("a", encoding="utf-8").write("\n# changed\n")
    process = subprocess.Popen(
        site.command("build"),
        cwd=site.root,
        env=site.environment(),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not list((site.root / ".cache").glob(begun)):
        assert process.poll() is None, "the build ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not left_running(site, seconds=5)
    result = site.build()
    assert result.code == 0, result.err
    state = site.state()
    assert {k: v for k, v in state.items() if "wheels/" not in k}.keys() == {
        k for k in built.state() if "wheels/" not in k
    }
    assert not list((site.root / ".cache").glob("site-*"))


def test_a_site_that_a_killed_build_had_put_aside_comes_back(site):
    before, home = site.state(), site.root / "site"
    home.rename(render.aside(Project(site.root), home))
    site.edit_pair(FIRST, "assert value == 42", "assert value == 41")
    assert site.build().code == 1
    assert site.state() == before
    site.edit_pair(FIRST, "assert value == 41", "assert value == 42")
    assert site.build().code == 0
    assert site.state() == before and not list((site.root / ".cache").glob("old-*"))


def test_a_site_is_never_between_two_names(tmp_path, monkeypatch):
    """A signal in the middle of the exchange."""
    new, site, old = tmp_path / "new", tmp_path / "site", tmp_path / "old"
    new.mkdir()
    site.mkdir()
    (site / "page").write_text("x")
    rename = Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if path == new:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        render.put_in_place(new, site, old)
    assert (site / "page").read_text() == "x" and not old.exists()


def test_a_site_that_is_a_file_is_left_alone(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "site").write_text("x")
    with pytest.raises(BuildError, match="which is a file"):
        render.put_in_place(tmp_path / "new", tmp_path / "site", tmp_path / "old")
    assert (tmp_path / "site").read_text() == "x"


def test_a_script_that_changes_while_it_runs(site):
    grow = f"import pathlib\npath = pathlib.Path('{FIRST}.py')\npath.write_text(path.read_text() + 'path = None\\n')\n"
    site.edit_pair(FIRST, "value = 6 * 7", f"{grow}value = 6 * 7")
    fails_twice(site, f"examples/en/m00/{FIRST}.py:1: the script or common/ changed while the build ran")


def test_a_fork_server_that_dies_is_started_anew_with_the_same_settings(site):
    kill = "import os\nimport signal\nos.kill(os.getppid(), signal.SIGKILL)\nvalue = 6 * 7"
    site.edit_pair(FIRST, "value = 6 * 7", kill)
    site.edit_pair(SECOND, "gm = torch.fx", "import os\nassert os.environ['TZ'] == 'UTC'\ngm = torch.fx")
    result = site.build("--jobs", "1", TZ="Asia/Tokyo")
    assert (result.code, result.last) == (1, SUMMARY.format(4, 4, 0, 2)), result.err
    assert "AssertionError" not in result.err


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_chapter_has_started_ends_with_it(site):
    start = "import subprocess\nchild = subprocess.Popen(['sleep', '300'], stdout=subprocess.DEVNULL)\nvalue = 6 * 7"
    site.edit_pair(FIRST, "value = 6 * 7", start)
    result = site.build()
    assert (result.code, result.last) == (0, SUMMARY.format(4, 2, 2, 0)), result.err
    assert not left_running(site, seconds=2)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_build_that_stops_leaves_no_process(site):
    site.edit_pair(FIRST, "assert value == 42", "assert value == 41")
    result = site.build()
    assert result.code == 1 and "a claim no longer holds" in result.err
    assert not left_running(site, seconds=2)


def left_running(site: Minisite, seconds: float) -> list[str]:
    """The commands that still work in the site's folder after so many seconds; where the system can't say, none."""
    end = time.monotonic() + seconds
    while True:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "cwd").resolve().is_relative_to(site.root.resolve()):
                    found.append((process / "cmdline").read_text().replace("\0", " "))
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def test_two_builds_at_once(site):
    (site.root / "common" / "graph_utils.py").open("a", encoding="utf-8").write("\n# changed\n")
    both = [
        subprocess.Popen(
            site.command("build"),
            cwd=site.root,
            env=site.environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    ends = [process.communicate(timeout=120)[0].strip().split("\n")[-1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(ends) == sorted([SUMMARY.format(4, 4, 0, 0), SUMMARY.format(4, 0, 4, 0)])


def test_a_result_that_was_cut_short_is_thrown_away(site):
    page = next((site.root / ".cache" / "results").glob(f"en-m00-{FIRST}/*/page.md"))
    page.write_text(page.read_text(encoding="utf-8")[:100], encoding="utf-8")
    before = site.state()
    result = site.build()
    assert (result.code, result.last) == (0, SUMMARY.format(4, 1, 3, 0)), result.err
    assert site.state() == before


def test_outputs_stand_in_the_order_of_the_code(built):
    page = built.page(f"en/m00/{FIRST}")
    places = [page.index(text) for text in (">the answer 42", "<table", ">after the table")]
    assert places == sorted(places)


def test_answers_are_folded_with_their_output(built):
    page = built.page(f"en/m00/{FIRST}")
    details = page[page.index("<details") :]
    assert (
        details.index("<summary>Show the answer")
        < details.index("Computed:")
        < details.index(">48")
        < details.index("</details>")
    )


def test_nothing_is_published_that_a_reader_should_not_see(built):
    names = built.state()
    assert not [
        n for n in names if n.endswith((".md5", ".pickle", ".md", ".json")) and not n.endswith("search_index.json")
    ]
    for name in names:
        content = (built.root / "site" / name).read_bytes()
        assert str(built.root).encode() not in content, name


def test_two_languages_have_the_same_pages(built):
    pages = [
        sorted(
            n.removeprefix(f"{language}/")
            for n in built.state()
            if n.startswith(f"{language}/") and n.endswith(".html")
        )
        for language in ("zh-TW", "en")
    ]
    assert pages[0] == pages[1] and len(pages[0]) == 5


def test_planned_chapters_lead_to_the_map(built):
    assert 'href="../../#m00-3"' in built.page(f"en/m00/{FIRST}")
    assert 'id="m00-3"' in built.page("en")


def test_the_notebook_has_the_outputs(built):
    book = json.loads((built.root / "site" / "en" / "m00" / f"{FIRST}.ipynb").read_text(encoding="utf-8"))
    texts = ["".join(o.get("text", "")) for c in book["cells"] if c["cell_type"] == "code" for o in c["outputs"]]
    assert "the answer 42\n" in texts and "after the table\n" in texts
    prose = json.dumps([cell for cell in book["cells"] if cell["cell_type"] == "markdown"])
    assert "A number" in prose and "{#" not in prose and "zh:" not in prose and "chapter:" not in prose
