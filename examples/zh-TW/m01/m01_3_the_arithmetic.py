"""
# M01-3 | 量化的算術：scale、zero point 與 int8 的值

圖上的 scale、zero point 和整數，都只用四則運算和捨入就算得出來。這一頁用小到能逐個核對的 tensor 親手算一遍，再和 PT2E
的 observer 與 op 比對，每個 bit 都要相同。讀完之後，你能：

- 從一段範圍算出 scale 和 zero point：affine 或 symmetric，per-tensor 或 per-channel；
- 把浮點值換成整數、再換回來，並說出誤差最大是多少；
- 只用整數算完一個 conv，並說明它和浮點的結果差在哪裡。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。這些數字存在圖的什麼地方，見
[M01-1](chapter:m01_1_end_to_end#convert)；dtype、範圍和 qscheme 由誰決定，見 [M01-2](chapter:m01_2_annotations#spec)。
"""

# %%
# ## 從範圍到 scale 與 zero point {#scale}
#
# scale 是一個整數單位代表的浮點大小，zero point 是浮點 0 對應的整數。uint8 是 0 到 255，中間有 255 格：把資料的範圍分成
# 255 等份，一份就是 scale；再看浮點 0 落在第幾格，就是 zero point：
#
# ```text
# scale      = (max − min) / (quant_max − quant_min)
# zero_point = quant_min − round(min / scale)
# ```
#
# 拿六個數字來算，最小是 -0.55，最大是 2。先心算，再和 observer 的結果比：
from dataclasses import replace

import torch
import torch.nn.functional as F

from common.pt2e import quiet, sqnr
from common.viz import draw, table

quiet()
from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)

torch.set_num_threads(1)
ops = torch.ops.quantized_decomposed  # 圖裡的 q/dq 就是這些 op；import torchao 時才註冊
x = torch.tensor([-0.55, -0.2, 0.0, 0.123, 0.5, 2.0])
scale = (x.max() - x.min()) / 255
zero_point = 0 - torch.round(x.min() / scale)
observer = MinMaxObserver(torch.uint8, torch.per_tensor_affine, quant_min=0, quant_max=255)
_ = observer(x)
by_observer = observer.calculate_qparams()
rows = [["親手", f"{scale:.4g}", int(zero_point)], ["observer", *(f"{value.item():.4g}" for value in by_observer)]]
table(rows, ["誰算的", "scale", "zero point"])
assert (round(scale.item(), 8), zero_point.item()) == (0.01, 55)
assert (by_observer[0].item(), by_observer[1].item()) == (scale.item(), zero_point.item())


# %%
# ## 從浮點到整數，再換回來 {#quantize}
#
# quantize 做四件事：乘以 scale 的倒數、捨入、加 zero point、截斷到整數的範圍。dequantize 反過來：減 zero point、乘以
# scale。整套公式就是下面兩行。哪一個值換回來之後變了？
def quantize(x, scale, zero_point, quant_min, quant_max, dtype):
    return torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


def dequantize(q, scale, zero_point):
    return (q.to(torch.float32) - zero_point) * scale


s, z = scale.item(), int(zero_point)  # 在圖裡，它們也是 Python 的數字
uint8 = (s, z, 0, 255, torch.uint8)
q = quantize(x, *uint8)
restored = dequantize(q, s, z)
rows = [
    [f"{value:.4g}", f"{value / s:.4g}", n - z, n, f"{back:.4g}", f"{abs(back - value):.4f}"]
    for value, n, back in zip(x.tolist(), q.tolist(), restored.tolist(), strict=True)
]
table(rows, ["x", "x / scale", "捨入", "q", "換回來", "誤差"])
many = torch.randn(100_000, generator=torch.Generator().manual_seed(0))
assert q.tolist() == [0, 35, 55, 67, 105, 255]
assert torch.equal(quantize(many, *uint8), ops.quantize_per_tensor(many, *uint8))
assert torch.equal(restored, ops.dequantize_per_tensor(q, *uint8))

# %%
# 只有 0.123：它落在兩格之間，被捨入到 0.12。另外十萬個亂數也算過，和 op 的結果完全相同。
#
# ### 捨入：正中間的值取偶數 {#rounding}
#
# 剛好在兩格正中間時，`round` 取偶數那一格，不是四捨五入。自己寫 kernel 的人常在這裡差 1，例如
# [executorch#8506](https://github.com/pytorch/executorch/pull/8506)。為什麼要取偶數？看最後一列：
ties = torch.tensor([0.5, 1.5, 2.5, 3.5])
even = ops.quantize_per_tensor(ties, 1.0, 0, -128, 127, torch.int8)
half_up = torch.floor(ties + 0.5).to(torch.int8)
columns = [[*values.tolist(), values.sum().item()] for values in (ties, even, half_up)]
table(zip(*columns, strict=True), ["x / scale", "quantize", "四捨五入"])
assert even.tolist() == [0, 2, 2, 4] and half_up.tolist() == [1, 2, 3, 4]
assert [column[-1] for column in columns] == [8, 8, 10]

# %%
# 最後一列是總和：四捨五入一律往上，加起來就偏大；取偶數有上有下，互相抵銷。
#
# ### 乘以倒數，不是除以 scale {#reciprocal}
#
# 兩者在數學上相等，在浮點運算裡卻不一定。把 -1.27 到 1.27 之間、每隔 0.001 的值，用兩種算法各算一次：
grid = torch.arange(-1270, 1271) / 1000
multiplied = ops.quantize_per_tensor(grid, 0.01, 0, -128, 127, torch.int8)
divided = torch.clamp(torch.round(grid / 0.01), -128, 127).to(torch.int8)
different = multiplied != divided
last = int(different.nonzero()[-1])
print(f"{len(grid)} 個值當中，有 {int(different.sum())} 個不同")
print(f"例如 {grid[last]:.4g}：乘以倒數得到 {multiplied[last]}，除以 scale 得到 {divided[last]}")
assert (len(grid), int(different.sum())) == (2541, 34)
assert (multiplied.int() - divided.int()).abs().max() == 1
assert ((grid[different].double() * 100) % 1 - 0.5).abs().max() < 1e-4

# %%
# 不同的都是正中間附近的值，而且只差 1。要每個 bit 都相同，就得照 op 的算法；torchao 自己的程式之間也有過這種差別
# （[ao#229](https://github.com/pytorch/ao/pull/229)）。
#
# ## 誤差：範圍內最多半格，範圍外會飽和 {#error}
#
# 一格的大小就是一個 scale，也叫做一個量化單位。捨入到最近的一格，誤差不超過半格；超出範圍的值會被截斷（飽和），離得越
# 遠，差得越多：
probe = torch.tensor([-1.0, -0.55, 0.005, 2.0, 2.5, 4.0])
q = quantize(probe, *uint8)
errors = ((probe.double() - dequantize(q, s, z)).abs() / s).tolist()
columns = [[f"{v:.4g}" for v in values] for values in (probe, q.tolist(), dequantize(q, s, z), errors)]
table(zip(*columns, strict=True), ["x", "q", "換回來", "誤差（格）"])
inside = torch.rand(100_000, generator=torch.Generator().manual_seed(0)) * 2.55 - 0.55
worst = ((inside.double() - dequantize(quantize(inside, *uint8), s, z)).abs() / s).max().item()
print(f"範圍內的 {len(inside)} 個亂數，誤差最大 {worst:.4f} 格")
float_rounding = 3 * 255 * 2**-24  # 倒數和前後兩次乘法各有一次 float32 的捨入，每次至多 255 × 2**-24 格
assert 0.4999 < worst <= 0.5 + float_rounding
assert q.tolist() == [0, 0, 55, 255, 255, 255]
assert [round(error) for error in errors] == [45, 0, 0, 0, 50, 200]


# %%
# ## 兩個細節：包含 0，以及 scale 的下限 {#details}
#
# 開頭的公式還不能直接用在所有資料上。observer 多做了兩件事。
#
# ### 範圍一定包含 0 {#zero}
#
# conv 的 padding 補 0，relu 也產生許多 0，所以浮點 0 必須正好落在一格上，換過去再換回來仍是 0。因此，即使資料全是正的或
# 全是負的，observer 也會先把範圍延伸到 0。加上這一點和 scale 的下限 `eps`，公式才完整：
def affine(low, high, quant_min, quant_max, eps):
    """涵蓋 [low, high] 和 0 的 scale 與 zero point。"""
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = ((high - low) / (quant_max - quant_min)).clamp(min=eps)
    return scale, (quant_min - torch.round(low / scale)).clamp(quant_min, quant_max)


def observe(low, high, eps):
    """MinMaxObserver 看過 low 和 high 之後算出的 scale 與 zero point。"""
    observer = MinMaxObserver(torch.uint8, torch.per_tensor_affine, quant_min=0, quant_max=255, eps=eps)
    _ = observer(torch.tensor([low, high]))
    return [value.item() for value in observer.calculate_qparams()]


EPS = torch.finfo(torch.float32).eps  # observer 的預設值
ranges = [(-0.55, 2.0), (2.0, 6.0), (-3.0, -1.0), (0.0, 0.0)]
by_hand = [[v.item() for v in affine(torch.tensor(low), torch.tensor(high), 0, 255, EPS)] for low, high in ranges]
zeros = [dequantize(quantize(torch.zeros(1), *pair, 0, 255, torch.uint8), *pair).item() for pair in by_hand]
table(
    [[f"{low} … {high}", f"{a:.4g}", int(b)] for (low, high), (a, b) in zip(ranges, by_hand, strict=True)],
    ["資料的範圍", "scale", "zero point"],
)
assert by_hand == [observe(low, high, EPS) for low, high in ranges]
assert [zero_point for _, zero_point in by_hand] == [55, 0, 255, 0]
assert by_hand[1][0] == (torch.tensor(6.0) / 255).item() and by_hand[3][0] == EPS
assert zeros == [0.0, 0.0, 0.0, 0.0]

# %%
# 第二列的資料從 2 開始，範圍卻從 0 算起，三分之一的格子沒有用到；這是為了讓 0 準確。最後一列全是 0，除出來的 scale 也會
# 是 0，不能當除數，所以停在下限。
#
# ### 下限有時比資料還粗 {#eps}
#
# 預設的下限很小，但 [M01-2](chapter:m01_2_annotations#spec) 的兩個 quantizer 都設成 `2**-12`（約 0.0002441），這是為了
# 配合 XNNPACK 的 kernel（[pytorch#74396](https://github.com/pytorch/pytorch/pull/74396)）。如果 activation 的範圍不到
# 255 × 0.0002441 ≈ 0.062，或是 weight 的某個 channel 絕對值都不到 0.031，格子就用不滿。以 0 到 0.01 的資料試試：
small = torch.linspace(0, 0.01, 1001)
results = []
for eps in (EPS, 2**-12):
    pair = observe(0.0, 0.01, eps)
    q = quantize(small, *pair, 0, 255, torch.uint8)
    results.append([eps, pair[0], len(q.unique()), sqnr(small, dequantize(q, *pair))])
table([[f"{value:.4g}" for value in result] for result in results], ["eps", "scale", "用到幾個整數", "SQNR（dB）"])
spec = get_default_x86_inductor_quantization_config().input_activation
assert spec.observer_or_fake_quant_ctr().eps == 2**-12
assert [result[2] for result in results] == [256, 42] and results[1][1] == 2**-12
assert 15 < results[0][3] - results[1][3] < 17

# %%
# 沒有錯誤，也沒有警告，256 個整數只用到 42 個，SQNR 少了將近 16 dB。認得它的方法：scale 剛好是 0.0002441。（下限該設多
# 少，見 [pytorch#90288](https://github.com/pytorch/pytorch/issues/90288) 的討論。）
#
# ## weight：對稱，而且每個 channel 各算各的 {#weights}
#
# ### symmetric：zero point 固定是 0 {#symmetric}
#
# weight 通常在 0 的兩側差不多寬，所以取絕對值的最大值，兩側一樣寬：
# `scale = max(|min|, |max|) / ((quant_max − quant_min) / 2)`。整數的範圍有兩種慣例，最大的 weight 在兩種之下各剩多少？
weight = torch.tensor([[[[0.5, -0.2], [1.275, 0.0]]], [[[0.02, -0.051], [0.008, 0.04]]]])  # [2, 1, 2, 2]


def symmetric(largest, quant_min, quant_max):
    """涵蓋 [-largest, largest] 的 scale。"""
    return largest / ((quant_max - quant_min) / 2)


rows, pairs = [], []
for quant_min in (-128, -127):
    observer = MinMaxObserver(torch.int8, torch.per_tensor_symmetric, quant_min=quant_min, quant_max=127)
    _ = observer(weight)
    scale = symmetric(weight.abs().max(), quant_min, 127)
    pairs.append([value.item() for value in (scale, *observer.calculate_qparams())])
    q = quantize(weight.max(), scale, 0, quant_min, 127, torch.int8)
    error = abs(weight.max() - dequantize(q, scale, 0)) / scale
    rows.append([f"[{quant_min}, 127]", f"{scale:.4g}", f"{weight.max() / scale:.4g}", int(q), f"{error:.2f}"])
table(rows, ["範圍", "scale", "1.275 / scale", "q", "誤差（格）"])
assert [scale == by_observer for scale, by_observer, _ in pairs] == [True, True]
assert [zero_point for *_, zero_point in pairs] == [0, 0]
assert [row[2:] for row in rows] == [["127.5", 127, "0.50"], ["127", 127, "0.00"]]

# %%
# [-128, 127] 的一半是 127.5，所以最大的正值捨入成 128，再截斷成 127，正好差半格。（QAT 訓練時的 kernel 用另一條公式，這
# 裡沒有執行：[ao#4824](https://github.com/pytorch/ao/pull/4824)，[M05-2](chapter:m05_2_qat_graphs)。）
#
# ### per-channel：一排 scale {#per-channel}
#
# 這個 weight 的兩個輸出 channel，最大值差了 25 倍。整個 tensor 共用一個 scale 的話，小的那個 channel 還剩下什麼？
largest = weight.abs().amax((1, 2, 3))
shared, scales = symmetric(largest.max(), -128, 127), symmetric(largest, -128, 127)
per_tensor = quantize(weight, shared, 0, -128, 127, torch.int8)
per_channel = quantize(weight, scales.view(2, 1, 1, 1), 0, -128, 127, torch.int8)
backs = [dequantize(per_tensor, shared, 0)[1], dequantize(per_channel, scales.view(2, 1, 1, 1), 0)[1]]
columns = [
    [f"{v:.4g}" for v in t.flatten().tolist()] for t in (weight[1], per_tensor[1], backs[0], per_channel[1], backs[1])
]
table(zip(*columns, strict=True), ["小的 channel", "per-tensor", "換回來", "per-channel", "換回來"])
noise = [sqnr(weight[1], back) for back in backs]
print(f"scale：{shared:.4g} 與 {scales[1]:.4g}，SQNR：{noise[0]:.4g} 與 {noise[1]:.4g} dB")
observer = PerChannelMinMaxObserver(0, torch.int8, torch.per_channel_symmetric, quant_min=-128, quant_max=127)
_ = observer(weight)
zero_points = torch.zeros(2, dtype=torch.int64)
assert torch.equal(observer.calculate_qparams()[0], scales)
assert torch.equal(per_channel, ops.quantize_per_channel(weight, scales, zero_points, 0, -128, 127, torch.int8))
assert per_tensor[1].flatten().tolist() == [2, -5, 1, 4] and per_channel[1].flatten().tolist() == [50, -128, 20, 100]
assert noise[1] - noise[0] > 20

# %%
# 共用時，它的整數只有 -5 到 4；各算各的，int8 就用滿了。代價是 scale 從一個數字變成一排，每個輸出 channel 一個，所以在
# 圖上存成 buffer。粒度和位元數怎麼取捨，見 [M04-2](chapter:m04_2_granularity)。
#
# ## 整數怎麼相乘 {#integers}
#
# conv 和 linear 算的都是乘積的和。把 `x = sx·(qx − zx)` 和 `w = sw·(qw − zw)` 代進去，scale 可以提到外面，裡面全是整
# 數；再乘開，就成了四項：
#
# ```text
# Σ x·w = sx·sw · Σ (qx − zx)·(qw − zw)
#       = sx·sw · (Σ qx·qw − zx·Σ qw − zw·Σ qx + K·zx·zw)
# ```
#
# K 是相加的個數。拿 2×3 的 `qx` 和 3×1 的 `qw` 核對。8 位元裝不下乘積，所以先轉成 int32：
qx, zx = torch.tensor([[0, 55, 105], [155, 255, 80]], dtype=torch.uint8).int(), 55
qw, zw = torch.tensor([[50], [-20], [127]], dtype=torch.int8).int(), 3
terms = [qx @ qw, (-zx * qw.sum(0)).expand(2, 1), -zw * qx.sum(1, keepdim=True), torch.full((2, 1), 3 * zx * zw)]
direct = (qx - zx) @ (qw - zw)
names = ["Σ qx·qw", "− zx·Σ qw", "− zw·Σ qx", "+ K·zx·zw", "四項的和", "Σ (qx − zx)·(qw − zw)"]
rows = [[name, *value.flatten().tolist()] for name, value in zip(names, [*terms, sum(terms), direct], strict=True)]
table(rows, ["項", "第 0 列", "第 1 列"])
assert direct.dtype == torch.int32 and direct.flatten().tolist() == [3615, 3200]
assert torch.equal(sum(terms), direct)


# %%
# 整數沒有捨入，兩邊完全相等。由此也看得出 weight 為什麼用 symmetric：`zw` 是 0，後兩項就消失；剩下的 `zx·Σ qw` 只和
# weight 有關，可以事先算好。執行時要算的只有 `Σ qx·qw`。
#
# ## 圖上的 conv，只用整數再算一遍 {#conv}
#
# 把前面的都接起來。模型只有一個 conv，weight 就是前面那個；輸入的最小值和最大值，也和開頭的六個數字相同。預設的
# `HistogramObserver` 會截掉極端值，所以把 spec 裡的 observer 換成 `MinMaxObserver`，其餘不動。圖上的 s 和 z 眼熟嗎？
class TinyConv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, kernel_size=2, padding=1, bias=False)
        self.conv.weight = torch.nn.Parameter(weight.clone())

    def forward(self, x):
        return self.conv(x)


image = torch.tensor([[[[-0.55, 0.0, 0.5], [1.0, 2.0, 0.25], [0.1, -0.3, 1.5]]]])  # [1, 1, 3, 3]
exported = torch.export.export(TinyConv().eval(), (image,)).module()  # batch 固定是 1，這一頁夠用
config = get_default_x86_inductor_quantization_config()
config = replace(config, input_activation=replace(spec, observer_or_fake_quant_ctr=MinMaxObserver))
prepared = prepare_pt2e(exported, X86InductorQuantizer().set_global(config))
with torch.no_grad():
    _ = prepared(image)
    converted = convert_pt2e(prepared)
    by_graph = converted(image)  # [1, 2, 4, 4]
draw(converted, title="輸入的 s 是 0.01、z 是 55，和親手算的一樣")
(node,) = converted.graph.find_nodes(op="call_function", target=ops.quantize_per_tensor.default)
assert node.args[1:] == uint8
assert torch.equal(converted.get_buffer("_scale_0"), scales)
assert torch.equal(converted.get_buffer("_frozen_param0"), per_channel)

# %%
# 輸入的五個參數、weight 的一排 scale、八個 int8 值，全部和親手算的相同。接著用整數算這個 conv，最後才乘一次 scale。第一
# 個 channel 的整數和是：
qx, qw = quantize(image, *uint8).int(), per_channel.int()
sums = F.conv2d(qx - z, qw, padding=1)  # int32
unit = s * scales.view(1, 2, 1, 1)  # 一個整數單位代表多少
table(sums[0, 0].tolist(), ["欄 0", "欄 1", "欄 2", "欄 3"])
assert sums.dtype == torch.int32 and sums[0, 0, 0].tolist() == [0, -6985, 0, 6350]
assert torch.allclose(by_graph, sums * unit, rtol=0, atol=1e-6)
assert torch.equal(torch.round(by_graph / unit).int(), sums)

# %%
# 圖算的是浮點，但把它的輸出除以 `sx·sw`、捨入，32 個整數全都還原出來，一個不差。
#
# !!! question "padding 該補哪個整數？"
#     上面先減掉了 zero point，所以 padding 補 0 就對了。真正的 kernel 拿到的是還沒減的 `qx`，四周該補什麼？如果補整數
#     0，32 個輸出會錯幾個？

# %% answer
# 補 55，也就是 zero point，因為浮點 0 就是它（[pytorch#53807](https://github.com/pytorch/pytorch/issues/53807) 問的正是
# 這件事）。補整數 0 等於補上浮點的 -0.55：只要碰到邊緣就錯，32 個裡錯 24 個，只有中間的 8 個對。
correction = z * qw.sum((1, 2, 3)).view(1, 2, 1, 1)  # 前一節的 zx·Σ qw
padded = {value: F.conv2d(F.pad(qx, (1, 1, 1, 1), value=value), qw) - correction for value in (z, 0)}
wrong = {value: int((result != sums).sum()) for value, result in padded.items()}
print(*(f"補 {value}：錯 {count} 個" for value, count in wrong.items()), sep="\n")
assert torch.equal(padded[55], sums)
assert wrong[0] == 24 and torch.equal(padded[0][..., 1:3, 1:3], sums[..., 1:3, 1:3])

# %%
# ## 浮點的 q/dq 和整數 kernel 差多少 {#float}
#
# 圖上先 dequantize，再以 float32 相乘、相加，每一步都捨入；整數 kernel 只在最後乘 scale 時捨入。所以兩者接近，但不保證
# 每個 bit 相同。下面是同樣三個乘積的和，三個 scale 都是 0.01：
hundredth = torch.tensor(0.01).item()
a, b = torch.tensor([-5, 20, 120]), torch.tensor([-70, -120, 90])  # qx − zx 和 qw
products = (a * hundredth) * (b * hundredth)  # float32
total = int((a * b).sum())
values = [products[0] + products[1] + products[2], products[2] + products[1] + products[0], total * hundredth**2]
outputs = [int(quantize(torch.as_tensor(value), hundredth, 0, -128, 127, torch.int8)) for value in values]
ways = ["float32，由前往後加", "float32，由後往前加", "整數，最後才乘 scale"]
table(
    [[way, f"{value:.8f}", q] for way, value, q in zip(ways, values, outputs, strict=True)],
    ["算法", "和", "輸出的整數"],
)
assert total == 8750 and outputs == [87, 88, 87]
assert 0 < values[1] - values[0] < 1e-7
assert torch.tensor(2.0**24) + 1 == 2.0**24 and 2**24 // (255 * 128) == 514

# %%
# - 光是改變相加的順序，float32 的和就不同，雖然相差不到千萬分之一；整數怎麼加都一樣。
# - 差這麼小，通常看不出來。但這個和正好落在 87 和 88 的正中間附近，於是輸出的整數差了 1，也就是一個量化單位。
# - 乘積越多，差得越多：超過 2**24 的整數，float32 就不能全部表示了，而 515 個 255 × 128 相加就會超過（最後一個
#   assert）。
#
# 所以拿整數 kernel 和 q/dq 圖比對時，不要求每個 bit 相同，而是要求相差不超過一個量化單位
# （[M06-1](chapter:m06_1_what_lowering_does)）。
#
# ## 總結：五個重點 {#summary}
#
# 1. affine：`scale = (max − min) / 255`，zero point 是浮點 0 的那一格。範圍先延伸到 0，scale 不小於 `eps`。
# 2. symmetric：zero point 是 0，scale 是絕對值的最大值除以整數範圍的一半。per-channel 是每個輸出 channel 一個 scale。
# 3. quantize 是乘以倒數、捨入（正中間取偶數）、加 zero point、截斷。範圍內的誤差至多半個 scale，範圍外飽和。
# 4. 整數的乘積和要扣掉 zero point；padding 補的是 zero point，不是 0。
# 5. 浮點的 q/dq 圖和整數 kernel 差在 float32 的捨入，輸出的整數偶爾因此差 1。
#
# 想自己算算看，請做[實作](chapter:lab_m01)。下一頁是 [M02-1](chapter:m02_1_from_annotation_to_observer)：拆開 prepare，
# 看 observer 會插在哪裡。
