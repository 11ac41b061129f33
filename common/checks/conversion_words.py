"""What the M02 lab's checker says in words of its own, in both languages; all else it says as the M00 lab's does."""

from __future__ import annotations

from common.checks.words import Language

# A mistake's code → what is wrong, and a hint that is not the solution.
CONVERSION_MISTAKES: dict[str, dict[Language, tuple[str, str]]] = {
    "observers_left": {
        "en": (
            "Observers are left: {nodes}.",
            "Some have one scale, others one a channel. Does your function look at every node, and know both kinds?",
        ),
        "zh-TW": (
            "還有 observer 留著：{nodes}。",
            "有的 observer 只有一個 scale，有的每個 channel 各一個。是不是每個 node 都看過，兩種都處理了？",
        ),
    },
    "unchanged": {
        "en": (
            "The graph has the same nodes and arguments as before.",
            "Where the observer is called, operations should stand. Nodes are made by methods of gm.graph.",
        ),
        "zh-TW": (
            "圖裡的 node 和引數都跟原來一樣。",
            "呼叫 observer 的地方要換成 op；node 要用 gm.graph 的方法建立。",
        ),
    },
    "tensor_in_args": {
        "en": (
            "A tensor stands in the arguments of {node}.",
            "Per tensor, q/dq take Python numbers. Per channel, the tensors are buffers, which get_attr nodes read.",
        ),
        "zh-TW": (
            "{node} 的引數裡有 tensor。",
            "per-tensor 的 q/dq 用的是 Python 的數字；per-channel 的 tensor 要存成 buffer，由 get_attr 讀取。",
        ),
    },
    "wrong_args": {
        "en": (
            "{node} takes other arguments than wanted.",
            "Scale and zero point are the observer's own. Compare both lines: which values, and in which order?",
        ),
        "zh-TW": (
            "{node} 的引數不對。",
            "scale 和 zero point 要問 observer。比較上面兩行：是哪些值、順序如何？",
        ),
    },
    "missing": {
        "en": (
            "There is no such node: {line}",
            "An activation needs quantize and dequantize. A weight is quantized once, now: only dequantize stays.",
        ),
        "zh-TW": (
            "少了這個 node：{line}",
            "activation 要有 quantize 和 dequantize；weight 現在就量化好，圖上只留 dequantize。",
        ),
    },
    "left": {
        "en": (
            "This node should be gone: {line}",
            "The observer has done its work. And who still reads the float weight? All that has no user goes.",
        ),
        "zh-TW": (
            "這個 node 應該要消失：{line}",
            "observer 的工作結束了；浮點的 weight 還有誰在讀？沒有下游的都要刪掉。",
        ),
    },
    "left_module": {
        "en": (
            "The observer {target!r} is still in gm, but no node calls it.",
            "A module does not go with its node. It is registered under the node's target.",
        ),
        "zh-TW": (
            "observer {target!r} 還在 gm 裡，但已經沒有 node 呼叫它。",
            "module 不會跟著 node 消失；它是用 node 的 target 註冊的。",
        ),
    },
    "other_values": {
        "en": (
            "The tensor {target!r} holds other values than it should, or is of another dtype.",
            "Weights are quantized channel by channel, to the observer's dtype. Which op does that?",
        ),
        "zh-TW": (
            "tensor {target!r} 的值或 dtype 不對。",
            "weight 是逐個 channel 量化成 observer 的 dtype。哪一個 op 可以做這件事？",
        ),
    },
    "no_buffer": {
        "en": (
            "gm has no buffer {target!r} that state_dict() saves.",
            "A plain attribute is not saved with the model, and a parameter would be trained. Check the name, too.",
        ),
        "zh-TW": (
            "gm 裡沒有會隨 state_dict() 存檔的 buffer {target!r}。",
            "一般屬性不會跟著模型存檔，parameter 則會在訓練時被更新。也檢查一下名字。",
        ),
    },
}
