"""
# M00-4 | 改圖：後面會用到的 torch.fx 圖操作

前三頁都只讀圖，量化則要動手改圖：`prepare_pt2e` 插入 observer（觀察器，記錄數值範圍的 module；
[M02-2](chapter:m02_2_prepare_by_hand) 親手做一遍）；`convert_pt2e` 把 observer 換成 quantize/dequantize（簡稱 q/dq），
並把 weight 換成 int8（[M02-3](chapter:m02_3_convert_by_hand) 親手做一遍）。這一頁帶你在一張小圖（conv → relu）上，分六
個步驟學會這些修改，也認識常犯的錯：

| 步驟 | 做什麼 | API | 用在哪裡 |
|---|---|---|---|
| 1 | 插入新的 node | `add_submodule`、`inserting_after`、`call_module` | M02-2 |
| 2 | 改接下游 | `replace_all_uses_with(delete_user_cb=...)` | M02-2 |
| 3 | 重新產生 forward | `recompile` | M02-2、M02-3 |
| 4 | 換成 call_function | `inserting_before`、`call_function`、`erase_node` | M02-3 |
| 5 | 把常數放進圖裡 | `register_buffer`、`get_attr` | M02-3 |
| 6 | 清理與檢查 | `eliminate_dead_code`、`lint` | M02-3 |

還不熟 Graph 和 Node 的話，請先看 [FX 基礎](chapter:fx_basics)；所有 method 都列在官方的
[torch.fx](https://docs.pytorch.org/docs/stable/fx.html) 文件。本頁的錯誤訊息以 torch 2.13 為準。

!!! note "請依序執行"
    六個步驟改的都是同一個 `gm`，而且是原地修改。請由上往下執行；重新啟動之後，也要從頭跑起。
"""

# %%
# ## 起點：還沒動過的圖 {#start}
# 先準備兩個小工具：有些錯誤訊息後面會附上整張圖，`first_line` 只留第一行；`Scale` 則是一個讓圖呼叫的 module，有沒有作
# 用，看輸出就知道。
import copy

import torch

from common.models import example_inputs, get_model
from common.pt2e import export_module, quiet
from common.viz import draw

quiet()
_ = torch.manual_seed(0)


def first_line(e):
    return str(e).splitlines()[0]


class Scale(torch.nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        return x * self.k


# %%
# 模型是 conv（有 bias）接 relu。`export_module` 以動態 batch 匯出，回傳
# `GraphModule`（[M00-1](chapter:m00_1_export_and_aten)）。`base` 留住修改前的輸出，之後每一步都拿它比對。先看 relu 的兩
# 側：`args` 是它取用誰（上游），`users` 是誰取用它（使用者，也就是下游）。
x = example_inputs(4)[0]
gm = export_module(get_model("conv_relu").eval(), (x,))
base = gm(x)
nodes = {n.name: n for n in gm.graph.nodes}
relu, output = nodes["relu"], nodes["output"]
print(f"relu.args = {relu.args}")
print(f"relu.users = {list(relu.users)}")
assert (relu.args, list(relu.users)) == ((nodes["conv2d"],), [output])
draw(gm, title="起點：relu 取用 conv2d，output 取用 relu")

# %%
# ## 步驟 1：插入新的 node {#step-1}
# 改圖永遠是兩個問題：**新 node 要放在誰後面，又要讓誰來取用它**？這一步回答前者。`call_module` 的 node 只存 module 的名
# 字，所以要先註冊 module；`inserting_after` 決定新 node 在串列裡的位置，也就是執行順序。插入之後，`output` 會改為取用新
# node 嗎？
gm.add_submodule("scale_out", Scale(2.0))
with gm.graph.inserting_after(relu):
    scale = gm.graph.call_module("scale_out", (relu,))
print(f"scale.users = {list(scale.users)}")
assert relu.next is scale
assert (scale.target, scale.args, list(scale.users), output.args) == ("scale_out", (relu,), [], ((relu,),))
gm.graph.lint()  # 圖若不合法，這裡會報錯
draw(gm, title="步驟 1 之後：scale_out 取用 relu，但沒有人取用 scale_out", highlight=["scale_out"])

# %%
# 不會，建立 node 不等於接上它。`lint()` 也沒有意見：沒有人取用的 node 是合法的。
#
# ## 步驟 2：改接下游 {#step-2}
# 接下來要讓 `output` 改為取用 `scale_out`，而 `replace_all_uses_with` 看名字正是做這件事。先在一份複本上試，然後看看
# `scale_out` 自己取用的是誰。
wrong = copy.deepcopy(gm)
wrong_relu, wrong_scale = [n for n in wrong.graph.nodes if n.name in ("relu", "scale_out")]
wrong_relu.replace_all_uses_with(wrong_scale)
print(f"scale_out.args = {wrong_scale.args}")
assert (wrong_scale.args, list(wrong_relu.users)) == ((wrong_scale,), [])
try:
    wrong.graph.lint()
except RuntimeError as e:
    lint_error = first_line(e)
print(lint_error)
assert lint_error == (
    "Argument 'scale_out' of Node 'scale_out' was used before it has been defined! "
    "Please check that Nodes in the graph are topologically ordered"
)

# %%
# `scale_out` 建立時寫的是 `args = (relu,)`，所以它自己也是 relu 的下游。**所有**下游都被改接，
# `scale_out` 也不例外：它變成取用自己，relu 則一個下游也不剩。
#
# ### 正確做法：改接所有下游，新 node 除外 {#step-2-fix}
# FX 每遇到一個下游，就問 `delete_user_cb` 要不要改接。把新 node 排除就好。下面先畫錯的圖，再畫對的圖：
relu.replace_all_uses_with(scale, delete_user_cb=lambda user: user is not scale)
print(f"relu.users = {list(relu.users)}")
print(f"scale.args = {scale.args}")
assert (list(relu.users), scale.args, list(scale.users)) == ([scale], (relu,), [output])
gm.graph.lint()
draw(wrong, title="步驟 2 的錯誤做法：scale_out 取用自己，沒有人取用 relu", highlight=["scale_out"], like=[gm])
draw(gm, title="步驟 2 之後：relu → scale_out → output", highlight=["scale_out"], like=[wrong])

# %%
# 口訣：**在 A 後面插入 B，就讓 B 取用 A，再讓 A 原來的下游都改為取用 B**。`prepare_pt2e` 也是這樣做的。
#
# ### 沒有 lint：執行時才出現 UnboundLocalError {#self-loop-symptom}
# `recompile()` 把圖變成 Python 程式碼（步驟 3），但不檢查對錯。錯的那張圖跑起來會怎樣？
wrong.recompile()  # 這裡不會報錯
assert "scale_out = self.scale_out(scale_out)" in wrong.code
try:
    wrong(x)  # FX 還會把 traceback 印到 stderr，本頁略去
except UnboundLocalError as e:
    call_error = first_line(e)
print(f"UnboundLocalError: {call_error}")
assert call_error == "cannot access local variable 'scale_out' where it is not associated with a value"

# %%
# 產生出來的 `scale_out = self.scale_out(scale_out)` 這一行，要讀的正是它還沒賦值的變數。如果你是搜尋這個錯誤而來的：圖
# 裡有 node 取用了還不存在的值（這裡是它自己），`gm.graph.lint()` 會指出是哪一個。（Python 3.10 以前的訊息是
# `local variable 'scale_out' referenced before assignment`，這裡沒有執行。）官方文件裡的範例也踩過這個坑：
# [pytorch#118626](https://github.com/pytorch/pytorch/issues/118626)。
#
# ## 步驟 3：重新產生 forward {#step-3}
# `gm` 的圖改對了。那麼 `gm(x)` 現在算的是舊圖還是新圖？`gm` 的複本呢？
print(f"recompile() 之前，輸出等於 base：{torch.equal(gm(x), base)}")
assert torch.equal(gm(x), base)
assert torch.allclose(copy.deepcopy(gm)(x), 2 * base)
gm.recompile()
print(f"recompile() 之後，輸出等於 2 × base：{torch.allclose(gm(x), 2 * base)}")
assert torch.allclose(gm(x), 2 * base)

# %%
# 在 `recompile()` 之前，`gm` 算的都是舊圖：`forward` 是產生出來的程式碼，改圖不會動到它。
# 複本則會當場產生自己的一份。所以，如果有個 bug 在複本上消失了，也許只是忘了 `recompile()`。
#
# ## 步驟 4：換成 call_function {#step-4}
# convert 會把 observer（`call_module`）換成 q/dq（`call_function`）。這裡只需要一個 `call_function`：
# `aten.mul.Tensor(relu, 2.0)` 和 `Scale(2.0)` 做的是同一件事。把它放在舊 node 前面，然後馬上刪掉舊 node 試試：
with gm.graph.inserting_before(scale):
    mul = gm.graph.call_function(torch.ops.aten.mul.Tensor, (relu, 2.0))
try:
    gm.graph.erase_node(scale)
except RuntimeError as e:
    erase_error = first_line(e)
print(erase_error)
assert erase_error == "Tried to erase Node scale_out but it still had 1 users in the graph: {output: None}!"

# %%
# 刪得太早：`output` 還在取用 `scale_out`，要先讓它改為取用 `mul`。
#
# !!! question "這次也需要 delete_user_cb 嗎？"
#     步驟 2 直接呼叫 `replace_all_uses_with`，結果接成了一圈。這裡的 `scale.replace_all_uses_with(mul)` 也會嗎？

# %% answer
# 不會。`mul` 建立時寫的是 `args = (relu, 2.0)`，取用的是 relu，不是 `scale` 的下游，所以不會被改接。
assert list(scale.users) == [output]

# %%
# 正確的順序：先改接下游，再刪掉 node，最後刪掉 module，因為 module 不會跟著 node 消失。
scale.replace_all_uses_with(mul)
gm.graph.erase_node(scale)
assert gm.delete_submodule("scale_out")  # 沒有東西可刪的話，會是 False
gm.graph.lint()
gm.recompile()
print(f"mul.args = {mul.args}")
assert (mul.args, mul.all_input_nodes, output.args) == ((relu, 2.0), [relu], ((mul,),))
assert torch.allclose(gm(x), 2 * base)
draw(gm, title="步驟 4 之後：mul 站在 scale_out 原來的位置", highlight=[mul.name])

# %%
# `mul` 有兩個引數，輸入的 node 卻只有一個：2.0 是寫在 `args` 裡的 Python 常數，不是 node。
#
# ## 步驟 5：把常數放進圖裡 {#step-5}
# Python 的數字可以直接寫在 `args` 裡，per-tensor q/dq 的 scale 和 zero point 就是如此
# （[M01-1](chapter:m01_1_end_to_end)）。tensor（例如 per-channel q/dq 的 scale）則要放在 module 上：`register_buffer`
# 負責存，`get_attr` 的 node 負責讀。其餘和步驟 4 一樣。
gm.register_buffer("two", torch.tensor(2.0))
with gm.graph.inserting_before(mul):
    two = gm.graph.get_attr("two")
    mul_two = gm.graph.call_function(torch.ops.aten.mul.Tensor, (relu, two))
mul.replace_all_uses_with(mul_two)
gm.graph.erase_node(mul)
gm.graph.lint()
gm.recompile()
print(f"mul_two.args = {mul_two.args}")
assert (mul_two.args, mul_two.all_input_nodes) == ((relu, two), [relu, two])
assert torch.allclose(gm(x), 2 * base)
draw(gm, title="步驟 5 之後：常數寫在 mul 的標籤裡，也就是 ‹two›", highlight=[mul_two.name])

# %%
# 現在兩個引數都是 node 了。圖中的參數和常數會寫進取用者的標籤，這裡就是 ‹two›。
#
# ## 步驟 6：清理與檢查 {#step-6}
# 改圖常會留下沒有人用的 node，例如 convert 的浮點 weight（M02-3）。插入一個，看 `eliminate_dead_code()` 找不找得到：
with gm.graph.inserting_after(relu):
    neg = gm.graph.call_function(torch.ops.aten.neg.default, (relu,))
assert neg.name.startswith("neg")
before = len(gm.graph.nodes)
gm.graph.eliminate_dead_code()
gm.graph.lint()
gm.recompile()
print(f"node 數：{before} → {len(gm.graph.nodes)}")
assert (before, len(gm.graph.nodes)) == (10, 9)
assert not any(n.name.startswith("neg") for n in gm.graph.nodes)
assert torch.allclose(gm(x), 2 * base)

# %%
# ### 它會留下什麼，又會誤刪什麼 {#impure-nodes}
# 一個 node 要**同時**符合兩個條件才會被刪：沒有下游，而且是 pure 的，也就是除了算出結果，不做別的事。
# 看看 train 模式匯出的圖：沒有下游的 node，有哪些留了下來？
train = export_module(get_model("conv_bn_relu").train(), (x,))
train.graph.eliminate_dead_code()
kept = [n for n in train.graph.nodes if not n.users and n.op != "output"]
print(kept)
assert [(n.name, n.is_impure()) for n in kept] == [("_guards_fn", True), ("add_", True)]
assert (kept[1].target, kept[1].args[0].target) == (torch.ops.aten.add_.Tensor, "bn.num_batches_tracked")


# %%
# `_guards_fn` 檢查輸入，`add_` 改寫 BN 的 batch 計數（[M00-2](chapter:m00_2_eval_or_train)）：兩者都是 impure，所以留
# 下。FX 從 schema 得知一個 op 會不會改寫引數。`symbolic_trace` 的圖裡沒有 schema，只有 method 的名字，而 FX 把 method
# 一律當成 pure。同一個 module，兩種做法都試試：
class DoubleFirstChannel(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0].mul_(2.0)
        return y


in_place = DoubleFirstChannel()
traced, exported = torch.fx.symbolic_trace(in_place), export_module(in_place, (x,))
(method,) = traced.graph.find_nodes(op="call_method", target="mul_")
(op,) = exported.graph.find_nodes(op="call_function", target=torch.ops.aten.mul_.Tensor)
assert (len(method.users), method.is_impure()) == (0, False)
assert (len(op.users), op.is_impure(), op.target._schema.is_mutable) == (0, True, True)
for edited in (traced, exported):
    edited.graph.eliminate_dead_code()
    edited.recompile()
print("symbolic_trace:", list(traced.graph.nodes))
print("torch.export:", list(exported.graph.nodes))
assert (method in traced.graph.nodes, op in exported.graph.nodes) == (False, True)
assert [torch.equal(edited(x), in_place(x)) for edited in (traced, exported)] == [False, True]
assert torch.equal(traced(x), x)

# %%
# `symbolic_trace` 的圖一聲不響地少了 `mul_`，輸出變成原封不動的
# `x`（[pytorch#68301](https://github.com/pytorch/pytorch/issues/68301)）；匯出的圖則留著它，輸出也正確。所以，trace 出
# 來的圖只要含有原地運算，就不要呼叫 `eliminate_dead_code()`。
#
# ## 手工建立的 node 沒有 meta["val"] {#no-meta}
# 匯出的運算都把形狀和 dtype 記在 `meta["val"]`（[M00-1](chapter:m00_1_export_and_aten#a3-meta)）。圖裡有誰沒有？
without_val = [n for n in gm.graph.nodes if n.op == "call_function" and "val" not in n.meta]
print(without_val)
assert without_val == [mul_two]

# %%
# 只有手工建立的那一個。後面的 pass 如果依 `meta["val"]` 篩選，就可能默默略過它：
# [pytorch#187945](https://github.com/pytorch/pytorch/issues/187945) 回報的就是 `replace_pattern`（這裡沒有執行）。
#
# ## 直接改 node.target：生效得晚，名字還是舊的 {#rename-target}
# 想把 `mul` 換成加法，直接指定 `target` 好像最快。在 `recompile()` 之前與之後，複本算出什麼？
# 最後這個 node 又叫什麼名字？
renamed = copy.deepcopy(gm)
(node,) = renamed.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)
node.target = torch.ops.aten.add.Tensor
assert torch.allclose(renamed(x), 2 * base)
renamed.recompile()
assert torch.allclose(renamed(x), base + 2)
print(f"name = {node.name}, target = {node.target}")
assert (node.name, node.target) == ("mul_tensor_1", torch.ops.aten.add.Tensor)

# %%
# 先是 `2 * base`，之後才是 `base + 2`；而這個做加法的 node 仍然叫 `mul_tensor_1`，凡是看名字的地方都會被誤導。
# 所以，比對 node 要看 `op` 和 `target`，不要看名字；與其指定 `target`，不如照步驟 4 另建 node、改接下游。
# [pytorch#133250](https://github.com/pytorch/pytorch/issues/133250) 提議把這一點訂為規則。
#
# ## 小結 {#summary}
# | 要做的事 | 用哪些呼叫 |
# |---|---|
# | 插入 observer | `add_submodule + inserting_after + call_module + replace_all_uses_with(delete_user_cb=...)` |
# | observer → q/dq | `inserting_before + call_function + replace_all_uses_with + erase_node (+ delete_submodule)` |
# | 存 scale/zero point | args 裡的 Python 常數，或是 `register_buffer + get_attr` |
# | 收尾 | `eliminate_dead_code, lint, recompile` |
#
# [M02-2](chapter:m02_2_prepare_by_hand) 就是步驟 1–3，[M02-3](chapter:m02_3_convert_by_hand) 就是步驟 4–6。
# 想自己改一張圖，讓程式來批改，請做[實作](chapter:lab_m00)；下一頁是 [M01-1](chapter:m01_1_end_to_end)。
