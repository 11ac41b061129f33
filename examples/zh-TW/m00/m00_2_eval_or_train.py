"""
# M00-2 | 匯出前先決定：eval 還是 train

eager 模式的模型，隨時可以在訓練和推論之間切換；匯出的圖不行：export 用模型當時的模式跑一遍，發生了什麼就寫下什麼。
讀完這一頁，你能夠

- 依這張圖的用途，在匯出之前選好模式；
- 從一張圖看出它是在哪種模式下匯出的；
- 認出選錯的後果：有錯誤訊息的看訊息，沒有訊息的看數字。

訊息和問題都以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。匯出的圖怎麼讀，請看
[M00-1](chapter:m00_1_export_and_aten)。
"""

# %%
# 先做準備。來自 torchao 的東西，用到時再說明。
import copy

import torch
import torch.nn as nn
from torch.export import export

from common.graph_utils import short
from common.models import ConvBnReLU, example_inputs
from common.pt2e import quiet, sqnr
from common.viz import draw_stages, table

quiet()
import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
from torchao.quantization import pt2e
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

torch.set_num_threads(1)
_ = torch.manual_seed(0)


# %%
# 模型是 M00-1 的 conv → bn → relu，後面再接一個 dropout：常見的 layer 當中，行為取決於模式的就是批次正規化（batch
# normalization，以下稱 BN）和 dropout。用 train 模式跑 50 個 batch，充當訓練，讓 BN 累積出輸入的統計量。
# `reference` 是 eager 模型在 eval 模式下的輸出，也就是推論該有的結果。
class ConvBnReLUDropout(ConvBnReLU):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.25)

    def forward(self, x):
        return self.dropout(super().forward(x))


ex = example_inputs()  # 一個 batch，2 張影像
model = ConvBnReLUDropout()
with torch.no_grad():
    for _ in range(50):
        model(torch.randn(16, 3, 16, 16))
    reference = copy.deepcopy(model).eval()(*ex)


# %%
# ## 同一個模型，兩次匯出 {#two-exports}
#
# 把模型分別在 eval 模式和 train 模式下匯出，每次都先複製一份（理由[稍後](#shared-buffers)就會看到）。
# 請找第二張圖上的標記：一個 node 是新增的（+），兩個 node 的引數變了（△）。
def exported(training):
    """模型複本的匯出，train 或 eval 模式。"""
    return export(copy.deepcopy(model).train(training), ex).module()


eval_gm, train_gm = exported(training=False), exported(training=True)
stages = [(eval_gm, "先 .eval() 再匯出"), (train_gm, "先 .train() 再匯出")]
draw_stages(stages, title="模式在圖裡留下的，是一個 node 和兩個引數")


# %%
# 變的是哪個引數？op 的 schema（[M00-1](chapter:m00_1_export_and_aten#b1-reading-op-names)）裡有名字：BN 的叫
# `training`，dropout 的叫 `train`。`mode_args` 會從圖裡把兩者找出來。
def ops(gm):
    """圖裡的運算，依順序列出簡稱。"""
    return [short(node.target) for node in gm.graph.nodes if node.op == "call_function"]


def mode_args(gm):
    """名為 `training` 或 `train` 的引數值，以 op 的簡稱為 key。"""
    return {
        short(node.target): value
        for node in gm.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
        for argument, value in zip(node.target._schema.arguments, node.args, strict=False)
        if argument.name in ("training", "train")
    }


rows = [[label, " → ".join(ops(gm)), f"`{mode_args(gm)}`", gm.training] for gm, label in stages]
table(rows, ["圖", "運算", "決定模式的引數", "`gm.training`"])
assert ops(eval_gm) == ["conv2d", "batch_norm", "relu", "dropout"]
assert ops(train_gm) == ["conv2d", "add_", "batch_norm", "relu", "dropout"]
assert mode_args(eval_gm) == {"batch_norm": False, "dropout": False}
assert mode_args(train_gm) == {"batch_norm": True, "dropout": True}
assert torch.equal(torch.ops.aten.dropout.default(ex[0], 0.25, False), ex[0])
assert (eval_gm.training, train_gm.training) == (True, True)

# %%
# - **BN** 在 `training=False` 時，用存好的 `running_mean` 和 `running_var` 計算；是 True 的話，就用眼前這個
#   batch 的平均和變異數，並且把存著的值往那邊移一點。
# - **dropout** 還留在 eval 的圖裡：`train=False` 時，它原封不動地回傳輸入。export 在這裡什麼都不簡化。
# - **`gm.training` 這個旗標不能當真。** 兩張圖都是 True：新建的 module 一開始就是 True，而且沒有 node 會讀它。
#   一張圖是什麼模式，寫在引數裡，也就是 `mode_args` 讀的地方。
#
# ## 誰在用 num_batches_tracked {#num-batches-tracked}
#
# M00-1 是在 eval 模式下匯出的，這個 buffer 沒有人用。train 模式下誰會用它？又有誰用*那個* node？`eliminate_dead_code()`
# 清掉沒有人用的 node 之後，還有人讀這個 buffer 嗎？
counters = [gm.graph.find_nodes(op="get_attr", target="bn.num_batches_tracked")[0] for gm in (eval_gm, train_gm)]
(add_,) = counters[1].users
cleaned = [copy.deepcopy(gm) for gm in (eval_gm, train_gm)]
for gm in cleaned:
    gm.graph.eliminate_dead_code()
left = [len(gm.graph.find_nodes(op="get_attr", target="bn.num_batches_tracked")) for gm in cleaned]
print(f"buffer 的使用者：eval {list(counters[0].users)}，train {list(counters[1].users)}")
print(f"{add_.target}：args {add_.args}, users {list(add_.users)}, impure: {add_.is_impure()}")
print(f"清理之後還讀 buffer 的 node 數：eval {left[0]}，train {left[1]}")
assert (list(counters[0].users), list(counters[1].users), left) == ([], [add_], [0, 1])
assert (add_.target, add_.args) == (torch.ops.aten.add_.Tensor, (counters[1], 1))
assert (list(add_.users), add_.is_impure(), ops(cleaned[1])) == ([], True, ops(train_gm))

# %%
# 唯一用到它的是 `add_`：直接寫進 buffer，為 batch 計數。而 `add_` 自己又沒有人用，卻留了下來，因為它是 impure，也就是為
# 了副作用而執行（規則見 [M00-4](chapter:m00_4_editing_graphs#impure-nodes)）。輸出和這個計數無關。（只有
# `momentum=None` 的 BN 會讀它，用來對所有 batch 取平均：
# [BatchNorm2d](https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html)。）
#
# ## 匯出不改變什麼，呼叫才會 {#shared-buffers}
#
# export 會把模型跑一遍，BN 的統計量會因此移動嗎？之後呼叫匯出的圖，移動的又是誰的統計量？最後一個數字是
# SQNR：訊號比誤差高出多少 dB，越大越好，兩個輸出完全相同就是 `inf`。這裡比較的是 *eager* 模型在 eval 模式下的輸出，
# 中間隔著它的 train 匯出圖跑過的 21 個 batch。
eager = copy.deepcopy(model).train()
before = copy.deepcopy(eager.state_dict())
gm = export(eager, ex).module()
by_export = [name for name, tensor in eager.state_dict().items() if not torch.equal(tensor, before[name])]
with torch.no_grad():
    gm(*ex)
    by_call = [name for name, tensor in eager.state_dict().items() if not torch.equal(tensor, before[name])]
    for _ in range(20):
        gm(3 * ex[0])
    drifted = sqnr(reference, eager.eval()(*ex))
print(f"匯出改變了 eager 模型的：{by_export}", f"呼叫一次 gm 改變了：{by_call}", sep="\n")
print(f"eager 模型，前後比較：{drifted:.4g} dB")
assert by_export == []
assert by_call == ["bn.running_mean", "bn.running_var", "bn.num_batches_tracked"]
assert gm.get_buffer("bn.running_mean") is eager.bn.running_mean
assert gm.get_parameter("conv.weight") is eager.conv.weight
assert train_gm.get_buffer("bn.running_mean") is not model.bn.running_mean
assert drifted < 5

# %%
# 匯出的 module 裡不是複本，就是 eager 模型的那些 tensor。所以呼叫 train 匯出的圖，等於繼續訓練
# BN，你以為放在另一個變數裡很安全的模型，就這樣壞掉了。兩者必須各自獨立的話，請像 `exported` 那樣，匯出一份複本：
# `export(copy.deepcopy(model), ex)`。
#
# ## 忘了 .eval()：不報錯，但輸出是錯的 {#forgot-eval}
#
# 新建的模型就是 train 模式，所以很容易忘。輸出的形狀沒錯，也沒有任何警告。會露出馬腳的是三個數字，請看第二列：
#
# - 同樣的輸入呼叫兩次，輸出差多少；
# - 同一張影像，只把 batch 裡的鄰居換掉，*這一張*的輸出差多少（dropout 的遮罩保持相同，所以剩下的差異來自 BN）；
# - 計數器走了多少，推論時它必須停著不動。
neighbour = torch.cat([ex[0][:1], torch.randn(1, 3, 16, 16)])  # 第一張影像相同
rows = []
with torch.no_grad():
    for gm, label in stages:
        counter = gm.get_buffer("bn.num_batches_tracked")
        start, outputs = counter.item(), [gm(*ex), gm(*ex)]
        for images in (*ex, neighbour):
            _ = torch.manual_seed(0)  # dropout 的遮罩相同
            outputs.append(gm(images))
        repeated = (outputs[0] - outputs[1]).abs().max().item()
        exchanged = (outputs[2][0] - outputs[3][0]).abs().max().item()
        rows.append([label, repeated, exchanged, counter.item() - start, sqnr(reference, outputs[0])])
shown = [[label, *(f"{number:.4g}" for number in numbers)] for label, *numbers in rows]
table(shown, ["圖", "同樣的輸入跑兩次", "換了鄰居", "4 次呼叫計數", "SQNR (dB)"])
assert rows[0][1:] == [0.0, 0.0, 0, float("inf")]
assert rows[1][1] > 1 and rows[1][2] > 0.1
assert rows[1][3] == 4
assert rows[1][4] < 10


# %%
# eval 匯出的圖和 eager 模型一個 bit 都不差，而且一張影像只有一個輸出，和 batch 裡還有誰無關。train
# 匯出的圖兩樣都做不到。所以在往下走之前，每次匯出都拿來和 eval 模式的 eager 模型比一比。
#
# ## 匯出之後才 .eval()：NotImplementedError {#eval-raises}
#
# 事後還能換模式嗎？最後一列是訓練框架會遇到的情形：它把 module 包起來，切換的是外層。
def refusal(call):
    """`call()` 引發的錯誤，訊息只留第一行；沒有報錯就是 None。"""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"


refusals = [refusal(call) for call in (train_gm.eval, train_gm.train, nn.Sequential(train_gm).eval)]
calls = ["`gm.eval()`", "`gm.train()`", "`nn.Sequential(gm).eval()`"]
table(list(zip(calls, refusals, strict=True)), ["呼叫", "錯誤"])
assert refusals == [
    "NotImplementedError: Calling eval() is not supported yet.",
    "NotImplementedError: Calling train() is not supported yet.",
    "NotImplementedError: Calling train() is not supported yet.",
]

# %%
# 這是故意的：一個什麼都不做的呼叫，只會讓人以為已經切換了。
# [pytorch#151726](https://github.com/pytorch/pytorch/issues/151726) 給的建議是，需要哪些模式，就各匯出一份。
#
# ### 繞過錯誤的三種方法，沒有一種真的切換 {#silent-noop}
#
# 第一種常是無意間發生的，第三種是那個 issue 裡有人提供的解法。先看旗標，再看引數。
copied, flagged, patched = copy.deepcopy(train_gm).eval(), exported(training=True), exported(training=True)
flagged.training = False
patched.eval = nn.Module().eval
patched.eval()
ways = ["`copy.deepcopy(gm).eval()`", "`gm.training = False`", "`gm.eval = nn.Module().eval; gm.eval()`"]
modules = [copied, flagged, patched]
rows = [[way, gm.training, f"`{mode_args(gm)}`"] for way, gm in zip(ways, modules, strict=True)]
table(rows, ["做了什麼", "`gm.training`", "決定模式的引數"])
assert [gm.training for gm in modules] == [False, False, True]
assert [mode_args(gm) for gm in modules] == [{"batch_norm": True, "dropout": True}] * 3
assert not torch.equal(copied(*ex), copied(*ex))

# %%
# 會報錯的 method 只掛在那一個物件上。`copy.deepcopy` 做出的新物件沒有它們，`nn.Module` 的 `eval()`
# 就回來了：它只設定那個沒有 node 會讀的旗標。第三種方法切換的，是那個 method 原本所屬的 module。
# 這三種都還是以 train 模式計算，而且再也沒有人告訴你。
#
# ## torchao 的輔助函式：只管 BN 和 dropout {#helpers}
#
# `move_exported_model_to_eval` 是為了 [pytorch#103681](https://github.com/pytorch/pytorch/issues/103681)
# 這類情況而寫的，它會原地改圖：把 BN 和 dropout 換成另一種模式。換過之後，這張圖還有哪裡和 eval 匯出的不同？
moved = pt2e.move_exported_model_to_eval(exported(training=True))


def dropout_p(gm):
    """圖裡唯一的 dropout 的機率 `p`。"""
    return gm.graph.find_nodes(op="call_function", target=torch.ops.aten.dropout.default)[0].args[1]


graphs = {"eval 匯出": eval_gm, "train 匯出": train_gm, "train 匯出後切換": moved}
rows = [[label, f"`{mode_args(gm)}`", dropout_p(gm), "add_" in ops(gm)] for label, gm in graphs.items()]
table(rows, ["圖", "決定模式的引數", "dropout 的 `p`", "有 `add_`"])
with torch.no_grad():
    assert torch.equal(moved(*ex), reference)
assert mode_args(moved) == mode_args(eval_gm)
assert [row[2:] for row in rows] == [[0.25, False], [0.25, True], [0.5, True]]
assert refusal(moved.eval) == "NotImplementedError: Calling eval() is not supported yet."


# %%
# 輸出是對的。但 `add_` 還在計數，`p` 也從 0.25 被重設成函式自己的 0.5；等到這張圖被換回 train，就會受影響。
# [ao#2980](https://github.com/pytorch/ao/issues/2980) 和 [ao#4107](https://github.com/pytorch/ao/issues/4107) 回報 BN
# 的 `eps` 和 `momentum` 也是如此，[M05-2](chapter:m05_2_qat_graphs) 會實際看到。其他取決於模式的東西則一聲不響地維持原
# 樣。請看第二列：
class OtherModes(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout2d(0.25)

    def forward(self, x):
        x = self.dropout(x)
        return x + 1 if self.training else x


right = export(OtherModes().eval(), ex).module()
stuck = pt2e.move_exported_model_to_eval(export(OtherModes().train(), ex).module())
graphs = {"eval 匯出": right, "train 匯出後切換": stuck}
rows = [[label, " → ".join(ops(gm)), f"`{mode_args(gm)}`"] for label, gm in graphs.items()]
table(rows, ["`OtherModes` 的圖", "運算", "決定模式的引數"])
assert torch.equal(right(*ex), ex[0])
assert (ops(stuck), mode_args(stuck)) == (["feature_dropout", "add"], {"feature_dropout": True})

# %%
# `nn.Dropout2d` 是另一個 op，仍然會丟掉 channel。至於 `if self.training:`，圖裡只有當時走的那條分支，
# 另一條沒有任何函式救得回來。
#
# ### allow_exported_model_train_eval {#allow}
#
# 它讓 `.eval()` 和 `.train()` 又可以呼叫，從外層呼叫也行；背後用的還是 `move_…` 那些函式，
# 所以限制也一樣。而且複製之後，這些 method 同樣不見了：
allowed = pt2e.allow_exported_model_train_eval(exported(training=True))
lost = copy.deepcopy(allowed).eval()
switched = []
for switch in (allowed.eval, allowed.train, nn.Sequential(allowed).eval):
    switch()
    switched.append(mode_args(allowed))
print(f"eval、train、外層 eval：{[arguments['dropout'] for arguments in switched]}；複本：{mode_args(lost)}")
assert [set(arguments.values()) for arguments in switched] == [{False}, {True}, {False}]
assert (lost.training, mode_args(lost)) == (False, mode_args(train_gm))

# %%
# !!! question "從 eval 換到 train？"
#     你在 eval 模式下匯出，現在想要訓練。`move_exported_model_to_train` 給你的圖，和當初就在 train 模式下匯出的一樣嗎？

# %% answer
# 不一樣。引數雖然相同，但 eval 匯出的圖本來就沒有 `add_`，所以不會計數，而 `p` 變成 0.5。
# 想要訓練，就在 train 模式下匯出。
back = pt2e.move_exported_model_to_train(exported(training=False))
print(" → ".join(ops(back)), mode_args(back), f"p = {dropout_p(back)}", sep="\n")
assert mode_args(back) == mode_args(train_gm)
assert (ops(back), dropout_p(back)) == (ops(eval_gm), 0.5)


# %%
# ## 對 train 匯出的圖做 PTQ：BN 摺進去了，dropout 還在 {#ptq-on-train}
#
# 訓練後量化（PTQ）有三步：`prepare_pt2e` 插入 observer（觀察器），記錄數值的範圍；校準，拿資料跑一遍；`convert_pt2e` 把
# observer 換成 quantize 和 dequantize（簡稱 q/dq）。[M01-1](chapter:m01_1_end_to_end) 會一步一步走，這裡只問一件事：如
# 果當初是在 train 模式下匯出的呢？`ptq` 用 x86 的 quantizer 做完這三步。請看 BN 和 dropout 剩下什麼，再看 SQNR。
def ptq(gm):
    """量化一張匯出的圖，用 `ex` 校準。"""
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(gm, quantizer)
    prepared(*ex)
    return convert_pt2e(prepared)


eval_gm, train_gm = exported(training=False), exported(training=True)
graphs = {"eval 匯出": eval_gm, "train 匯出": train_gm, "train 匯出後切換": moved}
with torch.no_grad():
    quantized = {label: ptq(gm) for label, gm in graphs.items()}
    quality = [sqnr(reference, gm(*ex)) for gm in quantized.values()]
kept = [[op for op in ops(gm) if "quantize" not in op] for gm in quantized.values()]
rows = [[label, " → ".join(kept[i]), f"{quality[i]:.4g}"] for i, label in enumerate(quantized)]
table(rows, ["由哪張圖量化", "運算（略去 q/dq）", "SQNR (dB)"])
message = refusal(quantized["train 匯出"].eval)
print(message)
int8_weights = [gm.get_buffer("_frozen_param0") for gm in quantized.values()]
assert kept == [["conv2d", "relu", "dropout"]] + [["conv2d", "add_", "relu", "dropout"]] * 2
assert [mode_args(gm)["dropout"] for gm in quantized.values()] == [False, True, False]
assert torch.equal(int8_weights[0], int8_weights[1])
assert 40 < quality[0] < 42 and quality[1] < 10 and quality[2] == quality[0]
assert message == "NotImplementedError: Calling train() or eval() is not supported for exported models."

# %%
# 每一列的 BN 都不見了：不管 `training` 寫什麼，`prepare_pt2e` 都會用存好的統計量把它摺進 conv，前兩列的 int8 weight 完
# 全相同（[M02-1](chapter:m02_1_from_annotation_to_observer)）。但 dropout 在量化後的模型裡仍然是隨機的；該有 40 的 SQNR
# 只剩幾 dB，是唯一的跡象。經過 prepare 和 convert 之後，`.eval()` 的錯誤訊息換了一種，訊息的後面幾行還會提到那些輔助函
# 式。補救的辦法就是第一列：在 eval 模式下重新匯出。
#
# ## 總結 {#summary}
#
# | 這張圖要做什麼 | 匯出之前 |
# | --- | --- |
# | 推論、PTQ | `.eval()` |
# | 訓練、量化感知訓練（M05） | `.train()` |
# | 兩者都要 | 各匯出一份 |
#
# 1. 模式寫在圖裡：在 `training` 和 `train` 這兩個引數、在 `add_`、在當時走的分支，而不在 `gm.training`。
# 2. 匯出的圖和 eager 模型共用 tensor；呼叫 train 匯出的圖，兩邊都會變。
# 3. 匯出之後，`.eval()` 會報錯；經過 `copy.deepcopy`，它既不做事也不作聲。所以請和 eval 模式的 eager
#    模型比對，也確認 `num_batches_tracked` 停著不動。
#
# 下一頁 [M00-3](chapter:m00_3_decompositions)：op 還能怎麼拆，又為什麼不該在量化之前拆。
