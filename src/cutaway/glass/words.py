"""One or two sentences a student understands, for every rule, in English and Chinese.

{out} is the name of the result, {0}, {1}, … those of the operands, {n} the number of terms.
"""

WORDS: dict[str, tuple[str, str]] = {
    "contraction": (
        "A row of {0} times a column of {1}: {n} products, added up. It is large where the "
        "two point the same way.",
        "{0} 的一行与 {1} 的一列逐项相乘再相加，共 {n} 项；两者方向越一致，结果越大。",
    ),
    "affine": (
        "A weighted sum of the {n} numbers in a row of {0}, with learned weights from {1}, "
        "plus a learned offset.",
        "{0} 的一行（{n} 个数）按学到的权重 {1} 加权求和，再加上偏置。",
    ),
    "softmax": (
        "The scores of a row become shares that add up to 1: each is raised to a power of "
        "e and divided by the sum. Subtracting the largest first changes nothing but keeps "
        "the numbers small.",
        "把一行分数变成和为 1 的权重：各取 e 的幂，再除以总和。先减去最大值不改变结果，只是"
        "避免数值过大。",
    ),
    "log_softmax": (
        "The logarithm of the softmax: the score minus the logarithm of the sum of all "
        "e-powers in its row.",
        "softmax 的对数：分数减去该行所有 e 的幂之和的对数。",
    ),
    "softmax_backward": (
        "How the loss changes with a score: the weight times the difference between its "
        "own gradient and the row's average gradient.",
        "损失对分数的变化率：权重乘以（自身梯度减去该行按权重平均的梯度）。",
    ),
    "log_softmax_backward": (
        "The gradient of a logit: its own gradient minus its probability times the sum of "
        "the row's gradients.",
        "logit 的梯度：自身梯度减去其概率乘以该行梯度之和。",
    ),
    "layer_norm": (
        "The row is shifted to mean 0 and scaled to spread 1, then stretched and shifted "
        "by two learned numbers.",
        "把一行平移到均值 0、缩放到方差 1，再用两个学到的数拉伸和平移。",
    ),
    "batch_norm": (
        "The channel is shifted and scaled by the batch's mean and spread, then by two "
        "learned numbers.",
        "按整批的均值和方差平移缩放该通道，再用两个学到的数调整。",
    ),
    "layer_norm_backward": (
        "The gradient through the norm: what would only shift or stretch the whole row is "
        "taken out.",
        "穿过归一化的梯度：去掉只会整体平移或缩放该行的部分。",
    ),
    "batch_norm_backward": (
        "The gradient through the norm: what would only shift or stretch the whole channel "
        "is taken out.",
        "穿过归一化的梯度：去掉只会整体平移或缩放该通道的部分。",
    ),
    "norm_weight_backward": (
        "The gradient of a norm's weight: gradient times normalised value, summed over all "
        "positions.",
        "归一化权重的梯度：梯度乘以归一化后的值，对所有位置求和。",
    ),
    "rstd": (
        "One over the spread of the row: 1/√(mean squared deviation + a tiny number "
        "against division by 0).",
        "该行标准差的倒数：1/√（方差 + 防止除零的极小数）。",
    ),
    "mean": (
        "The average of {n} numbers.",
        "{n} 个数的平均值。",
    ),
    "sum": (
        "The sum of {n} numbers.",
        "{n} 个数之和。",
    ),
    "prod": (
        "The product of {n} numbers.",
        "{n} 个数之积。",
    ),
    "max": (
        "The largest of {n} numbers.",
        "{n} 个数中的最大值。",
    ),
    "min": (
        "The smallest of {n} numbers.",
        "{n} 个数中的最小值。",
    ),
    "argmax": (
        "The place of the largest of {n} numbers.",
        "{n} 个数中最大者的位置。",
    ),
    "argmin": (
        "The place of the smallest of {n} numbers.",
        "{n} 个数中最小者的位置。",
    ),
    "lookup": (
        "Nothing is computed: the number is read from {0} at the place that an id says.",
        "没有计算：按编号从 {0} 中取出。",
    ),
    "scatter": (
        "The numbers that aim at this place are put (or added up) here; places nothing "
        "aims at keep what they had.",
        "指向这里的数被放入（或相加）；没有数指向的位置保持原样。",
    ),
    "join": (
        "Nothing is computed: tensors are laid side by side.",
        "没有计算：把几个张量拼接在一起。",
    ),
    "overwrite": (
        "A part of the tensor was written in place; this cell shows what stands there now.",
        "张量的一部分被原地改写，这里是现在的数值。",
    ),
    "pad": (
        "The tensor with a border of one constant around it.",
        "在张量四周补上同一个常数。",
    ),
    "copy": (
        "Nothing is computed: the same number, copied.",
        "没有计算：同一个数的副本。",
    ),
    "view": (
        "Nothing is computed: the same number, seen in another shape.",
        "没有计算：同一个数，换了形状来看。",
    ),
    "cast": (
        "The same number in another number type.",
        "同一个数，换成另一种数值类型。",
    ),
    "add": (
        "Two numbers at the same place, added.",
        "同一位置的两个数相加。",
    ),
    "sub": (
        "The difference of two numbers at the same place.",
        "同一位置的两个数相减。",
    ),
    "mul": (
        "Two numbers at the same place, multiplied.",
        "同一位置的两个数相乘。",
    ),
    "div": (
        "A number divided by another.",
        "一个数除以另一个数。",
    ),
    "square": (
        "The number times itself.",
        "这个数乘以自己。",
    ),
    "relu": (
        "Negative numbers become 0, the others stay.",
        "负数变为 0，其余不变。",
    ),
    "gelu": (
        "The number times the chance that a normal draw is smaller: a smooth version of ReLU.",
        "这个数乘以正态变量小于它的概率：ReLU 的平滑版本。",
    ),
    "silu": (
        "The number times its own sigmoid.",
        "这个数乘以它自己的 sigmoid。",
    ),
    "masked_fill": (
        "Where the mask forbids, a fixed number (−∞: attention may not look there); "
        "elsewhere the number stays.",
        "被遮住的位置填上固定的数（−∞ 表示注意力不能看这里），其余不变。",
    ),
    "where": (
        "One of two numbers, chosen by a condition.",
        "按条件在两个数中取一个。",
    ),
    "dropout": (
        "Dropout: some numbers, drawn at random, become 0; the rest grow so that the "
        "average stays.",
        "Dropout：随机抽中的数变为 0，其余放大，使平均值不变。",
    ),
    "nll_loss": (
        "The average of minus the log-probability that the model gave to the right words.",
        "模型给正确词的对数概率取负后的平均值。",
    ),
    "nll_loss_backward": (
        "The loss only looks at the right word: its gradient is −1 over the number of "
        "words, all others 0.",
        "损失只看正确的词：其梯度为负的词数倒数，其余为 0。",
    ),
    "relu_backward": (
        "The gradient passes where the number was positive, and stops elsewhere.",
        "数为正处梯度通过，其余处被截断。",
    ),
    "lerp": (
        "A mixture of the old number and the new one: a running average.",
        "旧数与新数按比例混合：滑动平均。",
    ),
    "addcdiv": (
        "The number moves a step against the smoothed gradient, divided by its usual size.",
        "沿平滑后的梯度反方向走一步，步长除以梯度的常见大小。",
    ),
    "addcmul": (
        "A number plus a scaled product of two others.",
        "一个数加上另外两数之积的倍数。",
    ),
    "convolution": (
        "A small window of {0} times a learned pattern from {1}, summed over {n} places.",
        "{0} 的一个小窗口与学到的图样 {1} 相乘，对 {n} 处求和。",
    ),
    "max_pool": (
        "The largest number in a small window.",
        "小窗口中的最大值。",
    ),
    "avg_pool": (
        "The average of a small window.",
        "小窗口的平均值。",
    ),
    "parameter": (
        "A learned number: training put it here.",
        "学到的参数：由训练得出。",
    ),
    "buffer": (
        "A fixed number that belongs to the model.",
        "属于模型的固定数值。",
    ),
    "input": (
        "An input: it came from outside the run.",
        "输入：来自运行之外。",
    ),
    "constant": (
        "A constant of the program.",
        "程序中的常数。",
    ),
    "random": (
        "A random draw, written down when it was made.",
        "随机抽取的数，抽取时已记录。",
    ),
    "uninitialised": (
        "Memory that nothing had been written to yet.",
        "尚未写入内容的内存。",
    ),
    "opaque": (
        "This operation has no rule here: its inputs are known, its arithmetic is not shown.",
        "这个运算没有规则：只知道它的输入，不显示其算术。",
    ),
}

_GENERIC = (
    "Computed cell by cell with the operation “{rule}”.",
    "逐格计算，运算为“{rule}”。",
)


def words(rule: str) -> dict[str, str]:
    """The sentences of a rule, by language."""
    english, chinese = WORDS.get(rule, _GENERIC)
    return {"en": english.replace("{rule}", rule), "zh": chinese.replace("{rule}", rule)}


def fill(sentence: str, out: str, names: list[str], terms: int) -> str:
    """A sentence with the names put in."""
    sentence = sentence.replace("{out}", out).replace("{n}", str(terms))
    for place, name in enumerate(names):
        sentence = sentence.replace(f"{{{place}}}", name)
    return sentence
