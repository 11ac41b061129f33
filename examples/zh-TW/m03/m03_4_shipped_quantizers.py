"""
# M03-4 | 現成的 quantizer：怎麼選、怎麼設定

torchao 附了好幾個 backend 的 quantizer，還有一個能把別的 quantizer 組合起來。讀完這一頁，你能：

- 拿自己的模型，逐個 op 看它們各要求什麼，再決定用哪一個；
- 只設定某一個 module、某一型 module，或是讓某個部分留在浮點；
- 把兩個 quantizer 組合起來，而且順序是對的；
- 靠數數找出落空的設定，因為它們幾乎都不會報錯。

以在 CPU 上執行的 torch 2.13.0 和 torchao 0.18.0 為準。標註是什麼、怎麼變成 observer，見
[M01-2](chapter:m01_2_annotations)；quantizer 怎麼寫，見 [M03-1](chapter:m03_1_a_quantizer_from_scratch)。
"""

# %%
# ## 五個 quantizer，以及該用哪一個 XNNPACKQuantizer {#shipped}
#
# | quantizer | 給誰用 |
# | --- | --- |
# | `X86InductorQuantizer` | x86 CPU 上的 Inductor（[M06-2](chapter:m06_2_x86_inductor)） |
# | `ArmInductorQuantizer` | Arm CPU 上的 Inductor |
# | `XPUInductorQuantizer` | Intel GPU 上的 Inductor |
# | `XNNPACKQuantizer` | XNNPACK，經由 ExecuTorch（[M06-3](chapter:m06_3_executorch_xnnpack)） |
# | `EmbeddingQuantizer` | embedding 的表，和別的 quantizer 一起用 |
#
# XNNPACKQuantizer 有兩份。正式版在 ExecuTorch 裡，你自己的專案請用它。這個網站沒有安裝 ExecuTorch：連同它需要的套件，整
# 個環境會超過 1 GB。所以這一頁用的是 torchao 留給自己測試的複本，它的 docstring 說自己已經 deprecated。下面所有關於
# XNNPACKQuantizer 的結果，都是用這份複本執行的，正式版沒有在這裡執行過。
import copy
import warnings

import torch
import torch.nn as nn

from common.pt2e import export_module, quiet, sqnr
from common.viz import draw_stages, table

quiet()
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    ComposableQuantizer,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.arm_inductor_quantizer import (
    ArmInductorQuantizer,
    get_default_arm_inductor_quantization_config,
)
from torchao.quantization.pt2e.quantizer.embedding_quantizer import EmbeddingQuantizer, get_embedding_operators_config
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.quantization.pt2e.quantizer.xpu_inductor_quantizer import (
    XPUInductorQuantizer,
    get_default_xpu_inductor_quantization_config,
)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

torch.set_num_threads(1)
assert "!!! DEPRECATED !!!" in XNNPACKQuantizer.__doc__

# %%
# 設定（configuration）裡放著 quantizer 要發出去的 spec：activation（node 之間流動的資料）一份、weight 一份、bias 一份。
# 各家 backend 從這裡就不同了。有沒有哪兩列完全一樣？（XNNPACK 自己的預設是整個 weight 一個 scale；`is_per_channel=True`
# 改成每個 channel 一個。）
configs = {
    "x86": get_default_x86_inductor_quantization_config(),
    "Arm": get_default_arm_inductor_quantization_config(),
    "XPU": get_default_xpu_inductor_quantization_config(),
    "XNNPACK": get_symmetric_quantization_config(is_per_channel=True),
    "Embedding": get_embedding_operators_config().config,
}


def brief(spec: QuantizationSpec | None) -> str:
    """dtype、整數的範圍（spec 有寫的話）、qscheme。"""
    if spec is None:
        return "—"
    limits = f" [{spec.quant_min}, {spec.quant_max}]" if spec.quant_min is not None else ""
    return f"{spec.dtype}{limits} {spec.qscheme}".replace("torch.", "")


rows = [[name, *map(brief, (config.input_activation, config.weight, config.bias))] for name, config in configs.items()]
table(rows, ["quantizer", "activation", "weight", "bias"])
assert [row[1:] for row in rows] == [
    ["uint8 [0, 255] per_tensor_affine", "int8 [-128, 127] per_channel_symmetric", "—"],
    ["int8 [-128, 127] per_tensor_affine", "int8 [-128, 127] per_tensor_symmetric", "—"],
    ["int8 [-128, 127] per_tensor_affine", "int8 [-128, 127] per_channel_symmetric", "—"],
    ["int8 [-128, 127] per_tensor_affine", "int8 [-127, 127] per_channel_symmetric", "—"],
    ["—", "uint8 per_channel_affine_float_qparams", "—"],
]
assert get_symmetric_quantization_config().weight.qscheme == torch.per_tensor_symmetric


# %%
# 沒有。bias 全都留在浮點（[M03-2](chapter:m03_2_specs) 會把它量化）；embedding 沒有 activation 可以量化，因為它的輸入是
# 列號。（`float_qparams` 的意思是 zero point 也存成浮點。）
#
# ## 同一個模型，它們各要求什麼 {#table}
#
# 模型有十二個 op，module 的名字之後用來設定：`stem`（conv、relu、max pool）、`block`（一個 conv，加上跳接）、average
# pool、旁邊的 embedding，最後是 linear。裡面沒有 BN，所以我們標註的圖就是 prepare 會標註的那一張
# （[原因](chapter:m01_2_annotations#inside-prepare)）。兩個函式都是 M01-2 的。
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.relu = nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()

    def forward(self, x):
        return self.relu(self.conv(x) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.block, self.pool = Block(), nn.AdaptiveAvgPool2d(1)
        self.emb, self.fc = nn.Embedding(10, 8), nn.Linear(16, 4)

    def forward(self, x, ids):
        features = torch.flatten(self.pool(self.block(self.stem(x))), 1)
        return torch.sigmoid(self.fc(torch.cat([features, self.emb(ids)], 1)))


def annotate(gm: torch.fx.GraphModule, quantizer: Quantizer) -> torch.fx.GraphModule:
    """gm 的複本，加上 quantizer 的標註。"""
    annotated = quantizer.transform_for_annotation(copy.deepcopy(gm))
    quantizer.annotate(annotated)
    quantizer.validate(annotated)
    return annotated


def observed(gm: torch.fx.GraphModule) -> dict[tuple[str, str], ObserverBase]:
    """隔著 observer 的 edge（來源、使用者）和那個 observer。"""
    calls = [(node, gm.get_submodule(node.target)) for node in gm.graph.find_nodes(op="call_module")]
    observers = [(node, module) for node, module in calls if isinstance(module, ObserverBase)]
    return {(node.args[0].name, user.name): module for node, module in observers for user in node.users}


_ = torch.manual_seed(0)
model = Net().eval()
inputs = (torch.randn(4, 3, 16, 16), torch.randint(10, (4,)))
gm = export_module(model, inputs)
quantizers = {
    "x86": X86InductorQuantizer().set_global(configs["x86"]),
    "Arm": ArmInductorQuantizer().set_global(configs["Arm"]),
    "XPU": XPUInductorQuantizer().set_global(configs["XPU"]),
    "XNNPACK": XNNPACKQuantizer().set_global(configs["XNNPACK"]),
    "Embedding": EmbeddingQuantizer(),
}
graphs = {name: annotate(gm, quantizer) for name, quantizer in quantizers.items()}
assert sum(node.op == "call_function" for node in gm.graph.nodes) == 12


# %%
# 標註只是在圖上寫字，所以五個 quantizer 在什麼 CPU 上都能執行。每一格都讀自 `meta`：有幾個輸入要量化，輸出要不要量化
# （「同輸入」是和輸入用同一個 observer）。「pattern 內」是有標註、沒有要求：這個 op 要和前一個一起算，中間不放任何東
# 西。
def wishes(graph: torch.fx.GraphModule) -> dict[str, str]:
    """標註過的圖裡，每個 op 的標註要求了什麼。"""
    found = {}
    for node in [node for node in graph.graph.nodes if node.op == "call_function"]:
        annotation = node.meta.get("quantization_annotation")
        inputs = sum(bool(spec) for spec in annotation.input_qspec_map.values()) if annotation else 0
        output = annotation.output_qspec if annotation else None
        words = [f"{inputs} 輸入"] if inputs else []
        words += ["輸出同輸入" if isinstance(output, SharedQuantizationSpec) else "輸出"] if output else []
        found[node.name] = "、".join(words) or ("pattern 內" if annotation else "—")
    return found


found = {name: wishes(graph) for name, graph in graphs.items()}
table([[op, *(column[op] for column in found.values())] for op in found["x86"]], ["op", *found])
both, same, pattern, none = "2 輸入、輸出", "1 輸入、輸出同輸入", "pattern 內", "—"
ops = ["conv2d", "relu", "max_pool2d", "conv2d_1", "add", "relu_1", "adaptive_avg_pool2d", "flatten"]
ops += ["embedding", "cat", "linear", "sigmoid"]
expected = {
    "x86": ["2 輸入", pattern, same, "2 輸入", "1 輸入", pattern, same, same, none, none, "2 輸入", none],
    "Arm": ["2 輸入", none, none, "2 輸入", "1 輸入", none, none, none, none, none, "2 輸入", none],
    "XPU": ["2 輸入", pattern, none, "2 輸入", "1 輸入", pattern, same, same, none, none, "2 輸入", none],
    "XNNPACK": ["2 輸入", "輸出", same, both, "2 輸入", "輸出", same, same, none, none, both, none],
    "Embedding": [none] * 8 + ["1 輸入", none, none, none],
}
assert found == {name: dict(zip(ops, column, strict=True)) for name, column in expected.items()}

# %%
# 怎麼讀：
#
# - **conv2d、linear**：除了 Embedding，大家都要求 activation 和 weight 是整數。XNNPACK 連輸出也要求；三個 Inductor 的則
#   留給下一個 op 去要求。
# - **conv2d_1 → add → relu_1**：對 x86 和 XPU 是一個 pattern；對 Arm，pattern 是 conv2d_1 → add。所以 add 只有一個輸入
#   有要求，就是跳接的那一個。XNNPACK 則是 conv2d_1 自己一個，add 和 relu_1 一個。
# - **pool 和 flatten** 可以沿用輸入的 scale，進來的值已經量化過，才值得用 int8 kernel。Arm 完全不管它們，XPU 不管 max
#   pool。
# - **cat**：旁邊的 embedding 是浮點，x86 就不標註它；這份 XNNPACK 則是怎樣都不標註
#   （[M03-3](chapter:m03_3_patterns_that_bite)）。**sigmoid** 在每一個裡面都沒有規則。
#
# 有要求，還不等於有 observer。所以各做一次 prepare，數一數有 observer 的 edge；同一組共用的，在最後一欄只算一個。
results = {name: observed(prepare_pt2e(copy.deepcopy(gm), quantizer)) for name, quantizer in quantizers.items()}
rows = [[name, len(edges), len(set(edges.values()))] for name, edges in results.items()]
table(rows, ["quantizer", "有 observer 的 edge", "observer 數"])
draw_stages(
    [(graphs["x86"], "X86InductorQuantizer"), (graphs["XNNPACK"], "XNNPACKQuantizer")],
    title="虛線框是要求；XNNPACK 還要求了 conv2d_1 和 linear 的輸出",
)
assert rows == [["x86", 11, 7], ["Arm", 7, 6], ["XPU", 10, 7], ["XNNPACK", 13, 9], ["Embedding", 1, 1]]
assert results["XNNPACK"].keys() - results["x86"].keys() == {("conv2d_1", "add"), ("linear", "sigmoid")}
assert results["x86"].keys() < results["XNNPACK"].keys() and results["Arm"].keys() < results["x86"].keys()


# %%
# 所以選哪一個由 backend 決定，表格告訴你選了會得到什麼。校準之前，先為自己的模型做一張：你在意的那個 op，說不定是
# 「—」。
#
# ## 設定 X86InductorQuantizer {#x86}
#
# 除了 `set_global`，還有三個 method 可以只設定一部
# 分：`set_module_name_qconfig`、`set_module_type_qconfig`、`set_function_type_qconfig`，單獨用或一起用都行。給一份設
# 定，就量化那個部分；給 `None`，就讓它留在浮點。範圍小的優先：先看名字，再看型別和函式，最後才是 `set_global`。表格列出
# 所有得到 observer 的 weight；請找出和第一列比起來什麼都沒變的兩列。
def outcome(quantizer: Quantizer) -> list[int | str]:
    """prepare 之後有 observer 的 edge 有幾條，以及它們的來源裡有哪些 weight。"""
    edges = observed(prepare_pt2e(copy.deepcopy(gm), quantizer))
    return [len(edges), ", ".join(source for source, _ in edges if source.endswith("_weight")) or "沒有"]


def x86() -> X86InductorQuantizer:
    """還沒有任何設定。"""
    return X86InductorQuantizer()


config = configs["x86"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    attempts = {
        "全部": x86().set_global(config),
        '名字 "block"': x86().set_module_name_qconfig("block", config),
        '全部，名字 "block" None': x86().set_global(config).set_module_name_qconfig("block", None),
        '全部，名字 "blok" None': x86().set_global(config).set_module_name_qconfig("blok", None),
        "型別 nn.Linear": x86().set_module_type_qconfig(nn.Linear, config),
        "全部，型別 Block None": x86().set_global(config).set_module_type_qconfig(Block, None),
        "函式 torch.cat": x86().set_function_type_qconfig(torch.cat, config),
    }
rows = [[label, *outcome(quantizer)] for label, quantizer in attempts.items()]
table(rows, ["設定", "edge 數", "有 observer 的 weight"])
messages = [str(warning.message).partition(" for ")[0] for warning in caught]
print(*messages, sep="\n")
everything = "stem_0_weight, block_conv_weight, fc_weight"
assert rows[0][1:] == rows[3][1:] == rows[5][1:] == [11, everything]
assert rows[1][1:] == [3, "block_conv_weight"]
assert rows[2][1:] == [7, "stem_0_weight, fc_weight"]
assert rows[4][1:] == [2, "fc_weight"]
assert rows[6][1:] == [0, "沒有"]
assert messages == ["Module: Unable to customize quantization config"]
assert nn.Conv1d not in X86InductorQuantizer.module_function_to_aten_operator_type

# %%
# - **名字**是模型裡的路徑，例如 `"block"` 或 `"block.conv"`，底下的也算在內。名字對不到任何 module（「blok」），沒有錯
#   誤也沒有警告：11 條 edge，就像沒設定過。
# - **型別**在這裡代表一種 op，所以只認得固定幾個，例如 `nn.Conv2d` 和 `nn.Linear`（`nn.Conv1d` 不在裡面）。其他的，例如
#   我們的 `Block`，唯一的徵兆是上面印出來的那一則警告。
# - **只設定 cat**，什麼都得不到：它和 pool 一樣，前面的 op 有標註，它才會被標註。
#
# 同一個 quantizer 也不能混用靜態和動態（範圍到執行時才決定）的設定：後來的那一份會被丟掉，一樣只有警告。
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    dynamic = get_default_x86_inductor_quantization_config(is_dynamic=True)
    mixed = x86().set_global(config).set_module_name_qconfig("fc", dynamic)
messages = [str(warning.message) for warning in caught]
print(*messages, sep="\n")
assert messages == [
    "Mixed dynamic and static quantization config is not supported.",
    "Skip the quantization config for fc.",
]
assert mixed.module_name_qconfig == {}

# %%
# 在自己的程式裡，請把這些警告變成錯誤，做法和 [M01-1](chapter:m01_1_end_to_end#warning-as-error) 一樣。要防打錯字，先呼
# 叫 `model.get_submodule(name)`，沒有這個 module 它就會報錯。
try:
    model.get_submodule("blok")
except AttributeError as error:
    unknown = f"AttributeError: {error}"
print(unknown)
assert unknown == "AttributeError: Net has no attribute `blok`"

# %%
# !!! question "讓 conv 留在浮點，11 條 edge 還剩幾條？"
#     先 `set_global(config)`，再 `set_module_type_qconfig(nn.Conv2d, None)`。從[表格](#table)的 x86 那一欄逐格往下看：
#     兩個 conv 都沒有要求之後，還有哪些 op 留得住自己的要求？另外會有一則警告。

# %% answer
# 兩條，都是 linear 的。add 和兩個 relu 是 conv 的 pattern 的一部分；pool 要接在量化過的 op 後面才會被標註，所以也一起沒
# 了。那一則警告說的是 max pool；average pool 和 flatten 被跳過，一聲不響。
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    without_conv = outcome(x86().set_global(config).set_module_type_qconfig(nn.Conv2d, None))
messages = [str(warning.message).partition(" with config ")[0] for warning in caught]
print(without_conv, *messages, sep="\n")
assert without_conv == [2, "fc_weight"]
assert messages == ["The input of maxpool2d is not quantized, skip annotate maxpool2d"]


# %%
# ## 設定 XNNPACKQuantizer：要檢查 conv {#xnnpack}
#
# 這裡的 method 叫 `set_module_name`、`set_module_type` 和 `set_operator_type`，型別可以是任何 module 的 class。看最後一
# 欄：哪一個 weight 明明設定了，卻沒有出現？
def xnnpack() -> XNNPACKQuantizer:
    """還沒有任何設定。"""
    return XNNPACKQuantizer()


config = configs["XNNPACK"]
attempts = {
    "全部": xnnpack().set_global(config),
    '名字 "block"': xnnpack().set_module_name("block", config),
    "型別 nn.Conv2d": xnnpack().set_module_type(nn.Conv2d, config),
    "型別 nn.Linear": xnnpack().set_module_type(nn.Linear, config),
    "全部，型別 Block None": xnnpack().set_global(config).set_module_type(Block, None),
    "op aten.linear": xnnpack().set_operator_type(torch.ops.aten.linear, config),
    "全部，op aten.linear None": xnnpack().set_global(config).set_operator_type(torch.ops.aten.linear, None),
}
rows = [[label, *outcome(quantizer)] for label, quantizer in attempts.items()]
table(rows, ["設定", "edge 數", "有 observer 的 weight"])
try:
    xnnpack().set_module_name("block", None)
except AssertionError as error:
    refused = f"AssertionError:{error}"
print(refused)
assert rows[0][1:] == rows[6][1:] == [13, everything]
assert rows[1][1:] == [5, "沒有"] and rows[2][1:] == [0, "沒有"]
assert rows[3][1:] == [3, "fc_weight"]
assert rows[4][1:] == [11, "stem_0_weight, fc_weight"]
assert rows[5][1:] == [0, "沒有"]
assert refused == "AssertionError: quantization_config == None is not supported yet"

# %%
# - `set_module_name("block", …)` 有 5 條 edge，裡面卻沒有 block 的 conv；`set_module_type(nn.Conv2d, …)` 更是一條都沒
#   有。兩者都沒有任何訊息。
# - `set_operator_type` 什麼也不做，給設定或給 `None` 都一樣：值存起來了，但是沒有人讀
#   （[pytorch#131055](https://github.com/pytorch/pytorch/issues/131055)）。
# - 想讓某個 module 留在浮點，就對它的**型別**設 `None`；對**名字**設 `None` 會被拒絕，錯誤訊息也說得清楚。
#
# ### 為什麼漏掉 conv {#why-convs}
#
# 兩個 quantizer 都從 `meta["nn_module_stack"]` 查 node 來自哪個
# module（[M00-1](chapter:m00_1_export_and_aten#a3-meta)）。遇到 conv 時，XNNPACKQuantizer 連 weight 和 bias 也要查；但
# 是它們是 `get_attr` node，身上沒有這個 stack，於是 conv 永遠「不屬於」指定的 module。遇到 linear 時只查 node 自己，所
# 以沒事。
nodes = {node.name: node for node in gm.graph.nodes}
stacks = {name: [path for path, _ in nodes[name].meta.get("nn_module_stack", {}).values()] for name in nodes}
table([[name, str(stacks[name])] for name in ("conv2d_1", "block_conv_weight", "linear")], ["node", "modules"])
assert stacks["conv2d_1"] == ["", "block", "block.conv"] and stacks["block_conv_weight"] == []
assert {node.op for node in gm.graph.nodes if not stacks[node.name]} == {"get_attr", "placeholder", "output"}


# %%
# 修法是把讀它的 op 的 stack 也寫到 weight 上。適合的地方是 `transform_for_annotation`，prepare 在 `annotate` 的前一刻呼
# 叫它。
class FindsConvs(XNNPACKQuantizer):
    def transform_for_annotation(self, model):
        model = super().transform_for_annotation(model)
        for node in model.graph.find_nodes(op="get_attr"):
            reader = next(iter(node.users))
            node.meta["nn_module_stack"] = reader.meta["nn_module_stack"]
        return model


warnings.filterwarnings("ignore", message="FindsConvs is deprecated!")  # 這份複本對每個 subclass 都這麼說

rows = [
    ['名字 "block"', *outcome(FindsConvs().set_module_name("block", config))],
    ["型別 nn.Conv2d", *outcome(FindsConvs().set_module_type(nn.Conv2d, config))],
]
table(rows, ["設定", "edge 數", "有 observer 的 weight"])
assert rows[0][1:] == [7, "block_conv_weight"]
assert rows[1][2] == "stem_0_weight, block_conv_weight"

# %%
# weight 出現了。不管用哪個 quantizer，只設定一部分之後，都要數一數：該有的有沒有，不該有的有沒有。
#
# ## 組合兩個 quantizer {#composing}
#
# `ComposableQuantizer` 讓幾個 quantizer 輪流標註同一張圖。某個 node 被標註過，就已經有人處理，後面的會跳過，所以排在前
# 面的優先。哪幾對加得起來，哪幾對不行？
pairs = {
    "Embedding, x86": ["Embedding", "x86"],
    "x86, Embedding": ["x86", "Embedding"],
    "x86, XNNPACK": ["x86", "XNNPACK"],
    "XNNPACK, x86": ["XNNPACK", "x86"],
    "Embedding, Embedding": ["Embedding", "Embedding"],
}
rows = []
for label, names in pairs.items():
    try:
        result = str(outcome(ComposableQuantizer([quantizers[name] for name in names]))[0])
    except (AssertionError, RuntimeError) as error:
        result = f"{type(error).__name__}: {error}"
    rows.append([label, " + ".join(str(len(results[name])) for name in names), result])
table(rows, ["quantizer，依順序", "各自的 edge", "一起的 edge"])
assert [row[2] for row in rows] == [
    "12",
    "12",
    "11",
    "AssertionError: ",
    "RuntimeError: Quantizer EmbeddingQuantizer has changed annotations on node embedding",
]


# %%
# - **Embedding 和 x86** 加得起來，誰先誰後都行，因為它們管的 op 不同。
# - **先 x86，再 XNNPACK**，是 11 條，和只用 x86 一樣：XNNPACK 想要的都已經有人處理，而且沒有任何訊息。
# - **先 XNNPACK，再 x86**，會遇到一個沒有內容的 AssertionError：x86 要看 pool 前面的 op，卻只接受自己那一種標註。所以請
#   把 x86 放前面。
# - **蓋掉別人的標註**會被拒絕，訊息也說得清楚。EmbeddingQuantizer 會這樣，因為它不看有沒有人處理過。
#
# ### validate 不會被呼叫 {#validate}
#
# quantizer 可以在 `validate` 裡拒絕一張圖（[M03-1](chapter:m03_1_a_quantizer_from_scratch#validate)）。組合之後，這道檢
# 查就不見了，因為 `ComposableQuantizer.validate` 是空的：
class Strict(EmbeddingQuantizer):
    def validate(self, model):
        raise ValueError("validate 不接受")


try:
    prepare_pt2e(copy.deepcopy(gm), Strict())
except ValueError as error:
    alone = str(error)
composed = outcome(ComposableQuantizer([Strict(), quantizers["x86"]]))
print(f"單獨：{alone}；組合：{composed[0]} 條 edge")
assert (alone, composed[0]) == ("validate 不接受", 12)


class Composed(ComposableQuantizer):
    def validate(self, model):
        for quantizer in self.quantizers:
            quantizer.validate(model)


try:
    prepare_pt2e(copy.deepcopy(gm), Composed([Strict(), quantizers["x86"]]))
except ValueError as error:
    fixed = str(error)
assert fixed == alone

# %%
# `Composed` 這四行把它加了回來。
#
# ### 組合的結果 {#composition}
#
# 拿第一對來校準、convert。embedding 讀的是整數了嗎？
prepared = prepare_pt2e(copy.deepcopy(gm), ComposableQuantizer([quantizers["Embedding"], quantizers["x86"]]))
with torch.no_grad():
    prepared(*inputs)
    converted = convert_pt2e(prepared)
    quality = sqnr(model(*inputs), converted(*inputs))
(embedding,) = converted.graph.find_nodes(op="call_function", target=torch.ops.aten.embedding.default)
frozen = converted.get_buffer(embedding.args[0].args[0].target)
print(f"embedding 的表：{frozen.dtype} {list(frozen.shape)}，SQNR：{quality:.4g} dB")
assert (frozen.dtype, list(frozen.shape)) == (torch.uint8, [10, 8])
assert 49 < quality < 51

# %%
# 不是直接讀：表現在是 uint8，但是中間隔著一個 dequantize。其他部分和只用 x86 時一樣。
#
# ## 總結：四點 {#summary}
#
# 1. 用哪一個 quantizer 由 backend 決定；從 `meta` 讀出一張要求的表，就知道你的模型會得到什麼。
# 2. x86 接受名字、函式和固定幾個型別，`None` 讓一部分留在浮點。XNNPACK（torchao 的複本）接受任何型別，但是依名字或型別
#    找不到 conv，要修過才行；`set_operator_type` 則什麼也不做。
# 3. 組合時，優先的放前面，x86 要在 XNNPACK 之前；`validate` 要自己顧。
# 4. 打錯字、不認得的型別、已經有人處理的 node，都不會停下來。prepare 之後，數 edge，也看看 weight 在不在。
#
# M03 到這裡結束。想自己寫一個 quantizer，讓程式來批改，請做[實作](chapter:lab_m03)。接著
# [M04-1](chapter:m04_1_observers) 來看這些 spec 帶進來的 observer。
