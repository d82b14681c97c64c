"""What company does to a word (E4, E5, E9): vectors before and after each layer, ΔE and its parts.

ΔE_i = Σ_head Σ_j weight_ij · value_j W_O + b_O, and E′ = E + ΔE
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import torch

from cutaway.corpus.embedded import SOURCES_SENTENCES
from cutaway.decode import Translator
from cutaway.lessons.encoder_reading import Reading
from cutaway.lessons.lesson import (
    Claim,
    Control,
    Lesson,
    Matrix,
    Picture,
    Question,
    Said,
    Series,
    Step,
)
from cutaway.lessons.room import Room
from cutaway.lessons.trained_run import angle

MOLES = ("American shrew mole.", "One mole of carbon dioxide.", "Take a biopsy of the mole.")
SENSES = {"fr": ("taupe", "mole", "grain de beauté"), "zh": ("鼹鼠", "摩尔", "痣")}
TOWERS = (
    "There is a tower on the hill.",
    "The Eiffel tower is in Paris.",
    "There is a miniature Eiffel tower on the table.",
)
CREATURE = "A fluffy blue creature roamed the verdant forest."
SWAPS = (("blue", "green"), ("creature", "duck"), ("forest", "park"))


def tell(room: Room) -> Iterator[Step]:
    """The lesson, step by step."""
    translator = room.translator
    moles = [Reading(translator, text) for text in MOLES]
    yield _three_moles(translator, moles)
    yield _angles(moles, "mole", Said("The senses part", "词义分开"), ("E4",))
    yield _parts(moles[1], "mole")
    towers = [Reading(translator, text) for text in TOWERS]
    yield _towers(translator, towers)
    creature = Reading(translator, room.choice("sentence", CREATURE))
    yield _every_position(creature)
    yield _swaps(translator)


def _expected(translator: Translator, text: str) -> str | None:
    languages = translator.folder.languages or ("en", "fr")
    return dict(SOURCES_SENTENCES.get("-".join(languages), ())).get(text)


def _three_moles(translator: Translator, moles: Sequence[Reading]) -> Step:
    languages = translator.folder.languages or ("en", "fr")
    senses = SENSES.get(languages[1], SENSES["fr"])
    tokens = [reading.stations("mole")[0] for reading in moles]
    same = all(bool(torch.equal(tokens[0], token)) for token in tokens[1:])
    outputs = [reading.run.text for reading in moles]
    told = [sense in output.lower() for sense, output in zip(senses, outputs, strict=True)]
    lines = "\n".join(f"  {text} → {output}" for text, output in zip(MOLES, outputs, strict=True))
    return Step(
        title=Said("One word, three meanings", "一个词，三种意思"),
        text=Said(
            "A mole digs, counts molecules, or sits on the skin. In the embedding table all "
            "three are the same row. Still the model translates each rightly; so something "
            f"between table and output must have told them apart.\n{lines}",
            "mole 可以是挖洞的鼹鼠，可以是计数分子的摩尔，也可以是皮肤上的痣。"
            "在嵌入表里三者是同一行，可模型却各译各的；"
            f"那么从表到输出之间，一定有什么把它们分开了。\n{lines}",
        ),
        matrices=(
            Matrix(
                "E(mole) = table[mole]",
                torch.stack(tokens)[:, :8],
                rows=[f"“{text}”" for text in MOLES],
                columns=[f"d{number}" for number in range(8)],
                digits=3,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "The three start from the same numbers, to the last bit",
                    "三者从完全相同的数字出发，一位不差",
                ),
                same,
            ),
            Claim(
                Said(
                    "Each sense gets its own word in the translation: " + ", ".join(senses),
                    "三种意思各有各的译法：" + "、".join(senses),
                ),
                all(told),
            ),
        ),
        question=Question(
            Said(
                "Where can the difference come from, if not from the table?",
                "既然不在嵌入表里，差别能从哪里来？",
            ),
            Said(
                "From the other words: attention is the only place where positions meet.",
                "来自其他词：只有注意力让不同位置相互交流。",
            ),
        ),
        trace=moles[1].run.trace,
        show=f"embedding.tokens[0,{moles[1].place('mole')},0]",
        codes=("E4",),
    )


def _angles(readings: Sequence[Reading], word: str, title: Said, codes: Sequence[str]) -> Step:
    stations = [reading.stations(word) for reading in readings]
    names = _station_names(len(stations[0]) - 3)
    pairs = list(combinations(range(len(readings)), 2))
    degrees = torch.tensor(
        [
            [angle(one, other) for one, other in zip(stations[a], stations[b], strict=True)]
            for a, b in pairs
        ]
    )
    rows = [f"{a + 1} – {b + 1}" for a, b in pairs]
    most = names[int(degrees.diff(dim=1).mean(0).argmax()) + 1]
    wider = bool((degrees[:, -1] > degrees[:, 1] + 5).all())
    return Step(
        title=title,
        text=Said(
            f"Follow the vector of “{word}” through the encoder and measure the angle between "
            "the sentences after each stage. In the table it is zero. Positions turn it a "
            "little, for the word stands at another place. Then each layer lets the neighbours "
            "speak, and the senses part.",
            f"跟着“{word}”的向量走过编码器，量一量各句之间在每一步之后的夹角。"
            "在嵌入表里夹角是零；加上位置编码稍有转动，因为词所在的位置不同；"
            "之后每一层都让邻居说话，词义便分开了。",
        ),
        matrices=(Matrix(Said("angle in degrees", "夹角（度）"), degrees, rows, names, digits=1),),
        pictures=(
            Picture(
                Said("degrees between the sentences", "各句之间的夹角（度）"),
                "curves",
                [
                    Series(rows[number], list(range(len(names))), degrees[number].tolist())
                    for number in range(len(pairs))
                ],
                x=Said("stage", "阶段"),
                y=Said("degrees", "度"),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Zero in the table, and wider after the layers than after positions alone",
                    "在表里为零；经过各层之后，比只加位置时更大",
                ),
                bool((degrees[:, 0] < 1e-3).all()) and wider,
            ),
        ),
        question=Question(
            Said("After which stage will the angle grow most?", "你猜在哪一步之后夹角增长最多？"),
            Said(
                f"After “{most.en}”, on average here.",
                f"这里平均在“{most.zh}”之后。",
            ),
        ),
        trace=readings[0].run.trace,
        show=f"encoder.memory[0,{readings[0].place(word)},0]",
        codes=codes,
    )


def _station_names(layers: int) -> list[Said]:
    return [
        Said("table", "嵌入表"),
        Said("+ position", "加位置"),
        *(Said(f"layer {n + 1}", f"第 {n + 1} 层") for n in range(layers)),
        Said("memory", "编码器输出"),
    ]


def _parts(reading: Reading, word: str) -> Step:
    layers = range(reading.model.config.encoder_layers)
    updates = [reading.update(word, layer) for layer in layers]
    first = updates[0]
    heads = [
        Said(f"head {number + 1}", f"第 {number + 1} 头") for number in range(len(first.parts))
    ]
    lengths = first.parts.sum(0).norm(dim=1)
    largest = float(first.shares.sum(0).max())
    strongest = reading.words[int(first.shares.sum(0).argmax())]
    place = reading.place(word)
    return Step(
        title=Said("ΔE, word by word and head by head", "ΔE：逐词逐头拆开"),
        text=Said(
            f"Attention writes ΔE onto “{word}”: each head takes the value of each word, weighs "
            "it, and W_O carries it back to the full width. All of this is addition, so ΔE comes "
            "apart exactly: one part for every head and word, and the bias. The table gives each "
            f"part's share along ΔE; all shares and the bias add up to 1. In the first layer the "
            f"most comes from “{strongest}”.",
            f"注意力把 ΔE 写到“{word}”上：每个头取每个词的 value，乘上权重，再由 W_O 变回完整宽度。"
            "这全是加法，所以 ΔE 可以精确地拆开：每个头、每个词各一份，再加偏置。"
            "表中是各份在 ΔE 方向上所占的比例，全部加上偏置正好是 1。"
            f"第一层里贡献最大的是“{strongest}”。",
        ),
        matrices=(
            *(
                Matrix(
                    Said(
                        f"share of ΔE({word}), layer {layer + 1}",
                        f"ΔE({word}) 的份额，第 {layer + 1} 层",
                    ),
                    torch.cat([updates[layer].shares, updates[layer].shares.sum(0, True)]),
                    rows=[*heads, "Σ"],
                    columns=reading.words,
                    digits=2,
                )
                for layer in layers
            ),
            Matrix(
                Said("‖part‖, layer 1", "‖份‖，第 1 层"), lengths, columns=reading.words, digits=2
            ),
        ),
        claims=(
            Claim(
                Said(
                    "The parts and the bias add up to ΔE in every layer (largest gap "
                    f"{max(update.error for update in updates):.1g})",
                    "每一层里，各份加上偏置都等于 ΔE（最大误差 "
                    f"{max(update.error for update in updates):.1g}）",
                ),
                all(update.error < 1e-4 for update in updates),
            ),
            Claim(
                Said("E′ = E + ΔE, number by number", "E′ = E + ΔE，逐个数成立"),
                _added(reading, place),
            ),
        ),
        question=Question(
            Said(
                f"Which word do you think changes “{word}” most here?",
                f"你猜这里哪个词对“{word}”改变最大？",
            ),
            Said(
                f"“{strongest}”, by {largest:.0%} of ΔE in the first layer.",
                f"“{strongest}”，占第一层 ΔE 的 {largest:.0%}。",
            ),
        ),
        trace=reading.run.trace,
        show=f"encoder.layers.0.self_attention_add_norm.added[0,{place},0]",
        codes=("E4", "E9"),
    )


def _added(reading: Reading, place: int) -> bool:
    """Whether the residual sum of the first layer is what was there, plus the sublayer's output."""
    run = reading.run
    before = run.numbers("encoder.states")[0, place]
    change = run.numbers("encoder.layers.0.self_attention.output")[0, place]
    after = run.numbers("encoder.layers.0.self_attention_add_norm.added")[0, place]
    return bool(torch.allclose(before + change, after, atol=1e-5))


def _towers(translator: Translator, towers: Sequence[Reading]) -> Step:
    lines = "\n".join(
        f"  {text} → {reading.run.text}" for text, reading in zip(TOWERS, towers, strict=True)
    )
    updates = [reading.update("tower", 0) for reading in towers]
    shares = [update.shares.sum(0) for update in updates]
    eiffel = float(shares[1][towers[1].words.index("Eiffel")])
    both = sum(float(shares[2][towers[2].words.index(word)]) for word in ("miniature", "Eiffel"))
    stations = [reading.stations("tower") for reading in towers]
    degrees = [angle(stations[0][-1], other[-1]) for other in stations]
    apart = all(  # beyond what the other position alone does
        angle(stations[a][-1], stations[b][-1]) > angle(stations[a][1], stations[b][1]) + 5
        for a, b in combinations(range(len(stations)), 2)
    )
    sums = max(update.error for update in updates) < 1e-4
    right = all(
        _expected(translator, text) in (None, reading.run.text)
        for text, reading in zip(TOWERS, towers, strict=True)
    )
    return Step(
        title=Said("Tower, Eiffel tower, miniature Eiffel tower", "塔、埃菲尔铁塔、微型埃菲尔铁塔"),
        text=Said(
            "Some tower; then the one in Paris; then one that fits on a table. Each added word "
            f"moves the vector of “tower”.\n{lines}\n"
            f"“Eiffel” alone brings {eiffel:.0%} of ΔE in the first layer; “miniature” and "
            f"“Eiffel” together {both:.0%}. The finished vectors stand {degrees[1]:.0f}° and "
            f"{degrees[2]:.0f}° from the plain tower.",
            "先是随便一座塔，再是巴黎那一座，最后是能放在桌上的一座。"
            f"每多一个词，“tower”的向量就移动一次。\n{lines}\n"
            f"第一层的 ΔE 中，“Eiffel”独占 {eiffel:.0%}；"
            f"“miniature”和“Eiffel”合占 {both:.0%}。"
            f"最终的向量与普通的塔相差 {degrees[1]:.0f}° 和 {degrees[2]:.0f}°。",
        ),
        matrices=[
            Matrix(
                Said(
                    f"share of ΔE(tower), layer 1: “{text}”",
                    f"ΔE(tower) 的份额，第 1 层：“{text}”",
                ),
                share,
                columns=reading.words,
                digits=2,
            )
            for text, share, reading in zip(TOWERS, shares, towers, strict=True)
        ],
        claims=(
            Claim(
                Said(
                    "No two of the finished towers are the same: they part by more than their "
                    "positions",
                    "三座塔最终的向量互不相同：相差大于位置造成的夹角",
                ),
                apart,
            ),
            Claim(
                Said(
                    "The words' parts and the bias add up to ΔE in all three sentences",
                    "三句话里，各词的部分加上偏置都等于 ΔE",
                ),
                sums,
            ),
            Claim(Said("Each tower gets its own translation", "每座塔都译得各如其分"), right),
        ),
        question=Question(
            Said(
                "Must “tower” itself change when “Eiffel” stands before it?",
                "前面有 “Eiffel” 时，“tower”本身必须变吗？",
            ),
            Said(
                "Nothing forces it, but the decoder reads tower's vector, and this one changed.",
                "没有什么强迫它，但解码器读的是 tower 的向量，而这里它确实变了。",
            ),
        ),
        trace=towers[1].run.trace,
        show=f"encoder.layers.0.self_attention.softmax[0,0,{towers[1].place('tower')},1]",
        codes=("E4",),
    )


def _every_position(reading: Reading) -> Step:
    layers = range(reading.model.config.encoder_layers)
    words = reading.words
    flows = []
    errors = []
    for layer in layers:
        updates = [reading.update(number, layer) for number in range(len(words))]
        errors += [update.error for update in updates]
        flows.append(torch.stack([update.parts.sum(0).norm(dim=1) for update in updates]))
    total = torch.stack(flows).sum(0)  # (words, words)
    return Step(
        title=Said("Every position at once", "所有位置同时更新"),
        text=Said(
            "What happened to one word happens to all: every position gets its own ΔE in the "
            "same step, and all of them together are two matrix products. Rows are the words "
            "that change, columns the words they take from; a cell is the length of the part "
            "brought, over all heads and layers.\n"
            f"  {' '.join(words[:-1])} → {reading.run.text}",
            "发生在一个词上的事同时发生在所有词上：每个位置在同一步得到自己的 ΔE，"
            "合起来不过是两次矩阵乘法。行是被更新的词，列是它取用的词；"
            "格子里是所带来部分的长度，对所有头和层求和。\n"
            f"  {' '.join(words[:-1])} → {reading.run.text}",
        ),
        matrices=(
            Matrix(
                Said("‖part‖ (row takes from column)", "‖份‖（行从列取用）"),
                total,
                words,
                words,
                digits=1,
            ),
        ),
        claims=(
            Claim(
                Said(
                    f"For each of {len(errors)} updates the parts add up to ΔE",
                    f"{len(errors)} 次更新，每一次各份之和都等于 ΔE",
                ),
                max(errors) < 1e-4,
            ),
        ),
        controls=(Control("sentence", Said("Sentence", "句子"), "text", room_text(reading)),),
        trace=reading.run.trace,
        show="encoder.layers.0.self_attention.output[0,0,0]",
        codes=("E5", "E9"),
    )


def room_text(reading: Reading) -> str:
    """The sentence as it was given: words with spaces, marks without."""
    text = ""
    for word in reading.words[:-1]:  # without <end>
        text += word if not word[0].isalnum() or not text else f" {word}"
    return text


def _swaps(translator: Translator) -> Step:
    before = Reading(translator, CREATURE)
    watched = ("fluffy", "blue", "creature", "verdant", "forest")
    old = {word: before.stations(word)[-1] for word in watched}
    turned, lines = [], []
    for gone, come in SWAPS:
        text = CREATURE.replace(gone, come)
        after = Reading(translator, text)
        now = {word: after.stations(come if word == gone else word)[-1] for word in watched}
        turned.append({word: angle(old[word], now[word]) for word in watched})
        lines.append(f"  {text} → {after.run.text}")
    listed = "\n".join(lines)
    colour, noun, place = turned
    adjective = max(noun["fluffy"], noun["blue"])
    if adjective > colour["creature"]:
        flow = Said(
            "So here the stronger flow runs the other way: a language whose adjectives agree "
            "with their noun must know, at blue, what is blue.",
            "可见这里更强的流动是反方向的：如果目标语言的形容词要与名词配合，"
            "那么在 blue 处就必须知道蓝的是什么。",
        )
    else:
        flow = Said(
            "So here the colour reaches its noun, as drawn.",
            "可见这里颜色确实传给了名词，如图所画。",
        )
    return Step(
        title=Said("Adjectives and their noun", "形容词与它的名词"),
        text=Said(
            "The usual picture: fluffy and blue change creature. Measure it: swap one word, and "
            "see how far the finished vector of every other word turns.\n"
            f"{listed}\n"
            f"Another colour turns creature by {colour['creature']:.0f}°, forest by "
            f"{colour['forest']:.0f}°. Another noun turns one of its adjectives by "
            f"{adjective:.0f}°. {flow.en} The model learns what its task needs, not what a "
            "drawing shows.",
            "通常的图景是：fluffy 和 blue 改变 creature。来量一量：换掉一个词，"
            f"看其他每个词最终的向量转动多少。\n{listed}\n"
            f"换个颜色，creature 转 {colour['creature']:.0f}°，forest 转 {colour['forest']:.0f}°；"
            f"换个名词，它的形容词最多转 {adjective:.0f}°。{flow.zh}"
            "模型学的是任务所需，而不是示意图所画。",
        ),
        matrices=(
            Matrix(
                Said("turned by, degrees", "转动角度（度）"),
                torch.tensor([[row[word] for word in watched] for row in turned]),
                [f"{gone} → {come}" for gone, come in SWAPS],
                watched,
                digits=1,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Another noun turns one of its own adjectives more than verdant",
                    "换掉名词，它自己的形容词转得比 verdant 多",
                ),
                adjective > noun["verdant"],
            ),
            Claim(
                Said(
                    "Another forest turns verdant more than blue",
                    "换掉 forest，verdant 转得比 blue 多",
                ),
                place["verdant"] > place["blue"],
            ),
        ),
        question=Question(
            Said(
                "creature becomes duck: which adjective should notice?",
                "creature 换成 duck：哪些形容词会察觉？",
            ),
            Said(
                f"Its own: fluffy {noun['fluffy']:.0f}°, blue {noun['blue']:.0f}°, "
                f"but verdant {noun['verdant']:.0f}°.",
                f"它自己的：fluffy {noun['fluffy']:.0f}°，blue {noun['blue']:.0f}°，"
                f"而 verdant 只有 {noun['verdant']:.0f}°。",
            ),
        ),
        trace=before.run.trace,
        show="encoder.layers.0.self_attention.softmax[0,0,0,0]",
        codes=("E5",),
    )


LESSON = Lesson(
    name="context",
    title=Said("What company does to a word", "词随语境而变"),
    about=Said(
        "mole in three sentences, three towers, a blue creature: ΔE taken apart exactly.",
        "三句话里的 mole、三座塔、一只蓝色生物：把 ΔE 精确拆开。",
    ),
    tell=tell,
    trained=True,
)
