"""
# M01-1 | 從 export 到 convert，完整走一遍

這一頁把一個浮點模型量化成 int8：export、prepare、校準、convert，四步都在這裡執行。讀完之後，你能：

- 自己寫出這四步，並說出每一步在圖上改了什麼；
- 用 SQNR 量出量化之後差了多少；
- 認得三種量化完才會發現的問題：batch 被固定、忘了校準、沒有變快；
- 遇到 import 錯誤，或是呼叫被拒絕，知道該怎麼改。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。圖怎麼讀，見 [M00-1](chapter:m00_1_export_and_aten)；
這四步之後還有第五步 lower，五步的全貌在[總覽](chapter:m01)。
"""

# %%
# ## 模型與資料 {#start}
#
# PT2E 的程式在 torchao，不在 torch 裡（[import 路徑](#imports)）。quantizer（決定要量化哪些地方的物件）用
# `X86InductorQuantizer`：它隨 torchao 一起安裝；而且在這四步裡，它只在圖上寫下要求，所以什麼 CPU 都能用。
import copy
import warnings

import torch
from torch.export import Dim, export
from torch.fx.passes.shape_prop import ShapeProp

from common.graph_utils import short
from common.models import get_model
from common.pt2e import quiet, sqnr
from common.viz import draw_stages, table

quiet()  # 要在 import torchao 之前；不會蓋掉這一頁要看的警告
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)

torch.set_num_threads(1)

# %%
# 模型是 `conv_bn_relu`（conv → bn → relu）：一個 conv，每一步都看得清楚。資料是五批亂數，每批 8 張，前四批用來校準，
# 最後一批留著測試。weight 和資料都是隨機的，所以數字只代表這個例子；步驟則和真的模型一樣。
model = get_model("conv_bn_relu").eval()
data = torch.randn(5, 8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
calibration, test = data[:4], data[4]
with torch.no_grad():
    reference = model(test)  # 浮點模型的輸出，[8, 8, 16, 16]，之後都和它比

# %%
# ## 步驟 1：export，讓 batch 保持動態 {#export}
#
# 之後的每一步都改這張圖，圖上固定的東西就改不掉了，batch 也是。所以現在就用 `Dim` 讓它保持動態
# （[M00-1](chapter:m00_1_export_and_aten#a4-example-batch)）。`common.pt2e.export_module()` 做的也是這件事。
exported = export(model, (calibration[0],), dynamic_shapes=({0: Dim("batch")},)).module()
x = exported.graph.find_nodes(op="placeholder")[0]
with torch.no_grad():
    assert torch.equal(exported(test), reference)
assert isinstance(x.meta["val"].shape[0], torch.SymInt)

# %%
# ## 步驟 2：prepare，插入 observer {#prepare}
#
# `prepare_pt2e` 先請 quantizer 在圖上標註，再依標註插入 observer（觀察器，記錄數值範圍的 module）。下面用預設設定；
# 標註本身怎麼看，是 [M01-2](chapter:m01_2_annotations) 的主題。看看哪些 tensor 會被觀察：
quantizer = X86InductorQuantizer()
quantizer.set_global(get_default_x86_inductor_quantization_config())
to_prepare = copy.deepcopy(exported)
prepared = prepare_pt2e(to_prepare, quantizer)
untouched = copy.deepcopy(prepared)  # 下一步會改動 prepared，先留一份


def observers(gm: torch.fx.GraphModule) -> dict[str, ObserverBase]:
    """圖裡的 observer，以它觀察的 node 的名字為 key。"""
    calls = gm.graph.find_nodes(op="call_module")
    found = [(node.args[0].name, gm.get_submodule(node.target)) for node in calls]
    return {name: module for name, module in found if isinstance(module, ObserverBase)}


rows = [[name, type(o).__name__, str(o.dtype), str(o.qscheme)] for name, o in observers(prepared).items()]
table(rows, ["觀察誰", "observer", "dtype", "qscheme"])
assert rows == [
    ["conv_weight", "PerChannelMinMaxObserver", "torch.int8", "torch.per_channel_symmetric"],
    ["x", "HistogramObserver", "torch.uint8", "torch.per_tensor_affine"],
]
assert prepared is not to_prepare and prepared.graph is to_prepare.graph
with torch.no_grad():
    assert (copy.deepcopy(prepared)(test) - reference).abs().max() < 1e-5

# %%
# - weight 要變成 int8，每個輸出 channel 各算各的（per-channel）；輸入 `x` 要變成 uint8，整個 tensor 一起算
#   （per-tensor）。qscheme 裡的 symmetric 和 affine，[M01-3](chapter:m01_3_the_arithmetic) 會親手算一遍。
# - 輸出沒有 observer：quantizer 沒有要求，輸出就留在浮點。
# - observer 只看不改。prepare 還把 `batch_norm` 摺進 conv 的 weight 和
#   bias（[M02-1](chapter:m02_1_from_annotation_to_observer)）；即使如此，輸出和浮點模型的差異仍小於 1e-5。
# - prepare 是**原地**修改：回傳的是新的 `GraphModule`，`graph` 卻就是你交給它的那一張。想留著原圖，請先 `deepcopy`。
#
# ## 步驟 3：校準，餵資料給 observer {#calibrate}
#
# 校準就是拿有代表性的資料跑過 `prepared`，不需要標籤，也不需要梯度。observer 從中記下範圍：
with torch.no_grad():
    for batch in calibration:
        prepared(batch)
calibrated = copy.deepcopy(prepared)  # 留給後面的圖
seen = observers(calibrated)
print(f"x：{seen['x'].min_val:.4g} … {seen['x'].max_val:.4g}")
print(f"conv_weight：{len(seen['conv_weight'].min_val)} 個 channel，各有各的範圍")
assert (seen["x"].min_val, seen["x"].max_val) == (calibration.min(), calibration.max())
assert torch.equal(seen["conv_weight"].max_val, calibrated.conv.weight.amax((1, 2, 3)))
assert observers(untouched)["x"].min_val.isinf() and not observers(untouched)["conv_weight"].min_val.numel()

# %%
# `x` 的範圍就是四批資料的最小值和最大值。weight 不是資料，但它的 observer 也要等到這時候才第一次看到它，
# 所以跳過校準，連 weight 都會出事（[下面](#no-calibration)就來試）。
#
# ## 步驟 4：convert，換成 quantize 與 dequantize {#convert}
#
# `convert_pt2e` 把 observer 換成 quantize（從浮點到整數）和 dequantize（再回到浮點），簡稱 q/dq。兩個數字決定怎麼
# 換算：scale 是一個整數單位代表的大小，zero point 是浮點 0 對應的整數。它們由 observer 算出，又存在圖的什麼地方？
converted = convert_pt2e(prepared)
nodes = {node.name: node for node in converted.graph.nodes}
q, dq = nodes["quantize_per_tensor_default"], nodes["dequantize_per_tensor_default"]
frozen, scales = converted.get_buffer("_frozen_param0"), converted.get_buffer("_scale_0")
scale, zero_point = q.args[1:3]
rows = [
    ["x", "uint8", f"{scale:.4g}", zero_point, "`quantize` 和 `dequantize` 的 args"],
    ["weight", "int8", f"{scales.min():.4g} … {scales.max():.4g}（{len(scales)} 個）", 0, "buffer，由 `get_attr` 讀取"],
]
table(rows, ["tensor", "dtype", "scale", "zero point", "存在哪裡"])
assert converted.graph is prepared.graph
assert (type(scale), type(zero_point)) == (float, int)
assert zero_point == 134 and abs(scale - 0.03244) < 1e-5 and scale * 255 < calibration.max() - calibration.min()
assert q.args[1:] == dq.args[1:] and dq.args[0] is q
assert (frozen.dtype, frozen.shape, scales.shape) == (torch.int8, (8, 3, 3, 3), (8,))
assert not converted.get_buffer("_zero_point_0").any()
assert [node.op for node in nodes["dequantize_per_channel_default"].all_input_nodes] == ["get_attr"] * 3

# %%
# - weight 在 convert 時就已經換成 int8（buffer `_frozen_param0`），執行時只剩 dequantize；`x` 則每次執行都要
#   先 quantize，再 dequantize。[M02-3](chapter:m02_3_convert_by_hand) 親手做一遍。
# - `x` 的 255 格加起來比它的範圍窄一點：`HistogramObserver` 記的是直方圖，寧可截掉少數極端值，也要讓其他值準一點
#   （[M04-1](chapter:m04_1_observers)）。
#
# ## 四個階段，一張圖 {#four-stages}
#
# 現在把四個階段並排。還在的 node 站在同一個位置，請注意三處：
#
# 1. 1 到 2：`batch_norm` 消失，兩個 observer 出現在 conv 的兩條輸入邊上，還沒有範圍，寫作 [—, —]。
# 2. 2 到 3：圖的結構沒變，變的是 observer 的狀態。校準也是原地進行，所以前面才要一份份 `deepcopy`。
# 3. 3 到 4：observer 原來的位置，現在是 q/dq，寫著 s（scale）和 z（zero point）。粗線上走的是 8 位元的值。
stages = [(exported, "exported"), (untouched, "prepared"), (calibrated, "calibrated"), (converted, "converted")]
draw_stages(stages, title="observer 先出現，再記下範圍，最後換成 q/dq；conv2d 一直都在")
operations = [[short(n.target) for n in gm.graph.nodes if n.op == "call_function"] for gm, _ in stages]
assert operations[0] == ["conv2d", "batch_norm", "relu"]
assert operations[1] == operations[2] == ["conv2d", "relu"]
assert operations[3][:3] == ["dequantize_per_channel", "quantize_per_tensor", "dequantize_per_tensor"]
assert operations[3][3:] == operations[2]
assert [len(observers(gm)) for gm, _ in stages] == [0, 2, 2, 0]

# %%
# ## 差了多少：SQNR {#sqnr}
#
# SQNR 是訊號與量化雜訊的比，以 dB 為單位，越大越好：`20 · log10(‖y‖ / ‖y − q‖)`，其中 `y` 是浮點模型的輸出，
# `q` 是量化後的。每多 20 dB，雜訊就只剩十分之一。用沒有參與校準的那一批來量，順便換幾種 batch 大小。
with torch.no_grad():
    outputs = {batch: converted(test[:batch]) for batch in (1, 2, 5, 8)}
noise = {batch: sqnr(reference[:batch], output) for batch, output in outputs.items()}
rows = [[batch, list(outputs[batch].shape), f"{dB:.4g}"] for batch, dB in noise.items()]
table(rows, ["batch", "輸出的 shape", "SQNR（dB）"])
print(f"雜訊是訊號的 {10 ** (-noise[8] / 20):.2%}")
assert [output.shape[0] for output in outputs.values()] == [1, 2, 5, 8]
assert all(39 < dB < 41 for dB in noise.values()) and round(noise[8], 1) == 40.1

# %%
# 什麼 batch 都能跑，而且都在 40 dB 上下，雜訊約為訊號的百分之一。SQNR 太低時怎麼找原因、怎麼改，是
# [M04](chapter:m04) 的主題。
#
# ### 如果匯出時沒有讓 batch 保持動態 {#static-batch}
#
# 同樣四步，只是 export 時少了 `dynamic_shapes`。校準用的 batch 和範例一樣大，所以一路順利，直到換一個 batch：
static = prepare_pt2e(export(model, (calibration[0],)).module(), quantizer)
with torch.no_grad():
    static(calibration[0])
    static = convert_pt2e(static)
    static(test)  # batch 是 8，和範例一樣
try:
    static(test[:5])
except AssertionError as error:
    refused = f"AssertionError: {error}"
print(refused)
assert refused == "AssertionError: Guard failed: x.size()[0] == 8"

# %%
# batch 是 8 沒事，5 就被圖裡的檢查（[`_guards_fn`](chapter:m00_1_export_and_aten#a2-guards-fn)）拒絕。這時已經補救
# 不了，要從 export 重來。（[pytorch#96274](https://github.com/pytorch/pytorch/issues/96274) 也是 batch 被固定，發生在
# 早期的 export 接上編譯器時。）
#
# ## 忘了校準：沒有錯誤，只有警告 {#no-calibration}
#
# prepare 之後直接 convert，把過程中的警告都收集起來：
forgotten = prepare_pt2e(copy.deepcopy(exported), quantizer)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    skipped = convert_pt2e(forgotten)
messages = [" ".join(str(warning.message).split()) for warning in caught]
print(*messages, sep="\n")
draw_stages([(converted, "校準過"), (skipped, "忘了校準")], title="忘了校準：圖完全相同，只有 s 和 z 不對")
assert messages == [
    "must run observer before calling calculate_qparams. Returning default values.",
    "must run observer before calling calculate_qparams. Returning default scale and zero point",
]
assert [n.name for n in skipped.graph.nodes] == [n.name for n in converted.graph.nodes]
empty = {node.name: node for node in skipped.graph.nodes}["quantize_per_tensor_default"]
assert empty.args[1:3] == (1.0, 0)
assert (skipped.get_buffer("_scale_0").tolist(), skipped.get_buffer("_zero_point_0").tolist()) == ([1.0], [0])

# %%
# convert 成功了，圖的結構也完全正確；兩個 observer 各發一次警告，之後就再也沒有人提醒你。可以拿來辨認的特徵：
# scale 全是 1、zero point 全是 0，而且 per-channel 的 scale 只有一個（shape 是 [1]），不是每個 channel 一個。
# [pytorch#126189](https://github.com/pytorch/pytorch/issues/126189) 回報的就是最後這一點，它的程式裡也沒有校準。
#
# !!! question "weight 會變成哪些 int8 值？模型會輸出什麼？SQNR 是幾 dB？"
#     scale 是 1、zero point 是 0 時，quantize 只是捨入到最接近的整數，再截斷到範圍內。weight 的範圍寫
#     在[四個階段的圖](#four-stages)上。先想好答案，再打開。

# %% answer
# weight 的絕對值都小於 0.5，所以全部變成 0。在這個模型，摺進 conv 的 bias 也全是 0，於是 conv 輸出 0，relu 還是 0。
# 輸出全是 0，雜訊就和訊號一樣大：正好 0 dB。
weight = skipped.get_buffer("_frozen_param0")
with torch.no_grad():
    output = skipped(test)
print(f"int8 weight：{weight.unique().tolist()}，輸出：{output.unique().tolist()}，{sqnr(reference, output)} dB")
assert calibrated.conv.weight.abs().max() < 0.5 and not calibrated.conv.weight_bias.any()
assert weight.unique().tolist() == [0] and weight.numel() == 216
assert output.unique().tolist() == [0.0] and sqnr(reference, output) == 0.0

# %%
# ### 讓它變成錯誤 {#warning-as-error}
#
# 在自己的程式裡，把這一種警告當成錯誤，convert 就會停下來：
with warnings.catch_warnings():
    warnings.filterwarnings("error", message="must run observer")
    try:
        convert_pt2e(prepare_pt2e(copy.deepcopy(exported), quantizer))
    except UserWarning as warning:
        stopped = f"{type(warning).__name__}: {warning}"
print(stopped)
assert stopped == f"UserWarning: {messages[0]}"

# %%
# ## q/dq 只是描述，還沒有變快 {#not-faster}
#
# 拿 `converted` 去計時的人，會發現它比浮點模型還慢，有人回報
# [慢了十倍以上](https://discuss.pytorch.org/t/significant-slowdown-in-inference-speed-with-quantized-model-in-pytorch-2-1-pt2e/194537)。
# 這裡不計時，直接看它算了什麼：`ShapeProp` 把圖執行一遍，記下每個 node 輸出的 dtype。conv2d 拿到的是什麼？
with torch.no_grad():
    ShapeProp(converted).propagate(test)


def dtype(node: torch.fx.Node) -> str:
    """這個 node 在執行時輸出的 dtype。"""
    return str(node.meta["tensor_meta"].dtype).removeprefix("torch.")


calls = [node for node in converted.graph.nodes if node.op == "call_function"]
rows = [[short(node.target), ", ".join(map(dtype, node.all_input_nodes)), dtype(node)] for node in calls]
table(rows, ["op", "輸入的 dtype", "輸出的 dtype"])
(conv,) = converted.graph.find_nodes(op="call_function", target=torch.ops.aten.conv2d.default)
assert [dtype(node) for node in conv.all_input_nodes] == ["float32"] * 3 and dtype(conv) == "float32"
assert [short(node.target) for node in conv.all_input_nodes[:2]] == ["dequantize_per_tensor", "dequantize_per_channel"]
assert (len(operations[1]), len(calls)) == (2, 5)
assert converted.conv.weight.dtype == torch.float32

# %%
# conv2d 還是同一個 `aten.conv2d.default`，三個輸入都是 float32：8 位元的值還沒進到 conv，就被 dequantize 還原了。
# 所以在 eager 模式下，這張圖做的是浮點 conv 和 relu 的全部工作，再加上三次轉換，沒有理由比較快。它是一份**描述**，
# 給 backend（最後執行模型的那一方）看的：「這個 conv 可以照這些 scale 和 zero point，用 int8 來算」。
#
# 讀懂描述、換上 int8 kernel 的，是第五步 lower：[M06-1](chapter:m06_1_what_lowering_does) 寫一個小的，
# [M06-2](chapter:m06_2_x86_inductor) 用 Inductor，[M07-2](chapter:m07_2_is_it_faster) 才計時。
# 檔案也還沒變小，float32 的 weight 仍在 module 裡：[M02-3](chapter:m02_3_convert_by_hand)。
#
# ## import 錯誤：PT2E 已經搬到 torchao {#imports}
#
# 網路上的範例大多寫著 `torch.ao`。那些 PT2E 路徑已經從 torch 移除
# （[pytorch#157591](https://github.com/pytorch/pytorch/issues/157591)；[Quark#34](https://github.com/amd/Quark/issues/34)
# 是在 torch 2.11 上遇到的），而 torchao 裡的新路徑也不見得猜得到。下面把舊的寫法和新的寫法都執行一次：
moved = {
    "from torch.ao.quantization.quantize_pt2e import prepare_pt2e": "torchao.quantization.pt2e.quantize_pt2e",
    "from torchao.quantization.pt2e import prepare_pt2e": "torchao.quantization.pt2e.quantize_pt2e",
    "from torch.ao.quantization.quantizer import XNNPACKQuantizer": "torchao.testing.pt2e._xnnpack_quantizer",
    "from torchao.quantization.pt2e.quantizer import XNNPACKQuantizer": "torchao.testing.pt2e._xnnpack_quantizer",
    "from torch._export import capture_pre_autograd_graph": "torch.export",
    "from torch.export import export_for_training": "torch.export",
}
rows = []
for old, module in moved.items():
    new = f"from {module} import {'export' if module == 'torch.export' else old.split()[-1]}"
    exec(new, {})
    try:
        exec(old, {})
    except ImportError as error:
        reason = str(error).partition(" (")[0]  # 括號裡是這台機器上的路徑
        rows.append([f"`{old}`", f"{type(error).__name__}: {reason}", f"`{new}`"])
table(rows, ["舊的寫法", "錯誤", "改成"])
assert [reason for _, reason, _ in rows] == [
    "ModuleNotFoundError: No module named 'torch.ao.quantization.quantize_pt2e'",
    "ImportError: cannot import name 'prepare_pt2e' from 'torchao.quantization.pt2e'",
    "ModuleNotFoundError: No module named 'torch.ao.quantization.quantizer'",
    "ImportError: cannot import name 'XNNPACKQuantizer' from 'torchao.quantization.pt2e.quantizer'",
    "ImportError: cannot import name 'capture_pre_autograd_graph' from 'torch._export'",
    "ImportError: cannot import name 'export_for_training' from 'torch.export'",
]
assert "from torchao.quantization.pt2e.quantizer import ( XNNPACKQuantizer," in " ".join(prepare_pt2e.__doc__.split())

# %%
# - 第三列是 [pytorch#128114](https://github.com/pytorch/pytorch/issues/128114) 的寫法，當時還只是名字不對，如今連
#   module 都沒有了。
# - 第四列出自 `prepare_pt2e` 自己的 docstring（最後一個 assert），照抄也不能跑。
# - `torchao.testing` 裡的 XNNPACKQuantizer 是測試用的複本，正式版在 ExecuTorch；怎麼選，見
#   [M03-4](chapter:m03_4_shipped_quantizers)。
#
# ## 用錯 API 時的訊息 {#errors}
#
# 每一種都執行一次，收下訊息的第一行。`ep` 是 `ExportedProgram`，`gm` 是 `ep.module()`：
program = export(model, (calibration[0],))
attempts = {
    "prepare_pt2e(ep, quantizer)": lambda: prepare_pt2e(program, quantizer),
    "prepare_pt2e(ep.graph_module, quantizer)": lambda: prepare_pt2e(program.graph_module, quantizer),
    "prepare_pt2e(gm, X86InductorQuantizer)": lambda: prepare_pt2e(copy.deepcopy(exported), X86InductorQuantizer),
    "convert_pt2e(gm)": lambda: convert_pt2e(copy.deepcopy(exported)),
    "prepared.eval()": lambda: prepared.eval(),
}
fixes = ["傳 `ep.module()`", "傳 `ep.module()`", "傳物件，不要傳類別", "先 prepare", "匯出前就呼叫 `.eval()`"]
errors = []
for attempt in attempts.values():
    try:
        attempt()
    except Exception as error:
        errors.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
table(zip([f"`{call}`" for call in attempts], errors, fixes, strict=True), ["呼叫", "訊息", "該怎麼做"])
assert errors == [
    "AttributeError: 'ExportedProgram' object has no attribute 'meta'",
    "ValueError: Expected get_attr node, got placeholder. "
    "If working with an ExportedProgram, make sure you are using .module()",
    "TypeError: Quantizer.transform_for_annotation() missing 1 required positional argument: 'model'",
    "AssertionError: incoming model must be produced by prepare_fx",
    "NotImplementedError: Calling train() or eval() is not supported for exported models.",
]

idle = prepare_pt2e(copy.deepcopy(exported), X86InductorQuantizer())
print(f"quantizer 沒有 set_global：沒有訊息，observer {len(observers(idle))} 個")
assert len(observers(idle)) == 0

# %%
# 只有第二則直接說出該怎麼做。第五則常出現在校準用的函式裡，可是模式在匯出時就定了
# （[M00-2](chapter:m00_2_eval_or_train)）。最後印出的那一種，連訊息都沒有：quantizer 沒有設定，就什麼也不標註。所以
# prepare 之後，先數一數 observer 再往下走（[M03-1](chapter:m03_1_a_quantizer_from_scratch)）。
#
# ## 總結：四個重點 {#summary}
#
# 1. 四步：以動態 batch 匯出、prepare 插入 observer、校準記下範圍、convert 換成 q/dq。後三步都是原地修改。
# 2. per-tensor 的 scale 和 zero point 寫在 q/dq 的 args 裡，per-channel 的是 buffer；weight 在 convert 時就變成 int8。
# 3. 忘了校準不會報錯：scale 是 1，weight 全是 0，SQNR 是 0 dB。量一次 SQNR，或把警告變成錯誤。
# 4. 得到的圖是一份描述，計算仍是浮點；要變快，還得 lower。
#
# 下一頁 [M01-2](chapter:m01_2_annotations)：prepare 插入 observer 之前，quantizer 到底在圖上寫了什麼。
