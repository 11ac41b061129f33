"""
# M00-3 | 拆解：Core ATen 是什麼，什麼時候不要拆

匯出的圖裡，一個 op 可以換成幾個較基本的 op，這就是它的拆解（decomposition）。很多 backend 需要拆過的圖，
大多數 quantizer 卻應付不來。讀完這一頁，你能夠

- 說出 Core ATen 是什麼，並檢查一張圖有沒有超出它的範圍；
- 認出一張在量化之前就被拆解的圖：有錯誤的看錯誤，沒有錯誤的看數字；
- 只拆一個 op，例如 attention，而讓 conv 和 linear 保持完整。

訊息、數量和問題都以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。op 是什麼、node 的 target
是什麼，請看 [M00-1](chapter:m00_1_export_and_aten#b1-reading-op-names)。
"""

# %%
# 先做準備。`ops` 是 [M00-2](chapter:m00_2_eval_or_train) 用過的小工具。
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import default_decompositions, export

from common.graph_utils import short
from common.models import example_inputs, get_model
from common.pt2e import quiet, sqnr
from common.viz import draw_stages, table

quiet()
import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
import torchao.testing.pt2e._xnnpack_quantizer as xnnpack
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

torch.set_num_threads(1)
_ = torch.manual_seed(0)
aten = torch.ops.aten


def ops(program):
    """program 或 graph module 裡的運算，依順序列出簡稱。"""
    return [short(node.target) for node in program.graph.nodes if node.op == "call_function"]


# %%
# ## conv2d 變成 convolution {#conv2d-to-convolution}
#
# `run_decompositions()` 會把 op 換成它們的拆解。模型是 conv → bn → relu，eval 模式。請找出消失的 node（−）和新增的
# node（+），還有留下來的那一個。
ex, model = example_inputs(), get_model("conv_bn_relu").eval()
ep = export(model, ex)
core = ep.run_decompositions()
stages = [(ep.module(), "匯出"), (core.module(), "run_decompositions()")]
draw_stages(stages, title="conv2d 和 batch_norm 換成更通用的 op，relu 不變")
with torch.no_grad():
    assert torch.equal(core.module()(*ex), model(*ex))
assert ops(ep) == ["conv2d", "batch_norm", "relu"]
assert ops(core) == ["convolution", "_native_batch_norm_legit_no_training", "getitem", "relu"]

# %%
# 輸出一個 bit 都不差。（`getitem` 就是 Python 的 `x[0]`：批次正規化（batch normalization，BN）
# 的新 op 會回傳三個 tensor。）這樣拆有什麼好處？看看四種不同的 layer 變成了什麼：
layers = [
    (nn.Conv1d(3, 8, 3), torch.randn(2, 3, 16)),
    (nn.Conv2d(3, 8, 3), torch.randn(2, 3, 16, 16)),
    (nn.Conv3d(3, 8, 3), torch.randn(2, 3, 8, 8, 8)),
    (nn.ConvTranspose2d(3, 8, 3), torch.randn(2, 3, 16, 16)),
]
exports = [export(layer, (x,)) for layer, x in layers]
splits = [ops(program.run_decompositions()) for program in exports]
rows = [[type(layers[i][0]).__name__, *ops(exports[i]), *splits[i]] for i in range(len(layers))]
table(rows, ["layer", "匯出", "拆解"])
print(aten.convolution.default._schema)
assert len({op for program in exports for op in ops(program)}) == 4
assert splits == [["convolution"]] * 4
assert aten.conv2d.default in default_decompositions()
assert aten.convolution.default not in default_decompositions()

# %%
# 四個 op 變成一個：它們的差別都成了 `convolution` 的引數（`transposed`、`output_padding`、不限長度的 list），backend 只
# 需要實作一次。[M00-1](chapter:m00_1_export_and_aten#b4-dispatch) 問過，conv2d 自己沒有 kernel，那它是用什麼寫成的，這
# 裡就是答案。哪些 op 要拆、怎麼拆，都寫在一張表裡，也就是 `default_decompositions()`：表裡有 conv2d，沒有 convolution。
#
# ## run_decompositions 回傳一個新的 program {#new-program}
#
# 「怎麼沒有作用」，多半是把結果丟掉了（[pytorch#119439](https://github.com/pytorch/pytorch/issues/119439)）。
# 不會報錯，只有看 op 才知道：
ep.run_decompositions()  # 錯：結果丟掉了
print(f"ep: {ops(ep)}")
print(f"core: {ops(core)}")
assert ops(ep) == ["conv2d", "batch_norm", "relu"]
assert core is not ep

# %%
# 所以要接住它：`core = ep.run_decompositions()`。
#
# ## Core ATen 是 op 身上的一個標籤 {#core-tag}
#
# Core ATen 是 ATen 的核心子集，用來和 backend 銜接
# （[IRs](https://docs.pytorch.org/docs/stable/torch.compiler_ir.html)）。一個 op 在不在裡面，可以直接問它：有沒有
# `torch.Tag.core` 這個標籤。dispatcher 認得的所有 overload 當中，有幾個帶著它？
names = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
parts = [name.partition(".") for name in names]  # 例如 "add.Tensor"；relu.default 則寫成 "relu"
overloads = [getattr(getattr(aten, packet), overload or "default") for packet, _, overload in parts]
tagged = {op for op in overloads if torch.Tag.core in op.tags}
print(f"有 {len(tagged)} 個是 core，ATen 的 overload 共 {len(overloads)} 個")
assert (len(tagged), len(overloads)) == (193, 3110)
assert {aten.convolution.default, aten.addmm.default, aten.relu.default, aten.bmm.default} <= tagged
assert not {aten.conv2d.default, aten.linear.default, aten.batch_norm.default, aten.matmul.default} & tagged


# %%
# quantizer 要找的 conv2d 和 linear，偏偏都不是 core。`not_core` 檢查一整個 program。請比較後兩欄，找出拆解之後仍然沒有
# 全部到位的那一個。
def not_core(program):
    """program 裡沒有 core 標籤的 op；`getitem` 是 Python 的，不是 ATen 的。"""
    targets = {node.target for node in program.graph.nodes if isinstance(node.target, torch._ops.OpOverload)}
    return sorted(str(op) for op in targets if torch.Tag.core not in op.tags)


names = [("conv_bn_relu", False), ("residual", False), ("cnn", False), ("conv_bn_relu", True)]
programs = [export(get_model(name).train(training), ex) for name, training in names]
before, after = [[not_core(p) for p in ps] for ps in (programs, [p.run_decompositions() for p in programs])]
rows = [
    [f"{name}, {'train' if training else 'eval'}", ", ".join(before[i]), ", ".join(after[i]) or "無"]
    for i, (name, training) in enumerate(names)
]
table(rows, ["program", "匯出後不是 core 的 op", "run_decompositions() 之後"])
assert all(before)
assert after == [[], [], [], ["aten._native_batch_norm_legit_functional.default"]]

# %%
# ## train 匯出的圖會剩下什麼 {#train-leftovers}
#
# 三個 eval 的 program 已經全是 core。train 匯出的還剩一個 op，因為表裡沒有它的拆解。那麼直接寫進 buffer 的
# `add_`（[M00-2](chapter:m00_2_eval_or_train#num-batches-tracked)）又變成了什麼？請看新 program 的輸出。
train = programs[3].run_decompositions()
outputs = [[spec.arg.name, spec.kind.name, spec.target or ""] for spec in train.graph_signature.output_specs]
table(outputs, ["輸出", "kind", "target（原模型的欄位）"])
print(" → ".join(ops(train)), " → ".join(ops(train.module())), sep="\n")
eager, gm = get_model("conv_bn_relu").train(), train.module()
with torch.no_grad():
    assert torch.equal(gm(*ex), eager(*ex))
assert aten._native_batch_norm_legit_functional.default not in default_decompositions()
assert [kind for _, kind, _ in outputs] == ["BUFFER_MUTATION"] * 3 + ["USER_OUTPUT"]
assert "add_" not in ops(train) and "add" in ops(train)
assert not any(node.target._schema.is_mutable for node in train.graph.nodes if hasattr(node.target, "_schema"))
assert ops(gm)[-3:] == ["copy_"] * 3
assert torch.equal(gm.get_buffer("bn.running_mean"), eager.bn.running_mean)


# %%
# 拆解也會讓 program 變成 functional：不再有 op 改寫自己的引數。`add_` 變成 `add`，三個 buffer 的新值則成為額外的輸
# 出；`module()` 會把它們抄回去，所以結果不變。如果 backend 只收 core 的 op，就給它 eval 匯出的圖。
#
# ## 對拆解過的圖做量化 {#quantize-decomposed}
#
# 接著來犯錯：對拆解過的 program 呼叫 `prepare_pt2e`。它會在 quantizer 要求的地方插入 observer（觀察器，記錄數值的範
# 圍），所以數一數 observer，就知道 quantizer 找到了多少。這裡讓兩個 quantizer 去處理三個模型：一個給 x86，一個給
# XNNPACK（用的是 torchao 的測試用的複本；兩者的細節見 [M03-4](chapter:m03_4_shipped_quantizers)）。先看最後一欄的錯誤，
# 再找出比報錯更糟的。
def observers(gm):
    """呼叫 observer 的 node。"""
    return [node for node in gm.graph.find_nodes(op="call_module") if "activation_post_process" in node.target]


def found(program, quantizer):
    """`prepare_pt2e` 插入幾個 observer，或者引發什麼錯誤。"""
    try:
        return f"{len(observers(prepare_pt2e(program.module(), quantizer)))} observers"
    except ValueError as error:
        return f"ValueError: {error}"


def x86_quantizer():
    return x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())


def xnnpack_quantizer():
    return xnnpack.XNNPACKQuantizer().set_global(xnnpack.get_symmetric_quantization_config())


linear = export(nn.Sequential(nn.Linear(16, 8)).eval(), (torch.randn(2, 16),))
cases = {"conv_bn_relu": ep, "cnn": programs[2], "linear": linear}
rows = [
    [name, label, found(program, quantizer()), found(program.run_decompositions(), quantizer())]
    for label, quantizer in (("x86", x86_quantizer), ("XNNPACK", xnnpack_quantizer))
    for name, program in cases.items()
]
table(rows, ["模型", "quantizer", "匯出", "拆解"])
results = [row[2:] for row in rows]
assert results == [
    ["2 observers", "ValueError: convolution is not an aten conv2d operator"],
    ["8 observers", "ValueError: convolution is not an aten conv2d operator"],
    ["2 observers", "ValueError: addmm is not an aten linear operator"],
    ["3 observers", "0 observers"],
    ["9 observers", "ValueError: mean is not an aten adaptive_avg_pool2d operator"],
    ["3 observers", "0 observers"],
]


# %%
# 會報錯的地方，是 quantizer 依 node 來自哪個 module（`meta` 裡有記）找到它，卻遇上沒料到的 op。
# 更糟的是「0 observers」：那裡是用 `node.target` 來找 conv 和 linear，target 換掉了就找不到，如此而已。
# 你自己寫的 quantizer 也會這樣（[M03-1](chapter:m03_1_a_quantizer_from_scratch)）。
#
# ### 不作聲的那一種，會一路走到底 {#silent}
#
# 讓這種情況繼續跑完：prepare、校準、convert，用 `conv_relu` 和 XNNPACK 的 quantizer。最後有幾個 quantize 和
# dequantize 的 node（q/dq）？和浮點模型相比，SQNR（訊號對誤差的比，單位 dB，越大越好）是多少？
# 最後一行是另一種損失，看的是 `conv_bn_relu`：`prepare_pt2e` 會把 BN 摺進 conv，這裡摺了嗎？
def quantize(program, quantizer, inputs):
    """prepare、用 `inputs` 校準、convert。"""
    prepared = prepare_pt2e(program.module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def q_dq(program):
    """一個 program 裡有幾個 quantize 和 dequantize 的 node。"""
    return sum("quantize" in op for op in ops(program))


conv_relu = get_model("conv_relu").eval()
exported = export(conv_relu, ex)
with torch.no_grad():
    right = quantize(exported, xnnpack_quantizer(), ex)
    wrong = quantize(exported.run_decompositions(), xnnpack_quantizer(), ex)
    quality = [sqnr(conv_relu(*ex), gm(*ex)) for gm in (right, wrong)]
rows = [["匯出", q_dq(right), f"{quality[0]:.4g}"], ["拆解", q_dq(wrong), f"{quality[1]:.4g}"]]
table(rows, ["由哪個 program 量化", "q/dq 的 node 數", "SQNR (dB)"])
prepared = [ops(prepare_pt2e(program.module(), xnnpack_quantizer())) for program in (ep, core)]
print(f"prepare 之後，匯出的：{prepared[0]}，拆解的：{prepared[1]}")
assert (q_dq(right), q_dq(wrong)) == (5, 0)
assert 38 < quality[0] < 42 and quality[1] == float("inf")
assert prepared == [["conv2d", "relu"], ops(core)]

# %%
# SQNR 是 `inf`，看起來完美，其實正好證明失敗了：輸出和浮點模型一個 bit 都不差，因為什麼都沒有量化。（conv 換成了別
# 的 op，BN 沒有地方可摺，就留了下來。）所以每次 prepare 之後，都寫一行 `assert observers(prepared)`。
#
# ### 正確的順序：先量化，再拆解 {#right-order}
#
# convert 之後的圖，和其他的圖一樣可以匯出、拆解。請看拆解之後，q/dq 之間是什麼。
lowered = export(right, ex).run_decompositions()
print(" → ".join(ops(lowered)))
with torch.no_grad():
    assert torch.equal(lowered.module()(*ex), right(*ex))
assert [op for op in ops(lowered) if "quantize" not in op] == ["convolution", "relu"]
assert q_dq(lowered) == q_dq(right)
assert not_core(lowered) == [
    "quantized_decomposed.dequantize_per_tensor.default",
    "quantized_decomposed.quantize_per_tensor.default",
]

# %%
# q/dq 還在，夾在中間的 conv2d 變成了 convolution，輸出不變。這件事多半不用你自己做：ExecuTorch 的 `to_edge()`
# 會在量化之後拆解（[executorch PR 7111](https://github.com/pytorch/executorch/pull/7111) 有說明，這裡沒有執行）。
#
# !!! question "除了 conv 和 linear，全部拆掉？"
#     那張表是一個 dict：把 conv2d 和 linear 拿掉，它們就會保持完整。這樣一來，x86 的 quantizer 在 `cnn`
#     上還能插入 8 個 observer，和沒拆解的時候一樣嗎？BN 會摺進去嗎？

# %% answer
# BN 換了這種形式，照樣會摺進去。但 pool 和 flatten 已經變成 mean 和 view，這個 quantizer 不理它們：8 個 observer
# 只剩 6 個，一句話也沒說。
kept_whole = default_decompositions()
for op in (aten.conv2d.default, aten.linear.default):
    kept_whole.pop(op)
partly = cases["cnn"].run_decompositions(kept_whole)
prepared = prepare_pt2e(partly.module(), x86_quantizer())
print(" → ".join(ops(partly)), " → ".join(ops(prepared)), f"{len(observers(prepared))} 個 observer", sep="\n")
assert ops(partly).count("_native_batch_norm_legit_no_training") == 2
assert ops(prepared) == ["conv2d", "relu", "conv2d", "relu", "mean", "view", "linear"]
assert len(observers(prepared)) == 6


# %%
# ## attention：可能非拆不可的 op {#sdpa}
#
# `F.scaled_dot_product_attention`（SDPA）匯出之後就是*一個* op。認得 linear 和 matmul 的 quantizer，在它裡面什麼都找不
# 到，於是 attention 一直是浮點，也沒有人告訴你。這時就該在 quantizer 之前拆解，只要 conv 和 linear 保持完整；前面的 PR
# 7111，就是 ExecuTorch 的一個 backend 這麼做的。但該用哪一張表？比較下面四種：
#
# - 不拆：匯出時的原樣；
# - 只放 SDPA 的表；
# - 預設的表，拿掉 linear；
# - SDPA，加上它可能變成的兩個 op：是哪一個，要看形狀。
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        return self.out(F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x)))


sdpa = aten.scaled_dot_product_attention.default
inner = [aten._scaled_dot_product_attention_math.default, aten._scaled_dot_product_flash_attention_for_cpu.default]
full, without_linear = default_decompositions(), default_decompositions()
without_linear.pop(aten.linear.default)
_ = torch.manual_seed(0)
attention, x = Attention().eval(), (torch.randn(2, 5, 16),)  # [batch, sequence, features]
whole = export(attention, x)
tables = [{sdpa: full[sdpa]}, without_linear, {op: full[op] for op in (sdpa, *inner)}]
programs = [whole, *(whole.run_decompositions(decompositions) for decompositions in tables)]
labels = ["不拆", "只放 SDPA", "預設，拿掉 linear", "SDPA 加上兩個"]


# %%
# x86 的 quantizer 會量化 matmul，但要特別交代，它才會動手
# （[pytorch PR 122776](https://github.com/pytorch/pytorch/pull/122776)）；這裡就交代了。在哪一個 program 上，它除了
# linear 之外還插入了 observer？
def matmul_quantizer():
    return x86_quantizer().set_function_type_qconfig(torch.matmul, x86.get_default_x86_inductor_quantization_config())


prepared = [prepare_pt2e(program.module(), matmul_quantizer()) for program in programs]
users = [[user for node in observers(gm) for user in node.users] for gm in prepared]
observed = [sorted({user.name for user in nodes if short(user.target) != "linear"}) for nodes in users]
products = [[op for op in ops(program) if op in ("matmul", "bmm") or "attention" in op] for program in programs]
extra = [len(ops(program)) - 4 for program in programs]
counts = [len(observers(gm)) for gm in prepared]
rows = [[labels[i], extra[i], ", ".join(products[i]), counts[i], ", ".join(observed[i]) or "無"] for i in range(4)]
table(rows, ["拆解", "除了 4 個 linear 的 op 數", "矩陣乘法在哪裡", "observer 數", "linear 之外被觀察的"])
assert products[:2] == [["scaled_dot_product_attention"], ["_scaled_dot_product_attention_math"]]
assert products[2:] == [["bmm"] * 2, ["matmul"] * 2]
assert counts == [6, 6, 6, 10]
assert observed == [[], [], [], ["matmul", "matmul_1"]]
assert all(ops(program).count("linear") == 4 for program in programs)

# %%
# 只有最後一個。表裡只有 SDPA，不過是從一個封閉的 op 換成另一個。拿掉 linear 的預設表則拆得太深，越過這個
# quantizer 認得的 matmul，一路拆成它不認得的 bmm。拆解要有用，就得停在*你的* quantizer 會找的那些 op 上。
# 下面是拆開的樣子和 SQNR；如果有好幾個 head，形狀就會通往另一個 op。
split = programs[3]
stages = [(whole.module(), "匯出"), (split.module(), "拆解 SDPA 加上兩個")]
draw_stages(stages, title="SDPA 變成六個 op，其中兩個是 matmul；linear 保持完整")
with torch.no_grad():
    reference, exact = attention(*x), split.module()(*x)
    quality = [sqnr(reference, quantize(program, matmul_quantizer(), x)(*x)) for program in (whole, split)]
print(f"SQNR：attention 是浮點 {quality[0]:.4g} dB，matmul 也量化 {quality[1]:.4g} dB")


class Heads(nn.Module):
    def forward(self, q):
        return F.scaled_dot_product_attention(q, q, q)


heads = export(Heads(), (torch.randn(2, 4, 5, 8),))  # [batch, heads, sequence, features]
assert ops(heads.run_decompositions(tables[0])) == ["_scaled_dot_product_flash_attention_for_cpu", "getitem"]
assert ops(heads.run_decompositions(tables[2])).count("matmul") == 2
assert torch.equal(exact, reference)
assert ops(split) == ["linear"] * 3 + ["mul", "transpose", "mul", "matmul", "_safe_softmax", "matmul", "linear"]
assert 35 < quality[1] < quality[0] < 50

# %%
# 多量化一個地方，就多一份誤差；換來什麼，要量了才知道（[M07-2](chapter:m07_2_is_it_faster)）。關於
# attention，[M03-3](chapter:m03_3_patterns_that_bite) 還有更多。
#
# ## 總結：什麼時候不要拆 {#when-not}
#
# | 在哪個階段 | 要拆嗎？ |
# | --- | --- |
# | 之後的 quantizer 要找 conv2d 和 linear | 不要：不是報錯，就是什麼都找不到 |
# | 之後的 quantizer 被 SDPA 這種 op 擋住 | 只拆那個 op，拆到它要找的 op 為止 |
# | convert 之後，backend 只收 Core ATen | 要，除非 backend 自己會拆 |
#
# 1. Core ATen 就是帶著 `torch.Tag.core` 標籤的 overload，共 193 個。eval 匯出的圖用 `run_decompositions()`
#    就能到位，train 匯出的圖有 BN 就不行。
# 2. `run_decompositions()` 回傳一個新的 program，舊的原封不動。
# 3. 先量化，再拆解。順序錯了的跡象，是一個 observer 都沒有，或是 SQNR 等於 `inf`。
#
# 下一頁 [M00-4](chapter:m00_4_editing_graphs)：自己動手改圖。
