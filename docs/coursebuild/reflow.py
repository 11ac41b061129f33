"""Lines of Chinese prose joined: a browser shows a line end as a space, and Chinese has none between its characters."""

import re

# CJK characters, full-width forms and CJK punctuation
WIDE = r"[\u2e80-\u303f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]"
FENCED = re.compile(r"^([ ]*)(`{3,}|~{3,}).*?^\1\2`*[ ]*$", re.M | re.S)
ITEM = r"(?!\d+[.)] |[*+-] )"  # the next line begins a list item
BREAK = re.compile(
    rf"(?<={WIDE})\n[ ]*(?={WIDE})"
    rf"|(?<=[，。：；、？！）」])\n[ ]*{ITEM}(?=[`\[*\w])"
    r"|(?<=[`\])*\w])\n[ ]*(?=[，。：；、？！（「])"
)


def join(markdown: str) -> str:
    """Markdown without the line breaks between two Chinese characters or beside full-width punctuation; code in fences
    stays as it is."""
    parts, position = [], 0
    for fence in FENCED.finditer(markdown):
        parts += [BREAK.sub("", markdown[position : fence.start()]), fence[0]]
        position = fence.end()
    return "".join([*parts, BREAK.sub("", markdown[position:])])
