"""The chapter as a notebook, with the outputs that the build captured."""

import nbformat

from coursebuild.execution.page import Blocks, Shown


def build(blocks: Blocks, shown: dict[int, list[Shown]]) -> str:
    """The notebook as JSON. Prose is still in the site's own Markdown: `coursebuild.downloads` frees it of that."""
    cells, count = [], 0
    for kind, text, line in blocks:
        if kind == "text":
            cells.append(nbformat.v4.new_markdown_cell(text.strip(), id=f"line-{line}"))
            continue
        count += 1
        outputs = [_output(item) for item in shown.get(line, [])]
        cells.append(
            nbformat.v4.new_code_cell(text.strip("\n"), id=f"line-{line}", execution_count=count, outputs=outputs)
        )
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
    }
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=metadata), ensure_ascii=False) + "\n"


def _output(item: Shown):
    if item.kind == "text":
        return nbformat.v4.new_output("stream", name="stdout", text=item.value + "\n")
    data = {"text/html": item.value._repr_html_(), "text/plain": item.value.text}
    return nbformat.v4.new_output("display_data", data=data)
