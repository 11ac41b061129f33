"""What the page step itself writes into a chapter, in both languages."""

WORDS = {
    "zh-TW": {
        "output": "輸出",
        "answer": "看答案",
        "cut": "（其餘 {n} 個字元略去；下載 notebook 可看到全部。）",
        "py_head": (
            "執行前先安裝（PyTorch 的 CPU 版就夠）：\n"
            "  pip install torch=={torch} --index-url https://download.pytorch.org/whl/cpu\n"
            "  pip install torchao=={torchao} {wheel}\n"
            "畫圖另需 Graphviz 的 dot；沒有它時印出文字版。\n"
            "網頁版：{page}"
        ),
        "install": (
            "# 安裝這一頁的輔助套件 common。已經裝好的 torch 會留著，不會被換掉；\n"
            "# 頁面上的數字來自 torch {torch}、torchao {torchao}，版本不同時下面會提醒，結果可能略有出入。\n"
            "%pip install --quiet {wheel}\n"
            "import importlib.metadata\n"
            'for name, wanted in {{"torch": "{torch}", "torchao": "{torchao}"}}.items():\n'
            '    found = importlib.metadata.version(name).split("+")[0]\n'
            "    if found != wanted:\n"
            '        print(f"{{name}} {{found}}：這一頁是用 {{wanted}} 算的，數字或圖可能不同。")'
        ),
    },
    "en": {
        "output": "Output",
        "answer": "Show the answer",
        "cut": "({n} more characters are left out here; the notebook has them all.)",
        "py_head": (
            "To run it, install first (the CPU build of PyTorch is enough):\n"
            "  pip install torch=={torch} --index-url https://download.pytorch.org/whl/cpu\n"
            "  pip install torchao=={torchao} {wheel}\n"
            "Drawings also need Graphviz's dot; without it you get their text version.\n"
            "On the web: {page}"
        ),
        "install": (
            "# Install common, the helper package of this page. A torch that is already installed is kept as it is;\n"
            "# the page was computed with torch {torch} and torchao {torchao}. With others you are told below, and\n"
            "# results may differ a little.\n"
            "%pip install --quiet {wheel}\n"
            "import importlib.metadata\n"
            'for name, wanted in {{"torch": "{torch}", "torchao": "{torchao}"}}.items():\n'
            '    found = importlib.metadata.version(name).split("+")[0]\n'
            "    if found != wanted:\n"
            '        print(f"{{name}} {{found}}: this page was computed with {{wanted}}; results may differ.")'
        ),
    },
}
