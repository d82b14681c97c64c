"""Many sentences at once: padding, truncation, and what a maximum length costs.

Part of the lesson `translate-a-sentence`.
"""

from collections.abc import Iterator
from itertools import pairwise

import torch

from cutaway.decode import Translator
from cutaway.lessons.lesson import Claim, Matrix, Picture, Question, Said, Series, Step

SENTENCES = (
    "The cat is on the mat.",
    "I love AI.",
    "There is a miniature Eiffel tower on the table.",
)
LENGTHS = (32, 64, 128, 256, 512, 1024)


def batch_steps(translator: Translator) -> Iterator[Step]:
    """Padding, then truncation and the maximum length."""
    yield _padding(translator)
    yield _truncation(translator)


def _padding(translator: Translator) -> Step:
    model, tokenizer = translator.model, translator.tokenizer
    rows = [tokenizer.encode(text, end=True) for text in SENTENCES]
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[tokenizer.pad] * (longest - len(row))] for row in rows])
    with torch.no_grad():
        together = model.encode(ids)
        alone = [model.encode(torch.tensor([row]))[0] for row in rows]
    gap = max(
        float((together[at, : len(row)] - alone[at]).abs().max()) for at, row in enumerate(rows)
    )
    empty = 1 - sum(map(len, rows)) / ids.numel()
    batched = [one.text for one in translator.translate(list(SENTENCES), beam=1)]
    single = [translator.translate([text], beam=1)[0].text for text in SENTENCES]
    lines = "\n".join(f"  {a} → {b}" for a, b in zip(SENTENCES, batched, strict=True))
    return Step(
        title=Said("A batch: padded to one length", "一个批次：补齐到同一长度"),
        text=Said(
            "Sentences differ in length, a tensor does not. Short ones are filled up with a "
            f"padding token (id {tokenizer.pad}), and the mask keeps everyone from attending to "
            f"it. {empty:.0%} of this batch is padding: computed and thrown away. That is why "
            f"batches are made of sentences of similar length.\n{lines}",
            f"句子长短不一，张量却必须整齐。短句用填充词元（id {tokenizer.pad}）补齐，"
            f"掩码不让任何位置去看它。这个批次里 {empty:.0%} 是填充：算了又扔。"
            f"所以批次要用长度相近的句子来组。\n{lines}",
        ),
        matrices=(
            Matrix(
                Said("token ids", "词元 id"),
                ids,
                rows=[f"“{text}”" for text in SENTENCES],
                columns=[str(number) for number in range(longest)],
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Padding and batch mates change nothing: each sentence is encoded as if alone "
                    f"(gap {gap:.1g})",
                    f"填充和同批的句子不改变任何结果：每句都像单独编码一样（误差 {gap:.1g}）",
                ),
                gap < 1e-3,
            ),
            Claim(Said("The translations are the same, too", "译文也相同"), batched == single),
        ),
        question=Question(
            Said("What would happen without the mask?", "如果没有掩码会怎样？"),
            Said(
                "Words would attend to padding, and a sentence's result would depend on the "
                "longest one beside it.",
                "词会去关注填充，一句话的结果就会取决于旁边最长的那句。",
            ),
        ),
        codes=("C28",),
    )


def _truncation(translator: Translator) -> Step:
    model, tokenizer = translator.model, translator.tokenizer
    text = SENTENCES[2]
    pieces = tokenizer.encode(text)
    kept = (len(pieces), 2 * len(pieces) // 3, len(pieces) // 3)
    cut = [tokenizer.decode(pieces[:count]) for count in kept]
    outputs = [one.text for one in translator.translate(cut, beam=1)]
    lines = "\n".join(f"  {a} → {b}" for a, b in zip(cut, outputs, strict=True))
    layers = model.config.encoder_layers
    megabytes = [layers * model.config.heads * length**2 * 4 / 1e6 for length in LENGTHS]
    return Step(
        title=Said("Truncation, and the price of a maximum length", "截断，以及最大长度的代价"),
        text=Said(
            f"This model takes at most {model.config.max_length} tokens. What is longer must be "
            "cut, split into sentences, or left out. Cutting loses what comes after the cut:\n"
            f"{lines}\n"
            "A larger maximum costs: the attention weights grow with the square of the length. "
            "Below: megabytes of weights for one sentence, all heads and encoder layers, in "
            "float32.",
            f"这个模型最多接受 {model.config.max_length} 个词元。"
            "更长的要么截断，要么分句，要么舍弃。"
            f"截断会丢掉后面的内容：\n{lines}\n"
            "最大长度也不是越大越好：注意力权重随长度的平方增长。"
            "下面是一句话在编码器所有头、所有层的权重占多少兆字节（float32）。",
        ),
        pictures=(
            Picture(
                Said("megabytes of attention weights", "注意力权重（兆字节）"),
                "bars",
                (Series("", LENGTHS, megabytes, [str(length) for length in LENGTHS]),),
            ),
        ),
        claims=(
            Claim(
                Said("Twice the length, four times the weights", "长度加倍，权重变四倍"),
                all(abs(large / small - 4) < 1e-9 for small, large in pairwise(megabytes)),
            ),
            Claim(
                Said("A cut sentence gets another translation", "截断的句子译文不同"),
                outputs[0] != outputs[2],
            ),
        ),
        codes=("C28",),
    )
