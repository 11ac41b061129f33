"""
# M02-2 | 手寫一次 prepare_pt2e

[M02-1](chapter:m02_1_from_annotation_to_observer) 預測了 observer 的位置。這一頁自己動手把它們放上去，用的是
[M00-4](chapter:m00_4_editing_graphs) 的步驟 1 到 3：插入、改接、recompile。讀完之後，你能：

- 由 spec 做出 observer，spec 要求的設定一個不漏；
- 插入 observer，讓該讀它的使用者讀它；多改接了一個，也看得出來；
- 用三十行左右重做 `prepare_pt2e`：每個 node 都相同，校準同樣的資料之後，scale 和 zero point 也相同；
- 說出除了圖以外，prepare 還留下什麼。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。
"""

# %%
# ## 手上有什麼，要做出什麼 {#start}
#
# 模型是 `conv_relu`，沒有 BN，也就沒有東西要摺疊。quantizer 是 XNNPACKQuantizer，同樣用 torchao 裡測試用的複本
# （[M01-2](chapter:m01_2_annotations#start)）：它要求輸入，也要求一個輸出，兩者改接的方式不同。`annotate` 做到 prepare
# 插入 observer 之前為止。我們直接改 `gm`，不另外複製，因為標註過的圖複製之後只能用來看
# （[M01-2](chapter:m01_2_annotations#silent)）。
import copy

import torch

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
KEY = "quantization_annotation"
xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
x = example_inputs(8)[0]


def annotate(gm):
    """gm 的複本，有標註，還沒有 observer。"""
    annotated = xnnpack.transform_for_annotation(copy.deepcopy(gm))
    xnnpack.annotate(annotated)
    xnnpack.validate(annotated)
    return annotated


exported = export_module(get_model("conv_relu").eval(), (x,))
goal = prepare_pt2e(copy.deepcopy(exported), xnnpack)
gm = annotate(exported)  # 接下來改的就是這一個
draw_stages(
    [(gm, "annotated"), (goal, "prepare_pt2e")],
    title="三個虛線框，三個 observer：conv2d 的兩條輸入邊，以及 relu 的輸出",
)
nodes = {node.name: node for node in gm.graph.nodes}
value, weight, conv, relu = (nodes[name] for name in ("x", "conv_weight", "conv2d", "relu"))
specs, output_spec = conv.meta[KEY].input_qspec_map, relu.meta[KEY].output_qspec
assert [source for source, spec in specs.items() if spec] == [value, weight]
assert output_spec and not conv.meta[KEY].output_qspec and not relu.meta[KEY].input_qspec_map


# %%
# ## 從 spec 到 observer {#observer-from-spec}
#
# spec 裡有建構式 `observer_or_fake_quant_ctr`，但光是呼叫它還不夠：dtype 等設定在 spec 的其他欄位，要自己傳進去。不傳的
# 話，會做出什麼？
def observer_from(spec):
    """照 spec 的要求做一個 observer。"""
    settings = {name: getattr(spec, name) for name in ("dtype", "qscheme", "quant_min", "quant_max", "is_dynamic")}
    if spec.ch_axis is not None:  # 只有 per-channel 的 observer 需要
        settings["ch_axis"] = spec.ch_axis
    return spec.observer_or_fake_quant_ctr(**settings)


made = {
    "只呼叫建構式": specs[weight].observer_or_fake_quant_ctr(),
    "加上設定": observer_from(specs[weight]),
    "`prepare_pt2e` 的": goal.activation_post_process_1,
}
rows = [[label, str(o.dtype), str(o.qscheme), f"{o.quant_min} … {o.quant_max}"] for label, o in made.items()]
table(rows, ["weight 的 observer", "dtype", "qscheme", "整數範圍"])
assert {type(observer).__name__ for observer in made.values()} == {"PerChannelMinMaxObserver"}
assert rows[0][1:] == ["torch.quint8", "torch.per_channel_affine", "0 … 255"]
assert rows[1][1:] == rows[2][1:] == ["torch.int8", "torch.per_channel_symmetric", "-127 … 127"]


# %%
# 做出來的還是 observer，dtype 和範圍卻都不對，而且不報錯。所以設定一定要傳。
#
# ## 輸入：只改接一個使用者 {#input}
#
# M00-4 的步驟 1，對每個 observer 都一樣：`insert` 先註冊 module，再把呼叫它的 node 放在被觀察的值後面；這時還沒有人讀
# 它。接著是步驟 2，改接。M00-4 的做法是除了新 node，所有下游都改接。對 `x` 也該這樣嗎？先在複本上試：
def insert(gm, source, spec, number):
    """觀察 source 的 node：M00-4 的步驟 1。"""
    name = f"activation_post_process_{number}"
    gm.add_submodule(name, observer_from(spec))
    with gm.graph.inserting_after(source):
        return gm.graph.call_module(name, (source,))


observer = insert(gm, value, specs[value], 0)
wrong = copy.deepcopy(gm)
wrong_value, wrong_observer = [node for node in wrong.graph.nodes if node.name in ("x", observer.name)]
wrong_value.replace_all_uses_with(wrong_observer, delete_user_cb=lambda user: user is not wrong_observer)
conv.replace_input_with(value, observer)
for edited in (wrong, gm):
    edited.graph.lint()
    edited.recompile()
x_done = copy.deepcopy(gm)  # 留給後面的圖

(wanted,) = goal.graph.find_nodes(op="call_module", target=observer.target)
graphs = {"改接所有下游": wrong_observer, "只改接 conv2d": observer, "`prepare_pt2e`": wanted}
rows = [[label, ", ".join(user.name for user in node.users)] for label, node in graphs.items()]
table(rows, ["做法", "誰讀 x 的 observer"])
with torch.no_grad():
    wrong_output, output = copy.deepcopy(wrong)(x), copy.deepcopy(gm)(x)  # 用複本，因為每跑一次就是一次校準
    assert torch.equal(wrong_output, output) and torch.equal(output, exported(x))
assert [row[1] for row in rows] == ["_guards_fn, conv2d", "conv2d", "conv2d"]

# %%
# 不該。那樣連輸入檢查 `_guards_fn` 也改讀 observer，卻沒有任何跡象：`lint` 沒有意見，輸出也完全相同（第一個 assert）。
# 輸入的 spec 說的是一條 edge，所以只改接一個使用者，`replace_input_with` 做的正是這件事。
#
# ## weight 也一樣；輸出則改接所有下游 {#output}
#
# weight 是 conv2d 的另一個輸入，做法和 `x` 相同。relu 的 spec 說的是它的輸出，這時 M00-4 的改接方式才是對的。
observer = insert(gm, weight, specs[weight], 1)
conv.replace_input_with(weight, observer)
weight_done = copy.deepcopy(gm)
observer = insert(gm, relu, output_spec, 2)
relu.replace_all_uses_with(observer, delete_user_cb=lambda user: user is not observer)
gm.graph.lint()
gm.recompile()
draw_stages(
    [
        (exported, "exported"),
        (x_done, "x → conv2d"),
        (weight_done, "conv_weight → conv2d"),
        (gm, "relu 的輸出"),
        (goal, "prepare_pt2e"),
    ],
    title="一步一步動手做；從最後一步到 `prepare_pt2e`，沒有任何變動",
)
assert nodes["output"].args == ((observer,),)
assert conv.args[:2] == (value.next, weight.next)


# %%
# ## 一個 node 一個 node 核對 {#compare}
#
# 最後一個階段沒有任何標記，看起來完全相同。現在逐一核對每個 node，依照順序比：種類、名字、target、module 的型別、引數和
# 使用者。
def listing(gm):
    """依序列出每個 node，以及圖裡關於它的一切。"""
    rows = []
    for node in gm.graph.nodes:
        module = type(gm.get_submodule(node.target)) if node.op == "call_module" else None
        users = [user.name for user in node.users]
        rows.append((node.op, node.name, node.target, module, str(node.args), str(node.kwargs), users))
    return rows


rows = [[number, name, args, ", ".join(users)] for number, (_, name, _, _, args, _, users) in enumerate(listing(gm))]
table(rows, ["#", "name", "args", "users"])
different = [pair for pair in zip(listing(wrong), listing(x_done), strict=True) if pair[0] != pair[1]]
print(f"和 prepare_pt2e 相同：{listing(gm) == listing(goal)}，{len(rows)} 個 node")
print(f"做錯的那一份，和同一步驟的正確做法相比，不同的是：{[row[1] for row, _ in different]}")
assert listing(gm) == listing(goal) and len(rows) == 10
assert gm.code == goal.code
assert [row[1] for row, _ in different] == ["x", "activation_post_process_0", "_guards_fn"]

# %%
# 十個 node 全都相同，而且 `lint` 和輸出看不出來的錯，這樣一比就現形。要做對的細節有三個：
#
# 1. **誰讀它。** `x` 的 observer 只給 conv2d，`_guards_fn` 照舊讀 `x`。
# 2. **名字。** module 直接掛在 `gm` 底下，名字是 `activation_post_process_` 加上編號；FX 再照這個名字為 node 取名。
# 3. **編號。** 依插入的先後。
#
# !!! question "weight 的 observer 為什麼是 1 號？"
#     在表裡，它排在 `x` 的 observer 前面。prepare 是照什麼順序插入的？表又是照什麼順序排的？

# %% answer
# prepare 依序走過每個**使用者**，再走過它的引數：conv2d 的引數先是 `x`，再來才是 weight。在表裡的位置是另一回事：
# observer 緊跟在它觀察的值後面，而 `conv_weight` 排在 `x` 前面。
observers = [node for node in goal.graph.nodes if node.name.startswith("activation_post_process_")]
by_place = [node.args[0].name for node in observers]
by_number = [node.args[0].name for node in sorted(observers, key=lambda node: node.name)]
print(f"觀察誰，依位置：{by_place}", f"觀察誰，依編號：{by_number}", sep="\n")
assert by_place == ["conv_weight", "x", "relu"]
assert by_number == ["x", "conv_weight", "relu"]


# %%
# ## 寫成函式，用在有跳接的模型 {#function}
#
# `residual` 有兩處要共用（[M02-1](chapter:m02_1_from_annotation_to_observer#implicit)）。conv2d 和 add 都讀 `x`，要求也
# 相同，所以函式要記住：哪個值、哪種設定，已經有了哪個 observer。relu 的輸出和 relu → conv2d_1 這條 edge 也都有要求；先
# 輪到 relu，它的下游全部改接，等輪到 conv2d_1，它讀的已經是 observer 了。
SAME = ("dtype", "qscheme", "quant_min", "quant_max", "ch_axis", "is_dynamic")


def prepare_by_hand(gm):
    """依標註插入 observer，原地修改。"""
    observers = {}  # key 是觀察誰，以及用什麼設定

    def observer_of(source, spec):
        key = (source, *(getattr(spec, name) for name in SAME))
        if key not in observers:
            observers[key] = insert(gm, source, spec, len(observers))
        return observers[key]

    def observe_output(node, spec):
        observer = observer_of(node, spec)
        node.replace_all_uses_with(observer, delete_user_cb=lambda user: user is not observer)

    for node in list(gm.graph.nodes):
        annotation = node.meta.get(KEY, QuantizationAnnotation())
        for source in node.all_input_nodes:
            if spec := annotation.input_qspec_map.get(source):
                node.replace_input_with(source, observer_of(source, spec))
        if annotation.output_qspec:
            observe_output(node, annotation.output_qspec)
    gm.graph.lint()
    gm.recompile()


residual = export_module(get_model("residual").eval(), (x,))
by_hand, annotated = annotate(residual), annotate(residual)
prepare_by_hand(by_hand)
official = prepare_pt2e(copy.deepcopy(residual), xnnpack)
again = annotate(exported)
prepare_by_hand(again)
print(f"residual：{listing(by_hand) == listing(official)}，{len(listing(by_hand))} 個 node")
print(f"conv_relu：{listing(again) == listing(goal)}，{len(listing(again))} 個 node")
draw_stages(
    [(annotated, "annotated"), (by_hand, "親手做的"), (official, "prepare_pt2e")],
    title="conv2d 和 add 共用 x 的 observer，親手做的和 `prepare_pt2e` 都是",
)
assert listing(by_hand) == listing(official) and len(listing(by_hand)) == 18
assert listing(again) == listing(goal)
assert by_hand.code == official.code

# %%
# 18 個 node 全都相同，第一個模型也是。M02-1 的規則中，這兩個模型用不到的就沒有寫進去：摺疊 BN、不一致的 spec、指向別處
# 的 spec，以及沒有 `meta["val"]` 的輸出。
#
# ## 同樣的校準，同樣的數字 {#calibrate}
#
# 圖相同，observer 的設定也相同，那麼餵同樣的資料，就應該得到同樣的 scale 和 zero point。不是接近，是每個位元都相同。
with torch.no_grad():
    for seed in range(4):
        batch = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
        by_hand(batch)
        official(batch)
    same_output = torch.equal(by_hand(x), official(x))
rows, same = [], []
for name, module in official.named_modules():
    if isinstance(module, ObserverBase):
        (mine, my_zero), (scale, zero) = by_hand.get_submodule(name).calculate_qparams(), module.calculate_qparams()
        same.append(torch.equal(mine, scale) and torch.equal(my_zero, zero))
        scales = " … ".join(f"{s:.4g}" for s in sorted({scale.min().item(), scale.max().item()}))
        rows.append([name.rpartition("_")[2], type(module).__name__, scales, zero.unique().tolist(), same[-1]])
rows.sort()
table(rows, ["#", "observer", "scale", "zero point", "逐位元相同"])
assert same == [True] * 6 and same_output
assert [row[3] for row in rows if row[1] == "PerChannelMinMaxObserver"] == [[0], [0]]

# %%
# ## 不在圖裡的東西 {#not-in-the-graph}
#
# 照這樣說，`convert_pt2e` 也應該收我們的模型。真的嗎？
try:
    convert_pt2e(copy.deepcopy(by_hand))
except AssertionError as error:
    refused = f"AssertionError: {error}"
missing = official.meta.keys() - by_hand.meta.keys()
print(refused, f"by_hand.meta 少了：{missing}", sep="\n")
assert refused == "AssertionError: incoming model must be produced by prepare_fx"
assert missing == {"_observed_graph_module_attrs"}

# %%
# 不收。prepare 會在整個模型的 `meta` 裡留一份紀錄，convert 要找的就是它（訊息裡的 `prepare_fx` 是比較早的函式）。把同一
# 份紀錄放進我們的模型，convert 就收了。結果相同嗎？
by_hand.meta |= {key: official.meta[key] for key in missing}
converted, reference = convert_pt2e(by_hand), convert_pt2e(official)
with torch.no_grad():
    same_output = torch.equal(converted(x), reference(x))
print(f"node：{listing(converted) == listing(reference)}，輸出：{same_output}")
assert listing(converted) == listing(reference) and same_output

# %%
# ## 總結：四個重點 {#summary}
#
# 1. 做 observer，建構式**和** spec 裡的設定都要。
# 2. 輸入的 observer 用 `replace_input_with`，改接一個使用者；輸出的用 `replace_all_uses_with` 和 `delete_user_cb`，改接
#    所有下游。
# 3. prepare 依使用者、再依引數的順序走，邊走邊編號，每個 observer 緊跟在被觀察的值後面。同一個值、同樣的設定，只有一個
#    observer。
# 4. 圖改得對不對，一個 node 一個 node 核對才知道；`lint` 和輸出都可能什麼也沒發現。
#
# [M02-3](chapter:m02_3_convert_by_hand) 接著做步驟 4 到 6，把 observer 換成 quantize 和 dequantize。
