"""
# M02-1 | 從標註到 observer：會插在哪裡、誰共用

`prepare_pt2e` 把標註變成 observer。在 [M01-2](chapter:m01_2_annotations) 看過：有要求的 edge 都有 observer，有時兩條
edge 共用一個。這一頁說明背後的規則。讀完之後，你能：

- 看著標註，就預測 observer 會插在哪裡、有幾個、哪幾個是同一個物件；
- 說出 prepare 在標註之前對 conv 和 BN 做了什麼，又在什麼情況下會出錯；
- 分辨同一個值上的兩個要求，什麼時候共用 observer，什麼時候不共用；
- 發現有要求被默默丟掉。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。
"""

# %%
# ## prepare 裡面的四步 {#four-steps}
#
# 1. **摺疊。** 緊接在 conv 後面的 BN，摺進 conv 的 weight 和 bias。
# 2. **標註。** quantizer 把要求，也就是輸入和輸出的 spec，寫進 `meta`。
# 3. **分組。** 該共用的要求歸成一組，每組做一個 observer 物件。
# 4. **插入。** 依圖的順序一個 node 一個 node 來：先插它各個輸入的 observer，再插它輸出的。
#
# 接下來一步一步看，用的是 M01-2 的兩個 quantizer（XNNPACKQuantizer 同樣是 torchao 裡測試用的複本）。下面的 `prepare`
# 會呼叫 `prepare_pt2e`，並留下第 2 步與第 3 步之間的圖：prepare 呼叫 `validate` 時，標註都寫好了，observer 還沒有插入
# （[M01-2](chapter:m01_2_annotations#inside-prepare)）。
import copy
from collections import namedtuple
from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import torch
import torch.nn as nn

from common.graph_utils import short
from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw, draw_stages, table

quiet()
from torchao.quantization.pt2e import HistogramObserver, MinMaxObserver, ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
_ = torch.manual_seed(0)
KEY = "quantization_annotation"
x86 = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))


def prepare(gm, quantizer):
    """標註完的圖（只用來看）和 prepare 之後的圖；gm 本身不變。"""
    kept = []
    with patch.object(quantizer, "validate", lambda model: kept.append(copy.deepcopy(model))):
        prepared = prepare_pt2e(copy.deepcopy(gm), quantizer)
    return kept[0], prepared


def ops(gm):
    """圖裡的運算，依順序排列。"""
    return [short(node.target) for node in gm.graph.nodes if node.op == "call_function"]


# %%
# ## 第一步：BN 摺進 conv {#fold}
#
# 明明用 eval 模式匯出，BN 卻還在（[pytorch#141116](https://github.com/pytorch/pytorch/issues/141116)）？本來就會在：
# export 照著 `forward` 記錄，從不摺疊，摺疊的是 prepare。為了讓摺疊有事可做，先給 BN 一組和剛建立時不同的參數與統計量。
# 看看三個階段裡，`batch_norm` 在哪裡？quantizer 看到的又是什麼？
model, (x,) = get_model("conv_bn_relu"), example_inputs(8)
nn.init.uniform_(model.bn.weight, 0.5, 1.5)
nn.init.normal_(model.bn.bias)
with torch.no_grad():
    for _ in range(5):
        model(2 * torch.randn(8, 3, 16, 16) + 1)  # train 模式，所以會更新統計量
exported = export_module(model.eval(), (x,))
annotated, prepared = prepare(exported, xnnpack)
stages = [(exported, "exported"), (annotated, "annotated"), (prepared, "prepared")]
draw_stages(stages, title="標註之前，batch_norm 就不見了；每個虛線框都變成一個 observer")
assert ops(exported) == ["conv2d", "batch_norm", "relu"]
assert ops(annotated) == ops(prepared) == ["conv2d", "relu"]

# %%
# quantizer 看到的是 conv2d → relu，正是它認得的 pattern。在 eval 模式下，BN 只是把每個 channel 乘上一個數、再加上一個
# 數：`(y - mean) / sqrt(var + eps) * weight + bias`，前面的 conv 自己就能做到。我們親手算一遍：
bn = model.bn
with torch.no_grad():
    rsqrt = torch.rsqrt(bn.running_var + bn.eps)
    weight = model.conv.weight * (bn.weight * rsqrt)[:, None, None, None]
    bias = (0 - bn.running_mean) * rsqrt * bn.weight + bn.bias  # 0：這個 conv 沒有 bias
    reference = model(x)
    error = (prepared(x) - reference).abs().max() / reference.abs().max()
same = [torch.equal(prepared.conv.weight, weight), torch.equal(prepared.conv.weight_bias, bias)]
print(f"weight 與 bias 逐位元相同：{same}")
print(f"輸出的最大差異，是最大輸出的 {error:.0e} 倍")
assert same == [True, True]
assert error < 1e-6  # float32 捨入一次最多差 6e-8，每個輸出是 28 個數的和
assert [node.target for node in prepared.graph.find_nodes(op="get_attr")] == ["conv.weight", "conv.weight_bias"]


# %%
# - 摺疊後的 weight 和 bias，與我們算的逐位元相同。輸出只有捨入上的差異，因為計算的順序不同。
# - 這個 conv 原本沒有 bias，摺疊時新增了一個：參數 `conv.weight_bias`，也有自己的 `get_attr`。
# - 平均和變異數用的是存下來的那組，就算是在 train 模式匯出也一樣（[M00-2](chapter:m00_2_eval_or_train#ptq-on-train)）。
#
# ### 默默算錯：conv 還有別的使用者 {#fold-two-users}
#
# 下面這個模型裡，BN 和 add 都讀 conv 的輸出。quantizer 沒有設定，什麼也不要求，所以 prepare 做的只有摺疊。第二列在 conv
# 和 BN 之間多了一個 `torch.clone`。哪一列是對的？
class BnAndAdd(nn.Module):
    def __init__(self, between):
        super().__init__()
        self.conv, self.bn, self.between = model.conv, model.bn, between

    def forward(self, x):
        y = self.conv(x)
        return self.bn(self.between(y)) + y


with torch.no_grad():
    y = model.conv(x)
    right, twice = model.bn(y) + y, 2 * model.bn(y)
    folded = [
        prepare(export_module(BnAndAdd(between).eval(), (x,)), X86InductorQuantizer())[1]
        for between in (nn.Identity(), torch.clone)
    ]
    errors = [(gm(x) - right).abs().max() / right.abs().max() for gm in folded]
    assert torch.allclose(folded[0](x), twice, atol=1e-5)
rows = [
    [between, " → ".join(ops(gm)), f"{error:.4g}"]
    for between, gm, error in zip(("什麼都沒有", "`clone`"), folded, errors, strict=True)
]
table(rows, ["conv 與 BN 之間", "prepare 之後的運算", "最大差異／最大輸出"])
assert [ops(gm) for gm in folded] == [["conv2d", "add"], ["conv2d", "clone", "batch_norm", "add"]]
assert errors[0] > 0.3 and errors[1] == 0

# %%
# 第二列。torchao 0.18.0 摺疊時，不問還有誰讀這個 conv，於是 add 拿到的也是**經過** BN 的輸出，整張圖算成
# `2 * bn(conv(x))`（第一個 assert），而且不報錯。就我們所知，torchao 還沒有人回報這件事；
# [executorch#20601](https://github.com/pytorch/executorch/pull/20601) 在自家的 pass 裡修過同樣的錯。兩個對策：
#
# - **prepare 之後馬上比對。** observer 只看不改，所以 `prepared` 的輸出應該等於浮點模型，只差捨入。如果不等，
#   怎麼校準都救不回來。（請用 `deepcopy` 來跑，因為每跑一次就是一次校準。）
# - **中間隔一個 op。** 只有**緊接**在 conv 後面的 BN 才會摺疊；隔了 `clone`，BN 就留在圖裡，用浮點計算。
#
# ## 在 edge 上，還是在輸出上 {#edge-or-output}
#
# 從這裡起，模型是 `residual`：`relu(conv2(relu(conv1(x))) + x)`。為了一次只試一條規則，`Asks` 只寫下我們給它的要求，別
# 的都不寫（真正的 quantizer 怎麼寫，見 [M03-1](chapter:m03_1_a_quantizer_from_scratch)）。同一個 x，可以當成 conv2d
# 的**輸入**來要求，也就是 x → conv2d 這條 edge；也可以當成 x 的**輸出**來要求。誰會改讀 observer，誰還是讀 x？
int8 = QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine)
residual = export_module(get_model("residual").eval(), (x,))


class Asks(Quantizer):
    """寫下給定的要求：`("x", "conv2d")` 指這條 edge，`"x"` 指 x 的輸出，各有一個 spec。"""

    def __init__(self, wishes, implicit=True):
        super().__init__()
        self.wishes, self.implicit = wishes, implicit

    def annotate(self, model):
        nodes = {node.name: node for node in model.graph.nodes}
        for place, spec in self.wishes.items():
            source, user = place if isinstance(place, tuple) else (None, place)
            new = QuantizationAnnotation(allow_implicit_sharing=self.implicit)
            annotation = nodes[user].meta.setdefault(KEY, new)
            if source:
                annotation.input_qspec_map[nodes[source]] = spec
            else:
                annotation.output_qspec = spec
        return model

    def validate(self, model):
        pass


_, as_input = prepare(residual, Asks({("x", "conv2d"): int8}))
_, as_output = prepare(residual, Asks({"x": int8}))
rows = []
for label, gm in (("conv2d 的輸入", as_input), ("x 的輸出", as_output)):
    value, observer = [node for node in gm.graph.nodes if node.name in ("x", "activation_post_process_0")]
    of_value = sorted(user.name for user in value.users if user is not observer)
    of_observer = sorted(user.name for user in observer.users)
    rows.append([label, ", ".join(of_value) or "—", ", ".join(of_observer)])
table(rows, ["當成什麼來要求", "還是讀 x 的", "改讀 observer 的"])
draw_stages(
    [(as_input, "conv2d 的輸入"), (as_output, "x 的輸出")],
    title="輸入的 observer 只給一個使用者，輸出的 observer 給全部，包括 add",
)
assert rows[0][1:] == ["_guards_fn, add", "conv2d"]
assert rows[1][1:] == ["—", "_guards_fn, add, conv2d"]


# %%
# 輸入的 observer 站在**一條 edge** 上，只有這個使用者讀它，其他的照舊讀 x。輸出的 observer 站在 node 後面，所有使用者都
# 改讀它，做法同 [M00-4](chapter:m00_4_editing_graphs#step-2-fix)；連圖上不畫的 `_guards_fn` 也一樣。
#
# ## 同一個值，兩個要求 {#implicit}
#
# relu 的輸出有要求，relu → conv2d_1 這條 edge 也有要求，這兩個要求說的是同一個值；x 的兩個使用者也是。只要 **spec 一
# 致**，prepare 就只做一個 observer，這叫做隱式共用（implicit sharing）。`look` 走過每條 edge，列出值會經過哪些 observer
# 物件，從 1 開始編號。先猜猜看：哪幾列是一個物件，哪幾列是兩個？
def numbered(paths):
    """以編號代替物件：第一個是 1，下一個是 2。"""
    numbers = {}
    return {edge: [numbers.setdefault(item, len(numbers) + 1) for item in path] for edge, path in paths.items()}


def look(gm):
    """模型的每條 edge（來源、使用者）上，值依序經過哪些 observer。"""
    calls = [(node, gm.get_submodule(node.target)) for node in gm.graph.find_nodes(op="call_module")]
    observers = {node: module for node, module in calls if isinstance(module, ObserverBase)}
    paths = {}
    for user in (node for node in gm.graph.nodes if node not in observers):
        for source in user.all_input_nodes:
            path = []
            while source in observers:
                path.insert(0, observers[source])
                source = source.args[0]
            if path:
                paths[source.name, user.name] = path
    return numbered(paths)


uint8 = replace(int8, dtype=torch.uint8, quant_min=0, quant_max=255)
to_conv, to_add, after_relu = ("x", "conv2d"), ("x", "add"), ("relu", "conv2d_1")
disagree = {to_conv: int8, to_add: uint8, "relu": int8, after_relu: uint8}
cases = {
    "兩個使用者：都是 int8": Asks({to_conv: int8, to_add: int8}),
    "兩個使用者：int8、uint8": Asks({to_conv: int8, to_add: uint8}),
    "兩個使用者：都是 int8，`allow_implicit_sharing=False`": Asks({to_conv: int8, to_add: int8}, implicit=False),
    "輸出 int8，使用者 int8": Asks({"relu": int8, after_relu: int8}),
    "輸出 int8，使用者 uint8": Asks({"relu": int8, after_relu: uint8}),
}
by_case = [prepare(residual, asks) for asks in cases.values()]
found = [look(gm) for _, gm in by_case]
edges = [", ".join(f"{source} → {user}: {path}" for (source, user), path in paths.items()) for paths in found]
table(zip(cases, edges, strict=True), ["要求", "edge 上的 observer"])
_, unequal = prepare(residual, Asks(disagree))
draw(unequal, title="要求不一致時：x 的兩個使用者各有一個，relu 與它的使用者則一前一後")
assert found[0] == {to_conv: [1], to_add: [1]}
assert found[1] == found[2] == {to_conv: [1], to_add: [2]}
assert found[3:] == [{after_relu: [1]}, {after_relu: [1, 2]}]
assert look(unequal) == {to_conv: [1], after_relu: [2, 3], to_add: [4]}

# %%
# - **一致：** 一個物件，也只有一個 node。所以，來源的輸出如果已經有 observer，這條 edge 就直接讀它，不會有自己的。
# - **不一致，兩個使用者：** 兩個 observer 並排，各讀各的。
# - **不一致，輸出與使用者：** 兩個 observer 一前一後。值會被量化兩次，這通常不是你要的。
# - 兩則標註都寫 `allow_implicit_sharing=False`，就算 spec 一致也不共用。
#
# 所謂一致，是 dtype、`quant_min`、`quant_max`、qscheme、`ch_axis`、`is_dynamic` 都相同；如果 scale 和 zero point
# 事先就固定（[M03-2](chapter:m03_2_specs)），它們也要相同。
#
# !!! question "如果只有 observer 的種類不同呢？"
#     conv2d 要 x 用 `MinMaxObserver`，add 要 x 用 `HistogramObserver`，其他都相同。會有幾個 observer？是哪一種？
#     要求的先後順序對調，結果會變嗎？

# %% answer
# 一個，`MinMaxObserver`。種類不在比對之列，而一組要用哪一種，由**圖上**最先遇到的要求決定，和書寫的順序無關。add 想要的
# 直方圖就這樣沒了，也沒有任何訊息。如果兩種都要，就關掉共用（最後一列）。
histogram = replace(int8, observer_or_fake_quant_ctr=HistogramObserver)
trials = {
    "先寫 conv2d": Asks({to_conv: int8, to_add: histogram}),
    "先寫 add": Asks({to_add: histogram, to_conv: int8}),
    "`allow_implicit_sharing=False`": Asks({to_conv: int8, to_add: histogram}, implicit=False),
}
kinds = []
for asks in trials.values():
    _, gm = prepare(residual, asks)
    kinds.append(sorted(type(module).__name__ for module in gm.modules() if isinstance(module, ObserverBase)))
table(zip(trials, map(", ".join, kinds), strict=True), ["要求", "observer"])
assert kinds == [["MinMaxObserver"], ["MinMaxObserver"], ["HistogramObserver", "MinMaxObserver"]]


# %%
# ## 一個物件，好幾個位置：SharedQuantizationSpec {#shared}
#
# 不同的值也可以共用 observer，但要 quantizer 明說，寫法是 `SharedQuantizationSpec`。假設有個 backend，要兩個輸入和輸出
# 的 scale 都相同，才能做整數加法。那麼 add 的三個 spec 當中，兩個要指向第三個，也就是 x → add 這條 edge 的 spec。圖上會
# 有幾個 observer node？又有幾個物件？
class OneScaleForAdd(Quantizer):
    def annotate(self, model):
        (add,) = model.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor)
        conv, skip = add.args
        same = SharedQuantizationSpec((skip, add))
        add.meta[KEY] = QuantizationAnnotation({skip: int8, conv: same}, output_qspec=same)
        return model

    def validate(self, model):
        pass


annotated, shared = prepare(residual, OneScaleForAdd())
stages = [(annotated, "annotated"), (shared, "prepared")]
draw_stages(stages, title="字母 A：三個虛線框，三個 node，一個物件")
once, all_names = [
    [name for name, module in shared.named_modules(remove_duplicate=unique) if isinstance(module, ObserverBase)]
    for unique in (True, False)
]
print(f"named_modules()：{once}", f"named_modules(remove_duplicate=False)：{all_names}", sep="\n")
observer = shared.get_submodule(once[0])
assert (len(once), len(all_names)) == (1, 3)
assert all(shared.get_submodule(name) is observer for name in all_names)
assert look(shared) == {("conv2d_1", "add"): [1], to_add: [1], ("add", "relu_1"): [1]}
assert look(copy.deepcopy(shared)) == look(shared)

# %%
# 三個 node 用三個名字，呼叫同一個物件。`named_modules()` 和 `modules()` 對同一個物件只列一次，用它們來數 observer，
# 就只數到 1 個；加上 `remove_duplicate=False` 才是 3 個。`deepcopy` 之後仍然共用（最後一個 assert）。
#
# 共用要付出什麼代價？校準一批資料，把這個物件記下的範圍，和三個值各自的範圍比一比：
eager = get_model("residual").eval()
with torch.no_grad():
    shared(x)
    conv2d_1 = eager.conv2(eager.relu1(eager.conv1(x)))
values = {"x": x, "conv2d_1": conv2d_1, "add": conv2d_1 + x}
low, high = observer.min_val, observer.max_val
rows = [[name, f"{value.min():.4g} … {value.max():.4g}"] for name, value in values.items()]
table([*rows, ["共用的 observer", f"{low:.4g} … {high:.4g}"]], ["值", "範圍"])
coarser = (high - low) / (conv2d_1.max() - conv2d_1.min())
print(f"conv2d_1 的每一格，是用自己的 observer 時的 {coarser:.4g} 倍寬")
assert low == min(value.min() for value in values.values())
assert high == max(value.max() for value in values.values())
assert 4.3 < coarser < 4.4


# %%
# 三個值這個物件都看到了，所以它的範圍涵蓋三者，吃虧的是範圍最小的那個值。
#
# ## 先預測，再核對 {#predict}
#
# 把這一頁的規則寫成一個函式，它只讀標註。一條 edge 上最多有兩個 observer：來源輸出的，和這條 edge 自己的；如果兩者同屬
# 一組，就只有一個。
SAME = ("dtype", "quant_min", "quant_max", "qscheme", "ch_axis", "is_dynamic", "scale", "zero_point")
Wish = namedtuple("Wish", "spec value implicit")


def agree(spec, other):
    return all(getattr(spec, name, None) == getattr(other, name, None) for name in SAME)


def predict(annotated):
    """prepare 之後，`look` 會看到什麼。"""
    wishes = {}  # key 是位置：edge 寫成 `(x, conv2d)`，輸出寫成 `x`
    for node in annotated.graph.nodes:
        annotation = node.meta.get(KEY, QuantizationAnnotation())
        for source, spec in annotation.input_qspec_map.items():
            wishes[str((source, node))] = Wish(spec, source.name, annotation.allow_implicit_sharing)
        wishes[node.name] = Wish(annotation.output_qspec, node.name, False)
    wishes = {place: wish for place, wish in wishes.items() if wish.spec}
    group = {place: place for place in wishes}

    def join(place, other):
        old, new = group[place], group[other]
        group.update({member: new for member in group if group[member] == old})

    for place, wish in wishes.items():  # 不同的值：spec 明說才共用
        if isinstance(wish.spec, SharedQuantizationSpec):
            join(place, str(wish.spec.edge_or_node))
    for (first, a), (second, b) in combinations(wishes.items(), 2):  # 同一個值：spec 一致就共用
        may_share = a.value == b.value and (a.implicit or b.implicit)
        if may_share and agree(wishes[group[first]].spec, wishes[group[second]].spec):
            join(second, first)

    paths = {}
    for user in annotated.graph.nodes:
        for source in user.all_input_nodes:
            places = [place for place in (source.name, str((source, user))) if place in wishes]
            if places:
                paths[source.name, user.name] = list(dict.fromkeys(group[place] for place in places))
    return numbered(paths)


def counts(paths):
    """有 observer 的 edge 有幾條，一共是幾個 node、幾個物件。"""
    nodes = {(source, *path[:i]) for (source, _), path in paths.items() for i in range(1, len(path) + 1)}
    objects = {number for path in paths.values() for number in path}
    return [len(paths), len(nodes), len(objects)]


# %%
# 試六次：兩個模型各配兩個 quantizer，再加上前面的兩組要求。先逐條 edge 看 `residual` 配 XNNPACKQuantizer，再看六次的
# 數字。最後一個 assert 連前面那張表的五種情況也一起核對。
trials = [
    ("residual", residual, "XNNPACKQuantizer", xnnpack),
    ("residual", residual, "X86InductorQuantizer", x86),
    ("conv_bn_relu", exported, "XNNPACKQuantizer", xnnpack),
    ("conv_bn_relu", exported, "X86InductorQuantizer", x86),
    ("residual", residual, "OneScaleForAdd", OneScaleForAdd()),
    ("residual", residual, "Asks(disagree)", Asks(disagree)),
]
graphs = [prepare(gm, quantizer) for _, gm, _, quantizer in trials]
predicted = [predict(annotated) for annotated, _ in graphs]
found = [look(prepared) for _, prepared in graphs]
table([[" → ".join(edge), path, found[0][edge]] for edge, path in predicted[0].items()], ["edge", "預測", "實際"])
rows = [[model, name, *counts(paths)] for (model, _, name, _), paths in zip(trials, predicted, strict=True)]
table(rows, ["模型", "quantizer", "edge 數", "node 數", "物件數"])
assert predicted == found
assert [row[2:] for row in rows] == [[7, 6, 6], [5, 4, 4], [3, 3, 3], [2, 2, 2], [3, 3, 1], [3, 4, 4]]
assert all(predict(annotated) == look(prepared) for annotated, prepared in by_case)

# %%
# 每一條 edge 都如預測。`conv_bn_relu` 之所以對得上，是因為我們看的是摺疊之後的圖：標註的時候，BN 已經不在了。
#
# ## 被丟掉的要求：沒有 meta["val"] {#no-val}
#
# 有一件事 `predict` 不知道。[M00-4](chapter:m00_4_editing_graphs#no-meta) 提醒過：手工建立的 node 沒有 `meta["val"]`，
# 後面的 pass 可能略過它。prepare 就是這樣的 pass。我們手工接上一個 `mul`，並要求量化它的輸出；先保持原樣，再補上
# `meta["val"]`：
doubled = copy.deepcopy(residual)
relu = {node.name: node for node in doubled.graph.nodes}["relu_1"]
with doubled.graph.inserting_after(relu):
    mul = doubled.graph.call_function(torch.ops.aten.mul.Tensor, (relu, 2.0))
relu.replace_all_uses_with(mul, delete_user_cb=lambda user: user is not mul)
doubled.recompile()
graphs = [prepare(doubled, Asks({mul.name: int8}))]
mul.meta["val"] = relu.meta["val"]  # shape 和 dtype 都相同
graphs.append(prepare(doubled, Asks({mul.name: int8})))
results = [[counts(predict(annotated))[1], counts(look(prepared))[1]] for annotated, prepared in graphs]
table(
    [['沒有 `meta["val"]`', *results[0]], ['補上 `meta["val"]`', *results[1]]],
    ["mul", "預測的 observer", "實際的 observer"],
)
assert results == [[1, 0], [1, 1]]

# %%
# 只有 `meta["val"]` 說輸出是 tensor，prepare 才會在輸出插入 observer。沒有它，要求就被默默丟掉，只有落空的預測會透露這
# 件事。所以，在 prepare 之前或在 `transform_for_annotation` 裡新增 node，請補上 `meta["val"]`。
#
# ## 總結：四個重點 {#summary}
#
# 1. prepare 先把 BN 摺進前面的 conv，再標註。如果還有別人讀這個 conv，結果會默默出錯，所以 prepare 之後要馬上和浮點模型
#    比對。
# 2. 輸入的要求，把 observer 插在一個使用者的 edge 上；輸出的要求，把 observer 插在 node 後面，給所有使用者。
# 3. 同一個值上的要求，spec 一致就共用，不管要的是哪一種 observer。不同的值要靠 `SharedQuantizationSpec` 才共用：幾個
#    node、幾個名字，一個物件。
# 4. 位置和數量都能從標註預測。數一數，再核對。
#
# 下一頁 [M02-2](chapter:m02_2_prepare_by_hand)：自己動手插入這些 observer，得到和 `prepare_pt2e` 一模一樣的圖。
