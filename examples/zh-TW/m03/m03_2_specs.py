"""
# M03-2 | 四種 spec，以及它們的錯誤訊息

spec 說的是一個值要怎麼量化。到目前為止，scale 和 zero point 大多交給校準決定。另外還有三種：和別的地方共用、從別的
scale 推導，或是事先固定。讀完之後，你能：

- 寫出每一種 spec，並且親手驗算 convert 之後的結果，一個 bit 都不差；
- 讓 conv 的 bias 變成 int32，也說得出它原本為什麼是浮點；
- 從錯誤訊息追到出問題的 spec，就算訊息只有 `KeyError: (conv2d, max_pool2d)`。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。quantizer 怎麼找到 pattern，見
[M03-1](chapter:m03_1_a_quantizer_from_scratch)。
"""

# %%
# ## 四種 spec {#four-kinds}
#
# 四種都是 dataclass。各有哪些必填的欄位？
import copy
import re
from dataclasses import MISSING, fields, replace

import torch
import torch.nn as nn
import torch.nn.functional as F

from common.graph_utils import short
from common.pt2e import export_module, quiet, sqnr
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import MinMaxObserver, ObserverBase, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)

torch.set_num_threads(1)
KEY = "quantization_annotation"
kinds = {
    QuantizationSpec: "校準",
    SharedQuantizationSpec: "別處的 observer",
    DerivedQuantizationSpec: "以其他 observer 為引數的函式",
    FixedQParamsQuantizationSpec: "你自己",
}
required = [[field.name for field in fields(kind) if field.default is MISSING] for kind in kinds]
optional = [[field.name for field in fields(kind) if field.default is not MISSING] for kind in kinds]
names = zip(kinds.items(), required, optional, strict=True)
rows = [[kind.__name__, source, ", ".join(must), ", ".join(may) or "—"] for (kind, source), must, may in names]
table(rows, ["種類", "scale 和 zero point 來自", "必填的欄位", "選填的欄位"])
assert required == [
    ["dtype", "observer_or_fake_quant_ctr"],
    ["edge_or_node"],
    ["derived_from", "derive_qparams_fn", "dtype"],
    ["dtype", "scale", "zero_point"],
]

# %%
# `edge_or_node` 指的是圖上的一個位置：`(來源, 使用者)` 是一條 edge，node 本身則代表它的輸出。「選填」只是 dataclass 不
# 要求而已；prepare 和 convert 要求什麼，看[錯誤訊息](#given-errors)就知道。
#
# ## 一個模型，四種都用上 {#all-four}
#
# 模型是 conv → max_pool2d → sigmoid。`plan` 寫出每個位置要什麼，quantizer 只是照著寫進圖裡。有兩行值得細看：pool 的輸出
# 和誰共用？bias 又是從什麼推導的？
INT8 = QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine)
WEIGHT = QuantizationSpec(torch.int8, PerChannelMinMaxObserver, -127, 127, torch.per_channel_symmetric, ch_axis=0)
FIXED = FixedQParamsQuantizationSpec(torch.uint8, 1 / 256, 0, 0, 255, torch.per_tensor_affine)


def bias_qparams(observers: list[ObserverBase]) -> tuple[torch.Tensor, torch.Tensor]:
    """bias 的 scale 和 zero point，shape 都是 [channels]，由輸入和 weight 的 observer 算出。"""
    (input_scale, _), (weight_scale, _) = [observer.calculate_qparams() for observer in observers]
    return input_scale * weight_scale, torch.zeros_like(weight_scale, dtype=torch.int64)


def plan(conv: torch.fx.Node, pool: torch.fx.Node, sigmoid: torch.fx.Node) -> dict:
    """每個位置的 spec。"""
    x, weight, bias = conv.args[:3]
    return {
        (x, conv): INT8,
        (weight, conv): WEIGHT,
        (bias, conv): DerivedQuantizationSpec(
            derived_from=[(x, conv), (weight, conv)],
            derive_qparams_fn=bias_qparams,
            dtype=torch.int32,
            quant_min=-(2**31),
            quant_max=2**31 - 1,
            qscheme=torch.per_channel_symmetric,
            ch_axis=0,
        ),
        conv: INT8,
        (conv, pool): INT8,
        pool: SharedQuantizationSpec((conv, pool)),
        (pool, sigmoid): INT8,
        sigmoid: FIXED,
    }


def ops(gm: torch.fx.GraphModule) -> list[torch.fx.Node]:
    """圖裡的運算，依順序排列。"""
    return [node for node in gm.graph.nodes if node.op == "call_function"]


class PlanQuantizer(Quantizer):
    """把一份 plan 寫到這個模型的 conv、pool 和 sigmoid 上。"""

    def __init__(self, plan=plan) -> None:
        self.plan = plan

    def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
        for place, spec in self.plan(*ops(model)).items():
            node = place[1] if isinstance(place, tuple) else place
            annotation = node.meta.setdefault(KEY, QuantizationAnnotation())
            if isinstance(place, tuple):
                annotation.input_qspec_map[place[0]] = spec
            else:
                annotation.output_qspec = spec
        return model

    def validate(self, model: torch.fx.GraphModule) -> None:
        pass


class ConvPoolSigmoid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(F.max_pool2d(self.conv(x), 2))


# %%
# 接著是熟悉的步驟。在圖上找出帶著 A 的兩個位置，再看 convert 之後的 scale：哪些相同？哪一個是整齊的數字？
def observers(prepared: torch.fx.GraphModule) -> dict[str, ObserverBase]:
    """每個被觀察的 node 後面的 observer，以 node 的名字為 key。"""
    modules = {node: prepared.get_submodule(node.target) for node in prepared.graph.find_nodes(op="call_module")}
    return {node.args[0].name: module for node, module in modules.items() if isinstance(module, ObserverBase)}


def prepare(plan=plan) -> torch.fx.GraphModule:
    return prepare_pt2e(copy.deepcopy(exported), PlanQuantizer(plan))


def calibrate_and_convert(prepared: torch.fx.GraphModule) -> torch.fx.GraphModule:
    with torch.no_grad():
        for batch in calibration:
            prepared(batch)
    return convert_pt2e(prepared)


_ = torch.manual_seed(0)
model = ConvPoolSigmoid().eval()
data = torch.randn(5, 8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
calibration, test = data[:4], data[4]
exported = export_module(model, (test,))
annotated = PlanQuantizer().annotate(copy.deepcopy(exported))  # 其他 method 什麼也不做
prepared = prepare()
found = observers(prepared)
converted = calibrate_and_convert(prepared)
with torch.no_grad():
    reference, output = model(test), converted(test)
table([[name, type(observer).__name__] for name, observer in found.items()], ["觀察誰", "observer"])
draw_stages([(annotated, "annotated"), (converted, "converted")], title="帶 A 的：max_pool2d 前後用同一個 scale")
print(f"observer 的 node：{len(found)}，物件：{len(set(found.values()))}，SQNR：{sqnr(reference, output):.4g} dB")
assert found.keys() == {"x", "conv_weight", "conv_bias", "conv2d", "max_pool2d", "sigmoid"}
assert len(set(found.values())) == 5 and found["conv2d"] is found["max_pool2d"]
assert type(found["conv_bias"]).__name__ == "DerivedObserverOrFakeQuantize"
assert type(found["sigmoid"]).__name__ == "FixedQParamsObserver"
assert 48 < sqnr(reference, output) < 51


# %%
# pool 前後的 scale 相同，sigmoid 的是 1/256。六個 node 呼叫五個 observer 物件，其中兩個不理會資料：bias 的那一個去問另
# 外兩個，sigmoid 的那一個早就有答案。conv → pool 和 pool → sigmoid 這兩條 edge 沒有自己的 observer，因為它們的 spec 和
# 前一個輸出的相同（[M02-1](chapter:m02_1_from_annotation_to_observer#implicit)）。
#
# 接著一種一種看：先親手算，再看錯誤訊息。為此要留下某一次執行的整數，並寫下 quantize 這個 op 的算式
# （[M01-3](chapter:m01_3_the_arithmetic)）：
def run(converted: torch.fx.GraphModule) -> list[tuple[torch.fx.Node, torch.Tensor]]:
    """用 `test` 執行一次，回傳每個 quantize node 和它算出的整數。"""
    interpreter = torch.fx.Interpreter(converted, garbage_collect_values=False)
    with torch.no_grad():
        interpreter.run(test)
    target = torch.ops.quantized_decomposed.quantize_per_tensor.default
    return [(node, interpreter.env[node]) for node in ops(converted) if node.target is target]


def quantize(value, scale, zero_point, quant_min, quant_max, dtype):
    return torch.clamp(torch.round(value * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


(x_q, x_int), (conv_q, conv_int), (pool_q, pool_int), (sigmoid_q, sigmoid_int) = run(converted)
weight_int, bias_int = converted.get_buffer("_frozen_param0"), converted.get_buffer("_frozen_param1")
weight_scale, bias_scale = converted.get_buffer("_scale_0"), converted.get_buffer("_scale_1")
weight, bias = model.conv.weight.detach(), model.conv.bias.detach()

# %%
# ## QuantizationSpec：由校準決定 {#given}
#
# `x` 的 spec 指定了 `MinMaxObserver` 和 256 個整數，所以 scale 和 zero point 可以從校準資料的最小值與最大值算出來。
# weight 則是每個輸出 channel 一個 scale，zero point 是 0：
low, high = calibration.min(), calibration.max()
scale = (high - low) / 255
zero_point = int(-128 - torch.round(low / scale))
scales = weight.abs().amax((1, 2, 3)) / (254 / 2)  # -127 到 127 有 254 格
print(f"x：scale {scale:.4g}，zero point {zero_point}；weight：scale {scales.min():.4g} … {scales.max():.4g}")
assert x_q.args[1:] == (scale.item(), zero_point, -128, 127, torch.int8)
assert torch.equal(x_int, quantize(test, *x_q.args[1:]))
assert torch.equal(weight_scale, scales)
assert torch.equal(weight_int, quantize(weight, scales[:, None, None, None], 0, -127, 127, torch.int8))


# %%
# ### 它的錯誤訊息 {#given-errors}
#
# `attempt` 把一份 plan 從頭跑到尾，回傳失敗的步驟和訊息。下面是 `x` 的九種 spec，各有一個錯。猜猜看，各要到哪一步才會發
# 現？
def attempt(plan) -> list[str]:
    """失敗的步驟，以及訊息的第一行。"""
    step = "寫 spec"
    try:
        plan(*ops(exported))
        step = "prepare"
        prepared = prepare(plan)
        with torch.no_grad():
            step = "calibrate"
            prepared(test)
            step = "convert"
            converted = convert_pt2e(prepared)
            step = "run"
            converted(test)
    except Exception as error:
        message = " ".join(str(error).splitlines()[0].split())
        message = re.sub("(?<=recursion depth exceeded).*", "", message)  # 後面那一截，看 Python 在哪裡發現
        return [step, f"{type(error).__name__}: {message}"]
    return ["—", "沒有錯誤"]


def but(changes):
    """改掉幾個位置的 plan。"""
    return lambda conv, pool, sigmoid: plan(conv, pool, sigmoid) | changes(conv, pool, sigmoid)


def for_x(make):
    """x 換成別的 spec 的 plan。"""
    return but(lambda conv, pool, sigmoid: {(conv.args[0], conv): make()})


affine, per_channel = torch.per_tensor_affine, torch.per_channel_symmetric
mistakes = {
    "沒有 observer": lambda: QuantizationSpec(torch.int8),
    "`quant_min` 大於 `quant_max`": lambda: QuantizationSpec(torch.int8, MinMaxObserver, 127, -128, affine),
    "`ch_axis` 從後面數": lambda: QuantizationSpec(torch.int8, MinMaxObserver, ch_axis=-1),
    "給了 observer，不是它的類別": lambda: QuantizationSpec(torch.int8, MinMaxObserver(), -128, 127, affine),
    "沒有 qscheme": lambda: QuantizationSpec(torch.int8, MinMaxObserver, -128, 127),
    "範圍不含 0": lambda: QuantizationSpec(torch.int8, MinMaxObserver, 1, 127, affine),
    "per-channel 缺 `ch_axis`": lambda: QuantizationSpec(torch.int8, PerChannelMinMaxObserver, -127, 127, per_channel),
    "int8 用了 uint8 的範圍": lambda: QuantizationSpec(torch.int8, MinMaxObserver, 0, 255, affine),
    "範圍只填一頭": lambda: QuantizationSpec(torch.int8, MinMaxObserver, quant_min=-127, qscheme=affine),
}
outcomes = {label: attempt(for_x(make)) for label, make in mistakes.items()}
table([[label, *outcome] for label, outcome in outcomes.items()], ["錯在哪裡", "哪一步發現", "訊息"])
assert list(outcomes.values()) == [
    [
        "寫 spec",
        "TypeError: QuantizationSpec.__init__() missing 1 required positional argument: 'observer_or_fake_quant_ctr'",
    ],
    ["寫 spec", "ValueError: quant_min 127 must be <= quant_max -128."],
    ["寫 spec", "ValueError: Ch_axis is < 0."],
    ["prepare", "AttributeError: 'MinMaxObserver' object has no attribute '__name__'"],
    [
        "prepare",
        "NotImplementedError: MinMaxObserver's qscheme only support "
        "torch.per_tensor_symmetric and torch.per_tensor_affine.",
    ],
    ["prepare", "AssertionError: Used-specified quantization range must include 0."],
    ["calibrate", "TypeError: list indices must be integers or slices, not NoneType"],
    ["run", "AssertionError: quant_max out of bounds for dtype, quant_max_upper_bound: 127 quant_max: 255"],
    ["—", "沒有錯誤"],
]
one_end = observers(prepare(for_x(mistakes["範圍只填一頭"])))["x"]
print(f"要求 quant_min=-127，得到 {one_end.quant_min}")
assert one_end.quant_min == -128


# %%
# - 沒填的欄位會以 `None` 傳下去，蓋過 observer 自己的預設值。所以 qscheme 一定要填；per-channel 的話，`ch_axis` 也要
#   填。
# - 有些錯很晚才出現：範圍超出 dtype，要到執行 convert 過的模型時才知道。
# - 最後一列不會報錯。範圍只填一頭的話，填了也會被忽略，用的是那個 dtype 的整個範圍。
#   （[pytorch#91263](https://github.com/pytorch/pytorch/issues/91263) 提議兩頭都必填。）
#
# ## SharedQuantizationSpec：和別的地方共用 {#shared}
#
# `max_pool2d` 只是挑出數值，所以只要前後同一個整數代表同一個值，backend 就可以直接對整數做。拿另一份 plan 來對照，其中
# pool 的輸出有自己的 spec。pool 之後的整數，有多少和「直接拿 pool 之前的整數做 pool」的結果相同？
def pooled(integers: torch.Tensor) -> torch.Tensor:
    """對 int8 做 max_pool2d。"""
    return F.max_pool2d(integers.float(), 2).to(torch.int8)


unshared = calibrate_and_convert(prepare(but(lambda conv, pool, sigmoid: {pool: INT8})))
_, (own_conv_q, own_conv_int), (own_pool_q, own_pool_int), _ = run(unshared)
equal, own_equal = pooled(conv_int) == pool_int, pooled(own_conv_int) == own_pool_int
rows = [["共用", pool_q, equal], ["自己的 spec", own_pool_q, own_equal]]
rows = [[label, f"{q.args[1]:.4g}, {q.args[2]}", f"{same.float().mean():.0%}"] for label, q, same in rows]
print(f"pool 之前：{conv_q.args[1]:.4g}, {conv_q.args[2]}")
table(rows, ["pool 的輸出", "之後的 scale、zero point", "相同的整數"])
assert conv_q.args[1:] == own_conv_q.args[1:] == pool_q.args[1:] and own_pool_q.args[1] < pool_q.args[1]
assert equal.all() and not own_equal.any()

# %%
# 共用的全部相同，有自己的 spec 的則全都不同。pool 之後的範圍比較窄，給它自己的 spec，scale 就不同了，backend 只好把每個
# 整數重新換算一遍。
#
# ### 它的錯誤訊息 {#shared-errors}
#
# `SharedQuantizationSpec` 指向一個位置。下面五種位置都不能指：
bad_plans = {
    "沒有 spec 的 edge": lambda conv, pool, sigmoid: {conv: INT8, pool: SharedQuantizationSpec((conv, pool))},
    "spec 是 `None` 的 edge": but(lambda conv, pool, sigmoid: {(conv, pool): None}),
    "自己": but(lambda conv, pool, sigmoid: {pool: SharedQuantizationSpec(pool)}),
    "指回來的位置": but(lambda conv, pool, sigmoid: {(conv, pool): SharedQuantizationSpec(pool)}),
    "排在後面的位置": but(lambda conv, pool, sigmoid: {conv: SharedQuantizationSpec((conv, pool))}),
}
outcomes = {label: attempt(bad) for label, bad in bad_plans.items()}
table([[label, *outcome] for label, outcome in outcomes.items()], ["指向", "哪一步發現", "訊息"])
assert list(outcomes.values()) == [
    ["prepare", "KeyError: (conv2d, max_pool2d)"],
    ["prepare", "AttributeError: 'NoneType' object has no attribute 'to'"],
    ["prepare", "RecursionError: maximum recursion depth exceeded"],
    ["prepare", "RecursionError: maximum recursion depth exceeded"],
    [
        "prepare",
        "AssertionError: please make sure only refer to edge or node that has observer/fake_quant inserted: "
        "'(conv2d, max_pool2d)' not in",
    ],
]


# %%
# 訊息頂多說出被指的位置，從來不說是哪一個 spec 指過去的。最後一列就是
# [ao#4421](https://github.com/pytorch/ao/issues/4421)；[ao PR 4483](https://github.com/pytorch/ao/pull/4483) 提議改成比
# 較清楚的訊息，torchao 0.18.0 還沒有。五種都可以用一條規則避開：**只指向排在前面、而且有 spec 的位置。** 前後依圖的順
# 序；同一個 node，輸入在輸出之前。下面的函式會說出誰違反了規則，適合放在
# [`validate`](chapter:m03_1_a_quantizer_from_scratch#validate) 裡。
def pointing_wrong(annotated: torch.fx.GraphModule) -> list[str]:
    """哪些位置的 SharedQuantizationSpec，指的不是排在前面、而且有 spec 的位置。"""
    earlier, wrong = set(), []
    for node in annotated.graph.nodes:
        annotation = node.meta.get(KEY, QuantizationAnnotation())
        specs = {(source, node): spec for source, spec in annotation.input_qspec_map.items()}
        for place, spec in (specs | {node: annotation.output_qspec}).items():
            if isinstance(spec, SharedQuantizationSpec) and spec.edge_or_node not in earlier:
                wrong.append(str(place))
            if spec is not None:
                earlier.add(place)
    return wrong


culprits = [pointing_wrong(PlanQuantizer(bad).annotate(copy.deepcopy(exported))) for bad in bad_plans.values()]
print(culprits)
assert culprits == [["max_pool2d"], ["max_pool2d"], ["max_pool2d"], ["(conv2d, max_pool2d)"], ["conv2d"]]
assert pointing_wrong(annotated) == []

# %%
# ## DerivedQuantizationSpec：int32 的 bias {#derived}
#
# 「bias 為什麼是浮點？」（[pytorch#34872](https://github.com/pytorch/pytorch/issues/34872)）因為沒有 spec 要求它變成別
# 的：X86InductorQuantizer 沒有給 bias 任何 spec，convert 之後，conv 讀的還是 float32 的參數。我們的 bias，每個 channel
# 的 scale 都是「輸入的 scale 乘以 weight 的 scale」。
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
by_x86 = calibrate_and_convert(prepare_pt2e(copy.deepcopy(exported), x86))
conv2d = torch.ops.aten.conv2d.default
biases = [node.args[2] for gm in (by_x86, converted) for node in ops(gm) if node.target is conv2d]
rows = [
    ["X86InductorQuantizer", biases[0].op, str(biases[0].target)],
    ["我們的", short(biases[1].target), str(bias_int.tolist())],
]
table(rows, ["quantizer", "conv2d 的 bias 來自", "內容"])
assert [row[1] for row in rows] == ["get_attr", "dequantize_per_channel"] and biases[0].target == "conv.bias"
assert torch.equal(bias_scale, torch.tensor(x_q.args[1]) * weight_scale) and bias_int.dtype == torch.int32
assert torch.equal(bias_int, quantize(bias, bias_scale, 0, -(2**31), 2**31 - 1, torch.int32))

# %%
# 為什麼偏偏是這個 scale？輸入的一格乘以 weight 的一格，值是 `s_x · s_w`；用整數做 conv，累加的就是這種乘積，所以 scale
# 相同的 bias 可以直接加進去。下面用整數把 conv 算一遍（存成 float64，整數在裡面沒有誤差），和圖用 float32 算出來的比
# 較：
accumulator = F.conv2d(x_int.double() - x_q.args[2], weight_int.double(), bias_int.double(), padding=1)
in_integers = quantize((accumulator * bias_scale.double()[:, None, None]).float(), *conv_q.args[1:])
difference = (in_integers.int() - conv_int.int()).abs()
print(f"最大的總和：{accumulator.abs().max():.0f}，int32 放得下：{2**31 - 1}")
assert torch.equal(accumulator, accumulator.round()) and accumulator.abs().max() < 2**31
assert difference.max() <= 1 and difference.float().mean() < 0.001
assert ((bias_int * bias_scale - bias).abs() <= bias_scale / 2).all()


# %%
# int8 的輸出幾乎全部相同，少數差一格，是因為 float32 的總和剛好捨入到另一邊。所以，用 int32 累加的 kernel 可以直接拿這
# 個 bias 來用；bias 如果是浮點，就要由 backend 先轉換，XNNPACK 就是這樣做的（見
# [pytorch PR 125522](https://github.com/pytorch/pytorch/pull/125522)，這裡沒有執行）。該用哪一種，要看你的 backend。
#
# ### 它的錯誤訊息 {#derived-errors}
#
# convert 會拿 `derived_from` 的 observer 去呼叫那個函式，而 prepare 要先找到這些 observer。第一列的 spec 都和原來一樣，
# 只是順序換了：
def with_bias(**changes):
    """bias 的 spec 換掉幾個欄位的 plan。"""

    def changed(conv, pool, sigmoid):
        specs = plan(conv, pool, sigmoid)
        return specs | {(conv.args[2], conv): replace(specs[conv.args[2], conv], **changes)}

    return changed


bad_plans = {
    "`input_qspec_map` 裡 bias 排第一": lambda conv, *rest: {(conv.args[2], conv): None} | plan(conv, *rest),
    "推導自沒有 spec 的 edge": lambda conv, *rest: {
        place: spec for place, spec in plan(conv, *rest).items() if place != (conv.args[1], conv)
    },
    "per-channel 缺 `ch_axis`": with_bias(ch_axis=None),
    "per-tensor，卻有八個 scale": with_bias(qscheme=torch.per_tensor_symmetric),
    "沒有範圍": with_bias(quant_min=None, quant_max=None),
}
outcomes = {label: attempt(bad) for label, bad in bad_plans.items()}
table([[label, *outcome] for label, outcome in outcomes.items()], ["錯在哪裡", "哪一步發現", "訊息"])
assert list(outcomes.values()) == [
    ["prepare", "KeyError: (x, conv2d)"],
    ["prepare", "KeyError: (conv_weight, conv2d)"],
    ["prepare", "AssertionError: Must provide a valid ch_axis if qscheme is per channel"],
    ["convert", "ValueError: only one element tensors can be converted to Python scalars"],
    [
        "convert",
        "RuntimeError: quantized_decomposed::quantize_per_channel() Expected a value of type 'int' for argument "
        "'quant_min' but instead found type 'NoneType'.",
    ],
]

# %%
# 所以 bias 要排在輸入和 weight 之後。另外，`quant_min` 和 `quant_max` 在 dataclass 是選填，其實非填不可。
#
# ## FixedQParamsQuantizationSpec：事先就知道 {#fixed}
#
# 不管輸入是什麼，sigmoid 和 softmax 的值都在 0 到 1 之間，沒有什麼好校準的；而且有些 kernel 只接受一種 scale，
# [pytorch#46005](https://github.com/pytorch/pytorch/issues/46005) 裡的 sigmoid 就曾經如此：1/256，也就是 256 格剛好是
# 1。observer 還沒看到資料就知道答案。誤差最大有多少？
untouched = [value.item() for value in observers(prepare())["sigmoid"].calculate_qparams()]
curve = torch.sigmoid(torch.linspace(-20, 20, 10001))
shares = torch.softmax(torch.linspace(0, 20, 1000).outer(torch.arange(4.0)), dim=1)  # [1000, 4]
rows = []
for name, y in (("sigmoid", curve), ("softmax", shares)):
    steps = (y - quantize(y, *sigmoid_q.args[1:]) / 256).abs() * 256
    rows.append([name, f"{steps[y < 0.998].max():.4g}", f"{steps.max():.4g}"])
table(rows, ["op", "小於 0.998 時，最大誤差（格）", "全部的最大誤差（格）"])
assert untouched == list(sigmoid_q.args[1:3]) == [1 / 256, 0]
sigmoid_out = torch.sigmoid((pool_int.float() - pool_q.args[2]) * pool_q.args[1])
assert torch.equal(sigmoid_int, quantize(sigmoid_out, *sigmoid_q.args[1:]))
assert all(0.49 < float(row[1]) <= 0.5 and float(row[2]) == 1 for row in rows)

# %%
# 和平常一樣是半格；只有最頂端是一格，因為 1 要用整數 256 表示，而最大的整數是 255。
#
# !!! question "同一個 sigmoid 改用 int8，zero point 該是多少？"
#     scale 仍然是 1/256，整數的範圍換成 -128 到 127。如果 zero point 還是 0，會得到什麼？

# %% answer
# 最小的整數要代表最小的值，所以是 -128，代表 0。zero point 如果是 0，負的整數就代表負的值，但 sigmoid 從不輸出負值；而
# 大於 127/256 的值全被截斷。沒有任何錯誤訊息：
quality = {}
for zero_point in (-128, 0):
    in_int8 = replace(FIXED, dtype=torch.int8, zero_point=zero_point, quant_min=-128, quant_max=127)
    gm = calibrate_and_convert(prepare(but(lambda conv, pool, sigmoid, spec=in_int8: {sigmoid: spec})))
    with torch.no_grad():
        quality[zero_point] = [gm(test).max().item(), sqnr(reference, gm(test))]
rows = [[zero_point, f"{top:.4g}", f"{dB:.4g}"] for zero_point, (top, dB) in quality.items()]
table(rows, ["zero point", "最大的輸出", "SQNR（dB）"])
assert quality[0][0] == 127 / 256 and quality[0][1] < 15
assert quality[-128] == [output.max().item(), sqnr(reference, output)]

# %%
# ### 它的錯誤訊息 {#fixed-errors}
#
# 沒有人會拿固定的值去和資料比對，所以 scale 或 zero point 寫錯並不會報錯，剛才的問題就是如此。會報錯的是這兩種：
bad_plans = {
    "`is_dynamic=True`": but(lambda conv, pool, sigmoid: {sigmoid: replace(FIXED, is_dynamic=True)}),
    "沒有範圍": but(lambda conv, pool, sigmoid: {sigmoid: replace(FIXED, quant_min=None, quant_max=None)}),
}
outcomes = {label: attempt(bad) for label, bad in bad_plans.items()}
table([[label, *outcome] for label, outcome in outcomes.items()], ["錯在哪裡", "哪一步發現", "訊息"])
assert list(outcomes.values()) == [
    ["prepare", "NotImplementedError: FixedQParamsObserver doesn't support dynamic quantization"],
    [
        "run",
        "RuntimeError: quantized_decomposed::quantize_per_tensor() Expected a value of type 'int' for argument "
        "'quant_min' but instead found type 'NoneType'.",
    ],
]

# %%
# 這裡也一樣，範圍只有在 dataclass 才算選填，而且少了它，要到執行時才知道。
#
# ## 總結：五個重點 {#summary}
#
# 1. `QuantizationSpec` 由校準決定。qscheme 和範圍的兩頭一定要填；per-channel 的話，`ch_axis` 也要填。
# 2. `SharedQuantizationSpec` 用在不改變整數的 op。只指向排在前面、而且有 spec 的位置。
# 3. `DerivedQuantizationSpec` 做出 int32 的 bias，scale 是 `s_x · s_w`，可以直接加進乘積的總和。要排在輸入和 weight 之
#    後。
# 4. `FixedQParamsQuantizationSpec` 用在已知的範圍，例如 sigmoid。寫的值對不對，沒有人檢查。
# 5. prepare 丟出光禿禿的 `KeyError` 或 `RecursionError`，就是有 spec 指錯了地方。
#
# 下一頁 [M03-3](chapter:m03_3_patterns_that_bite)：看起來標註好了、其實沒有的 pattern。
