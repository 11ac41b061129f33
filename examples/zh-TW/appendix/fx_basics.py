"""
# FX 圖的基礎：Node、Graph、GraphModule

寫給熟悉 PyTorch、但沒用過 torch.fx 的人。讀完之後，你能看懂任何一張 FX 圖：

- 認得六種 op，以及 `name`、`target`、`args`、`kwargs`、`users`、`meta` 各是什麼；
- 知道圖和程式碼怎麼互相對應，也知道什麼可以改、什麼不能；
- 說得出 tracing 和 export 差在哪裡，以及 PT2E（PyTorch 2 Export 量化）為什麼用 export 的圖。

訊息以 torch 2.13.0 為準；完整的 API 在官方的 [torch.fx](https://docs.pytorch.org/docs/stable/fx.html) 文件。
"""

# %%
# ## 三個物件 {#three-objects}
#
# FX 圖就是把一段 `forward` 記成資料，一步一個 Node：
#
# - **Node**：一個步驟，例如「呼叫 linear」或「讀取參數」。
# - **Graph**：依執行順序排好的 Node。
# - **GraphModule**：一張 Graph，加上它會用到的參數和子 module；它是 `nn.Module`，可以直接呼叫。
#
# 最快得到一張圖的方法是 `torch.fx.symbolic_trace`。這個小模型刻意混用各種寫法，好讓圖裡什麼都有
# （圖上的形狀代表什麼，見 [M00 總覽](chapter:m00#figures)）：
import copy
import operator

import torch
import torch.nn as nn
from torch.export import export
from torch.fx import Graph, GraphModule, Node, symbolic_trace

from common.graph_utils import short
from common.viz import draw, draw_stages, table

_ = torch.manual_seed(0)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        y = self.linear(x) * self.scale
        return torch.add(y.relu(), x, alpha=0.5)


model, x = Mixed(), torch.randn(2, 4)
gm = symbolic_trace(model)
nodes = {node.name: node for node in gm.graph.nodes}
draw(gm, show_params=True, title="Mixed 的圖：一個步驟一個 node，箭頭是資料的流向")
assert isinstance(gm, GraphModule) and isinstance(gm, nn.Module)
assert isinstance(gm.graph, Graph) and all(isinstance(node, Node) for node in gm.graph.nodes)
assert list(nodes) == ["x", "linear", "scale", "mul", "relu", "add", "output"]
assert torch.equal(gm(x), model(x))

# %%
# ## 圖就是程式碼：gm.code {#code}
#
# GraphModule 的 `forward` 是由圖產生的。把它印出來，和上面的圖對照：一個 node 一行。
print(gm.code.strip())
assert "mul = linear * scale" in gm.code
assert "add = torch.add(relu, x, alpha = 0.5)" in gm.code

# %%
# 分號後面的 `= None` 是提早放掉不再需要的值。改了圖之後，要呼叫 `gm.recompile()`，程式碼才會跟著更新
# （[M00-4](chapter:m00_4_editing_graphs#step-3)）。
#
# ## 六種 op {#op-kinds}
#
# `node.op` 說這是哪一種步驟，`node.target` 說對象是誰。六種全在這張表裡（別和 ATen 的 op 混淆，那是指 conv2d、relu
# 這些運算）：
rows = [[node.op, node.name, short(node.target), node.args, node.kwargs] for node in gm.graph.nodes]
table(rows, ["op", "name", "target", "args", "kwargs"])
kinds = [node.op for node in gm.graph.nodes]
assert kinds[:3] == ["placeholder", "call_module", "get_attr"]
assert kinds[3:] == ["call_function", "call_method", "call_function", "output"]
assert [type(node.target) for node in gm.graph.nodes if node.op != "call_function"] == [str] * 5
assert (nodes["mul"].target, nodes["add"].target) == (operator.mul, torch.add)

# %%
# | op | 這一步做什麼 | target 是什麼 |
# | --- | --- | --- |
# | `placeholder` | 接收 `forward` 的一個引數 | 引數的名字（字串） |
# | `get_attr` | 讀取參數、buffer 或常數 | 它在 module 上的路徑（字串） |
# | `call_module` | 呼叫子 module | 它的路徑（字串） |
# | `call_function` | 呼叫函式，`args` 就是引數 | 函式物件本身 |
# | `call_method` | 呼叫 `args[0]` 的 method | method 的名字（字串） |
# | `output` | 回傳 `args[0]` | 字串 `output` |
#
# 想在終端機裡看這張表，可以用 `gm.graph.print_tabular()`，不過它需要另外安裝 `tabulate`，這一頁沒有執行；
# `print(gm.graph)` 不必安裝任何東西，每個 node 一行，`%` 開頭的是 node：
print(gm.graph)
assert "%relu : [num_users=1] = call_method[target=relu](args = (%mul,), kwargs = {})" in str(gm.graph)

# %%
# ## args、kwargs 與 users：圖的連線 {#edges}
#
# `args` 和 `kwargs` 裡放著兩種東西：Node（別的步驟的結果）和 Python 常數。前者就是圖的連線。
# 反方向的 `users` 由 FX 維護：誰取用了這個 node。看 `x` 和 `add` 兩端：
add = nodes["add"]
print(f"add.args = {add.args}, add.kwargs = {add.kwargs}")
print(f"add.all_input_nodes = {add.all_input_nodes}")
print(f"x.users = {list(nodes['x'].users)}")
assert add.args == (nodes["relu"], nodes["x"]) and add.kwargs == {"alpha": 0.5}
assert add.all_input_nodes == [nodes["relu"], nodes["x"]]
assert list(nodes["x"].users) == [nodes["linear"], add]

# %%
# 注意 `args` 裡的是 Node **物件**，不是名字；`all_input_nodes` 則只留下 Node，不含常數。
#
# ### 不能原地修改，要整個換掉 {#immutable}
#
# `args` 是 tuple，`kwargs` 也不是一般的 dict：FX 要知道連線變了，`users` 才不會出錯。先試錯的，再看對的，
# 注意 `users` 怎麼自己跟上：
edited = copy.deepcopy(gm)
again = {node.name: node for node in edited.graph.nodes}
try:
    again["add"].kwargs["alpha"] = 1
except TypeError as error:
    refused = f"TypeError: {str(error).splitlines()[0]}"
print(refused)
again["add"].kwargs = {"alpha": 1}
again["add"].args = (again["mul"], again["x"])  # 不再取用 relu
edited.recompile()
print(f"relu.users = {list(again['relu'].users)}, mul.users = {list(again['mul'].users)}")
assert refused == (
    "TypeError: 'immutable_dict' object does not support mutation. "
    "If you are attempting to modify the kwargs or args of a torch.fx.Node object,"
)
assert list(again["relu"].users) == [] and list(again["mul"].users) == [again["relu"], again["add"]]
with torch.no_grad():
    assert torch.equal(edited(x), model.linear(x) * 2 + x)

# %%
# 插入、改接、刪除 node 的完整做法，以及常犯的錯，都在 [M00-4](chapter:m00_4_editing_graphs)。
#
# ## name 只是標籤，target 才是身分 {#name-and-target}
#
# `name` 是 FX 取的，在一張圖裡不重複，可以當成變數名稱；它不保證說的是這一步在做什麼。
#
# !!! question "三個 relu，各叫什麼名字？"
#     下面的 `forward` 有一個叫做 `relu` 的引數，又呼叫了兩次 `torch.relu`。如果用 `node.name == "relu"`
#     來找 relu 運算，會找到誰？
class Confusing(nn.Module):
    def forward(self, relu):
        return torch.relu(torch.relu(relu) - 1)


confusing = symbolic_trace(Confusing())

# %% answer
# 找到的是引數。先出現的先拿到名字，運算只好叫做 `relu_1` 和 `relu_2`。改用 op 和 target 來找，才找得齊：
by_name = [node for node in confusing.graph.nodes if node.name == "relu"]
by_target = confusing.graph.find_nodes(op="call_function", target=torch.relu)
print(f"用 name：{[(n.name, n.op) for n in by_name]}")
print(f"用 target：{[(n.name, n.op) for n in by_target]}")
assert [(n.name, n.op) for n in by_name] == [("relu", "placeholder")]
assert [(n.name, n.op) for n in by_target] == [("relu_1", "call_function"), ("relu_2", "call_function")]

# %%
# ## meta：大家都可以寫的字典 {#meta}
#
# 每個 node 有一個 `meta`，FX 本身不管裡面放什麼，只負責在複製圖的時候帶著走。export 把 shape 和 dtype 放在
# `meta["val"]`；quantizer（決定要量化哪些地方的物件）則把要求放在 `meta["quantization_annotation"]`
# （[M01-2](chapter:m01_2_annotations)）。這裡自己放一個，再複製看看：
nodes["mul"].meta["note"] = "乘上 scale"
copied = {node.name: node.meta.get("note") for node in copy.deepcopy(gm).graph.nodes}
print(copied)
assert copied["mul"] == "乘上 scale" and set(copied.values()) == {"乘上 scale", None}
assert not any("val" in node.meta for node in gm.graph.nodes)

# %%
# `symbolic_trace` 的圖沒有 `meta["val"]`，原因就在下一節。
#
# ## tracing 與 export：兩種得到圖的方法 {#tracing-or-export}
#
# 兩者都是把 `forward` 執行一遍，沿路記下發生的事；差別在拿什麼去執行。
#
# - `symbolic_trace` 拿的是 `Proxy`，它只會記下「有人對我做了這個呼叫」，不知道 shape，也不知道 dtype。記下的是
#   Python 層的呼叫：module、函式、method，各照各的寫法。
# - `torch.export.export` 拿的是 `FakeTensor`，有 shape 和 dtype，只是沒有數值。記下的是再往下一層的 ATen op
#   （PyTorch 核心函式庫的運算，[M00-1](chapter:m00_1_export_and_aten#b)）。
#
# 把同一個模型的兩張圖放在一起，看哪些 node 換了 op：
exported = export(model, (x,)).module()
draw_stages(
    [(gm, "symbolic_trace"), (exported, "export")],
    show_params=True,
    title="同一個 Mixed：symbolic_trace 保留寫法，export 都變成 ATen op",
)
names = ["linear", "mul", "relu", "add"]
others = {node.name: node for node in exported.graph.nodes}
rows = [[name, nodes[name].op, short(nodes[name].target), others[name].op, str(others[name].target)] for name in names]
table(rows, ["node", "symbolic_trace：op", "target", "export：op", "target"])
assert [row[1] for row in rows] == ["call_module", "call_function", "call_method", "call_function"]
assert [row[3] for row in rows] == ["call_function"] * 4
assert [row[4] for row in rows] == ["aten.linear.default", "aten.mul.Tensor", "aten.relu.default", "aten.add.Tensor"]
assert all(list(others[name].meta["val"].shape) == [2, 4] for name in names)
assert [node.target for node in exported.graph.find_nodes(op="get_attr")] == ["scale", "linear.weight", "linear.bias"]
with torch.no_grad():
    assert torch.equal(exported(x), model(x))

# %%
# export 的圖裡，`linear` 不再是子 module，它的參數自成 `get_attr`，而運算全是 `call_function`。quantizer 要找某種運算，
# 只需要認得 `node.target`，不必管模型怎麼寫；這就是 PT2E 用它的原因。
#
# ### 兩者都只走一條路 {#one-path}
#
# 執行一遍，就只看得到這一遍走過的路。迴圈會被攤開；`if` 要看條件是什麼。這裡的條件是 shape：
class ByBatch(nn.Module):
    def forward(self, x):
        for step in range(2):
            x = x + step
        if x.shape[0] > 4:
            return x * 10
        return x


try:
    symbolic_trace(ByBatch())
except Exception as error:
    traced = f"{type(error).__name__}: {error}"
small = export(ByBatch(), (torch.ones(2, 4),)).module()
try:
    small(torch.ones(8, 4))
except AssertionError as error:
    guarded = f"AssertionError: {error}"
targets = [str(node.target) for node in small.graph.nodes if node.op == "call_function"]
print(traced, targets, guarded, sep="\n")
assert traced == "TraceError: symbolically traced variables cannot be used as inputs to control flow"
assert targets == ["aten.add.Tensor", "aten.add.Tensor"]
assert guarded == "AssertionError: Guard failed: x.size()[0] == 2"

# %%
# - `symbolic_trace` 不知道 shape，遇到這個 `if` 就停下來。
# - export 知道 batch 是 2，於是走了不乘 10 的那一條；圖裡再也沒有 `if`，只剩攤開的兩次加法。幸好
#   [`_guards_fn`](chapter:m00_1_export_and_aten#a2-guards-fn) 會擋下 batch 是 8 的輸入，不讓它默默走錯路。
# - `if self.training` 也是這樣固定下來的：[M00-2](chapter:m00_2_eval_or_train)。
#
# ## 自己寫一張圖 {#by-hand}
#
# 圖也可以不靠 trace，一個 node 一個 node 地寫。GraphModule 需要的，只有一個放參數的 module 和一張圖：
graph = Graph()
a = graph.placeholder("a")
b = graph.call_function(torch.ops.aten.relu.default, (a,))
graph.output(b)
graph.lint()  # 圖若不合法，這裡會報錯
by_hand = GraphModule(nn.Module(), graph)
print(by_hand.code.strip())
assert torch.equal(by_hand(x), x.relu())
assert a.users == {b: None} and [node.op for node in graph.nodes] == ["placeholder", "call_function", "output"]

# %%
# ## 總結：四個重點 {#summary}
#
# 1. 一個 Node 是一步，Graph 是依序排好的 Node，GraphModule 是帶著參數、可以呼叫的 Graph，`forward` 由圖產生。
# 2. `args`、`kwargs` 指向上游的 Node 物件，`users` 是反方向，由 FX 維護；要改就整個換掉。
# 3. 找 node 看 `op` 和 `target`，不要看 `name`。
# 4. `symbolic_trace` 記下 Python 的寫法，export 記下 ATen op 和 shape；兩者都只看得到走過的那條路。
#
# 接著讀 [M00-1](chapter:m00_1_export_and_aten)：export 的圖裡還有什麼。要動手改圖，看
# [M00-4](chapter:m00_4_editing_graphs)。
