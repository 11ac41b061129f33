"""The words of the checker, in both languages."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh-TW"]

# A mistake's code → what is wrong, and a hint that is not the solution.
MISTAKES: dict[str, dict[Language, tuple[str, str]]] = {
    "not_written": {
        "en": ("{name} is not written yet.", "Write it in the cell above, run that cell, then run this one again."),
        "zh-TW": ("{name} 還沒寫。", "在上一格寫好、執行，再回來執行這一格。"),
    },
    "raised": {
        "en": ("Your function raised {error}", "To try it by hand: gm = copy.deepcopy(check.stages[0][0])"),
        "zh-TW": ("你的函式丟出 {error}", "想自己試一次：gm = copy.deepcopy(check.stages[0][0])"),
    },
    "erased_early": {
        "en": (
            "A node was erased too early. {error}",
            "A node can be erased once it has no users. What has to happen to them first?",
        ),
        "zh-TW": ("node 刪得太早了。{error}", "沒有下游的 node 才刪得掉。在那之前，它的下游該怎麼處理？"),
    },
    "new_graph": {
        "en": (
            "gm is as it was: your function returned another GraphModule.",
            "Whoever calls your function keeps the gm they passed in. Edit that one.",
        ),
        "zh-TW": ("gm 原封不動：你的函式回傳了另一個 GraphModule。", "呼叫的人手上還是原來的 gm，請直接改那一個。"),
    },
    "unchanged": {
        "en": (
            "The graph has the same nodes and arguments as before.",
            "Registering a module or a buffer makes no node. Nodes are made by methods of gm.graph.",
        ),
        "zh-TW": (
            "圖裡的 node 和引數都跟原來一樣。",
            "註冊 module 或 buffer 並不會產生 node；node 要用 gm.graph 的方法建立。",
        ),
    },
    "self_loop": {
        "en": (
            "{node} takes itself.",
            "All users were rewired to {node}, and it was one of them. Which user has to stay as it is?",
        ),
        "zh-TW": ("{node} 取用的是自己。", "改接下游的時候，{node} 自己也是其中之一。哪一個下游不該改接？"),
    },
    "after_output": {
        "en": (
            "{node} stands behind output: forward returns before it gets there.",
            "A new node goes to the very end unless you say where it should go.",
        ),
        "zh-TW": ("{node} 排在 output 後面：forward 還沒走到它就回傳了。", "沒有指定位置的話，新 node 一律排在最後。"),
    },
    "too_early": {
        "en": (
            "{user} takes {node}, which comes only later in the graph.",
            "The order of the nodes is the order in which they run. Which of the two has to move?",
        ),
        "zh-TW": (
            "{user} 要取用 {node}，但在圖的順序裡，{node} 還在後面。",
            "node 的順序就是執行的順序。這兩個 node，哪一個該換位置？",
        ),
    },
    "tensor_in_args": {
        "en": (
            "The arguments of {node} hold a tensor.",
            "Arguments hold nodes and Python values. A tensor lives on the module, and a node of its own reads it.",
        ),
        "zh-TW": (
            "{node} 的引數裡放了一個 tensor。",
            "引數只放 node 和 Python 的值。tensor 要放在 module 上，由另一個 node 去讀。",
        ),
    },
    "retargeted": {
        "en": (
            "{node} still has its old name, but does something else now.",
            "Make a new node and erase the old one. A name that no longer fits misleads whoever reads the graph.",
        ),
        "zh-TW": (
            "{node} 還是叫原來的名字，做的事卻換了。",
            "請建立新的 node，再刪掉舊的。名實不符的 node 會誤導讀圖的人。",
        ),
    },
    "lost": {
        "en": (
            "{node} is gone, but it is needed.",
            "Only what the task takes out may go, and what has no use after that.",
        ),
        "zh-TW": ("{node} 不見了，但它還有用。", "可以拿掉的，只有題目指定的 node，還有在那之後變得無用的 node。"),
    },
    "lost_impure": {
        "en": (
            "{node} is gone. It has no users, but it is an input, or impure: it does more than compute its result.",
            "Having no users is not enough to go. Which method of the graph knows that?",
        ),
        "zh-TW": (
            "{node} 不見了。它雖然沒有下游，卻是輸入，或者是 impure：除了算出結果，還做了別的事。",
            "光是沒有下游還不能刪。圖的哪個方法懂得分辨？",
        ),
    },
    "missing": {
        "en": ("There is no node like this: {line}", "Compare op and target with the nodes that you made."),
        "zh-TW": ("圖裡沒有這樣的 node：{line}", "和你建立的 node 比較一下 op 和 target。"),
    },
    "not_wired": {
        "en": (
            "No user was rewired to {new}. Still taking {old}: {users}.",
            "A new node, or a wish to drop one, rewires nobody. Which call does?",
        ),
        "zh-TW": (
            "沒有任何下游改接到 {new}。還在取用 {old} 的有：{users}。",
            "建立新的 node，或是打算拿掉一個 node，都不會改接任何人。要用哪個呼叫？",
        ),
    },
    "some_users": {
        "en": (
            "Not all users of {old} were rewired to {new}. Still taking {old}: {users}.",
            "node.users holds every user, and output counts as one.",
        ),
        "zh-TW": (
            "{old} 的下游沒有全部改接到 {new}。還在取用 {old} 的有：{users}。",
            "node.users 裡是全部的下游，output 也算一個。",
        ),
    },
    "one_argument": {
        "en": (
            "Not every place that takes {old} was rewired to {new}. Look at {users}.",
            "One user can take the same node in several arguments, and inside a list.",
        ),
        "zh-TW": (
            "取用 {old} 的地方沒有全部改接到 {new}，請看 {users}。",
            "一個下游可以在好幾個引數裡取用同一個 node，也可以放在 list 裡。",
        ),
    },
    "extra": {
        "en": ("There is a node too many: {line}", "Make the nodes that the task names, each of them once."),
        "zh-TW": ("圖裡多了一個 node：{line}", "只建立題目要的 node，而且各建立一次。"),
    },
    "left": {
        "en": (
            "{node} is still in the graph, but nothing needs it.",
            "A node without users stays until it is erased. After that, the nodes it took may have no users either.",
        ),
        "zh-TW": (
            "{node} 還在圖裡，但已經用不到了。",
            "沒有下游的 node 要有人刪才會消失；刪掉之後，它取用的 node 可能也跟著沒有下游。",
        ),
    },
    "left_impure": {
        "en": (
            "{node} is still in the graph.",
            "It works in place, so it is impure, and dead-code elimination keeps it. To be gone it has to be erased.",
        ),
        "zh-TW": (
            "{node} 還在圖裡。",
            "它是原地運算，屬於 impure，eliminate_dead_code 不會動它；要它消失，就得自己刪。",
        ),
    },
    "wrong_args": {
        "en": ("{node} has other arguments than wanted.", "Compare both lines: which values, and in which order?"),
        "zh-TW": ("{node} 的引數不對。", "比較上面兩行：該取用哪些值、順序如何？"),
    },
    "output_order": {
        "en": (
            "The graph returns its values in another order.",
            "The caller relies on the order. Change what output takes, and leave the places as they are.",
        ),
        "zh-TW": ("圖的回傳值換了順序。", "呼叫的人靠順序取值。只換 output 取用的 node，位置不要動。"),
    },
    "changed": {
        "en": ("{node} has other arguments now, and the task does not ask for that.", "Compare both lines."),
        "zh-TW": ("{node} 的引數變了，但題目沒有要改它。", "比較上面兩行。"),
    },
    "no_module": {
        "en": (
            "A node calls a module that gm does not have: {missing}",
            "A call_module node holds only a name. Who puts the module into gm, and when?",
        ),
        "zh-TW": (
            "有 node 要呼叫 gm 裡沒有的 module：{missing}",
            "call_module 的 node 只存名字。module 要由誰、在什麼時候放進 gm？",
        ),
    },
    "lost_module": {
        "en": (
            "The module {target!r} is gone, but {node} still calls it.",
            "Several nodes can call one module. When may it be deleted?",
        ),
        "zh-TW": (
            "module {target!r} 不見了，但 {node} 還要呼叫它。",
            "好幾個 node 可以呼叫同一個 module。何時才能刪？",
        ),
    },
    "no_tensor": {
        "en": (
            "{node} reads {target!r}, but gm has nothing of that name.",
            "A get_attr node holds only a name. Who puts the tensor into gm?",
        ),
        "zh-TW": (
            "{node} 要讀 {target!r}，但 gm 裡沒有這個名字。",
            "get_attr 的 node 只存名字。tensor 要由誰放進 gm？",
        ),
    },
    "left_module": {
        "en": (
            "The module {target!r} is still in gm, but no node should call it.",
            "A module does not go with its node. Which name is it registered under: the node's name, or its target?",
        ),
        "zh-TW": (
            "module {target!r} 還在 gm 裡，但已經沒有 node 該呼叫它。",
            "module 不會跟著 node 消失。另外，它是用哪個名字註冊的：node 的 name，還是 target？",
        ),
    },
    "no_buffer": {
        "en": (
            "gm has no buffer {target!r} that state_dict() saves.",
            "A plain attribute is not saved with the model, and a parameter would be trained.",
        ),
        "zh-TW": (
            "gm 裡沒有會隨 state_dict() 存檔的 buffer {target!r}。",
            "一般屬性不會跟著模型存檔，parameter 則會在訓練時被更新。",
        ),
    },
    "other_values": {
        "en": (
            "The tensor {target!r} holds other values than it should.",
            "Store the tensor that you were given as it is, and leave the weights alone.",
        ),
        "zh-TW": ("tensor {target!r} 的值不對。", "題目給的 tensor 要原樣存下來，weight 也不要動。"),
    },
    "broken": {
        "en": (
            "The nodes look right, but the graph does not work. {error}",
            "Do all nodes belong to gm.graph? Has anything besides the graph changed?",
        ),
        "zh-TW": (
            "node 看起來都對，圖卻不能用。{error}",
            "每個 node 都屬於 gm.graph 嗎？除了圖，還動到別的東西嗎？",
        ),
    },
    "stale": {
        "en": (
            "The graph is right, but forward still runs the old code.",
            "forward is code generated from the graph. Who generates it again?",
        ),
        "zh-TW": ("圖是對的，但 forward 執行的還是舊的程式碼。", "forward 是從圖產生的程式碼。要由誰重新產生？"),
    },
    "returned": {
        "en": (
            "The graph is right, but your function returned {came}; wanted: {wanted}.",
            "Return the names of all nodes that went, in the order in which they stood in the graph.",
        ),
        "zh-TW": (
            "圖是對的，但你的函式回傳 {came}，應該回傳 {wanted}。",
            "回傳所有消失的 node 的名字，順序照它們原本在圖裡的位置。",
        ),
    },
    "other_output": {
        "en": (
            "The graph looks right, but at batch size {batch} it computes another output.",
            "Has anything besides the graph changed, such as the module?",
        ),
        "zh-TW": (
            "圖看起來是對的，但 batch 大小為 {batch} 時，算出來的結果不一樣。",
            "除了圖，還動到別的東西嗎？例如 module？",
        ),
    },
}

WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "yes": "✓ {name}: right in all {total} random cases ({least} to {most} nodes, batch sizes {batches}).",
        "and": " and ",
        "no": "✗ {name}: not yet. Case {number} of {total} fails; no smaller graph does:",
        "wanted": "wanted:  ",
        "came": "came:    ",
        "hint": "Hint: {hint}",
        "look": "To see it: draw_stages(check.stages)",
        "before": "before",
        "yours": "yours",
        "target": "wanted",
    },
    "zh-TW": {
        "yes": "✓ {name}：{total} 題隨機的題目全部正確（圖有 {least} 到 {most} 個 node，batch 大小試過 {batches}）。",
        "and": " 和 ",
        "no": "✗ {name}：還不對。共 {total} 題，第 {number} 題出錯，這是出錯的圖裡最小的一張：",
        "wanted": "應為：",
        "came": "實際：",
        "hint": "提示：{hint}",
        "look": "看圖：draw_stages(check.stages)",
        "before": "原圖",
        "yours": "你的",
        "target": "目標",
    },
}
