"""
# M02-3 | 手寫一次 convert_pt2e

校準完的模型裡，observer 都記下了數值範圍。`convert_pt2e` 把它們換成 quantize 與 dequantize（q/dq），再把 weight 變成
int8。這一頁用 [M00-4](chapter:m00_4_editing_graphs) 的步驟 4 到 6 親手做一遍。讀完之後，你能：

- 重做一次 `convert_pt2e`：先是一個 conv，再是有跳接（skip connection）的模型，每個 node、每個 bit 都與原版相同；
- 說出每一項修改是為了什麼，以及結果裡哪個名字會誤導人；
- 用 `fold_quantize=False` 讓 weight 留在浮點，並認得這樣的圖；
- 說明存檔為什麼沒變小、反而變大，並讓它變小。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。observer 是怎麼插進去的，見
[M02-2](chapter:m02_2_prepare_by_hand)；scale 和 zero point 是怎麼算出來的，見 [M01-3](chapter:m01_3_the_arithmetic)。
"""

# %%
# ## 校準完的模型，和 convert 的結果 {#start}
#
# `calibrate` 做完前面的步驟：export、prepare，再餵一個 batch。quantizer 用 [M01-1](chapter:m01_1_end_to_end) 的
# `X86InductorQuantizer`；M02-2 的那一個，[後面](#copy-dequantize)再上場。q/dq 的 op 有兩對：per-tensor 一對，
# per-channel 一對。
import copy
import itertools
import operator
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.fx import GraphModule, Node

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
_ = torch.set_grad_enabled(False)  # 這裡不訓練
_ = torch.manual_seed(0)
ops = torch.ops.quantized_decomposed
PER_TENSOR = ops.quantize_per_tensor.default, ops.dequantize_per_tensor.default
PER_CHANNEL = ops.quantize_per_channel.default, ops.dequantize_per_channel.default
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
x = example_inputs(4)[0]


def calibrate(model: nn.Module, quantizer: Quantizer) -> GraphModule:
    """匯出、prepare、再以 x 校準過的模型。"""
    prepared = prepare_pt2e(export_module(model.eval(), (x,)), quantizer)
    prepared(x)
    return prepared


# %%
# 模型是 `conv_relu`，兩個 observer 分別在 `x` 和 weight 上。convert 是原地修改，所以交給它一份複本；另一份複本 `gm` 由
# 我們自己改。
calibrated = calibrate(get_model("conv_relu"), x86)
goal = convert_pt2e(copy.deepcopy(calibrated))
gm = copy.deepcopy(calibrated)
nodes = {node.name: node for node in gm.graph.nodes}
on_x, on_weight = nodes["activation_post_process_0"], nodes["activation_post_process_1"]
x_observer, weight_observer = gm.get_submodule(on_x.target), gm.get_submodule(on_weight.target)
assert (on_x.args, on_weight.args) == ((nodes["x"],), (nodes["conv_weight"],))
assert isinstance(x_observer, ObserverBase) and isinstance(weight_observer, ObserverBase)


# %%
# ## 一個 observer 換成兩個 node {#one-observer}
#
# M00-4 的[步驟 4](chapter:m00_4_editing_graphs#step-4)：把新 node 放在 observer 前面，改接下游，再刪掉 observer。兩個
# 新 node 帶著同一組 scale 和 zero point，由 observer 算出。`x` 是 per-tensor 量化，所以就是兩個數字。
def put_qdq(gm: GraphModule, node: Node, pair: tuple, qparams: tuple) -> tuple[Node, Node]:
    """把 observer 的 node 換成 quantize → dequantize。"""
    with gm.graph.inserting_before(node):
        q = gm.graph.call_function(pair[0], (node.args[0], *qparams))
        dq = gm.graph.call_function(pair[1], (q, *qparams))
    node.replace_all_uses_with(dq)
    gm.graph.erase_node(node)
    gm.delete_submodule(node.target)
    return q, dq


scale, zero_point = x_observer.calculate_qparams()
qparams = (float(scale), int(zero_point), x_observer.quant_min, x_observer.quant_max, x_observer.dtype)
q, dq = put_qdq(gm, on_x, PER_TENSOR, qparams)
gm.graph.lint()
gm.recompile()
print(f"scale {qparams[0]:.4g}，zero point {qparams[1]}，從 {qparams[2]} 到 {qparams[3]}，{qparams[4]}")
x_done = copy.deepcopy(gm)  # 留給後面的圖
draw_stages(
    [(calibrated, "校準完"), (x_done, "換掉 x 的 observer")],
    title="範圍變成 s 和 z，兩個 node 上都一樣；weight 的 observer 還沒輪到",
)
wanted = {node.name: node for node in goal.graph.nodes}
assert (q.name, dq.name) == ("quantize_per_tensor_default", "dequantize_per_tensor_default")
assert wanted[q.name].args[1:] == wanted[dq.name].args[1:] == qparams == q.args[1:] == dq.args[1:]
assert nodes["conv2d"].args[0] is dq and not hasattr(gm, on_x.target)

# %%
# observer 只留下它的數字，而且不會再變了。這次不需要 `delete_user_cb`：新 node 取用的是 `x`，不是 observer。
#
# ## weight 的 scale：tensor 不能寫在 args 裡 {#weight-observer}
#
# weight 是 per-channel 量化，scale 和 zero point 各有八個。最直覺的寫法，是像上面的數字一樣，把這兩個 tensor 直接寫進
# args。先在一份複本上試：
scales, zero_points = weight_observer.calculate_qparams()
rest = (weight_observer.ch_axis, weight_observer.quant_min, weight_observer.quant_max, weight_observer.dtype)
wrong = copy.deepcopy(gm)
(wrong_node,) = wrong.graph.find_nodes(op="call_module", target=on_weight.target)
put_qdq(wrong, wrong_node, PER_CHANNEL, (scales, zero_points, *rest))
wrong.graph.lint()  # 這裡不報錯，
wrong.recompile()  # 這裡也不報錯
try:
    wrong(x)  # FX 還會把 traceback 印到 stderr，本頁略去
except NameError as error:
    refused = f"NameError: {error}"
print(refused)
assert refused == "NameError: name 'float32' is not defined"
assert "torch.Tensor(size=[8], dtype=float32)" in wrong.code


# %%
# `lint` 和 `recompile` 都沒有意見，一執行就出錯。真正執行的是由圖產生的 Python 程式碼，而每個 tensor 在裡面都寫成
# `torch.Tensor(size=[8], dtype=float32)`：只有描述，沒有數值。所以 tensor 要放在 module 上，由 `get_attr` 讀取，也就
# 是[步驟 5](chapter:m00_4_editing_graphs#step-5)。convert 把這兩個 buffer 取名為 `_scale_0` 和 `_zero_point_0`，我們照
# 做。
def add_buffers(gm: GraphModule, node: Node, scales: torch.Tensor, zero_points: torch.Tensor, number: int) -> tuple:
    """兩個 tensor 存在 module 上，並在 node 前面各用一個 node 讀取。"""
    gm.register_buffer(f"_scale_{number}", scales)
    gm.register_buffer(f"_zero_point_{number}", zero_points)
    with gm.graph.inserting_before(node):
        return gm.graph.get_attr(f"_scale_{number}"), gm.graph.get_attr(f"_zero_point_{number}")


buffers = add_buffers(gm, on_weight, scales, zero_points, 0)
q_weight, dq_weight = put_qdq(gm, on_weight, PER_CHANNEL, (*buffers, *rest))
gm.graph.lint()
gm.recompile()
weight_done = copy.deepcopy(gm)
print(f"{q_weight} 的 args：{q_weight.args}")
assert scales.shape == zero_points.shape == (8,) and not zero_points.any()
assert q_weight.all_input_nodes == [nodes["conv_weight"], *buffers]
assert dq_weight.all_input_nodes == [q_weight, *buffers]


# %%
# ## 停在這裡，就是 `fold_quantize=False` {#fold-quantize}
#
# 在我們的圖裡，weight 還是浮點，每次執行都要重新量化。只要告訴 convert，它也會做出這張圖。下面比對圖上寫的一切：每個
# node 的種類、名字、target 和引數，順序也要相同。
def listing(gm: GraphModule) -> list[tuple]:
    """依順序列出所有 node，以及圖上關於它的一切。"""
    return [(node.op, node.name, node.target, str(node.args), str(node.kwargs)) for node in gm.graph.nodes]


unfolded = convert_pt2e(copy.deepcopy(calibrated), fold_quantize=False)
print(f"node 相同：{listing(gm) == listing(unfolded)}（{len(listing(gm))} 個）")
calls = [len(module.graph.find_nodes(op="call_function", target=PER_CHANNEL[0])) for module in (unfolded, goal)]
rows = [
    ["`fold_quantize=False`", calls[0], ", ".join(unfolded.state_dict())],
    ["預設", calls[1], ", ".join(goal.state_dict())],
]
table(rows, ["", "呼叫 `quantize_per_channel` 的次數", "module 裡的 tensor"])
assert listing(gm) == listing(unfolded) and len(listing(gm)) == 13
assert calls == [1, 0] and goal.state_dict().keys() - unfolded.state_dict().keys() == {"_frozen_param0"}
assert not any(tensor.dtype == torch.int8 for tensor in unfolded.state_dict().values())
assert torch.equal(gm(x), unfolded(x)) and torch.equal(unfolded(x), goal(x))


# %%
# 所以，如果 convert 之後 weight 不是 int8，就看圖裡有沒有呼叫 `quantize_per_channel`。在 torch 2.2，預設就是這樣；
# [pytorch#118701](https://github.com/pytorch/pytorch/pull/118701) 把預設改成摺疊，好讓模型變小。兩者的輸出逐位元相同。
#
# ## 摺疊 weight：算一次，之後都用讀的 {#fold}
#
# 這個 quantize 的輸入全是常數，結果當然也是常數。我們就用這個 node 呼叫的 op 算一次，存成 buffer，改由 `get_attr` 讀
# 取。後面的 dequantize 要留著：連它也摺疊，weight 就又變回浮點，而 backend 要的是 int8 的值和它們的 scale。
def fold(gm: GraphModule, q: Node, number: int) -> Node:
    """把 weight 的 quantize 換成 int8 常數。"""
    tensors = [operator.attrgetter(source.target)(gm) for source in q.args[:3]]
    gm.register_buffer(f"_frozen_param{number}", q.target(*tensors, *q.args[3:]))
    with gm.graph.inserting_before(q):
        constant = gm.graph.get_attr(f"_frozen_param{number}")
    q.replace_all_uses_with(constant)
    gm.graph.erase_node(q)
    constant.name = q.name  # convert 也這樣做
    return constant


constant = fold(gm, q_weight, 0)
folded = copy.deepcopy(gm)
print(f"{constant}：{constant.op} 讀取 {constant.target}，{gm._frozen_param0.dtype}")
draw_stages(
    [(weight_done, "換掉 weight 的 observer"), (folded, "摺疊 weight")],
    show_params=True,
    title="int8 常數取代 quantize 的位置，也沿用它的名字；conv_weight 沒有人讀了",
)
assert (constant.name, constant.op) == ("quantize_per_channel_default", "get_attr")
assert constant.target == "_frozen_param0" and gm._frozen_param0.dtype == torch.int8

# %%
# 新 node 沿用舊 node 的名字，於是一個 `get_attr` 叫做 `quantize_per_channel_default`。看起來奇怪，但 convert 就是這麼
# 做的。
#
# !!! question "`goal` 裡有幾個 node 在做 quantize？"
#     數兩次：名字以 `quantize_` 開頭的 node，和呼叫 quantize op 的 node。你自己的 pass 該以哪一種為準？

# %% answer
# 看名字有 2 個，看 target 只有 1 個。名叫 `quantize_per_channel_default` 的 node 什麼也不量化，只是讀取 int8 weight。
# 比對要看 `op` 和 `target`，不要看名字；[M00-4](chapter:m00_4_editing_graphs#rename-target) 說過另一個理由。
by_name = [node.name for node in goal.graph.nodes if node.name.startswith("quantize_")]
by_target = [node.name for node in goal.graph.nodes if node.target in (PER_TENSOR[0], PER_CHANNEL[0])]
print(f"看名字：{by_name}", f"看 target：{by_target}", sep="\n")
assert by_name == ["quantize_per_channel_default", "quantize_per_tensor_default"]
assert by_target == ["quantize_per_tensor_default"]


# %%
# ## 清理，再和 `convert_pt2e` 比對 {#compare}
#
# [步驟 6](chapter:m00_4_editing_graphs#step-6) 會刪掉 `conv_weight`。我們做出來的，和 convert 的一樣嗎？比對 node、輸
# 出，以及每個 tensor 的每個 bit。下面的圖把所有步驟再走一遍。
def clean_up(gm: GraphModule) -> None:
    """刪掉沒有人用的 node，檢查，再重新產生 forward。"""
    gm.graph.eliminate_dead_code()
    gm.graph.lint()
    gm.recompile()


clean_up(gm)
gone = {node.name for node in folded.graph.nodes} - {node.name for node in gm.graph.nodes}
mine, theirs = gm.state_dict(), goal.state_dict()
print(f"刪掉的：{gone}")
print(f"node 相同：{listing(gm) == listing(goal)}（{len(listing(gm))} 個），輸出相同：{torch.equal(gm(x), goal(x))}")
print("tensor 相同：", {name: torch.equal(tensor, theirs[name]) for name, tensor in mine.items()})
stages = [(calibrated, "校準完"), (x_done, "換掉 x 的 observer"), (weight_done, "換掉 weight 的 observer")]
draw_stages(
    [*stages, (gm, "摺疊 weight，清理")],
    title="從校準完到 convert 的結果；最後一個階段和 `convert_pt2e` 做出來的一樣",
)
assert gone == {"conv_weight"}
assert listing(gm) == listing(goal) and len(listing(gm)) == 12
assert torch.equal(gm(x), goal(x)) and torch.equal(mine["_frozen_param0"], theirs["_frozen_param0"])
assert mine.keys() == theirs.keys() and all(torch.equal(tensor, theirs[name]) for name, tensor in mine.items())
assert ("from_node" in dq.meta, "from_node" in wanted[dq.name].meta) == (False, True)


# %%
# 完全相同。沒有比對的是 `meta`：convert 會在 `from_node` 記下 q/dq 的 node 是從哪個 observer 來的，我們沒有記（最後一
# 個 assert）。
#
# ## 有跳接的模型，還要多一項修改 {#residual}
#
# 接著換成 `residual`，它有一條跳接：`relu(conv2(relu(conv1(x))) + x)`。observer 更多，weight 也多了一個，所以把前面做
# 的事放進兩個迴圈，然後再比對一次。
def replace_observers(gm: GraphModule) -> None:
    """把每個 observer 換成 q/dq。"""
    numbers = itertools.count()
    for node in gm.graph.find_nodes(op="call_module"):
        observer = gm.get_submodule(node.target)
        if isinstance(observer, ObserverBase):  # _guards_fn 除外
            scale, zero_point = observer.calculate_qparams()
            rest = (observer.quant_min, observer.quant_max, observer.dtype)
            if observer.qscheme == torch.per_channel_symmetric:
                buffers = add_buffers(gm, node, scale, zero_point, next(numbers))
                put_qdq(gm, node, PER_CHANNEL, (*buffers, observer.ch_axis, *rest))
            else:
                put_qdq(gm, node, PER_TENSOR, (float(scale), int(zero_point), *rest))


def fold_weights(gm: GraphModule) -> None:
    """把每個 per-channel 的 quantize 換成 int8 常數。"""
    for number, q in enumerate(gm.graph.find_nodes(op="call_function", target=PER_CHANNEL[0])):
        fold(gm, q, number)


residual = calibrate(get_model("residual"), x86)
residual_goal = convert_pt2e(copy.deepcopy(residual))
almost = copy.deepcopy(residual)
replace_observers(almost)
fold_weights(almost)
clean_up(almost)
print(f"輸出相同：{torch.equal(almost(x), residual_goal(x))}")
print(f"node 數：手寫 {len(listing(almost))}，convert {len(listing(residual_goal))}")
draw_stages(
    [(almost, "手寫，到目前為止"), (residual_goal, "convert_pt2e")],
    title="手寫的圖裡，conv2d 和 add 讀 x 的同一個 dequantize；convert 的圖裡各讀各的",
)
(shared,) = [dq for dq in almost.graph.nodes if dq.target in (PER_TENSOR[1], PER_CHANNEL[1]) and len(dq.users) > 1]
assert torch.equal(almost(x), residual_goal(x)) and (len(listing(almost)), len(listing(residual_goal))) == (22, 23)
assert shared.target is PER_TENSOR[1] and {user.name for user in shared.users} == {"conv2d", "add"}
assert all("quantization_annotation" in user.meta for user in shared.users)


# %%
# 輸出逐位元相同，圖卻不同：光是執行模型，永遠不會發現。`x` 的 observer 有兩個下游，所以我們的 dequantize 也有兩個
# 下游；convert 則給每個下游一份複本。為什麼？backend 找的是 dequantize → conv 之類的 pattern，找到就整個換掉；有兩個
# 下游的 dequantize，會同時屬於兩個 pattern（[pytorch#107900](https://github.com/pytorch/pytorch/pull/107900)）。
#
# ### 每個下游各有一個 dequantize {#copy-dequantize}
#
# `node_copy` 複製一個 node，連同它的引數；`replace_input_with` 只改接一個下游。這樣一來，原來的 dequantize 就沒有人用
# 了，清理時會刪掉。（convert 只為有標註的下游複製；這裡兩個都有。）
def copy_dequantizes(gm: GraphModule) -> None:
    """讓 dequantize 的每個下游各有自己的一份。"""
    for dq in gm.graph.find_nodes(op="call_function", target=PER_TENSOR[1]):
        if len(dq.users) > 1:
            for user in list(dq.users):
                with gm.graph.inserting_after(dq):
                    own = gm.graph.node_copy(dq)
                user.replace_input_with(dq, own)


def convert_by_hand(gm: GraphModule) -> GraphModule:
    """回傳校準過的模型 convert 之後的複本。"""
    gm = copy.deepcopy(gm)
    replace_observers(gm)
    copy_dequantizes(gm)
    fold_weights(gm)
    clean_up(gm)
    return gm


by_hand = convert_by_hand(residual)
mine, theirs = by_hand.state_dict(), residual_goal.state_dict()
int8 = [name for name, tensor in theirs.items() if tensor.dtype == torch.int8]
print(f"node 相同：{listing(by_hand) == listing(residual_goal)}（{len(listing(by_hand))} 個）")
print(f"輸出相同：{torch.equal(by_hand(x), residual_goal(x))}")
print("int8 weight 相同：", {name: torch.equal(mine[name], theirs[name]) for name in int8})
assert listing(by_hand) == listing(residual_goal) and len(listing(by_hand)) == 23
assert torch.equal(by_hand(x), residual_goal(x)) and int8 == ["_frozen_param0", "_frozen_param1"]
assert mine.keys() == theirs.keys() and all(torch.equal(tensor, theirs[name]) for name, tensor in mine.items())

# %%
# 這就是 `convert_pt2e`，一共四項修改。它還有別的部分，是這些模型用不到的：動態量化和
# float16（[原始碼](https://github.com/pytorch/ao/blob/v0.18.0/torchao/quantization/pt2e/convert.py)，這裡沒有執行），以
# 及 QAT 之後的 BN（[M05-2](chapter:m05_2_qat_graphs)）。
#
# !!! question "`convert_by_hand` 需要知道是哪個 quantizer 嗎？"
#     到目前為止，它只遇過 X86InductorQuantizer。M02-2 用的 XNNPACKQuantizer 要求 activation 是 int8，weight 是另一種範
#     圍，輸出也要量化（[M01-2](chapter:m01_2_annotations#two-quantizers)）。你需要改什麼？

# %% answer
# 什麼也不用改：它要讀的都在 observer 裡。換成 XNNPACKQuantizer（torchao 裡測試用的複本），它在三個模型上都和 convert
# 一致，其中一個還有 BN。
xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
rows = []
for name in ("conv_relu", "residual", "cnn"):
    other = calibrate(get_model(name), xnnpack)
    mine, theirs = convert_by_hand(other), convert_pt2e(other)
    rows.append([name, len(listing(theirs)), listing(mine) == listing(theirs), torch.equal(mine(x), theirs(x))])
table(rows, ["模型", "node 數", "node 相同", "輸出相同"])
assert rows == [["conv_relu", 14, True, True], ["residual", 27, True, True], ["cnn", 37, True, True]]

# %%
# ## 浮點 weight：node 不見了，參數還在 {#fp32-parameter}
#
# 回到 `goal`，也就是 convert 的結果。這張圖要讀什麼，都由 `get_attr` 讀取。哪一個 tensor 沒有人讀？
read = {node.target for node in goal.graph.find_nodes(op="get_attr")}
rows = [
    [name, str(tensor.dtype), list(tensor.shape), "`get_attr`" if name in read else "沒有人"]
    for name, tensor in goal.state_dict().items()
]
table(rows, ["tensor", "dtype", "shape", "誰讀取"])
assert [row[:2] for row in rows if row[3] == "沒有人"] == [["conv.weight", "torch.float32"]]

# %%
# `conv.weight` 還在，而且是 float32。convert 其實打算刪掉它，前提卻是
# `if hasattr(gm, node.target)`（[原始碼](https://github.com/pytorch/ao/blob/v0.18.0/torchao/quantization/pt2e/constant_fold.py)），
# 而 `hasattr` 看不懂 `conv.weight` 這種帶點的名字。是不是這個原因，試了就知道：把同一種 conv 轉換兩次，一次它就是整個模
# 型，weight 名叫 `weight`；一次放在別的 module 裡，名叫 `0.weight`。
alone = convert_pt2e(calibrate(nn.Conv2d(3, 8, 3), x86))
inside = convert_pt2e(calibrate(nn.Sequential(nn.Conv2d(3, 8, 3)), x86))
print("整個模型：", ", ".join(alone.state_dict()))
print("在別的 module 裡：", ", ".join(inside.state_dict()))
assert set(alone.state_dict()) == {"bias", "_scale_0", "_zero_point_0", "_frozen_param0"}
assert set(inside.state_dict()) == {"0.weight", "0.bias", "_scale_0", "_zero_point_0", "_frozen_param0"}
assert not hasattr(inside, "0.weight") and inside.get_parameter("0.weight").dtype == torch.float32

# %%
# 它是整個模型時，weight 刪掉了；放在別的 module 裡，weight 就留了下來。模型大多有 module，所以浮點 weight 全都留著，佔
# 記憶體，也佔檔案：這裡的 torchao 0.18.0 如此，[torch-xpu-ops#1684](https://github.com/intel/torch-xpu-ops/issues/1684)
# 也是。
#
# ## 檔案變大了，怎麼讓它變小 {#file-size}
#
# `conv_relu` 太小，量不出什麼，所以換一個寬一點的模型。把 convert 的結果複製一份，刪掉沒有 `get_attr` 讀取的 tensor，
# 再把每一個的 `state_dict` 存檔。如果浮點模型的檔案是 100%，其他的有多大？
wide = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, padding=1), nn.ReLU())
to_convert = calibrate(wide, x86)
converted = convert_pt2e(copy.deepcopy(to_convert))

slim = copy.deepcopy(converted)
read = {node.target for node in slim.graph.find_nodes(op="get_attr")}
deleted = [name for name in slim.state_dict() if name not in read]
for name in deleted:
    owner, _, leaf = name.rpartition(".")
    delattr(slim.get_submodule(owner), leaf)
print(f"刪掉的：{deleted}")
assert torch.equal(slim(x), converted(x))
assert deleted == ["0.weight", "2.weight"]

models = {
    "浮點": export_module(wide, (x,)),
    "`fold_quantize=False`": convert_pt2e(to_convert, fold_quantize=False),
    "convert 之後": converted,
    "convert 之後，刪掉沒有人讀的": slim,
}
rows, sizes = [], []
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "state.pt")
    for label, model in models.items():
        state = model.state_dict()
        torch.save(state, path)
        sizes.append(path.stat().st_size)
        float32, int8 = (sum(t.nbytes for t in state.values() if t.dtype == d) for d in (torch.float32, torch.int8))
        rows.append([label, f"{float32:,}", f"{int8:,}", f"{sizes[-1] / sizes[0]:.0%}"])
table(rows, ["模型", "float32 的 byte 數", "int8 的 byte 數", "檔案"])
assert [row[3] for row in rows] == ["100%", "101%", "126%", "27%"]
assert sizes[3] < sizes[0] < sizes[1] < sizes[2]

# %%
# convert 之後，檔案反而**變大**了四分之一：int8 weight 來了，浮點 weight 卻沒走。刪掉沒有人讀的，就只有浮點檔案的四分
# 之一左右，輸出仍然逐位元相同。`.pt2` 檔，以及怎麼載入，見 [M06-4](chapter:m06_4_save_and_load)。
#
# !!! question "難道沒有現成的 method 嗎？"
#     `GraphModule` 有 `delete_all_unused_submodules()`。它會刪掉 `converted` 的浮點 weight 嗎？沒有 bias 的 conv 呢？

# %% answer
# 它只刪除整個 submodule，而且要裡面的東西都沒有 node 讀取。有 bias 的 conv 連同 weight 一起留下，因為有 `get_attr` 讀
# 它的 bias；沒有 bias 的 conv 才會刪掉。
without_bias = convert_pt2e(calibrate(nn.Sequential(nn.Conv2d(3, 8, 3, bias=False)), x86))
converted.delete_all_unused_submodules()
without_bias.delete_all_unused_submodules()
kept = [[name for name in module.state_dict() if name.endswith("weight")] for module in (converted, without_bias)]
print(f"有 bias：{kept[0]}", f"沒有 bias：{kept[1]}", sep="\n")
assert kept == [["0.weight", "2.weight"], []]

# %%
# ## 總結：四個重點 {#summary}
#
# 1. observer 換成 quantize → dequantize，兩者帶著同一組 scale 和 zero point：per-tensor 是 args 裡的 Python 數字，
#    per-channel 是 buffer，由 `get_attr` 讀取。
# 2. weight 的 quantize 只算一次，int8 常數取代它的位置，也沿用它的名字。`fold_quantize=False` 會省略這一步。
# 3. dequantize 有好幾個下游時，每個下游各得一份複本。看輸出看不出來，看圖才知道。
# 4. 浮點 weight 留在 module 裡，所以檔案變大。沒有 `get_attr` 讀取的，就刪掉。
#
# 想自己動手換掉 observer，讓程式來批改，請做[實作](chapter:lab_m02)。下一頁
# [M03-1](chapter:m03_1_a_quantizer_from_scratch) 要寫的，是決定 observer 放在哪裡的 quantizer。
