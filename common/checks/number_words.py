"""The words of the M01 lab's checker, in both languages."""

from __future__ import annotations

from common.checks.words import MISTAKES, Language

# A mistake's code → what is wrong, and a hint that is not the solution.
NUMBER_MISTAKES: dict[str, dict[Language, tuple[str, str]]] = {
    "not_written": MISTAKES["not_written"],
    "raised": {
        "en": ("Your function raised {error}", "The arguments of this case are in check.args."),
        "zh-TW": ("你的函式丟出 {error}", "這一題的引數放在 check.args。"),
    },
    "nothing": {
        "en": ("Your function returned None.", "It has a result to return."),
        "zh-TW": ("你的函式回傳 None。", "算出來的結果要 return。"),
    },
    "not_a_pair": {
        "en": ("Your function returned a {came}.", "Return the results as a tuple: {names}."),
        "zh-TW": ("你的函式回傳的是 {came}。", "請以 tuple 回傳：{names}。"),
    },
    "not_a_tensor": {
        "en": (
            "{what} is a {came}; wanted: a tensor.",
            "Stay in tensors: .item() gives a Python number, which is float64 and only one.",
        ),
        "zh-TW": (
            "{what} 是 {came}，應該是 tensor。",
            "一路用 tensor 算：.item() 給的是 Python 的數字，精度變成 float64，而且只有一個。",
        ),
    },
    "changed_input": {
        "en": (
            "Your function changed its argument {what}.",
            "Whoever calls it still needs the old values. Functions whose name ends in _ work in place.",
        ),
        "zh-TW": ("你的函式改動了引數 {what}。", "呼叫的人還要用原來的值。名字以 _ 結尾的函式都是原地修改。"),
    },
    "broadcast": {
        "en": (
            "The scales do not stand along the axis of the channels.",
            "Broadcasting aligns shapes from the right. Which shape must the scales take?",
        ),
        "zh-TW": (
            "scale 沒有沿著 channel 的那個維度排列。",
            "broadcasting 從右邊開始對齊 shape。scale 該排成什麼 shape？",
        ),
    },
    "wrong_dtype": {
        "en": ("{what} is {came}; wanted: {wanted}.", "Convert it as the very last step."),
        "zh-TW": ("{what} 的型別是 {came}，應該是 {wanted}。", "最後一步再轉型別。"),
    },
    "wrong_shape": {
        "en": (
            "{what} has the shape {came}; wanted: {wanted}.",
            "Over which dimensions should the values be gathered, and which one stays?",
        ),
        "zh-TW": ("{what} 的 shape 是 {came}，應該是 {wanted}。", "哪些維度要合併起來看，哪一個要留下？"),
    },
    "last_bit": {
        "en": (
            "{what} is right but for its last bits.",
            "Compute in float32, with the steps and the order that the formula has.",
        ),
        "zh-TW": ("{what} 只差最後幾個 bit。", "請用 float32 算，步驟和順序都照公式。"),
    },
    "other_values": {
        "en": (
            "{what} has other values.",
            "Work the number above out by hand, one step of the formula at a time. Where do you part?",
        ),
        "zh-TW": ("{what} 的值不對。", "拿上面的數字，照公式一步一步手算，看從哪一步開始不一樣。"),
    },
    "no_zero_point": {
        "en": ("The zero point is not used.", "Which integer stands for 0.0?"),
        "zh-TW": ("沒有用到 zero point。", "浮點 0 對應的是哪個整數？"),
    },
    "zero_point_sign": {
        "en": ("The sign at the zero point is the wrong one.", "Put in 0.0 or its integer: what should come out?"),
        "zh-TW": ("zero point 那一步的正負號反了。", "把浮點 0 或它對應的整數代進去，應該得到什麼？"),
    },
    "wrapped": {
        "en": (
            "The difference was computed in 8 bits and wrapped around.",
            "How large can q − zero_point get? Does it fit into the dtype of q?",
        ),
        "zh-TW": ("相減時還是 8 位元，所以溢位了。", "q − zero_point 最大可能是多少？q 的 dtype 裝得下嗎？"),
    },
    "zero_point_unscaled": {
        "en": ("The zero point was subtracted after scaling.", "It is an integer, as q is. Which step comes first?"),
        "zh-TW": ("乘了 scale 才減 zero point。", "zero point 和 q 一樣是整數。哪一步該先做？"),
    },
    "scale_inverted": {
        "en": (
            "Multiplied where it should be divided, or the other way round.",
            "One integer step is worth one scale. Does the number grow or shrink here?",
        ),
        "zh-TW": ("該乘的地方除了，或是該除的地方乘了。", "一個整數單位等於一個 scale。這裡數字該變大還是變小？"),
    },
    "not_rounded": {
        "en": (
            "The fraction was cut off instead of rounded.",
            "Converting to an integer type cuts towards zero. What has to come before?",
        ),
        "zh-TW": ("小數直接被捨去，沒有捨入。", "轉成整數型別時，小數會直接去掉。在那之前少了哪一步？"),
    },
    "half_up": {
        "en": (
            "Halves were always rounded up.",
            "Look at the table: 0.5 and 1.5 both end between two integers. Which one do they take?",
        ),
        "zh-TW": ("正中間的值一律往上捨入了。", "表格裡的 0.5 和 1.5 都在兩個整數正中間，各取哪一個？"),
    },
    "half_away": {
        "en": (
            "Halves were rounded away from zero.",
            "Look at the table: 0.5 and 1.5 both end between two integers. Which one do they take?",
        ),
        "zh-TW": ("正中間的值都往遠離 0 的方向捨入了。", "表格裡的 0.5 和 1.5 都在兩個整數正中間，各取哪一個？"),
    },
    "rounded_late": {
        "en": (
            "The zero point was added before rounding.",
            "A half goes to the even neighbour, and adding an odd number changes which one that is.",
        ),
        "zh-TW": ("還沒捨入就加了 zero point。", "正中間的值取偶數，而加上奇數之後，奇偶就對調了。"),
    },
    "divided": {
        "en": (
            "Divided by the scale. The op multiplies by its reciprocal.",
            "Both are equal in mathematics, but each rounds otherwise, and then halves part.",
        ),
        "zh-TW": (
            "你是除以 scale，op 則是乘以它的倒數。",
            "兩者在數學上相等，浮點的捨入卻不同，正中間附近的值就會差 1。",
        ),
    },
    "limits_ignored": {
        "en": (
            "The integers were limited to those of the dtype, not to qmin and qmax.",
            "int8 can also hold 4-bit integers, from −8 to 7.",
        ),
        "zh-TW": ("整數截斷到 dtype 的範圍，而不是 qmin 到 qmax。", "int8 也可以用來存 4 位元的整數，也就是 −8 到 7。"),
    },
    "not_clamped": {
        "en": (
            "Values out of range were not limited.",
            "Converting to 8 bits does not stop at the ends: the bits beyond are dropped.",
        ),
        "zh-TW": ("超出範圍的值沒有截斷。", "轉成 8 位元時不會停在兩端，而是丟掉裝不下的 bit。"),
    },
    "clamped_early": {
        "en": (
            "The values were limited before the zero point was added.",
            "qmin and qmax are about the integers that come out. Which step is the last one?",
        ),
        "zh-TW": ("先截斷才加 zero point。", "qmin 和 qmax 管的是最後的整數。哪一步該放最後？"),
    },
    "zero_left_out": {
        "en": (
            "The range does not include 0.",
            "0.0 must fall on an integer, even if all values are positive. What does that do to lo and hi?",
        ),
        "zh-TW": ("範圍沒有包含 0。", "就算所有值都是正的，浮點 0 也要正好對應一個整數。lo 和 hi 要怎麼調整？"),
    },
    "no_eps": {
        "en": ("The scale became 0, or too small.", "Everything is divided by it. What is the smallest one allowed?"),
        "zh-TW": ("scale 變成 0，或是太小。", "後面都要除以它。scale 最小可以是多少？"),
    },
    "one_step_more": {
        "en": (
            "The range was divided into one step too many.",
            "From qmin to qmax, count the steps, not the integers.",
        ),
        "zh-TW": ("範圍多分了一格。", "從 qmin 到 qmax，要數的是格子，不是整數的個數。"),
    },
    "low_ignored": {
        "en": ("Symmetric: only hi was looked at.", "What if lo is further from 0?"),
        "zh-TW": ("symmetric：只看了 hi。", "如果 lo 離 0 更遠呢？"),
    },
    "largest_integer": {
        "en": (
            "Symmetric: divided by qmax.",
            "The observers divide by half of the steps. For −128 … 127, how many is that?",
        ),
        "zh-TW": ("symmetric：你除的是 qmax。", "observer 除的是格數的一半。−128 到 127 的話是多少？"),
    },
    "not_halved": {
        "en": (
            "Symmetric: the scale is half of what it should be.",
            "The range goes from −largest to +largest. How much of the integers does one side get?",
        ),
        "zh-TW": ("symmetric：scale 只有應有的一半。", "範圍是從 −largest 到 +largest，一側分到多少格？"),
    },
    "symmetric_zero_point": {
        "en": ("Symmetric: the zero point is not 0.", "Both sides are equally wide. Where is the middle?"),
        "zh-TW": ("symmetric：zero point 不是 0。", "兩側一樣寬，中間是哪裡？"),
    },
    "zero_point_from_zero": {
        "en": (
            "The zero point was counted from 0, not from qmin.",
            "lo becomes qmin. How many steps are there from lo to 0.0?",
        ),
        "zh-TW": ("zero point 是從 0 數起，不是從 qmin。", "lo 對應 qmin。從 lo 到浮點 0 有幾格？"),
    },
    "per_tensor": {
        "en": (
            "There is one scale for the whole tensor.",
            "Each channel has a largest value of its own. Which dimensions may be merged?",
        ),
        "zh-TW": ("整個 tensor 只有一個 scale。", "每個 channel 各有各的最大值。哪些維度可以合併？"),
    },
    "wrong_axis": {
        "en": ("The channels are always taken from dimension 0.", "axis says which dimension it is in this case."),
        "zh-TW": ("channel 一律取第 0 維。", "這一題的 channel 是哪一維，由 axis 決定。"),
    },
    "no_abs": {
        "en": ("Only the largest value of a channel was looked at.", "What if its smallest one is further from 0?"),
        "zh-TW": ("每個 channel 只看了最大值。", "如果最小值離 0 更遠呢？"),
    },
}

NUMBER_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "yes": "✓ {name}: right in all {total} random cases, bit for bit ({least} to {most} values).",
        "no": "✗ {name}: not yet. Case {number} of {total} fails; no smaller one does:",
        "line": "{place}:  wanted {wanted}, came {came}",
        "try": "To try it by hand: {name}(*check.args)",
    },
    "zh-TW": {
        "yes": "✓ {name}：{total} 題隨機的題目全部正確，每個 bit 都相同（{least} 到 {most} 個值）。",
        "no": "✗ {name}：還不對。共 {total} 題，第 {number} 題出錯，這是出錯的題目裡最小的：",
        "line": "{place}：應為 {wanted}，實際 {came}",
        "try": "想自己試一次：{name}(*check.args)",
    },
}
