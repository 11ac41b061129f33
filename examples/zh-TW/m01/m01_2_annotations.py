"""
# M01-2 | quantizer 要求了什麼：圖上的標註

`prepare_pt2e` 插入 observer 之前，先請 quantizer 在圖上寫下要求：哪一條 edge（從一個 node 到使用它的 node 的連線）要量
化、量化成什麼。這些要求就是標註（annotation）。這一頁停在標註之後、observer 出現之前。讀完之後，你能：

- 只標註、不 prepare，並讀懂一則標註的每個欄位；
- 比較兩個 quantizer 對同一個模型的要求；
- 看著標註，就知道 prepare 之後哪些 edge 上會有 observer；
- 抓出三種標註落空的情況，它們都不會報錯。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。標註在整個流程裡的位置，見 [M01-1](chapter:m01_1_end_to_end)。
"""

# %%
# ## 一個模型，兩個 quantizer {#start}
#
# - `X86InductorQuantizer`：為 x86 CPU 上的 Inductor 準備，[M01-1](chapter:m01_1_end_to_end) 用的就是它。
# - `XNNPACKQuantizer`：為 XNNPACK（手機等裝置上常用的 kernel 函式庫）準備。正式版在 ExecuTorch；這一頁用的是 torchao 裡
#   測試用的複本，因為它隨 torchao 就裝好了，ExecuTorch 則會帶進許多這裡用不到的套件。複本的 docstring 說自己已經
#   deprecated，並指向正式版（下面的 assert），所以你自己的專案請用正式版（[M06-3](chapter:m06_3_executorch_xnnpack)）。
#
# 模型是 `residual`：兩個 conv，加上一條從輸入直接跳過來的路，也就是 `relu(conv2(relu(conv1(x))) + x)`。
import copy
from dataclasses import fields

import torch

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    QuantizationSpecBase,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

KEY = "quantization_annotation"
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
gm = export_module(get_model("residual").eval(), example_inputs())
assert "moved to executorch.backends.xnnpack.quantizer.xnnpack_quantizer" in XNNPACKQuantizer.__doc__


# %%
# ## 只標註，不 prepare {#annotate}
#
# `prepare_pt2e` 依序呼叫 quantizer 的三個 method，之後才插入 observer。我們呼叫完這三個 method 就停。標註是原地寫入的，
# 所以寫在複本上。看看標註改了圖的什麼：
def annotate(gm: torch.fx.GraphModule, quantizer: Quantizer) -> torch.fx.GraphModule:
    """gm 的複本，加上 quantizer 的標註。"""
    annotated = quantizer.transform_for_annotation(copy.deepcopy(gm))  # 有些圖要先改寫，才能標註
    quantizer.annotate(annotated)  # 寫下標註
    quantizer.validate(annotated)  # quantizer 可以在這裡拒絕
    return annotated


by_x86 = annotate(gm, x86)
pairs = zip(gm.graph.nodes, by_x86.graph.nodes, strict=True)
added = {key for before, after in pairs for key in after.meta.keys() - before.meta.keys()}
print(f"meta 多出的 key：{added}")
draw_stages([(gm, "exported"), (by_x86, "annotated")], title="圖沒有變；虛線框是 quantizer 要求量化的地方")
assert by_x86.code == gm.code
assert added == {KEY}


# %%
# 產生的程式碼一字不差，多出來的只有某些 node 的 `meta["quantization_annotation"]`，
# [M00-1](chapter:m00_1_export_and_aten#a3-meta) 預告過這個 key。右圖的虛線框不是 node，只是把標註畫在它所說的 edge 上：
# 第一行是 dtype，以及 per tensor 或 per channel；下面是 affine 或 symmetric，還有 observer 的種類。被要求的是兩個 conv
# 的輸入和 weight；`add` 讀的 `x` 也在內，和 conv 共用一個框。其他 edge 沒有要求，維持浮點。
#
# ### 別省略 `transform_for_annotation` {#transform}
#
# 三個 method 裡，會改圖的是它。要求只能寫給 tensor，而 `x + 0.5` 的 0.5 只是 Python 的數字，所以 XNNPACKQuantizer 先把
# 它換成常數 tensor。如果直接呼叫 `annotate`，這個輸入就漏掉了：
class AddHalf(torch.nn.Module):
    def forward(self, x):
        return x + 0.5


half = export_module(AddHalf(), example_inputs())
hasty = copy.deepcopy(half)
xnnpack.annotate(hasty)
add = torch.ops.aten.add.Tensor
adds = [module.graph.find_nodes(op="call_function", target=add)[0] for module in (annotate(half, xnnpack), hasty)]
rows = [[str(node.args), ", ".join(map(str, node.meta[KEY].input_qspec_map))] for node in adds]
table([["三個都呼叫", *rows[0]], ["只呼叫 `annotate`", *rows[1]]], ["做法", "add 的 args", "有要求的輸入"])
assert rows == [["(x, _tensor_constant_0)", "x, _tensor_constant_0"], ["(x, 0.5)", "x"]]
assert x86.transform_for_annotation(gm) is gm

# %%
# X86InductorQuantizer 在這一步什麼也不做（最後一個 assert），但換了 quantizer 就不一定，所以三個都要呼叫。
#
# ## 一則標註說了什麼 {#one-annotation}
#
# 看 `conv2d` 的標註。它是一個 `QuantizationAnnotation`，有四個欄位。三個輸入當中，哪一個沒有要求量化？
conv = by_x86.graph.find_nodes(op="call_function", target=torch.ops.aten.conv2d.default)[0]
annotation = conv.meta[KEY]
kinds = {source.name: type(spec).__name__ if spec else None for source, spec in annotation.input_qspec_map.items()}
rows = [
    ["input_qspec_map", ", ".join(f"{name}: {kind}" for name, kind in kinds.items()), "每個輸入要怎麼量化"],
    ["output_qspec", str(annotation.output_qspec), "輸出要怎麼量化；None 是沒有要求"],
    ["allow_implicit_sharing", annotation.allow_implicit_sharing, "同一個 tensor 的要求相同時，可以共用 observer"],
    ["_annotated", annotation._annotated, "已經標註過，後來的規則不要再動"],
]
table(rows, ["欄位", "conv2d 的值", "意思"])
assert [row[0] for row in rows] == [field.name for field in fields(QuantizationAnnotation)]
assert kinds == {"x": "QuantizationSpec", "conv1_weight": "QuantizationSpec", "conv1_bias": None}
assert (annotation.output_qspec, annotation.allow_implicit_sharing, annotation._annotated) == (None, True, True)

# %%
# 是 bias：它的要求是 `None`，維持浮點（想要 int32 的 bias，見 [M03-2](chapter:m03_2_specs)）。
#
# ### spec 的七個欄位 {#spec}
#
# 對一個 tensor 的要求叫做 spec，最常見的型別是 `QuantizationSpec`。把 `x` 和 `conv1_weight` 的並排，看看差在哪幾列：
meanings = {
    "dtype": "量化成什麼型別",
    "observer_or_fake_quant_ctr": "呼叫一次，就做出一個 observer",
    "quant_min": "最小的整數",
    "quant_max": "最大的整數",
    "qscheme": "per-tensor 或 per-channel，affine 或 symmetric",
    "ch_axis": "per-channel 時，哪一維是 channel",
    "is_dynamic": "範圍是否到執行時才決定，不靠校準",
}
specs = [annotation.input_qspec_map[source] for source in conv.args[:2]]
made = [spec.observer_or_fake_quant_ctr() for spec in specs]
values = [{name: str(getattr(spec, name)) for name in meanings} for spec in specs]
for value, observer in zip(values, made, strict=True):
    value["observer_or_fake_quant_ctr"] = f"{type(observer).__name__}, eps={observer.eps.item():.4g}"
rows = [[name, *(value[name] for value in values), meaning] for name, meaning in meanings.items()]
table(rows, ["欄位", "x", "conv1_weight", "意思"])
assert list(meanings) == [field.name for field in fields(QuantizationSpec)]
assert [str(spec.dtype) for spec in specs] == ["torch.uint8", "torch.int8"]
assert [(spec.quant_min, spec.quant_max) for spec in specs] == [(0, 255), (-128, 127)]
assert [spec.qscheme for spec in specs] == [torch.per_tensor_affine, torch.per_channel_symmetric]
assert [(spec.ch_axis, spec.is_dynamic) for spec in specs] == [(None, False), (0, False)]
assert [type(observer).__name__ for observer in made] == ["HistogramObserver", "PerChannelMinMaxObserver"]
assert [observer.eps.item() for observer in made] == [2**-12, 2**-12]

# %%
# 用哪一種 observer，也是 quantizer 的要求。它的 eps 是 scale 的下限，[M01-3](chapter:m01_3_the_arithmetic) 會看到這個下
# 限什麼時候傷到準確度。
#
# ### weight 的標註掛在使用它的 conv2d 上 {#weight}
#
# [M00-1](chapter:m00_1_export_and_aten#a3-meta) 問過：weight 的標註該寫在哪個 node 上？看看 `conv1_weight` 自己的
# `meta`：
weight = conv.args[1]
print(f"{weight} ({weight.op}): {weight.meta.get(KEY)}")
print(f"{conv} ({conv.op}): {weight} → {annotation.input_qspec_map[weight].dtype}")
assert weight.op == "get_attr" and KEY not in weight.meta
assert annotation.input_qspec_map[weight] is specs[1]


# %%
# `get_attr` 上什麼都沒有，要求寫在 `conv2d` 的 `input_qspec_map` 裡，說的是 `conv1_weight → conv2d` 這條 edge。怎麼量化
# 要看誰來用：`ch_axis=0` 指的是 conv2d 的輸出 channel，換一個 op，channel 就可能在別的維度。同一個 tensor 交給兩個 op，
# 也可以有兩種要求。
#
# ## 兩個 quantizer 的要求，差在哪裡 {#two-quantizers}
#
# 把標註整理成「每條 edge 的 spec」：輸入的 spec 屬於一條 edge，輸出的 spec 屬於從這個 node 出去的每一條。
# XNNPACKQuantizer 多要求了哪裡？先比較表的兩欄，再到圖上找。
def requests(gm: torch.fx.GraphModule) -> dict[tuple[str, str], QuantizationSpecBase]:
    """被要求量化的 edge（來源、使用者）和它的 spec。"""
    found = {}
    for node in gm.graph.nodes:
        annotation = node.meta.get(KEY, QuantizationAnnotation())
        found |= {(source.name, node.name): spec for source, spec in annotation.input_qspec_map.items() if spec}
        if annotation.output_qspec:
            found |= {(node.name, user.name): annotation.output_qspec for user in node.users}
    return found


def brief(spec: QuantizationSpec | None) -> str:
    """一格表格：dtype 和整數的範圍。"""
    return f"{spec.dtype} [{spec.quant_min}, {spec.quant_max}]".removeprefix("torch.") if spec else "—"


by_xnnpack = annotate(gm, xnnpack)
asked, also_asked = requests(by_x86), requests(by_xnnpack)
rows = [[" → ".join(edge), brief(asked.get(edge)), brief(spec)] for edge, spec in also_asked.items()]
table(rows, ["edge", "X86InductorQuantizer", "XNNPACKQuantizer"])
stages = [(by_x86, "X86InductorQuantizer"), (by_xnnpack, "XNNPACKQuantizer")]
draw_stages(stages, title="XNNPACKQuantizer 還要求了 conv2d_1 的輸出，以及整個模型的輸出")
assert len(asked) == 5 and asked.keys() < also_asked.keys()
assert also_asked.keys() - asked.keys() == {("conv2d_1", "add"), ("relu_1", "output")}
assert [brief(request["x", "conv2d"]) for request in (asked, also_asked)] == ["uint8 [0, 255]", "int8 [-128, 127]"]
assert [brief(request["conv1_weight", "conv2d"]) for request in (asked, also_asked)] == [
    "int8 [-128, 127]",
    "int8 [-127, 127]",
]


# %%
# - **數值。** activation（node 之間流動的資料）一個用 uint8，一個用 int8；weight 都是 int8，但最小值不同。
# - **位置。** X86InductorQuantizer 把 conv2d_1 → add → relu_1 當成一個 pattern（一起處理的一串 op），因為 backend 能用
#   一個 kernel 算完（[M06-2](chapter:m06_2_x86_inductor)），所以中間沒有要求，輸出也留在浮點。XNNPACKQuantizer 則把 add
#   → relu_1 當成另一個運算，int8 進、int8 出。
#
# 標註是照著 backend 的能力寫的，沒有哪一份比較「對」。怎麼挑選，見 [M03-4](chapter:m03_4_shipped_quantizers)。
#
# ## 每個虛線框，都變成同一個位置的 observer {#to-observers}
#
# 接著做完 prepare。比對左右兩圖：observer 站的位置，就是虛線框的位置。不只用看的，我們也逐條 edge 核對：
def observed(gm: torch.fx.GraphModule) -> dict[tuple[str, str], ObserverBase]:
    """隔著 observer 的 edge（來源、使用者）和那個 observer。"""
    calls = [(node, gm.get_submodule(node.target)) for node in gm.graph.find_nodes(op="call_module")]
    observers = [(node, module) for node, module in calls if isinstance(module, ObserverBase)]
    return {(node.args[0].name, user.name): module for node, module in observers for user in node.users}


prepared = prepare_pt2e(copy.deepcopy(gm), xnnpack)
seen = observed(prepared)
draw_stages([(by_xnnpack, "annotated"), (prepared, "prepared")], title="虛線框在哪裡，observer 就在哪裡")
print(f"被要求的 edge：{len(also_asked)}，隔著 observer 的 edge：{len(seen)}，observer：{len(set(seen.values()))}")
names = ("dtype", "qscheme", "quant_min", "quant_max")
assert seen.keys() == also_asked.keys()
assert all(getattr(seen[edge], name) == getattr(spec, name) for edge, spec in also_asked.items() for name in names)
assert (len(seen), len(set(seen.values()))) == (7, 6) and seen["x", "conv2d"] is seen["x", "add"]
assert observed(prepare_pt2e(copy.deepcopy(gm), x86)).keys() == asked.keys()
assert requests(prepared).keys() > {("x", "conv2d"), ("x", "add")}


# %%
# 有要求的 edge 全都隔著 observer，沒有要求的一條也沒有，observer 的設定也和 spec 相同。7 條 edge 只有 6 個
# observer：`x → conv2d` 和 `x → add` 上是同一個 tensor，要求又相同，所以共用一個（規則見
# [M02-1](chapter:m02_1_from_annotation_to_observer)）。prepare 不會清掉標註；事後想知道某個 observer 為什麼在那裡，還可
# 以去讀 `meta`（最後一個 assert）。
#
# ## 共用的 spec：字母相同的是一組 {#shared}
#
# 還有一種 spec，說的是「和那一條 edge 用同一個 observer」：`SharedQuantizationSpec`。模型 `cnn` 的尾端是 pool → flatten
# → linear，正好用得上。不過它有 BN，要先避開一個陷阱。
#
# ### 有 BN 的模型，要在 prepare 裡面看 {#inside-prepare}
#
# prepare 在標註之前，先把 BN 摺進 conv（[M02-1](chapter:m02_1_from_annotation_to_observer)）。我們的 `annotate` 沒有這
# 一步，看到的是另一張圖。不必自己摺：prepare 呼叫 `validate` 時，圖剛標註完，還沒有 observer，覆寫它就能留一份複本（只
# 用來看，不能再拿去 prepare，[原因在後面](#silent)）。兩種做法得到的要求一樣嗎？
class Snapshot(X86InductorQuantizer):
    """在 prepare 裡面留下一份標註完的圖。"""

    def validate(self, model: torch.fx.GraphModule) -> None:
        super().validate(model)
        self.annotated = copy.deepcopy(model)


cnn = export_module(get_model("cnn").eval(), example_inputs())
snapshot = Snapshot().set_global(get_default_x86_inductor_quantization_config())
prepared_cnn = prepare_pt2e(copy.deepcopy(cnn), snapshot)
outside, inside = requests(annotate(cnn, x86)), requests(snapshot.annotated)
print(f"直接標註：{len(outside)} 條 edge，在 prepare 裡面：{len(inside)} 條")
print("直接標註少了：", *(" → ".join(edge) for edge in inside if edge not in outside), sep="\n")
assert (len(outside), len(inside)) == (6, 8)
assert inside.keys() - outside.keys() == {("relu_1", "adaptive_avg_pool2d"), ("adaptive_avg_pool2d", "flatten")}
assert observed(prepared_cnn).keys() == inside.keys()

# %%
# 不一樣，而且不會報錯。這個 quantizer 只在 pool 前面是量化過的 pattern 時才標註 pool；BN 還在的時候，conv → bn → relu
# 不是它認得的 pattern，於是 pool 和 flatten 都漏掉了。和 prepare 的結果相符的，是 `snapshot.annotated`（最後一個
# assert）。
#
# ### 帶著字母的虛線框 {#letters}
#
# 現在來看這份標註。pool 和 flatten 的輸出，各指向哪一條 edge？圖上又有哪些虛線框帶著 A？
passing = [node for node in snapshot.annotated.graph.nodes if node.name in ("adaptive_avg_pool2d", "flatten")]
shared = {node.name: node.meta[KEY].output_qspec for node in passing}
rows = [[name, type(spec).__name__, str(spec.edge_or_node)] for name, spec in shared.items()]
table(rows, ["node", "`output_qspec`", "指向"])
stages = [(snapshot.annotated, "annotated"), (prepared_cnn, "prepared")]
draw_stages(stages, title="帶 A 的三個虛線框是一組，變成的三個 observer 也是一組")
assert all(isinstance(spec, SharedQuantizationSpec) for spec in shared.values())
assert [to for *_, to in rows] == ["(relu_1, adaptive_avg_pool2d)", "(adaptive_avg_pool2d, flatten)"]

# %%
# pool 的輸出要和 pool 的輸入用同一個 observer，flatten 也一樣；一個連一個，就成了一組。前後的 scale 和 zero point 因此
# 相同，backend 可以直接對整數做 pool 和 flatten，不必換算。
#
# !!! question "prepare 之後有幾個 observer？幾個物件？"
#     先看左圖的虛線框和字母，推算兩個數字：圖上呼叫 observer 的 node 有幾個，真正的 observer 物件又有幾個。

# %% answer
# 8 個虛線框，所以有 8 個 node；但帶 A 的三個 node 呼叫同一個物件，所以物件只有 6 個。
modules = [prepared_cnn.get_submodule(node.target) for node in prepared_cnn.graph.find_nodes(op="call_module")]
observers = [module for module in modules if isinstance(module, ObserverBase)]
seen = observed(prepared_cnn)
print(f"node：{len(observers)}，物件：{len(set(observers))}")
assert (len(observers), len(set(observers))) == (8, 6)
assert seen["relu_1", "adaptive_avg_pool2d"] is seen["adaptive_avg_pool2d", "flatten"] is seen["flatten", "linear"]

# %%
# ## 三種落空，都沒有訊息 {#silent}
#
# 1. **忘了 `set_global`。** quantizer 沒有設定，就什麼也不標註。
# 2. **圖上已經有標註。** `_annotated` 的意思是「已經有人處理」，第二個 quantizer 看到就跳過，留下的是第一個的要求。
# 3. **標註之後才 `deepcopy`。** FX 複製 node 時，`meta` 只做淺複製，標註還是原來那一個物件
#    （[pytorch#87361](https://github.com/pytorch/pytorch/pull/87361) 在 2022 年提議改成深複製，torch 2.13 仍是淺複
#    製）。標註的 key 是**原圖**的 node，prepare 在複本裡就找不到這些 edge。
#
# 每一種都接著做完 prepare，數一數隔著 observer 的 edge：
idle, copied = X86InductorQuantizer(), copy.deepcopy(by_x86)
copied_conv = copied.graph.find_nodes(op="call_function", target=torch.ops.aten.conv2d.default)[0]
assert copied_conv.meta[KEY] is annotation
assert all(source.graph is by_x86.graph for source in annotation.input_qspec_map)

cases = [
    ["忘了 `set_global`", annotate(gm, idle), idle, asked],
    ["另一個 quantizer 標註過", annotate(gm, x86), xnnpack, also_asked],
    ["標註之後才 `deepcopy`", copied, x86, asked],
    ["標註之後才 `deepcopy`", copy.deepcopy(by_xnnpack), xnnpack, also_asked],
]
wishes = [requests(graph) for _, graph, *_ in cases]
results = [observed(prepare_pt2e(graph, quantizer)) for _, graph, quantizer, _ in cases]
rows = [
    [label, type(quantizer).__name__, len(wish), len(result), len(right)]
    for (label, _, quantizer, right), wish, result in zip(cases, wishes, results, strict=True)
]
table(rows, ["情況", "prepare 用的 quantizer", "有要求的 edge", "隔著 observer 的 edge", "應該有"])
assert [row[2:] for row in rows] == [[0, 0, 5], [5, 5, 7], [5, 0, 5], [7, 3, 7]]
assert wishes[1] == asked
assert results[3].keys() == {("relu", "conv2d_1"), ("conv2d_1", "add"), ("relu_1", "output")}

# %%
# 第三種最隱密：要求看起來都還在，prepare 也成功了，observer 卻不見了。XNNPACKQuantizer 還剩三條，因為 `output_qspec` 就
# 掛在 node 自己身上，不必靠 key 去找。
#
# 對策有兩條：每次都從沒有標註過的圖複製一份再開始；prepare 之後數一數 observer，數字不對就停下來
# （[M03-1](chapter:m03_1_a_quantizer_from_scratch)）。
#
# ## 總結：四個重點 {#summary}
#
# 1. 標註寫在 `meta["quantization_annotation"]`。依序呼叫 `transform_for_annotation`、`annotate`、`validate`，就能在
#    prepare 之前看到它；模型有 BN 時，改從 prepare 裡面的 `validate` 看。
# 2. 輸入的要求寫在使用者的 `input_qspec_map`，weight 也一樣；輸出的要求寫在 node 自己的 `output_qspec`。
# 3. 有要求的 edge 才有 observer。同一個 tensor 而且要求相同，或是以 `SharedQuantizationSpec` 相連，就共用一個。
# 4. 標註落空不會報錯，數一數才知道。
#
# 下一頁 [M01-3](chapter:m01_3_the_arithmetic)：observer 記下範圍之後，scale、zero point 和整數是怎麼算出來的。
