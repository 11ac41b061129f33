"""Downloads hold nothing that only the site understands."""

from coursebuild import downloads
from coursebuild.info import Info

INFO = Info(
    "https://site.test/",
    "https://github.com/o/r",
    "",
    315532800,
    {"torch": "2.13.0+cpu", "torchao": "0.18.0"},
    "w-1-py3-none-any.whl",
)


def resolve(link):
    return "https://site.test/en/" + link.removeprefix("chapter:") if link.startswith("chapter:") else link


def test_free():
    text = (
        '## Title {#id}\n\n!!! note "Box"\n    Body\n    more\n\nAfter [a](chapter:x#y) and [b](https://c.d).\n\n'
        "```python\n# keep {#this}\n!!! note\n```\n"
    )
    assert downloads.free(text, resolve) == (
        "## Title\n\n> **Box**\n>\n> Body\n> more\n\nAfter [a](https://site.test/en/x#y) and [b](https://c.d).\n\n"
        "```python\n# keep {#this}\n!!! note\n```\n"
    )


def test_box_without_a_title_and_with_a_list():
    assert downloads.free("!!! warning\n    - one\n    - two\n", resolve) == "> - one\n> - two\n"


def test_script():
    source = (
        '# zh:00000000\n"""\n# T\n\nSee [x](chapter:x).\n"""\n\n# %% zh:12345678\n# ## S {#s}\n'
        '#\n# !!! question "Q"\n#     Think.\n\n'
        'x = {"a": 1}  # a comment {#kept}\n# %% answer zh:12345678\n# Yes.\nassert x\n'
    )
    text = downloads.script(source, "en", INFO, "https://site.test/en/m00/t/", resolve)
    assert "zh:" not in text and "{#s}" not in text and "chapter:" not in text and "!!!" not in text
    assert "# ## S\n#\n# > **Q**\n# >\n# > Think.\n" in text
    assert "pip install torchao==0.18.0 https://site.test/wheels/w-1-py3-none-any.whl" in text
    assert "# %% answer\n# Yes.\n" in text and "# a comment {#kept}" in text
    compile(text, "t.py", "exec")


def test_bundles_are_the_same_bytes(tmp_path):
    for name in ("a.zip", "b.zip"):
        downloads.bundle(tmp_path / name, {"m/x.py": "x = 1\n", "a.py": ""}, 1_700_000_000)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
