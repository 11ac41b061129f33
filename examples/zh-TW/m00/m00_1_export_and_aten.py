"""
# M00-1 | torch.export 出來的圖長什麼樣，以及 ATen 是什麼

標註、prepare、校準、convert：PT2E 量化的每一步，都在 `torch.export` 產生的那張圖上進行。所以動手量化之前，先學會讀這張
圖。這一頁回答兩個問題：

- **A. 匯出後的圖。** 圖裡有什麼？weight 跑到哪裡去了？每個 node 知道自己的哪些事？
- **B. ATen。** `aten.conv2d.default` 這樣的名字是什麼意思？為什麼 quantizer 和 backend 都認這種名字？

名稱和訊息以在 CPU 上執行的 torch 2.13 為準。還不熟悉 `Node` 和 `GraphModule` 的話，請先看
[FX 基礎](chapter:fx_basics)；官方文件是 [torch.export](https://docs.pytorch.org/docs/stable/export.html)。
"""

# %%
# 先做準備。下面每一張表和圖，都取自 `assert` 檢查過的同一批物件：只要有一條不成立，你就不會看到這一頁。
import copy
import io
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim, export

from common.graph_utils import node_rows, short
from common.models import example_inputs, get_model
from common.pt2e import quiet
from common.viz import draw_stages, table

quiet()  # 只消掉已知的 import 雜訊，真正的警告照樣顯示
_ = torch.manual_seed(0)

# %%
# ## A. 匯出後的圖 {#a}
#
# 模型是 `get_model("conv_bn_relu")`：conv（沒有 bias）→ bn → relu。先呼叫 `.eval()`，是因為
# export 會把模式寫死在圖裡；[M00-2](chapter:m00_2_eval_or_train) 會把兩種模式並排來看。
model = get_model("conv_bn_relu").eval()
ex = example_inputs()  # 一個 tuple，裡面一個 tensor，[2, 3, 16, 16]

# %%
# ### A1 `torch.export.export()` 回傳 `ExportedProgram` {#a1-exported-program}
#
# 以下稱它為 `ep`。它身上有三樣東西：
#
# - `ep.graph`：計算本身。參數、buffer 和你的輸入，在這裡全都是 `placeholder`；就像把模型寫成一個函式，凡是要讀的東西都
#   從引數傳進來。
# - `ep.graph_signature`：記錄哪些 placeholder 是模型的狀態，又各自是原模型的哪個欄位。
# - `ep.state_dict`：tensor 本身，以欄位名稱為 key。
#
# 下表是 signature 記下的輸入。找找看：哪一列不是模型的狀態？
ep = export(model, ex)
inputs = [[spec.arg.name, spec.kind.name, spec.target or ""] for spec in ep.graph_signature.input_specs]
fields = {target for *_, target in inputs if target}
table(inputs, ["placeholder", "kind", "target（原模型的欄位）"])
assert [name for name, *_ in inputs] == [node.name for node in ep.graph.find_nodes(op="placeholder")]
assert [name for name, kind, _ in inputs if kind == "USER_INPUT"] == ["x"]
assert [kind for _, kind, _ in inputs] == ["PARAMETER"] * 3 + ["BUFFER"] * 3 + ["USER_INPUT"]
assert fields == set(ep.state_dict)

# %%
# 只有 `x` 是 `USER_INPUT`。`p_`、`b_` 這些開頭只是方便閱讀的慣例，不能當真：[A5](#a5-constants) 就有一個輸入叫做
# `p_x`。真正可靠的是 `kind`。
#
# ### A2 `ep.module()` 回傳 `GraphModule` {#a2-graph-module}
#
# `prepare_pt2e`（[M01-1](chapter:m01_1_end_to_end)）要的不是 `ep`，而是 `ep.module()`，以下稱為 `gm`。
# 這一步依照 signature，把 `state_dict` 裡的 tensor 綁回原來的位置，結果可以像模型一樣呼叫。
# 看圖時，請跟著參數，從上面那張圖看到下面那張。
gm = ep.module()
stages = [(ep.graph_module, "ep.graph (ExportedProgram)"), (gm, "ep.module() (GraphModule)")]
draw_stages(stages, show_params=True, per_row=1, title="參數從 placeholder 變成 get_attr")
assert [node.name for node in gm.graph.find_nodes(op="placeholder")] == ["x"]

# %%
# 圖上有三件事要看：
#
# 1. 參數和 buffer 原本是 placeholder（橢圓，標示為下一階段消失），現在變成 `get_attr`（折角便條，綠框表示新增）；還是
#    placeholder 的只剩 `x`。
# 2. module 不見了，只剩 `conv2d`、`batch_norm`、`relu` 三個運算，全在同一層：圖是平的。所以 quantizer（決定要量化哪些地
#    方的物件）只能比對 op 的組合，圖裡已經沒有 `nn.Conv2d` 可找。
# 3. 沒有人用 `b_bn_num_batches_tracked` 這個 batch 計數器。eval 模式下是如此；train 模式下誰會用它，
#    看 [M00-2](chapter:m00_2_eval_or_train)。
#
# 下面把 `gm` 列成表，一個 node 一列，依執行順序排列。`op` 這一欄的意思是：
#
# - `get_attr`：讀取 module 的參數或 buffer，`target` 是它的路徑。
# - `placeholder`：`forward` 的引數。
# - `call_module`：呼叫子 module。這裡只有 `_guards_fn` 一個，圖上不畫它，下一節就會談到。
# - `call_function`：呼叫 op。表裡的 `target` 是簡寫，完整名稱見 [B1](#b1-reading-op-names)。
# - `output`：`forward` 回傳的東西。
calls = [node for node in gm.graph.nodes if node.op == "call_function"]
table(node_rows(gm, show_args=False), ["#", "op", "name", "target"])
with torch.no_grad():
    difference = (model(*ex) - gm(*ex)).abs().max().item()
print(f"model 與 gm 輸出的最大差異：{difference}")
assert [node.name for node in calls] == ["conv2d", "batch_norm", "relu"]
assert [node.name for node in gm.graph.find_nodes(op="call_module")] == ["_guards_fn"]
kinds = ["get_attr"] * 6 + ["placeholder", "call_module"] + ["call_function"] * 3 + ["output"]
assert [node.op for node in gm.graph.nodes] == kinds
assert [str(node) for node in ep.graph.find_nodes(op="placeholder") if not node.users] == ["b_bn_num_batches_tracked"]
assert {node.target for node in gm.graph.find_nodes(op="get_attr")} == fields
assert difference == 0.0

# %%
# 什麼都沒少：`get_attr` 的 target 正好就是 signature 列出的欄位，而 `gm` 算出來的結果，和 `model` 一個 bit 都不差。
#
# ### 輸入檢查 `_guards_fn` {#a2-guards-fn}
#
# `ep.module()` 預設會插入一道檢查：輸入的 shape 等條件，是否和匯出時的假設一致。這和量化無關。如果你的某個 pass 處理不
# 了 `call_module`（實例：[executorch#14466](https://github.com/pytorch/executorch/pull/14466)），可以用
# `check_guards=False` 拿掉它。看看 batch 換成 3 會遇到什麼：有檢查時、拿掉檢查時，以及拿掉之後又複製一份時。
bare = ep.module(check_guards=False)
refused = []
for module in (gm, bare):
    try:
        module(*example_inputs(3))
    except (AssertionError, RuntimeError) as error:
        refused.append(f"{type(error).__name__}: {error}")
passed = copy.deepcopy(bare)(*example_inputs(3))
print(*refused, f"deepcopy: {list(passed.shape)}", sep="\n")
trimmed = ep.module().graph
trimmed.eliminate_dead_code()
assert [node.name for node in bare.graph.nodes] == [node.name for node in gm.graph.nodes if node.name != "_guards_fn"]
assert refused[0] == "AssertionError: Guard failed: x.size()[0] == 2"
assert refused[1].startswith("RuntimeError: Expected input at *args[0].shape[0] to be equal to 2, but got 3.")
assert list(passed.shape) == [3, 8, 16, 16]
assert {str(node) for node in gm.graph.nodes} - {str(node) for node in trimmed.nodes} == {"bn_num_batches_tracked"}
assert trimmed.find_nodes(op="call_module")[0].is_impure()

# %%
# 拿掉這個 node 之後，還有一個 hook 會檢查 shape；但 `copy.deepcopy` 會弄丟這個 hook，於是錯的 batch 就默默通過，一個錯
# 也不報。所以除非不得已，請保留檢查。`eliminate_dead_code` 也清不掉它：沒人用的 `bn_num_batches_tracked` 被清掉
# 了，`_guards_fn` 卻還在，因為它被標記為 impure（執行它是為了副作用，不是為了結果）。
#
# ### A3 每個 node 都帶著 `meta` {#a3-meta}
#
# 它是一個 dict，其中 `meta["val"]` 是 `FakeTensor`：有 shape、dtype、device，但沒有數值。
# export 就是用這種 tensor 把模型跑過一遍而得到它的。請看各個 node 的 shape，也看看 key 當中還沒有什麼。
rows = [[n.name, type(n.meta["val"]).__name__, list(n.meta["val"].shape), ", ".join(sorted(n.meta))] for n in calls]
table(rows, ["node", 'meta["val"] 的型別', "shape", "meta 的 key"])
conv = calls[0]
print(conv.meta["val"], conv.meta["val"].dtype, conv.meta["val"].device)
assert [row[1:3] for row in rows] == [["FakeTensor", [2, 8, 16, 16]]] * 3
assert {row[3] for row in rows} == {"from_node, nn_module_stack, stack_trace, tensor_meta, torch_fn, val"}
assert str(conv.meta["val"]) == "FakeTensor(..., size=(2, 8, 16, 16))"
assert not any("quantization_annotation" in node.meta for node in gm.graph.nodes)

# %%
# - 第 0 維是 2，因為範例輸入的 batch 是 2：export 預設會把 shape 固定下來（[A4](#a4-example-batch)）。
# - `meta` 裡還沒有任何和量化有關的東西。之後 quantizer 會把它的計畫寫在這裡，key 是 `quantization_annotation`：
#   [M01-2](chapter:m01_2_annotations) 讀它，[M03-1](chapter:m03_1_a_quantizer_from_scratch) 寫它。
# - 階層資訊沒有遺失。`meta["nn_module_stack"]` 記著這個 node 來自哪些 module，最內層的排在最後，
#   所以 quantizer 仍然可以依名稱或型別挑選 module（[M03-4](chapter:m03_4_shipped_quantizers)）：
origins = [[node.name, *list(node.meta["nn_module_stack"].values())[-1]] for node in calls]
table(origins, ["node", "module", "module 的型別"])
assert [path for _, path, _ in origins] == ["conv", "bn", "relu"]
assert [kind.rpartition(".")[2] for *_, kind in origins] == ["Conv2d", "BatchNorm2d", "ReLU"]

# %%
# !!! question "conv2d 的 weight 來自哪個 node？"
#     看 `conv.args`：它在第幾個位置？那是哪一種 node？如果要為這個 weight 寫量化的標註，該寫在哪個 node 上？

# %% answer
# 來自 `get_attr` node `conv_weight`，位置是 1。不過 weight 的標註是掛在使用它的 `conv2d` node 上，
# 作為這條輸入邊的 spec（[M01-2](chapter:m01_2_annotations)）。
weight = conv.args[1]
print(f"conv2d.args[1] = {weight}（op={weight.op}, target={weight.target}）")
assert (weight.name, weight.op, weight.target) == ("conv_weight", "get_attr", "conv.weight")

# %%
# ### A4 想要動態 batch，範例至少要兩筆 {#a4-example-batch}
#
# 有名字的 `Dim` 可以讓第 0 維保持動態。但如果範例輸入的 batch 是 1，匯出就會失敗，因為 export 一律把大小 0 和 1 當成固
# 定值。（舊版的訊息寫的是「batch was inferred to be a constant」：
# [pytorch#133653](https://github.com/pytorch/pytorch/issues/133653)。）batch 換成 2，同樣的呼叫就會成功，而且結果什麼
# batch 都能跑，連 1 也可以。
one = example_inputs(1)
try:
    export(model, one, dynamic_shapes=({0: Dim("batch")},))
except Exception as error:
    first_line, reason, *_ = f"{type(error).__name__}: {error}".splitlines()
dynamic = export(model, ex, dynamic_shapes=({0: Dim("batch")},)).module()
batches = [list(dynamic(*example_inputs(batch)).shape) for batch in (1, 2, 5)]
print(first_line, batches, sep="\n")
assert first_line == 'UserError: Constraints violated (batch)! For more information, run with TORCH_LOGS="+dynamic".'
assert "your code specialized it to be a constant (1)" in reason
assert batches == [[1, 8, 16, 16], [2, 8, 16, 16], [5, 8, 16, 16]]

# %%
# `Dim.AUTO` 看起來可以避開這個錯誤：batch 是 1 也匯出成功了。但 shape 又變回靜態，而會提醒你的，只有
# log 裡的一行警告。這裡用自己的 handler 把它接下來，印出來看：
log, caught = logging.getLogger("torch._export.non_strict_utils"), io.StringIO()
usual, log.handlers = log.handlers, [logging.StreamHandler(caught)]
auto = export(model, one, dynamic_shapes=({0: Dim.AUTO},))
log.handlers = usual
auto_shape = auto.graph.find_nodes(op="placeholder")[-1].meta["val"].shape
print(f"x: {list(auto_shape)}", caught.getvalue().strip(), sep="\n")
assert [(type(size), size) for size in auto_shape] == [(int, 1), (int, 3), (int, 16), (int, 16)]
assert caught.getvalue().startswith("dimension inputs['x'].shape[0] 0/1 specialized; Dim.AUTO was specified")

# %%
# 所以請用有名字的 `Dim`，出問題時它會直接報錯；batch 則至少給 2。`common.pt2e.export_module()` 就是這樣讓
# batch 保持動態，[M00-4](chapter:m00_4_editing_graphs) 和 M01 之後都會用到。
#
# ### A5 forward 裡建立的 tensor 會被寫死成常數 {#a5-constants}
#
# `x + torch.tensor(0.1)` 裡的 tensor，既不是參數也不是 buffer。export 會把它連同當時的值，一起從程式裡抽出來
# （[pytorch#110485](https://github.com/pytorch/pytorch/issues/110485)）。看它的 `kind`，也看它存放在哪裡。
class AddConstant(nn.Module):
    def forward(self, p_x):
        return p_x + torch.tensor(0.1)


lifted = export(AddConstant(), ex)
inputs = [[spec.arg.name, spec.kind.name, spec.target or ""] for spec in lifted.graph_signature.input_specs]
table(inputs, ["placeholder", "kind", "target"])
print(f"state_dict: {list(lifted.state_dict)}, constants: {list(lifted.constants)}")
assert inputs == [["c_lifted_tensor_0", "CONSTANT_TENSOR", "lifted_tensor_0"], ["p_x", "USER_INPUT", ""]]
assert [node.target for node in lifted.module().graph.find_nodes(op="get_attr")] == ["lifted_tensor_0"]
assert (list(lifted.state_dict), list(lifted.constants)) == ([], ["lifted_tensor_0"])

# %%
# `get_attr` 的 target 仍然等於 signature 列出的，但不再等於 `ep.state_dict` 的 key：這個常數存放在
# `ep.constants`。如果希望這個值跟著 weight 一起存檔、載入，請把它做成 module 的 buffer。
#
# ## B. ATen 是什麼 {#b}
#
# ### B1 `aten.conv2d.default` 怎麼讀 {#b1-reading-op-names}
#
# 分三段：namespace . op . overload。一個 op 是一包 overload，各有各的引數；有哪些引數，寫在 schema 裡。
# （schema 用的是 C++ 的寫法，例如 `aten::add.Tensor`，而且省略 `default`。）
packet = torch.ops.aten.conv2d
schemas = [str(packet.default._schema), str(torch.ops.aten.add.Tensor._schema)]
print(f"{packet}: {type(packet).__name__} {packet.overloads()}")
print(f"{packet.default}: {type(packet.default).__name__}", *schemas, sep="\n")
assert (type(packet).__name__, packet.overloads()) == ("OpOverloadPacket", ["default", "padding"])
assert type(packet.default).__name__ == "OpOverload"
assert schemas == [
    "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
    "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
]
assert {"Tensor", "Scalar"} <= set(torch.ops.aten.add.overloads())
assert conv.target is torch.ops.aten.conv2d.default

# %%
# 從 `add` 可以看出 overload 的用處：`add.Tensor` 收兩個 tensor，`add.Scalar` 收一個 tensor 和一個數字，
# 此外還有別的。也請注意最後一個 assert：conv 這個 node 的 target *就是*那個物件，而不是寫著名字的字串。
#
# ATen 是 PyTorch 的核心 tensor 函式庫，PyTorch 其他的 Python 和 C++ 介面幾乎都建立在它之上
# （[C++ 文件](https://docs.pytorch.org/cppdocs/)）。`torch.ops.aten.*` 就是它的 op 在 Python 這一側的名字。
#
# ### B2 三種寫法，匯出後是同一串 op {#b2-three-styles}
#
# 同一個小模型（conv → relu → 在 H、W 上取 mean → linear）用三種風格來寫：自己管參數的函式寫法、自訂 module 套 module，
# 以及 `nn.Sequential`。每一種都 trace 兩次：一次用 `torch.fx.symbolic_trace`，PT2E 之前的 FX graph mode
# 量化用的就是它；一次用 `torch.export.export(...).module()`。請比較表的後兩欄。
class FunctionalStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.fc_weight = nn.Parameter(torch.randn(8, 3, 3, 3)), nn.Parameter(torch.randn(4, 8))

    def forward(self, x):
        return F.linear(F.relu(F.conv2d(x, self.weight, padding=1)).mean((2, 3)), self.fc_weight)


class ConvAct(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.act = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.ReLU()

    def forward(self, x):
        return self.act(self.conv(x))


class WrappedStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.fc = ConvAct(), nn.Linear(8, 4, bias=False)

    def forward(self, x):
        return self.fc(self.inner(x).mean((2, 3)))


class SequentialStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.ReLU())
        self.fc = nn.Linear(8, 4, bias=False)

    def forward(self, x):
        return self.fc(self.body(x).mean((2, 3)))


def fx_ops(gm: torch.fx.GraphModule) -> list[str]:
    """symbolic_trace 圖裡的運算，保留各自的寫法。"""
    forms = {
        "call_module": lambda target: f"module {type(gm.get_submodule(target)).__name__}({target})",
        "call_function": lambda target: f"function {short(target)}",
        "call_method": lambda target: f"method {target}",
    }
    return [forms[node.op](node.target) for node in gm.graph.nodes if node.op in forms]


def export_ops(gm: torch.fx.GraphModule) -> list[torch._ops.OpOverload]:
    """匯出圖裡的運算：就是 node.target 裡的物件。"""
    return [node.target for node in gm.graph.nodes if node.op == "call_function"]


styles = [FunctionalStyle().eval(), WrappedStyle().eval(), SequentialStyle().eval()]
traced = [fx_ops(torch.fx.symbolic_trace(style)) for style in styles]
exported = [export_ops(export(style, (torch.randn(2, 3, 8, 8),)).module()) for style in styles]
columns = zip(styles, traced, exported, strict=True)
rows = [[type(style).__name__, " → ".join(forms), " → ".join(map(short, ops))] for style, forms, ops in columns]
table(rows, ["寫法", "symbolic_trace", "export"])
targets = [str(op) for op in exported[0]]
print(targets)
assert len(set(map(tuple, traced))) == 3
assert exported[0] == exported[1] == exported[2]
assert targets == ["aten.conv2d.default", "aten.relu.default", "aten.mean.dim", "aten.linear.default"]

# %%
# `symbolic_trace` 會照著你的寫法走：module 是 `call_module`，帶著類別和路徑；`F.conv2d` 是函式；`.mean()` 是
# method。要讀這種圖，就得認得每一種形式。匯出的圖則不管怎麼寫，都是同樣的 op，而且是平的。
#
# 這為什麼重要？backend 是一個 node 一個 node 地判斷自己有沒有 kernel；詞彙只有一套，要查的清單就只有一份。PyTorch 對
# Core ATen（這些 op 的核心子集）的定位，就是和 backend 銜接的 functional
# IR（[IRs](https://docs.pytorch.org/docs/stable/torch.compiler_ir.html)）。PT2E 的 quantizer 也可以靠 `node.target` 找
# 到 conv 的（[M03-1](chapter:m03_1_a_quantizer_from_scratch)）。更多說明見 [M00 總覽](chapter:m00)。
#
# ### B3 由上到下有哪幾層 {#b3-layers}
#
# | 層 | 是什麼 | 在匯出的圖裡 |
# | --- | --- | --- |
# | `nn.Conv2d` 或自訂的 module | Python 類別 | 不見了 |
# | `F.conv2d` | Python 函式 | 不見了 |
# | `torch.ops.aten.conv2d.default` | op 的名字 | 它*就是* `node.target` |
# | 各種裝置的 C++ kernel | 真正做計算的程式 | 不在圖裡，執行時才挑選（[B4](#b4-dispatch)） |
#
# ATen op 還可以再拆成別的 op：[M00-3](chapter:m00_3_decompositions)。
assert not any(isinstance(submodule, nn.Conv2d) for submodule in gm.modules())
assert F.conv2d not in export_ops(gm)
assert export_ops(gm)[0] is torch.ops.aten.conv2d.default

# %%
# ### B4 op 怎麼找到它的 kernel {#b4-dispatch}
#
# 以 eager 模式、在 CPU 上執行 `z = x + y` 為例：
#
# 1. Python 的 `x + y` 和 `torch.add(x, y)` 是兩種寫法，最後都來到 `aten::add.Tensor` 這個 op。
# 2. dispatcher 依優先順序，看這些 tensor 的 dispatch key（backend、autograd、quantized……）。autograd 排在
#    backend 之前；需要梯度的話，反向時要用的東西就由它記下。
# 3. 為這個 backend 註冊的 kernel 做完計算，結果以 `Tensor` 傳回來。
#
# 第 1 步可以用 `make_fx` 來看：它執行一個函式，記下通過 dispatcher 的 op。第 2、3 步則用 `torch._C`（不是公開的 API，但
# 拿來看一眼很方便）查詢：一個 tensor 有哪些 key，一個 op 又為哪些 key 準備了 kernel。
from torch.fx.experimental.proxy_tensor import make_fx

x, y, w = torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)
spellings = [str(op) for function in (lambda x, y: x + y, torch.add) for op in export_ops(make_fx(function)(x, y))]
tensors = {"x": x, "w (requires_grad=True)": w, "x.to(torch.int32)": x.to(torch.int32), 'x.to("meta")': x.to("meta")}
keys = [str(torch._C._dispatch_keys(tensor)) for tensor in tensors.values()]
kinds = ["CPU", "Meta", "Autograd", "CompositeImplicitAutograd"]
has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
found = {op: [has_kernel(op, kind) for kind in kinds] for op in ("aten::add.Tensor", "aten::conv2d")}
print(f"x + y: {spellings[0]}, torch.add(x, y): {spellings[1]}")
table(list(zip(tensors, keys, strict=True)), ["tensor", "dispatch keys"])
table([[op, *("有" if kernel else "無" for kernel in row)] for op, row in found.items()], ["op", *kinds])
assert spellings == ["aten.add.Tensor", "aten.add.Tensor"]
assert keys[:3] == ["DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"] * 3
assert keys[3] == "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
assert [(x + y).requires_grad, (w + y).requires_grad] == [False, True]
assert found == {"aten::add.Tensor": [True, True, True, False], "aten::conv2d": [False, False, False, True]}

# %%
# - 有沒有 `requires_grad`，`AutogradCPU` 都在：一般的 tensor 一定會經過這一層，要不要記錄由它決定。
# - dtype 不在這些 key 裡：float32 和 int32 的 key 完全一樣。分辨 dtype 是 kernel 自己的事。
# - `add` 為 `CPU`、`Meta`（只有 shape、沒有資料的 tensor）和 autograd 都準備了 kernel。`conv2d` 一個都沒有：它是
#   composite，也就是用別的 op 寫成的。拆開是哪些 op，請看 [M00-3](chapter:m00_3_decompositions)。
#
# !!! note "一般知識，這一頁沒有執行"
#     - key 的順序：[How does the dispatcher work?](https://docs.pytorch.org/devlogs/dispatcher/2026-04-16-how-does-the-dispatcher-work/)
#     - CPU、CUDA、MPS 都有 ATen 自己的 kernel；其中有些會呼叫函式庫，例如 cuBLAS 或
#       [cuDNN](https://github.com/pytorch/pytorch/tree/main/aten/src/ATen/native/cudnn)。
#     - dtype 通常是在 kernel 裡面，用
#       [Dispatch.h](https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/Dispatch.h) 的 macro 切換的。
#     - dispatch 之後，kernel 還可能依輸入挑選實作：[M07-1](chapter:m07_1_which_kernel_ran)
#       會看到 conv 隨著 batch 大小而換。
#
# ## 總結：三個重點 {#summary}
#
# 1. `torch.export.export()` 給你 `ExportedProgram`：模型的狀態都是 placeholder，由 signature 說明。PT2E 用的是它的
#    `ep.module()`，一個以 `get_attr` 讀取狀態、可以呼叫的 `GraphModule`。
# 2. 圖是平的。`meta` 帶著每個 node 的 shape 和 dtype，之後還會帶著 quantizer 的標註。
# 3. Python 寫法不同，ATen op 相同：只要比對 `node.target`，模型怎麼寫就不重要了。（也有 quantizer 比對的是別的東西：
#    [M03-3](chapter:m03_3_patterns_that_bite#functional)。）
#
# 下一頁 [M00-2](chapter:m00_2_eval_or_train)：匯出前有沒有 `.eval()`，圖會差在哪裡。
