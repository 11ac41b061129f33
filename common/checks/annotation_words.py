"""The words of the M03 lab's checker, in both languages."""

from __future__ import annotations

from common.checks.words import MISTAKES, Language

# A mistake's code → what is wrong, and a hint that is not the solution.
ANNOTATION_MISTAKES: dict[str, dict[Language, tuple[str, str]]] = {
    "not_written": MISTAKES["not_written"],
    "raised": MISTAKES["raised"],
    "edited": {
        "en": (
            "Your function added or removed nodes.",
            "A quantizer only writes wishes into meta. Inserting the observers is up to prepare.",
        ),
        "zh-TW": ("你的函式增減了 node。", "quantizer 只在 meta 寫下要求；插入 observer 是 prepare 的工作。"),
    },
    "nothing": {
        "en": (
            "No node has an annotation.",
            "Was any node found? Compare target with an overload (aten.add.Tensor). Look at the key in meta, too.",
        ),
        "zh-TW": (
            "沒有任何 node 有標註。",
            "有找到 node 嗎？target 要和 overload 比，例如 aten.add.Tensor。也看看 meta 的 key。",
        ),
    },
    "other_graph": {
        "en": (
            "gm has no annotation: your function annotated another GraphModule.",
            "Prepare goes on with the gm that it passed in. Write on the nodes of that one.",
        ),
        "zh-TW": (
            "gm 沒有標註：你標註的是另一個 GraphModule。",
            "prepare 接下來用的是它傳進來的 gm，請直接標註那一個的 node。",
        ),
    },
    "not_an_annotation": {
        "en": (
            "The annotation of {node} is a {came}.",
            "Prepare wants a QuantizationAnnotation with input_qspec_map and output_qspec.",
        ),
        "zh-TW": (
            "{node} 的標註是一個 {came}。",
            "prepare 要的是 QuantizationAnnotation，裡面有 input_qspec_map 和 output_qspec。",
        ),
    },
    "key_not_node": {
        "en": (
            "In the annotation of {node}, input_qspec_map has the key {came}, which is no Node.",
            "An argument can also be a Python number or a list. Only the nodes can be observed.",
        ),
        "zh-TW": (
            "{node} 的標註裡，input_qspec_map 有一個 key 是 {came}，不是 Node。",
            "引數也可能是 Python 的數字，或是 list。能觀察的只有 node。",
        ),
    },
    "key_no_input": {
        "en": (
            "In the annotation of {node}, input_qspec_map has the key {came}, which {node} does not take.",
            "Such an entry has no effect. Which nodes stand in the arguments?",
        ),
        "zh-TW": (
            "{node} 的標註裡，input_qspec_map 有一個 key 是 {came}，但 {node} 沒有取用它。",
            "這樣的要求沒有作用，也不會報錯。看看 {node} 的 args 裡有哪些 node。",
        ),
    },
    "shared_nowhere": {
        "en": (
            "Prepare raised {error}",
            "A SharedQuantizationSpec points to an edge (source, user) or to a node. That one needs a spec of its own.",
        ),
        "zh-TW": (
            "prepare 丟出 {error}",
            "SharedQuantizationSpec 要指向一條 edge（來源，使用者）或一個 node，而且那裡要有自己的 spec。",
        ),
    },
    "shared_early": {
        "en": (
            "Prepare raised {error}",
            "Prepare goes through input_qspec_map in its order. The place that others share with has to come first.",
        ),
        "zh-TW": (
            "prepare 丟出 {error}",
            "prepare 照 input_qspec_map 的順序建立 observer，被共用的那一個要排在前面。",
        ),
    },
    "shared_cycle": {
        "en": (
            "Prepare raised {error}",
            "The shared specs point at each other in a circle. Does the first input share with itself?",
        ),
        "zh-TW": ("prepare 丟出 {error}", "共用的 spec 指來指去，繞成一圈了。第一個輸入是不是指向自己？"),
    },
    "prepare_raised": {
        "en": ("Prepare raised {error}", "Look at the values in the annotations: each of them must be a spec."),
        "zh-TW": ("prepare 丟出 {error}", "檢查標註裡的值，每一個都要是 spec。"),
    },
    "no_weight": {
        "en": (
            "{edge} has no observer: the weight would stay in float.",
            "Which input of conv2d is the weight, and on whose annotation is it written?",
        ),
        "zh-TW": (
            "{edge} 沒有 observer，weight 會留在浮點。",
            "weight 是 conv2d 的第幾個輸入？要求該寫在誰的標註裡？",
        ),
    },
    "bias": {
        "en": ("{edge} has an observer, but {node} is the bias.", "The bias stays in float. Which inputs are meant?"),
        "zh-TW": ("{edge} 有 observer，但 {node} 是 bias。", "bias 要留在浮點。題目要的是哪幾個輸入？"),
    },
    "between": {
        "en": (
            "There is an observer on {edge}, inside the pattern.",
            "A backend computes the two together, so nothing is asked for in between. Where does the output go?",
        ),
        "zh-TW": (
            "{edge} 在 pattern 中間，不該有 observer。",
            "backend 會把這兩個 op 合起來算，所以中間不要求量化。輸出的要求該寫在哪裡？",
        ),
    },
    "fused_with_users": {
        "en": (
            "{edge}: the add in front of {node} was taken for a pattern, but it has other users, too.",
            "They need the value before the relu. When do two ops belong together?",
        ),
        "zh-TW": (
            "{edge}：{node} 前面的 add 還有別的下游，不能和 relu 合成一個 pattern。",
            "別的下游要的是 relu 之前的值。什麼情況下兩個 op 才能合起來？",
        ),
    },
    "in_place": {
        "en": ("{edge} has no observer, though {node} ends a pattern.", "There are two kinds of relu in ATen."),
        "zh-TW": ("{edge} 沒有 observer，但 {node} 是 pattern 的結尾。", "ATen 的 relu 有兩種。"),
    },
    "unfused": {
        "en": (
            "{edge} has no observer: {node} is not followed by a relu of its own.",
            "Where does the output of an add go that is no part of a pattern?",
        ),
        "zh-TW": (
            "{edge} 沒有 observer：{node} 後面沒有專屬於它的 relu。",
            "add 如果不和 relu 合起來，輸出的要求該寫在哪裡？",
        ),
    },
    "input_missed": {
        "en": (
            "{edge} has no observer.",
            "Are all such ops and all their inputs looked at? A second annotation on a node replaces the first.",
        ),
        "zh-TW": (
            "{edge} 沒有 observer。",
            "這種 op 是不是全都處理了，每個輸入都有嗎？同一個 node 寫第二次標註，會蓋掉第一次。",
        ),
    },
    "output_missed": {
        "en": ("{edge} has no observer.", "The output is wanted as well. Which field of the annotation is that?"),
        "zh-TW": ("{edge} 沒有 observer。", "輸出也要量化。那是標註的哪一個欄位？"),
    },
    "surplus": {
        "en": ("{edge} has an observer, and the task does not ask for it.", "Which node's annotation asks for that?"),
        "zh-TW": ("{edge} 有 observer，但題目沒有要求。", "是哪一個 node 的標註要求的？"),
    },
    "other_spec": {
        "en": ("{edge} is observed with {came}; wanted: {wanted}.", "Which spec goes where?"),
        "zh-TW": ("{edge} 用的是 {came}，應該用 {wanted}。", "哪個 spec 該用在哪裡？"),
    },
    "not_shared": {
        "en": (
            "{edge} and {other} have observers of their own, so their scales will differ.",
            "The numbers behind # tell the observers apart. Which kind of spec makes two places share one?",
        ),
        "zh-TW": (
            "{edge} 和 {other} 各有各的 observer，scale 會不一樣。",
            "# 後面的編號代表不同的 observer。哪一種 spec 能讓兩處共用一個？",
        ),
    },
    "shared_too_much": {
        "en": (
            "{edge} and {other} share an observer, though they have nothing to do with each other.",
            "The numbers behind # tell the observers apart. What does your shared spec point to?",
        ),
        "zh-TW": (
            "{edge} 和 {other} 共用了 observer，但它們互不相干。",
            "# 後面的編號代表不同的 observer。你的共用 spec 指向哪裡？",
        ),
    },
}

ANNOTATION_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "yes": "✓ {name}: right in all {total} random graphs ({least} to {most} nodes).",
        "no": "✗ {name}: not yet. Graph {number} of {total} fails; no smaller one does:",
        "line": "{edge}:  wanted {wanted}, came {came}",
        "none": "nothing",
        "prepared": "wanted, prepared",
        "yours": "yours, prepared",
    },
    "zh-TW": {
        "yes": "✓ {name}：{total} 張隨機的圖全部正確（{least} 到 {most} 個 node）。",
        "no": "✗ {name}：還不對。共 {total} 張圖，第 {number} 張出錯，這是出錯的圖裡最小的一張：",
        "line": "{edge}：應為 {wanted}，實際 {came}",
        "none": "沒有",
        "prepared": "目標（prepare 之後）",
        "yours": "你的（prepare 之後）",
    },
}
