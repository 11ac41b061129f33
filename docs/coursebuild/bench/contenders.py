"""The ways to build the site that are compared. Each is set up in a copy of the checkout, and told what to forget."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from coursebuild.project import CONFIGS, LANGUAGES

PYTHON = [sys.executable, "-m"]
CORES = 2  # of the machine that the targets are set for: chapters side by side, and sphinx-build's readers


@dataclass(frozen=True)
class Contender:
    """`key`: its name in the results; `commands`: what builds both languages; `made`: what they leave, relative to the
    tree: removed for a cold build."""

    key: str
    commands: tuple[tuple[str, ...], ...]
    made: tuple[str, ...]

    def forget(self, tree: Path) -> None:
        """Remove all that earlier builds left."""
        for name in self.made:
            for path in tree.glob(name):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def environment(tree: Path) -> dict[str, str]:
    """The same for all: `common` from the tree, one thread a process, as the chapters ask for it themselves, and no
    setting of Python's from outside (without its byte code, importing torch takes twice as long)."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = os.pathsep.join([str(tree), str(tree / "docs")])
    return own | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "NO_MKDOCS_2_WARNING": "1", "LC_ALL": "C.UTF-8"}


def this_build(tree: Path) -> Contender:
    """Everything that `make build` does after its set-up check."""
    made = [".cache", "site", "docs/*/m[0-9][0-9]", "docs/*/appendix", "docs/*/downloads"]
    return Contender("this", ((*PYTHON, "coursebuild", "build"),), tuple(made))


def plain_mkdocs(tree: Path) -> Contender:
    """MkDocs with the site's own configuration on the pages that a build of `this_build` left in the tree."""
    commands = [(*PYTHON, "mkdocs", "build", "--quiet", "--config-file", config) for config in CONFIGS.values()]
    return Contender("mkdocs", tuple(commands), ("site",))


def mkdocs_gallery(tree: Path) -> Contender:
    """mkdocs-gallery as its manual has it: a plugin of MkDocs, one configuration a language, with Material."""
    commands = []
    for language in LANGUAGES:
        docs, examples = tree / "gallery" / language, tree / "examples" / language
        docs.mkdir(parents=True)
        (docs / "index.md").write_text("# Gallery\n", encoding="utf-8")
        modules = _modules(examples)
        for module in modules:
            if not (examples / module / "README.md").exists():
                (examples / module / "README.md").write_text(f"# {module}\n", encoding="utf-8")
        config = {
            "site_name": "Gallery",
            "docs_dir": f"gallery/{language}",
            "site_dir": f"gallery-site/{language}",
            "theme": {"name": "material", "font": False},
            "nav": [{"Home": "index.md"}, *({module: f"{module}/index.md"} for module in modules)],
            "markdown_extensions": ["attr_list", "admonition", "tables", "pymdownx.details", "pymdownx.superfences"],
            "plugins": [
                "search",
                {
                    "gallery": {
                        "examples_dirs": [f"examples/{language}/{module}" for module in modules],
                        "gallery_dirs": [f"gallery/{language}/{module}" for module in modules],
                        "filename_pattern": ".*",
                        "only_warn_on_example_error": True,
                    }
                },
            ],
        }
        path = tree / f"gallery-{language}.yml"
        path.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
        commands.append((*PYTHON, "mkdocs", "build", "--config-file", path.name))
    return Contender("mkdocs-gallery", tuple(commands), ("gallery/*/[a-z]*/", "gallery-site"))


def sphinx_gallery(tree: Path) -> Contender:
    """sphinx-gallery with its parallel option, one project a language, Sphinx' default theme."""
    commands = []
    for language in LANGUAGES:
        source, modules = tree / "sphinx" / language, _modules(tree / "examples" / language)
        source.mkdir(parents=True)
        for module in modules:
            header = f"{module}\n{'=' * len(module)}\n"
            (tree / "examples" / language / module / "GALLERY_HEADER.rst").write_text(header, encoding="utf-8")
        settings = {
            "examples_dirs": [f"../../examples/{language}/{module}" for module in modules],
            "gallery_dirs": modules,
            "filename_pattern": ".*",
            "only_warn_on_example_error": True,
            "parallel": CORES,
            "image_scrapers": (),  # the default one needs matplotlib
            "reset_modules": (),
        }
        text = f'project = "Gallery"\nextensions = ["sphinx_gallery.gen_gallery"]\nsphinx_gallery_conf = {settings!r}\n'
        (source / "conf.py").write_text(text, encoding="utf-8")
        pages = "\n".join(f"   {module}/index" for module in modules)
        (source / "index.rst").write_text(f"Gallery\n=======\n\n.. toctree::\n\n{pages}\n", encoding="utf-8")
        paths = [f"sphinx/{language}", f"sphinx-site/{language}"]
        commands.append((*PYTHON, "sphinx", "-b", "html", "-j", str(CORES), *paths))
    return Contender("sphinx-gallery", tuple(commands), ("sphinx/*/[a-z]*/", "sphinx/*/sg_*", "sphinx-site"))


def _modules(examples: Path) -> list[str]:
    return sorted(path.name for path in examples.iterdir() if path.is_dir() and any(path.glob("*.py")))
