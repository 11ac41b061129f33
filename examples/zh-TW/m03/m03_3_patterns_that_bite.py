"""
# M03-3 | 會出事的 pattern

一條規則在 conv → relu 上沒問題，換一個模型就可能出錯，而且幾乎都不報錯。這一頁有七個這樣的地方，有的在現成的 quantizer
裡，有的是自己寫的時候容易犯的。每一個都先把錯誤做出來，找到讓它露出馬腳的數字，再寫出對的規則。讀完之後，你能：

- 說出 concat、residual add、有多個使用者的 conv、轉置 conv、用了兩次的 module，各是哪幾條 edge 需要 spec；
- 數一數這些 edge 上的 observer，認出規則寫錯了；
- 讓 attention mask 不會毀掉 attention。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。
"""

# %%
# ## 準備：一條規則就是一個 quantizer {#start}
#
# `RuleQuantizer` 拿每個 op 去問一個函式，函式回傳什麼，就寫成那個 op 的標註（怎麼親手寫，見
# [M03-1](chapter:m03_1_a_quantizer_from_scratch)）。兩份 spec 都取自 XNNPACKQuantizer（torchao 的複本，詳見
# [M03-4](chapter:m03_4_shipped_quantizers)），我們的規則才能和它一起用。
import copy
import warnings
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import default_decompositions, export
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

from common.graph_utils import short
from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet, sqnr
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    ComposableQuantizer,
    QuantizationAnnotation,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
aten = torch.ops.aten
KEY = "quantization_annotation"
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
config = get_symmetric_quantization_config(is_per_channel=True)
xnnpack = XNNPACKQuantizer().set_global(config)
ACTIVATION, WEIGHT = config.input_activation, config.weight


class RuleQuantizer(Quantizer):
    """把 rule(node) 的回傳值寫成每個 op 的標註；None 就不動它。"""

    def __init__(self, rule: Callable[[torch.fx.Node], QuantizationAnnotation | None]) -> None:
        self.rule = rule

    def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
        for node in model.graph.nodes:
            if node.op == "call_function" and (annotation := self.rule(node)):
                annotation._annotated = True
                node.meta[KEY] = annotation
        return model

    def validate(self, model: torch.fx.GraphModule) -> None:
        pass


class Net(nn.Module):
    """擁有傳進來的 module，計算 forward(self, x)。"""

    def __init__(self, forward: Callable, **modules: nn.Module) -> None:
        super().__init__()
        self.compute = forward
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        return self.compute(self, x)


def conv(inputs: int = 3, outputs: int = 3) -> nn.Conv2d:
    """不改變高和寬的 conv。"""
    return nn.Conv2d(inputs, outputs, kernel_size=3, padding=1)


def observed(gm: torch.fx.GraphModule) -> dict[tuple[str, str], ObserverBase]:
    """隔著 observer 的 edge（來源、使用者）和那個 observer。"""
    calls = [(node, gm.get_submodule(node.target)) for node in gm.graph.find_nodes(op="call_module")]
    observers = [(node, module) for node, module in calls if isinstance(module, ObserverBase)]
    return {(node.args[0].name, user.name): module for node, module in observers for user in node.users}


def exported(model: nn.Module) -> torch.fx.GraphModule:
    """以 eval 模式匯出，輸入是圖片。"""
    return export_module(model.eval(), example_inputs())


def edges(gm: torch.fx.GraphModule, quantizer: Quantizer) -> dict[tuple[str, str], ObserverBase]:
    """prepare 之後，哪些 edge 有 observer。"""
    return observed(prepare_pt2e(copy.deepcopy(gm), quantizer))


def sources(found: dict, user: str) -> list[str]:
    """一個 node 有 observer 的輸入，依名字排序。"""
    return sorted(source for source, reader in found if reader == user)


# %%
# ## 1. concat 不是 cat {#concat}
#
# `torch.cat` 只搬資料，不做計算。所以它的輸入和輸出最好是同一個 scale，backend 直接搬整數就行。`torch.concat` 和
# `torch.concatenate` 是同一件事的別名。但是在圖裡，它們是同一個 op 嗎？看 target，再看兩個輸入上有幾個 observer。
CONCATS = (aten.cat.default, aten.concat.default, aten.concatenate.default)


def concat_rule(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """不管叫什麼名字，concat 的所有輸入和輸出共用一個 observer。"""
    if node.target not in CONCATS:
        return None
    first, *others = node.args[0]
    shared = SharedQuantizationSpec((first, node))
    return QuantizationAnnotation({first: ACTIVATION, **dict.fromkeys(others, shared)}, shared)


def concat_observers(gm: torch.fx.GraphModule, quantizer: Quantizer) -> str:
    """concat 有幾個輸入有 observer，一共幾個 observer。"""
    (concat,) = [node.name for node in gm.graph.nodes if node.target in CONCATS]
    observers = [observer for (_, user), observer in edges(gm, quantizer).items() if user == concat]
    return f"{len(observers)} 個輸入，observer：{len(set(observers))}"


graphs = [
    exported(
        Net(lambda net, x, concat=concat: net.out(concat([net.a(x), net.b(x)], 1)), a=conv(), b=conv(), out=conv(6))
    )
    for concat in (torch.cat, torch.concat, torch.concatenate)
]
fixed = ComposableQuantizer([RuleQuantizer(concat_rule), xnnpack])
found = [[concat_observers(gm, quantizer) for quantizer in (x86, xnnpack, fixed)] for gm in graphs]
targets = [str(node.target) for gm in graphs for node in gm.graph.nodes if node.target in CONCATS]
table(
    [[target, *row] for target, row in zip(targets, found, strict=True)],
    ["op", "X86InductorQuantizer", "XNNPACKQuantizer", "我們的規則，再 XNNPACK"],
)
assert targets == ["aten.cat.default", "aten.concat.default", "aten.concatenate.default"]
assert [row[0] for row in found] == ["2 個輸入，observer：1", "0 個輸入，observer：0", "0 個輸入，observer：0"]
assert [row[1] for row in found] == ["2 個輸入，observer：2"] * 3
assert [row[2] for row in found] == ["2 個輸入，observer：1"] * 3
assert get_source_partitions(graphs[0].graph, [torch.cat]) == {}


# %%
# 三個名字，三個 op。x86 只有 `aten.cat` 的規則；另外兩個它沒有規則，也不出聲，concat 就留在浮點。
# （[executorch PR 20999](https://github.com/pytorch/executorch/pull/20999) 修的就是另一個 quantizer 裡這樣的清單。）
# XNNPACKQuantizer 也有 cat 的規則，卻連 `torch.cat` 都讓每個輸入各有各的 observer：它找的是「node 來自哪個 Python 函
# 式」，而這種找法在匯出的圖裡找不到 cat（最後一個 assert）。ExecuTorch 的版本已經不這樣找了
# （[executorch PR 12405](https://github.com/pytorch/executorch/pull/12405)）。
#
# 我們的規則拿 `node.target` 去比三個名字。組合時它排在前面，它標註過的，後面就不再動。
#
# ### 同一種找法，也會漏掉函式 {#functional}
#
# X86InductorQuantizer 就是這樣找 conv 和 linear 的。如果不用 module，改寫成函式，匯出的 op 完全一樣
# （[M00-1](chapter:m00_1_export_and_aten#b2-three-styles)），它找得到什麼？
as_functions = Net(lambda net, x: F.relu(F.conv2d(x, net.conv.weight, net.conv.bias)), conv=conv())
as_modules = Net(lambda net, x: net.relu(net.conv(x)), conv=conv(), relu=nn.ReLU())
rows = []
for label, net in {"modules": as_modules, "函式": as_functions}.items():
    gm = exported(net)
    ops = [short(node.target) for node in gm.graph.nodes if node.op == "call_function"]
    rows.append([label, " → ".join(ops), len(edges(gm, x86)), len(edges(gm, xnnpack))])
table(rows, ["寫法", "有哪些 op", "X86InductorQuantizer：edge 數", "XNNPACKQuantizer：edge 數"])
assert [row[1:] for row in rows] == [["conv2d → relu", 2, 3], ["conv2d → relu", 0, 3]]


# %%
# x86 什麼都找不到，也沒有錯誤。XNNPACKQuantizer 找 conv 和 linear 時看的是 target，所以沒有差別。用 x86 的話，conv 和
# linear 請寫成 module，而且要數。
#
# ## 2. residual add：哪個輸入是 conv {#residual}
#
# `conv(x) + x`：把 conv 和 add 一起算的 kernel，conv 的結果直接在裡面交給 add，所以只有**另一個**輸入需要 spec
# （[M01-2](chapter:m01_2_annotations#two-quantizers)）。如果規則把第二個引數當成「另一個」，只要沒有人寫
# `x + conv(x)`，就看不出錯。看看 add 的哪個輸入有 observer。
def by_position(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """錯：把 add 的第二個引數當成跳接（skip connection）。"""
    return QuantizationAnnotation({node.args[1]: ACTIVATION}) if node.target is aten.add.Tensor else None


def by_target(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """跳接是 conv 以外的那個輸入；conv 不能有別的使用者。"""
    if node.target is not aten.add.Tensor:
        return None
    convs = [source for source in node.args if source.target is aten.conv2d.default and len(source.users) == 1]
    return QuantizationAnnotation({s: ACTIVATION for s in node.args if s not in convs[:1]}) if convs else None


quantizers = [RuleQuantizer(by_position), RuleQuantizer(by_target), x86, xnnpack]
nets = [Net(lambda net, x: net.conv(x) + x, conv=conv()), Net(lambda net, x: x + net.conv(x), conv=conv())]
skips = [[sources(edges(gm, quantizer), "add") for quantizer in quantizers] for gm in map(exported, nets)]
rows = [[label, *map(", ".join, row)] for label, row in zip(["conv(x) + x", "x + conv(x)"], skips, strict=True)]
table(rows, ["模型", "看位置（錯）", "看 target", "X86InductorQuantizer", "XNNPACKQuantizer"])
assert skips[0] == [["x"], ["x"], ["x"], ["conv2d", "x"]]
assert skips[1] == [["conv2d"], ["x"], ["x"], ["conv2d", "x"]]


# %%
# 遇到 `x + conv(x)`，錯的規則把 observer 放在 conv 和 add 之間，拆開了本來要一起算的兩個 op，跳接反而留在浮點。x86
# 兩邊都看，和我們的第二條規則一樣；XNNPACKQuantizer 把 add 單獨看待，兩個輸入都要。
#
# 哪些輸入共用 observer？和 concat 不同，add 的兩個輸入不需要同一個 scale。會共用的是 `x`：conv 和 add 都讀它，而且要求
# 相同。兩邊都是 conv 的時候，能進 kernel 的也只有一個：
two_convs = exported(Net(lambda net, x: net.conv1(x) + net.conv2(x), conv1=conv(), conv2=conv()))
residual = edges(exported(get_model("residual")), xnnpack)
two = [edges(two_convs, quantizer) for quantizer in (x86, xnnpack)]
names = [type(quantizer).__name__ for quantizer in (x86, xnnpack)]
rows = [[name, ", ".join(sources(found, "add"))] for name, found in zip(names, two, strict=True)]
table(rows, ["quantizer", "conv1(x) + conv2(x) 有 observer 的輸入"])
assert residual["x", "conv2d"] is residual["x", "add"] is not residual["conv2d_1", "add"]
assert sources(two[0], "add") == ["conv2d_1"] and sources(two[1], "add") == ["conv2d", "conv2d_1"]
assert two[1]["conv2d", "add"] is not two[1]["conv2d_1", "add"]


# %%
# ## 3. conv 有第二個使用者 {#two-users}
#
# conv → relu 能當成一個 kernel，條件是 conv 只有 relu 這一個使用者：中間的值沒有別人要。這裡的 sigmoid 也要讀它。不數使
# 用者的規則照樣標註在這一對的外圍。通往 sigmoid 的 edge 上有什麼？
def careless(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """錯：不管還有誰讀 conv，conv → relu 就是一個 pattern。"""
    if node.target is aten.conv2d.default:
        return QuantizationAnnotation({node.args[0]: ACTIVATION, node.args[1]: WEIGHT})
    return QuantizationAnnotation(output_qspec=ACTIVATION) if node.target is aten.relu.default else None


def careful(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """conv 的使用者只要不是剛好一個 relu，輸出就要有 spec。"""
    if node.target is aten.conv2d.default:
        fused = [user.target for user in node.users] == [aten.relu.default]
        return QuantizationAnnotation({node.args[0]: ACTIVATION, node.args[1]: WEIGHT}, None if fused else ACTIVATION)
    return QuantizationAnnotation(output_qspec=ACTIVATION) if node.target is aten.relu.default else None


def two_users(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """relu(y) * sigmoid(y)，其中 y = conv(x)。"""
    y = net.conv(x)
    return net.relu(y) * torch.sigmoid(y)


graph = exported(Net(two_users, conv=conv(), relu=nn.ReLU()))
stages = [
    (RuleQuantizer(careless).annotate(copy.deepcopy(graph)), "不數使用者"),
    (RuleQuantizer(careful).annotate(copy.deepcopy(graph)), "數使用者"),
]
draw_stages(stages, title="左：conv2d 到 sigmoid 的 edge 上什麼都沒有；右：一個 spec，給 conv2d 的兩個使用者")
quantizers = [RuleQuantizer(careless), RuleQuantizer(careful), xnnpack, x86]
found = [edges(graph, quantizer) for quantizer in quantizers]
readers = [sorted(user for source, user in edge if source == "conv2d") for edge in found]
labels = ["不數使用者（錯）", "數使用者", "XNNPACKQuantizer", "X86InductorQuantizer"]
rows = [[label, ", ".join(users) or "—"] for label, users in zip(labels, readers, strict=True)]
table(rows, ["quantizer", "隔著 observer 讀 conv2d 的使用者"])
(relu,) = x86.annotate(graph).graph.find_nodes(op="call_function", target=aten.relu.default)
assert readers == [[], ["relu", "sigmoid"], ["relu", "sigmoid"], []]
assert relu.meta[KEY]._annotated and not relu.meta[KEY].input_qspec_map


# %%
# 不數使用者的規則，等於說這一對是一個 int8 kernel；但是這種 kernel 只交出 relu 的結果，sigmoid 要的卻是 conv 的。
# XNNPACKQuantizer 有過一模一樣的 bug，現在會數使用者了
# （[pytorch PR 140846](https://github.com/pytorch/pytorch/pull/140846)）。X86InductorQuantizer 仍然把 relu 算進
# pattern（最後一個 assert）。它本來就不要求 conv 後面的任何東西，所以這裡沒有 observer 放錯；兩者到底算不算一個
# kernel，要看它的 lowering，這一頁沒有執行。（把 BN 摺進 conv，也有同樣的陷阱：
# [M02-1](chapter:m02_1_from_annotation_to_observer#fold-two-users)。）
#
# ## 4. SDPA 留在浮點 {#sdpa}
#
# `F.scaled_dot_product_attention`（SDPA）是一個 op，兩個 quantizer 都不認得。所以要在 quantizer 看到之前先拆開，
# [M00-3](chapter:m00_3_decompositions#sdpa) 就是這麼做，ExecuTorch 也為它的一個 backend 這麼做
# （[executorch PR 7111](https://github.com/pytorch/executorch/pull/7111)）。這裡加上 `is_causal=True`：除了兩個
# matmul，還拆出了什麼？
tokens = (torch.randn(8, 6, 16, generator=torch.Generator().manual_seed(0)),)  # [batch, tokens, features]
_ = torch.manual_seed(0)
attention = Net(
    lambda net, x: F.scaled_dot_product_attention(net.q(x), net.k(x), net.v(x), is_causal=True),
    **{name: nn.Linear(16, 16) for name in "qkv"},
)
whole = export(attention.eval(), tokens)
parts = [
    aten.scaled_dot_product_attention.default,
    aten._scaled_dot_product_attention_math.default,
    aten._scaled_dot_product_flash_attention_for_cpu.default,
]
split = whole.run_decompositions({op: default_decompositions()[op] for op in parts})
ops = [short(node.target) for node in split.graph.nodes if node.op == "call_function"]
print(" → ".join(ops))
(fill,) = split.graph.find_nodes(op="call_function", target=aten.scalar_tensor.default)
sdpa = "scaled_dot_product_attention"
inputs = [sources(observed(prepare_pt2e(whole.module(), quantizer)), sdpa) for quantizer in (x86, xnnpack)]
print(f"SDPA 有 observer 的輸入，x86：{inputs[0]}，XNNPACK：{inputs[1]}；mask 填的是 {fill.args[0]}")
assert inputs == [[], ["linear", "linear_1", "linear_2"]]
assert ops.count("matmul") == 2 and fill.args[0] == float("-inf")


# %%
# x86 在這裡什麼都沒要求。XNNPACKQuantizer 在 SDPA 前面放了 observer，但那只是因為它要求每個 linear 的輸出；SDPA 自己沒
# 有標註。拆開之後有兩個 matmul，還有一個 add，加上去的 mask 裡有 −inf：這是下一個陷阱。
#
# ## 5. attention mask {#mask}
#
# softmax 之前加到分數上的 mask，可以看的位置是 0，不可以看的是絕對值很大的負數，常常是 −inf。XNNPACKQuantizer 把它當成
# 普通的 add：mask、分數、相加的結果都量化。下面把同樣的 attention 逐步寫出來，換幾種 mask，都和用 −inf 的浮點模型比。最
# 後一欄是平均有多少 attention 落在後面的 token 上，應該是 0。
class Masked(nn.Module):
    """逐步寫出來的 attention，也回傳 attention 本身。mask 填 `value`；None 改用 masked_fill。"""

    def __init__(self, value: float | None) -> None:
        super().__init__()
        self.q, self.k, self.v, self.value = *(nn.Linear(16, 16) for _ in range(3)), value
        later = torch.ones(6, 6, dtype=torch.bool).triu(1)
        self.register_buffer("mask", later if value is None else torch.full((6, 6), value).triu(1))

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 4
        scores = scores.masked_fill(self.mask, float("-inf")) if self.value is None else scores + self.mask
        attention = torch.softmax(scores, -1)
        return attention @ self.v(x), attention


def masked(value: float | None) -> nn.Module:
    """每次的 weight 都一樣。"""
    _ = torch.manual_seed(0)
    return Masked(value).eval()


def quantize(model: nn.Module, quantizer: Quantizer) -> torch.fx.GraphModule:
    """export、prepare、用 tokens 校準、convert。"""
    prepared = prepare_pt2e(export_module(model, tokens), quantizer)
    prepared(*tokens)
    return convert_pt2e(prepared)


def later(attention: torch.Tensor) -> float:
    """每個 token 平均有多少 attention 落在後面的 token 上。"""
    return attention.triu(1).sum(-1).mean().item()


def spare_masks(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """讀 buffer 的 add 留在浮點：有標註，沒有 spec。"""
    reads_buffer = node.target is aten.add.Tensor and any(source.op == "get_attr" for source in node.args)
    return QuantizationAnnotation() if reads_buffer else None


lowest = torch.finfo(torch.float32).min
cases = {
    "−inf, x86": (float("-inf"), x86),
    "−inf": (float("-inf"), xnnpack),
    "float32 的最小值": (lowest, xnnpack),
    "−10000": (-10000.0, xnnpack),
    "−100": (-100.0, xnnpack),
    "−20": (-20.0, xnnpack),
    "−inf，add 留在浮點": (float("-inf"), ComposableQuantizer([RuleQuantizer(spare_masks), xnnpack])),
    "masked_fill": (None, xnnpack),
}
with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    reference, _ = masked(float("-inf"))(*tokens)
    results = {label: quantize(masked(value), quantizer)(*tokens) for label, (value, quantizer) in cases.items()}
quality = {label: sqnr(reference, output) for label, (output, _) in results.items()}
leaks = {label: later(attention) for label, (_, attention) in results.items()}
rows = [[label, f"{quality[label]:.4g}", f"{leaks[label]:.3f}"] for label in cases]
table(rows, ["mask", "SQNR（dB）", "落在後面 token 的 attention"])
with torch.no_grad():
    unmasked = later(masked(0.0)(*tokens)[1])
uniform = torch.ones(6, 6).tril() / torch.arange(1, 7)[:, None]
messages = {str(warning.message) for warning in caught}
print(f"完全沒有 mask 的浮點模型，落在後面 token 的 attention：{unmasked:.3f}", *messages, sep="\n")
assert messages == {"torch.inf detected in input tensor, ignoring input"}
assert quality["−inf"] < 5 and abs(leaks["−inf"] - unmasked) < 0.02 and unmasked > 0.3
assert all(leaks[label] < 1e-6 for label in cases if label != "−inf")
assert torch.allclose(results["−10000"][1], uniform.expand(8, 6, 6), atol=1e-3)
assert torch.allclose(results["float32 的最小值"][1], results["−10000"][1], atol=1e-3)
assert quality["−10000"] < 15 < quality["−100"] < 30 < quality["−20"] < 36
assert quality["masked_fill"] == quality["−inf，add 留在浮點"] > 37

# %%
# - **−inf。** mask 不見了：落在後面 token 上的 attention，和完全沒有 mask 時一樣多。`HistogramObserver` 計算範圍時不理
#   會無限大，mask 剩下的全是 0，所以 −inf 被截斷到 0 附近。唯一的徵兆是上面印出來的警告
#   （[pytorch PR 103467](https://github.com/pytorch/pytorch/pull/103467)）。
# - **float32 的最小值、−10000。** 沒有洩漏，但是 attention 變成所有可看位置的平均（見用到 `uniform` 的 assert）。相加的
#   結果，範圍一路延伸到 mask，256 格要涵蓋整個範圍，真正的分數全擠在同一格。
# - **−100、−20。** 範圍越小，每一格越細。ExecuTorch 有一種 mask，為了量化，把這個值做成參數
#   （[executorch PR 8736](https://github.com/pytorch/executorch/pull/8736)）。
# - **留在浮點、masked_fill。** 最好：mask 和相加的結果都不量化。在現成的 quantizer 前面放一條規則就行；或者模型改用
#   `masked_fill`，兩個 quantizer 都不標註它。x86 本來就不管這個 add。
#
# !!! question "那為什麼不用 −5？範圍還更小。"
#     mask 是 −5 的時候，浮點模型會怎麼算？想想 softmax：−5 會讓一個權重變成幾分之一？

# %% answer
# e⁻⁵，大約 1/148，另外還要看分數本身差多少。所以浮點模型自己就洩漏了：mask 是模型的一部分，和分數比起來要夠大才行。
# 換成 −20，就只剩 2·10⁻⁹。
with torch.no_grad():
    small = {value: later(masked(value)(*tokens)[1]) for value in (-5.0, -20.0)}
print({value: f"{leak:.2g}" for value, leak in small.items()})
assert 1e-3 < small[-5.0] < 1e-2 and small[-20.0] < 1e-8


# %%
# ## 6. ConvTranspose2d {#conv-transpose}
#
# 對 conv2d 的規則來說，它是另一個 op。兩個 quantizer 會不會量化它？單獨一個，或後面接 relu？量化的話，scale 放在 weight
# 的哪一維？
def transposed(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """轉置 conv 的 weight 是 [in, out, height, width]：輸出 channel 在第 1 維。"""
    if node.target is not aten.conv_transpose2d.input:
        return None
    return QuantizationAnnotation({node.args[0]: ACTIVATION, node.args[1]: replace(WEIGHT, ch_axis=1)}, ACTIVATION)


up = nn.ConvTranspose2d(4, 3, kernel_size=2, stride=2)
graphs = [exported(nn.Sequential(conv(3, 4), nn.ReLU(), *last)) for last in ([up], [up, nn.ReLU()])]
edge, rows = ("_2_weight", "conv_transpose2d"), []
ours = ComposableQuantizer([RuleQuantizer(transposed), xnnpack])
labels = ["X86InductorQuantizer", "XNNPACKQuantizer", "我們的規則，再 XNNPACK"]
for label, quantizer in zip(labels, (x86, xnnpack, ours), strict=True):
    found = [edges(gm, quantizer) for gm in graphs]
    rows.append([label, *(observers[edge].ch_axis if edge in observers else "—" for observers in found)])
table(rows, ["quantizer", "單獨：ch_axis", "接 relu：ch_axis"])
assert [row[1:] for row in rows] == [["—", "—"], ["—", 0], [1, 1]]
assert list(up.weight.shape) == [4, 3, 2, 2]


# %%
# x86 從來不要求它。後面接著 relu 時，XNNPACKQuantizer 會要求，可是和 conv 一樣放在第 0 維：這裡的 weight 是 [4, 3, 2,
# 2] = [in, out, …]，所以那是**輸入** channel。每個輸入 channel 一個 scale，就無法從「對輸入 channel 求和」裡提出來，整
# 數 kernel 用不上（[M01-3](chapter:m01_3_the_arithmetic#integers)）。單獨一個時，它留在浮點
# （[executorch PR 7514](https://github.com/pytorch/executorch/pull/7514) 也遇到沒有量化的 pattern）。我們的規則要求第 1
# 維。
#
# ## 7. 用了兩次的 module {#twice}
#
# 一個 module 呼叫兩次，就是兩個 op 讀同一個 weight。兩次呼叫裡，有幾次的 weight 有 observer？
def each_call(node: torch.fx.Node) -> QuantizationAnnotation | None:
    """依 target，所以每次呼叫各自標註。"""
    if node.target not in (aten.conv2d.default, aten.linear.default):
        return None
    return QuantizationAnnotation({node.args[0]: ACTIVATION, node.args[1]: WEIGHT})


def twice(layer: nn.Module, last: nn.Module) -> nn.Module:
    """layer、last、layer、last。"""
    return Net(lambda net, x: net.last(net.layer(net.last(net.layer(x)))), layer=layer, last=last)


def calls(gm: torch.fx.GraphModule, quantizer: Quantizer) -> str:
    """有幾次呼叫的 weight 有 observer、一共幾個 observer；或者錯誤。"""
    try:
        found = edges(gm, quantizer)
    except ValueError as error:
        return f"ValueError: {error}"
    weights = [observer for (source, _), observer in found.items() if source == "layer_weight"]
    return f"2 次中 {len(weights)} 次，observer：{len(set(weights))}"


variants = {
    "conv": twice(conv(), nn.Identity()),
    "conv, relu": twice(conv(), nn.ReLU()),
    "linear": twice(nn.Linear(16, 16), nn.Identity()),
    "linear, relu": twice(nn.Linear(16, 16), nn.ReLU()),
}
graphs = {label: exported(net) for label, net in variants.items()}
quantizers = [x86, xnnpack, RuleQuantizer(each_call)]
rows = [[label, *(calls(gm, quantizer) for quantizer in quantizers)] for label, gm in graphs.items()]
table(rows, ["呼叫兩次的 module", "X86InductorQuantizer", "XNNPACKQuantizer", "我們的規則"])
once, both = "2 次中 1 次，observer：1", "2 次中 2 次，observer：1"
assert [row[1] for row in rows] == [once, "ValueError: Input partition has more than one output node", once, both]
assert [row[2] for row in rows] == [once, once, both, both]
assert [row[3] for row in rows] == [both] * 4
first, second = ("layer_weight", "conv2d"), ("layer_weight", "conv2d_1")
assert second in edges(graphs["conv"], x86) and first in edges(graphs["conv"], xnnpack)

# %%
# ValueError 反而是無害的，因為它會讓你停下來。（x86 依 module 把 op 分組，並且以為每組只有一個輸出。
# [ao#4478](https://github.com/pytorch/ao/issues/4478) 回報的是 linear，0.18.0 已經修好。）「2 次中 1 次」的那幾列，則有
# 一次呼叫悄悄留在浮點：x86 是第一次，因為它不是那一組的輸出；XNNPACKQuantizer 是第二次，因為那時 weight 已經有人標註。
# 依 `node.target` 寫的規則，每次呼叫都會遇到；兩次對同一個 weight 的要求相同，所以共用一個
# observer（[M02-1](chapter:m02_1_from_annotation_to_observer#implicit)）。
#
# ## 總結：五點 {#summary}
#
# 1. 用 `node.target` 找 op，而且把它所有的名字都列出來：cat、concat、concatenate。模型怎麼寫，不該有影響；用 x86 就有。
# 2. residual add 要找出哪個輸入是 conv，不能靠位置；把兩個 op 當成一個 kernel 之前，先數第一個有幾個使用者。
# 3. SDPA 要拆開才能量化。它的 mask 留在浮點：一量化，−inf 會不見，絕對值大的數會用光所有的解析度。
# 4. 轉置 conv 的輸出 channel 在 weight 的第 1 維。呼叫兩次的 module，是兩個 op。
# 5. 除了一個 ValueError 和 −inf 的那則警告，這些都不會出聲。你在意哪幾條 edge，就數那幾條上的 observer。
#
# 接著 [M03-4](chapter:m03_4_shipped_quantizers)：現成的 quantizer 各要求什麼，又該怎麼設定。
