"""
# M03-1 | 從零寫一個 quantizer

要量化哪些地方，`prepare_pt2e` 問的是 quantizer。前面用的都是現成的，我們只讀它寫下的標註
（[M01-2](chapter:m01_2_annotations)）。這一頁自己寫一個，只處理一種 pattern：conv → relu。讀完之後，你能：

- 寫一個 quantizer，用 `node.target` 找到 pattern 並標註；
- 讓它在 `validate` 裡拒絕處理不了的圖；
- 數一數就知道 quantizer 什麼也沒標註，或是少標註了：造成這種情況的原因，大多不會報錯。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。
"""

# %%
# ## quantizer 一定要有什麼 {#contract}
#
# 自己的 quantizer 要繼承 `Quantizer`。看看哪幾個 method 非寫不可：
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import export

from common.graph_utils import short
from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet, sqnr
from common.viz import draw_stages, table

quiet()
from torch.ao.quantization import observer as torch_ao
from torchao.quantization.pt2e import FakeQuantizeBase, MinMaxObserver, ObserverBase, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer

torch.set_num_threads(1)
aten = torch.ops.aten
KEY = "quantization_annotation"
methods = {
    "transform_for_annotation": "有需要時，先改寫圖",
    "annotate": "把要求寫進 `meta`",
    "validate": "檢查標註好的圖，不行就報錯",
    "prepare_obs_or_fq_callback": "插入 observer 之前，還可以修改它們",
}
must = Quantizer.__abstractmethods__
rows = [[f"`{name}`", "要" if name in must else "不用", purpose] for name, purpose in methods.items()]
table(rows, ["method（依呼叫順序）", "非寫不可？", "用途"])
assert must == {"annotate", "validate"}
assert set(methods) == {name for name in vars(Quantizer) if not name.startswith("_")}

# %%
# 四個 method 只有兩個非寫不可，而且 `validate` 可以什麼也不做。真正的工作都在 `annotate`。
#
# ## 找到 pattern，寫下要求 {#annotate}
#
# 先準備兩個 spec，一個給 activation，一個給 weight（各欄位的意思見 [M01-2](chapter:m01_2_annotations#spec)）。接著是
# quantizer：用 target 找出每個 conv，看後面接的是不是 relu，是的話就標註這兩個 node。哪幾條 edge 有 spec？哪一條沒有？
ACTIVATION = QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine)
WEIGHT = QuantizationSpec(torch.int8, PerChannelMinMaxObserver, -127, 127, torch.per_channel_symmetric, ch_axis=0)


class ConvReluQuantizer(Quantizer):
    """conv → relu 用 int8：輸入、weight，以及 relu 的輸出。"""

    relus = frozenset({aten.relu.default})

    def __init__(self, activation: QuantizationSpec = ACTIVATION, weight: QuantizationSpec = WEIGHT) -> None:
        self.activation, self.weight = activation, weight

    def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
        for conv in model.graph.find_nodes(op="call_function", target=aten.conv2d.default):
            users = list(conv.users)
            if len(users) == 1 and users[0].target in self.relus:
                self.annotate_pair(conv, users[0])
        return model

    def annotate_pair(self, conv: torch.fx.Node, relu: torch.fx.Node) -> None:
        x, weight = conv.args[:2]
        conv.meta[KEY] = QuantizationAnnotation({x: self.activation, weight: self.weight}, _annotated=True)
        relu.meta[KEY] = QuantizationAnnotation(output_qspec=self.activation, _annotated=True)

    def validate(self, model: torch.fx.GraphModule) -> None:
        pass


# %%
# 有 spec 的是 conv 的兩個輸入，以及 relu 的輸出。conv → relu 這條 edge 沒有，因為 backend 要用一個 kernel 算完兩者；
# bias 也沒有，它留在浮點（[M03-2](chapter:m03_2_specs) 再把它變成 int32）。conv 如果還有第二個使用者，就不碰它（原因見
# [M03-3](chapter:m03_3_patterns_that_bite)）；`_annotated=True` 則是告訴別的 quantizer：這些 node 已經有人處理了
# （[M03-4](chapter:m03_4_shipped_quantizers)）。
#
# ## 完整走一遍 {#end-to-end}
#
# 接下來是熟悉的步驟（[M01-1](chapter:m01_1_end_to_end)），只是換成我們的 quantizer。`conv2d` 和 `relu` 之間，有沒有哪個
# 階段夾著東西？
model = get_model("conv_relu").eval()
data = torch.randn(5, 8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
calibration, test = data[:4], data[4]


def observers(prepared: torch.fx.GraphModule) -> list[nn.Module]:
    """每個呼叫 observer 的 node，各取它的 observer；QAT 用的 fake quant 也算。"""
    called = [prepared.get_submodule(node.target) for node in prepared.graph.find_nodes(op="call_module")]
    return [module for module in called if isinstance(module, (ObserverBase, FakeQuantizeBase))]


def calibrate_and_convert(prepared: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """校準、convert 過的複本。"""
    prepared = copy.deepcopy(prepared)
    with torch.no_grad():
        for batch in calibration:
            prepared(batch)
    return convert_pt2e(prepared)


def q_dq(converted: torch.fx.GraphModule) -> list[str]:
    """convert 之後，圖裡的 quantize 和 dequantize，依順序排列。"""
    return [short(node.target) for node in converted.graph.nodes if "quantized_decomposed." in str(node.target)]


exported = export_module(model, (calibration[0],))
annotated = ConvReluQuantizer().annotate(copy.deepcopy(exported))  # 其他 method 什麼也不做
prepared = prepare_pt2e(copy.deepcopy(exported), ConvReluQuantizer())
converted = calibrate_and_convert(prepared)
with torch.no_grad():
    reference, output = model(test), converted(test)
stages = [(annotated, "annotated"), (prepared, "prepared"), (converted, "converted")]
draw_stages(stages, title="三個 spec、三個 observer，conv2d 和 relu 之間什麼都沒有")
print(f"observer：{len(observers(prepared))}，SQNR：{sqnr(reference, output):.4g} dB", *q_dq(converted), sep="\n")
(relu,) = converted.graph.find_nodes(op="call_function", target=aten.relu.default)
assert relu.args[0].target is aten.conv2d.default
assert len(observers(prepared)) == 3
assert q_dq(converted) == ["dequantize_per_channel", *["quantize_per_tensor", "dequantize_per_tensor"] * 2]
assert 38 < sqnr(reference, output) < 40


# %%
# 沒有，SQNR 大約是 39 dB。三個 observer 變成五個 q/dq node，而不是六個，因為 weight 在 convert 時就已經 quantize 好了
# （[M02-3](chapter:m02_3_convert_by_hand)）。
#
# ### 錯誤做法：conv 和 relu 之間也寫 spec {#between}
#
# 每個 op 的輸出都標註，看起來很周到。但 backend 要找的 pattern 會變成什麼樣子？
class EachOpQuantizer(ConvReluQuantizer):
    """錯誤示範：連 conv 的輸出也要求。"""

    def annotate_pair(self, conv: torch.fx.Node, relu: torch.fx.Node) -> None:
        super().annotate_pair(conv, relu)
        conv.meta[KEY].output_qspec = self.activation


split_prepared = prepare_pt2e(copy.deepcopy(exported), EachOpQuantizer())
split = calibrate_and_convert(split_prepared)
with torch.no_grad():
    quality = [sqnr(reference, output), sqnr(reference, split(test))]
rows = [
    ["中間沒有 spec", len(observers(prepared)), len(q_dq(converted)), f"{quality[0]:.4g}"],
    ["中間也有 spec", len(observers(split_prepared)), len(q_dq(split)), f"{quality[1]:.4g}"],
]
table(rows, ["標註", "observer 數", "q/dq 數", "SQNR（dB）"])
draw_stages([(converted, "中間沒有 spec"), (split, "中間也有 spec")], title="右邊的 q/dq 隔開了 conv 和 relu")
(split_relu,) = split.graph.find_nodes(op="call_function", target=aten.relu.default)
assert split_relu.args[0].target is torch.ops.quantized_decomposed.dequantize_per_tensor.default
assert [row[1:3] for row in rows] == [[3, 5], [4, 7]]
assert quality[0] - quality[1] > 2

# %%
# 沒有錯誤訊息，但 conv 和 relu 不再相鄰，一次算完兩者的 kernel 就用不上了。數值也多捨入了一次，而且這一次的 255 格還得
# 分給負數，偏偏負數馬上就要被 relu 丟掉，SQNR 於是下降。一個 kernel 算的東西，只標註它的外圍，不標註裡面。
#
# !!! question "遇到 `nn.ReLU(inplace=True)`，它會找到什麼？"
#     同樣是 conv 接 relu，只是這個 relu 直接改寫輸入。prepare 會插入幾個 observer？

# %% answer
# 一個也沒有。這個 relu 是 `aten.relu_.default`，target 不同；找不到的就略過。所以該認得的 target，要一個一個列出來：
in_place = export_module(nn.Sequential(model.conv, nn.ReLU(inplace=True)).eval(), (calibration[0],))


class BothRelusQuantizer(ConvReluQuantizer):
    relus = frozenset({aten.relu.default, aten.relu_.default})


quantizers = [ConvReluQuantizer(), BothRelusQuantizer()]
counts = [len(observers(prepare_pt2e(copy.deepcopy(in_place), quantizer))) for quantizer in quantizers]
print(f"target：{[str(node.target) for node in in_place.graph.nodes if node.op == 'call_function']}")
print(f"observer：{counts[0]}，把 relu_ 也列進去：{counts[1]}")
assert counts == [0, 3]


# %%
# ## 在 `validate` 裡拒絕 {#validate}
#
# prepare 呼叫 `validate` 時，圖已經標註好，observer 還沒出現；圖裡和 spec 裡的一切，都可以在這裡檢查。下面這個會拒絕兩
# 種錯誤：什麼都沒標註到，以及 spec 的 observer 不是 torchao 的（舊範例都從 `torch.ao` import）。好的訊息要說出看到了什
# 麼，以及該怎麼做：
class StrictQuantizer(ConvReluQuantizer):
    """沒有 conv → relu 的圖不收，observer 不是 torchao 的 spec 也不收。"""

    def validate(self, model: torch.fx.GraphModule) -> None:
        if not any(KEY in node.meta for node in model.graph.nodes):
            targets = [str(node.target) for node in model.graph.nodes if node.op.startswith("call_")]
            raise ValueError(
                f"圖裡沒有 aten.conv2d.default → aten.relu.default，只有 {', '.join(targets)}。"
                "請傳入 torch.export.export(model, inputs).module()，不要拆解。"
            )
        for spec in (self.activation, self.weight):
            made = type(spec.observer_or_fake_quant_ctr())
            if not issubclass(made, (ObserverBase, FakeQuantizeBase)):
                raise ValueError(
                    f"convert_pt2e 會忽略 {made.__module__}.{made.__name__}。"
                    f"請從 torchao.quantization.pt2e import {made.__name__}。"
                )


old_activation = QuantizationSpec(torch.int8, torch_ao.MinMaxObserver, -128, 127, torch.per_tensor_affine)
old_weight = QuantizationSpec(
    torch.int8, torch_ao.PerChannelMinMaxObserver, -127, 127, torch.per_channel_symmetric, ch_axis=0
)
decomposed = export(model, (calibration[0],)).run_decompositions().module()
attempts = [(exported, StrictQuantizer()), (decomposed, StrictQuantizer()), (exported, StrictQuantizer(old_activation))]
said = []
for graph, quantizer in attempts:
    try:
        said.append(f"{len(observers(prepare_pt2e(copy.deepcopy(graph), quantizer)))} 個 observer")
    except ValueError as error:
        said.append(f"ValueError: {error}")
print(*said, sep="\n")
assert said == [
    "3 個 observer",
    "ValueError: 圖裡沒有 aten.conv2d.default → aten.relu.default，只有 _guards_fn, "
    "aten.convolution.default, aten.relu.default。"
    "請傳入 torch.export.export(model, inputs).module()，不要拆解。",
    "ValueError: convert_pt2e 會忽略 torch.ao.quantization.observer.MinMaxObserver。"
    "請從 torchao.quantization.pt2e import MinMaxObserver。",
]


# %%
# 之後發生的事，`validate` 就看不到了：prepare 是不是真的在每條標註過的 edge 上放了 observer（下面就有一個沒放的例子）、
# 有沒有人校準。而別人寫的 quantizer，這個 method 很可能是空的。所以呼叫 prepare 的人，自己要數。
#
# ## 不報錯的失敗，以及露出馬腳的數字 {#silent}
#
# 下面八種情況都會讓量化落空，有的全部落空，有的只落空一部分。每一種都盡量跑到最後，用的都是什麼也不拒絕的 quantizer。第
# 一列是正確的結果。先看數字，原因寫在表的後面。
class Functional(nn.Module):
    """同樣的 conv 和 relu，寫成函式。"""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = model.conv.weight, model.conv.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(F.conv2d(x, self.weight, self.bias, padding=1))


class UnderNoGrad(nn.Module):
    """同樣的模型，forward 裡加上 `no_grad`。"""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


no_grad_inside = export_module(UnderNoGrad().eval(), (calibration[0],))
edited = copy.deepcopy(exported)
del edited.graph.find_nodes(op="call_function", target=aten.relu.default)[0].meta["val"]  # 和手工建立的 node 一樣
cases = [
    ("正確", exported, ConvReluQuantizer()),
    ("`torch.ao` 的 observer", exported, ConvReluQuantizer(old_activation, old_weight)),
    ("其中一個是 `torch.ao` 的", exported, ConvReluQuantizer(weight=old_weight)),
    ("忘了 `set_global`", exported, X86InductorQuantizer()),
    ("拆解過的圖", decomposed, ConvReluQuantizer()),
    ("`symbolic_trace`，函式寫法", torch.fx.symbolic_trace(Functional().eval()), ConvReluQuantizer()),
    ("`symbolic_trace`，module 寫法", torch.fx.symbolic_trace(model), ConvReluQuantizer()),
    ("forward 裡有 `no_grad`", no_grad_inside, ConvReluQuantizer()),
    ('relu 沒有 `meta["val"]`', edited, ConvReluQuantizer()),
]
counts, results = [], []
for _, graph, quantizer in cases:
    case = prepare_pt2e(copy.deepcopy(graph), quantizer)
    counts.append(len(observers(case)))
    try:
        result = calibrate_and_convert(case)
        with torch.no_grad():
            results.append([len(q_dq(result)), sqnr(reference, result(test))])
    except AttributeError as error:
        results.append(["—", f"AttributeError: {error}"])
cells = [[nodes, f"{dB:.4g}" if isinstance(dB, float) else dB] for nodes, dB in results]
rows = [[label, count, *cell] for (label, *_), count, cell in zip(cases, counts, cells, strict=True)]
table(rows, ["情況", "observer 數", "q/dq 數", "SQNR（dB），或 convert 的錯誤"])
nothing = [0, float("inf")]
assert counts == [3, 0, 2, 0, 0, 0, 0, 0, 2]
assert [nodes for nodes, _ in results] == [5, 0, 4, 0, 0, 0, "—", 0, 3]
assert [results[i] for i in (1, 3, 4, 5, 7)] == [nothing] * 5
assert results[6][1] == "AttributeError: 'Conv2d' object has no attribute 'qconfig'"
assert min(results[2][1], results[8][1]) > results[0][1]

# %%
# prepare 全都不報錯；convert 只報了一次，而且訊息裡看不出原因。SQNR 是 `inf`，代表輸出和浮點模型完全相同：什麼都沒有量
# 化。只少一部分時，SQNR 甚至比正確的結果**更好**。所以，沒有錯誤訊息、SQNR 很漂亮，都不能證明什麼；observer 的數目則是
# 除了第一列，每一列都不對。
#
# - **`torch.ao` 的 observer。** prepare 照樣插入，校準也照樣執行，但 convert 只認得 torchao 的類別，其他的就留在原地。
#   它們的名字也是 `activation_post_process_0` 這一種，所以要看類別來數，不要看名字。
#   （[executorch PR 16473](https://github.com/pytorch/executorch/pull/16473) 就是把一個現成的 quantizer 改用 torchao 的
#   observer。）如果只有一個 spec 寫錯，就只少那一個。
# - **忘了 `set_global`。** 現成的 quantizer 沒有設定，就不標註。
# - **拆解過的圖。** 裡面已經沒有 `aten.conv2d`（[M00-3](chapter:m00_3_decompositions)）。
# - **`symbolic_trace`。** 它的 target 是 Python 函式和 module 的路徑，不是 ATen
#   op（[M00-1](chapter:m00_1_export_and_aten#b2-three-styles)）。圖裡如果是 module，convert 還會被它絆倒，就是上面那個
#   AttributeError。
# - **forward 裡有 `no_grad`。** export 會把那一段放進另一張子圖，於是這張圖裡沒有 conv。把 `no_grad` 拿掉，或是讓
#   export 本身也在它裡面執行。（[executorch#22069](https://github.com/pytorch/executorch/issues/22069)；
#   [ao PR 4861](https://github.com/pytorch/ao/pull/4861) 讓 prepare 直接拒絕，但晚於 torchao 0.18.0。）
# - **沒有 `meta["val"]`。** `meta["val"]` 說輸出是 tensor，prepare 才觀察這個輸出。
#   [手工建立的 node](chapter:m00_4_editing_graphs#no-meta) 沒有它：請從被取代的 node 複製過來。
#
# [pytorch#160095](https://github.com/pytorch/pytorch/issues/160095) 回報的就是這種情形：用現成的 quantizer，沒有錯誤，
# 也沒有量化任何東西。上面比較難一眼看出的幾點，這裡再驗證一次：
left = [node.target for node in calibrate_and_convert(prepare_pt2e(copy.deepcopy(exported), cases[1][2])).graph.nodes]
with torch.no_grad():
    no_grad_around = export_module(UnderNoGrad().eval(), (calibration[0],))
graphs = [no_grad_inside, no_grad_around]
targets = [[short(node.target) for node in gm.graph.nodes if node.op == "call_function"] for gm in graphs]
print(f"照常 export：{targets[0]}，在 no_grad 之下 export：{targets[1]}")
assert [str(target).startswith("activation_post_process") for target in left].count(True) == 3
assert targets == [["wrap_with_set_grad_enabled", "getitem"], ["conv2d", "relu"]]
assert len(observers(prepare_pt2e(no_grad_around, ConvReluQuantizer()))) == 3
assert len(observers(prepare_pt2e(copy.deepcopy(edited), StrictQuantizer()))) == 2

# %%
# ## 可以直接抄走的 assert {#assert}
#
# 抄走 [`observers`](#end-to-end) 這個函式，每次 prepare 之後都加上一行。數目要事先從標註或模型推算；只檢查「大於零」並
# 不夠：上面就有兩種情況是 2，而不是 3。
expected = 3  # 輸入、weight、relu 的輸出
assert len(observers(prepared)) == expected, f"observer 有 {len(observers(prepared))} 個，應該是 {expected} 個"


# %%
# 模型一大，總數就不容易推算。這時可以逐個 op 檢查：有哪些 conv 的輸入或 weight 不是來自 observer？總數仍然要一起看，因
# 為圖裡如果根本沒有 conv，這份清單也會是空的。
def unobserved(prepared: torch.fx.GraphModule, target: torch._ops.OpOverload) -> list[str]:
    """target 是它，但前兩個輸入不都來自 observer 的 node。"""
    modules = dict(prepared.named_modules(remove_duplicate=False))
    nodes = prepared.graph.find_nodes(op="call_function", target=target)
    return [n.name for n in nodes if not all(isinstance(modules.get(a.target), ObserverBase) for a in n.args[:2])]


residual = prepare_pt2e(export_module(get_model("residual").eval(), example_inputs()), ConvReluQuantizer())
without_conv = prepare_pt2e(copy.deepcopy(decomposed), ConvReluQuantizer())
graphs = {"conv_relu": prepared, "residual": residual, "conv_relu，拆解過": without_conv}
rows = [[name, str(unobserved(gm, aten.conv2d.default)), len(observers(gm))] for name, gm in graphs.items()]
table(rows, ["模型", "沒被觀察的 conv", "observer 數"])
assert [row[1:] for row in rows] == [["[]", 3], ["['conv2d_1']", 3], ["[]", 0]]

# %%
# `residual` 的第二個 conv 後面接的是 add 而不是 relu，所以我們的 quantizer 把它留在浮點：程式就是這樣寫的。這是不是你要
# 的，程式判斷不了；但現在你看得到了。
#
# ## 總結：四個重點 {#summary}
#
# 1. quantizer 是 `Quantizer` 的子類別，要有 `annotate` 和 `validate`。`annotate` 用 `node.target` 找到 node，把
#    `QuantizationAnnotation` 寫進它的 `meta`，其餘的交給 prepare。
# 2. backend 用一個 kernel 算的東西，只標註外圍，不標註裡面。
# 3. 在 `validate` 裡拒絕找不到 pattern 的圖，以及不可能成功的 spec，訊息要說明該怎麼做。
# 4. quantizer 什麼都沒找到，也不會報錯。每次 prepare 之後，看類別數一數 observer。
#
# 下一頁 [M03-2](chapter:m03_2_specs)：共用 scale、推導 scale，或事先固定 scale 的 spec。
