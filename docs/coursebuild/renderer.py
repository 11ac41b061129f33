"""One MkDocs in a process of its own, started before it is needed: it imports its modules while chapters run, and then
waits for its command.

`python -m coursebuild.renderer PARENT` (the process id of its build) reads one line of JSON from its input:
`{"arguments": [...], "environment": {...}}`, the arguments of `mkdocs` and what to set first. If the input ends without
it, the build has stopped, and so does this.
"""

import json
import os
import sys
from importlib import import_module

from coursebuild.lifetime import end_with_parent

# what MkDocs would otherwise import after its command, at most of a second
MODULES = (
    "mkdocs.__main__",
    "mkdocs.commands.build",
    "material.plugins.search.plugin",
    "mkdocs_jupyter.plugin",
    "pymdownx.superfences",
    "pymdownx.details",
    "pymdownx.highlight",
    "pygments.lexers.python",
    "pygments.formatters.html",
    "markdown.extensions.md_in_html",
    "bs4",
    "common.figures.markup",
    "coursebuild.chrome",
    "coursebuild.lab_page",
    "coursebuild.page_markdown",
)


def main() -> None:
    end_with_parent(int(sys.argv[1]))
    for name in MODULES:
        import_module(name)
    import_module("jieba").initialize()  # reads the dictionary, which the search plugin does first of all
    if line := sys.stdin.readline():
        command = json.loads(line)
        os.environ.update(command["environment"])
        import_module("mkdocs.__main__").cli(command["arguments"])


if __name__ == "__main__":
    main()
