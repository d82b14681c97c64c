"""“The cat is on the mat.” through a trained model, with the shape of everything.

Covers C1–C3, C9–C13, C17–C20, C23–C25, C27, C28, D1–D9, E6, E7, E10; blocks and batches are in
`translate_blocks` and `translate_batches`.
"""

from collections.abc import Iterator

import torch

from cutaway.decode import Translator
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
from cutaway.lessons.trained_run import SentenceRun, sentence_run, shown
from cutaway.lessons.translate_batches import batch_steps
from cutaway.lessons.translate_blocks import block_steps

SENTENCE = "The cat is on the mat."


def tell(room: Room) -> Iterator[Step]:
    """The lesson, step by step."""
    translator = room.translator
    run = sentence_run(translator, room.choice("sentence", SENTENCE))
    yield _overview(translator, run, room.choice("sentence", SENTENCE))
    yield _shapes(translator, run)
    yield _parallel(translator, run)
    yield from block_steps(translator, run, room)
    yield _cross(translator, run)
    yield _explanation(translator, run)
    yield _output(run)
    yield _inference(translator, run, room.choice("sentence", SENTENCE))
    yield from batch_steps(translator)


def _overview(translator: Translator, run: SentenceRun, sentence: str) -> Step:
    model = translator.model
    counts = model.parameter_counts()
    fed = all(
        torch.allclose(
            run.numbers("encoder.memory") @ run.numbers(f"{part}.W_K.weight").T
            + (run.numbers(f"{part}.W_K.bias") if model.config.bias else 0.0),
            run.numbers(f"{part}.W_K.output"),
            atol=1e-4,
        )
        for part in (
            f"decoder.layers.{layer}.cross_attention"
            for layer in range(model.config.decoder_layers)
        )
    )
    layers = [dict(layer.named_parameters()) for layer in model.encoder.layers]  # type: ignore[union-attr]
    alike = all(
        {name: tensor.shape for name, tensor in layer.items()}
        == {name: tensor.shape for name, tensor in layers[0].items()}
        for layer in layers
    )
    own = all(
        not torch.equal(layers[0]["self_attention.W_Q.weight"], layer["self_attention.W_Q.weight"])
        for layer in layers[1:]
    )
    return Step(
        title=Said("A sentence in, a sentence out", "一句进，一句出"),
        text=Said(
            f"{sentence} → {run.text}\n"
            "Two stacks do it. The encoder reads the source and gives one vector a token, the "
            "context; the paper calls it memory. The decoder writes the target, token by token, "
            "and looks at this memory in each of its layers. "
            f"Here {model.config.encoder_layers} layers read and {model.config.decoder_layers} "
            "write; the paper has 6 and 6, others 12, and the two need not be equal. All layers "
            "of a stack have the same shape, but each has weights of its own.",
            f"{sentence} → {run.text}\n"
            "由两摞层完成。编码器读原文，每个词元给出一个向量，即语境，论文里叫 memory；"
            "解码器逐个词元写译文，它的每一层都会看这份 memory。"
            f"这里编码器 {model.config.encoder_layers} 层，"
            f"解码器 {model.config.decoder_layers} 层；"
            "论文是 6 和 6，也有用 12 层的，两边不必相等。同一摞里各层形状相同，权重各自独立。",
        ),
        matrices=(
            Matrix(
                Said("learned numbers", "学到的参数个数"),
                [float(count) for count in counts.values()],
                columns=list(counts),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "The same memory feeds the keys of every decoder layer",
                    "同一份 memory 供给解码器每一层的键",
                ),
                fed,
            ),
            Claim(
                Said(
                    "Encoder layers are alike in shape, and differ in weights",
                    "编码器各层形状相同，权重不同",
                ),
                alike and own,
            ),
        ),
        controls=(Control("sentence", Said("Sentence", "句子"), "text", sentence),),
        question=Question(
            Said(
                "How many vectors does the encoder hand over for this sentence?",
                "编码器为这句话交出多少个向量？",
            ),
            Said(
                f"{len(run.source)}: one a token, <end> included, each "
                f"{model.config.d_model} numbers wide.",
                f"{len(run.source)} 个：每个词元一个，包括 <end>，每个 {model.config.d_model} 维。",
            ),
        ),
        trace=run.trace,
        show="encoder.memory[0,0,0]",
        codes=("C1", "C3", "C24", "D7"),
    )


def _shapes(translator: Translator, run: SentenceRun) -> Step:
    config = translator.model.config
    n, m, d = len(run.source), len(run.target), config.d_model
    h, d_k, d_ff, voc = config.heads, config.d_k, config.d_ff, config.output_vocabulary
    encoder, decoder = "encoder.layers.0", "decoder.layers.0"
    listed = (  # what, symbols, expected here, the paper's base model, address (last two axes)
        ("E", "N × d", (n, d), (n, 512), "embedding.tokens"),
        ("E + PE", "N × d", (n, d), (n, 512), "encoder.states"),
        ("W_Q", "h·d_k × d", (h * d_k, d), (512, 512), f"{encoder}.self_attention.W_Q.weight"),
        ("Q_i", "N × d_k", (n, d_k), (n, 64), f"{encoder}.self_attention.query"),
        ("K_i", "N × d_k", (n, d_k), (n, 64), f"{encoder}.self_attention.key"),
        ("V_i", "N × d_v", (n, d_k), (n, 64), f"{encoder}.self_attention.value"),
        ("Q_i K_iᵀ", "N × N", (n, n), (n, n), f"{encoder}.self_attention.scores"),
        ("head_i", "N × d_v", (n, d_k), (n, 64), f"{encoder}.self_attention.context"),
        ("concat", "N × h·d_v", (n, h * d_k), (n, 512), f"{encoder}.self_attention.concatenated"),
        ("W_O", "d × h·d_v", (d, h * d_k), (512, 512), f"{encoder}.self_attention.W_O.weight"),
        ("add & norm", "N × d", (n, d), (n, 512), f"{encoder}.self_attention_add_norm.added"),
        ("FFN hidden", "N × d_ff", (n, d_ff), (n, 2048), f"{encoder}.feed_forward.hidden"),
        ("FFN output", "N × d", (n, d), (n, 512), f"{encoder}.feed_forward.output"),
        ("memory", "N × d", (n, d), (n, 512), "encoder.memory"),
        ("masked Q_i K_iᵀ", "N₁ × N₁", (m, m), (m, m), f"{decoder}.self_attention.masked"),
        ("cross Q_i K_iᵀ", "N₁ × N", (m, n), (m, n), f"{decoder}.cross_attention.scores"),
        ("cross output", "N₁ × d", (m, d), (m, 512), f"{decoder}.cross_attention.output"),
        ("logits", "N₁ × d_voc", (m, voc), (m, 37000), "output.logits"),
    )  # fmt: skip
    real = [tuple(run.trace[address].shape[-2:]) for *_, address in listed]
    return Step(
        title=Said("The shape of everything", "一切的形状"),
        text=Said(
            f"N = {n} source tokens, N₁ = {m} target tokens, d = {d}, h = {h} heads, "
            f"d_k = d_v = {d_k}, d_ff = {d_ff}, d_voc = {voc}. The first two columns are read "
            "off the recorded run, the last two are the paper's base model for the same "
            "sentence: h = 8, d = 512, d_k = 64, d_ff = 2048. Only N and N₁ change from "
            "sentence to sentence. Weights are listed as they are stored, output × input.",
            f"N = {n} 个原文词元，N₁ = {m} 个译文词元，d = {d}，h = {h} 个头，"
            f"d_k = d_v = {d_k}，d_ff = {d_ff}，d_voc = {voc}。前两列读自记录下来的运行，"
            "后两列是论文 base 模型处理同一句话时的形状：h = 8，d = 512，d_k = 64，d_ff = 2048。"
            "换一句话，变的只有 N 和 N₁。权重按存储方式列出：输出 × 输入。",
        ),
        matrices=(
            Matrix(
                Said("rows × columns", "行 × 列"),
                [[*here, *paper] for here, (_, _, _, paper, _) in zip(real, listed, strict=True)],
                rows=[f"{name}: {symbols}" for name, symbols, *_ in listed],
                columns=(
                    Said("rows", "行"),
                    Said("columns", "列"),
                    Said("paper rows", "论文 行"),
                    Said("paper columns", "论文 列"),
                ),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Every recorded shape is the one its symbols give",
                    "记录到的每个形状都与符号一致",
                ),
                real == [wanted for _, _, wanted, _, _ in listed],
            ),
            Claim(
                Said("h · d_k = d: heads share the width, they do not add to it",
                     "h · d_k = d：各头分担宽度，并不增加宽度"),
                h * d_k == d,
            ),
        ),
        question=Question(
            Said("What shape have the scores of cross-attention?", "交叉注意力的分数是什么形状？"),
            Said(
                f"N₁ × N = {m} × {n}: a row for each target token, a column for each source token.",
                f"N₁ × N = {m} × {n}：每个译文词元一行，每个原文词元一列。",
            ),
        ),
        trace=run.trace,
        show="encoder.layers.0.self_attention.scores[0,0,0,0]",
        codes=("D1", "D2", "D3", "D4", "D5", "D6", "D7"),
    )  # fmt: skip


def _parallel(translator: Translator, run: SentenceRun) -> Step:
    model = translator.model
    with torch.no_grad():
        memory = model.encode(run.source_ids)
        state = model.start()
        single = torch.cat(
            [
                model.project(model.decode(run.target_ids[:, at : at + 1], memory, state=state))
                for at in range(run.target_ids.shape[1])
            ],
            dim=1,
        )
    together = run.numbers("output.logits")
    gap = float((together - single.double()).abs().max())
    weights = run.numbers("decoder.layers.0.self_attention.weights")[0]
    future = float(weights.triu(1).abs().max())
    return Step(
        title=Said("All positions at once", "所有位置同时计算"),
        text=Said(
            "A recurrent network reads word after word, each step waiting for the last. Here "
            "one matrix product serves all positions, of the source always, of the target "
            "while training. The mask makes that honest: row t of the decoder's attention is "
            "zero to the right of t, so no position sees what it is to predict.\n"
            f"One pass over {len(run.target)} target tokens against {len(run.target)} passes "
            f"over one: the logits differ by at most {gap:.1g}.",
            "循环网络一个词一个词地读，每一步都要等上一步。这里一次矩阵乘法就照顾到所有位置："
            "原文总是如此，译文在训练时也如此。掩码保证这样做不作弊："
            "解码器注意力第 t 行在 t 右边全为零，任何位置都看不到自己要预测的词。\n"
            f"{len(run.target)} 个译文词元一次算完，与逐个算 {len(run.target)} 次相比，"
            f"logits 最多相差 {gap:.1g}。",
        ),
        matrices=(
            Matrix(
                Said(
                    "masked self-attention, layer 1, mean of heads",
                    "带掩码的自注意力，第 1 层，各头平均",
                ),
                weights.mean(0),
                run.target,
                run.target,
                digits=2,
            ),
        ),
        claims=(
            Claim(Said("Together and one by one give the same logits",
                       "同时算与逐个算，logits 相同"), gap < 1e-3),
            Claim(Said("Nothing above the diagonal is ever used",
                       "对角线以上从不使用"), future == 0.0),
        ),
        trace=run.trace,
        show="decoder.layers.0.self_attention.masked[0,0,0,0]",
        codes=("C2", "D6"),
    )  # fmt: skip


def _cross(translator: Translator, run: SentenceRun) -> Step:
    layers = translator.model.config.decoder_layers
    maps = [
        run.numbers(f"decoder.layers.{layer}.cross_attention.weights")[0].mean(0)
        for layer in range(layers)
    ]
    sharpest = max(range(layers), key=lambda layer: float(maps[layer].max(1).values.mean()))
    chosen = maps[sharpest]
    watched = [run.source[int(place)] for place in chosen.argmax(1)]
    lines = ", ".join(f"{word} ← {seen}" for word, seen in zip(run.wanted, watched, strict=True))
    sums = chosen.sum(1)
    return Step(
        title=Said("Cross-attention: target × source", "交叉注意力：译文 × 原文"),
        text=Said(
            "The decoder asks, the encoder answers: queries come from the target so far, keys "
            "and values from the memory. So the pattern is a table of target by source. A row "
            "is named after the token it is about to write.\n"
            f"Most watched: {lines}.",
            "解码器提问，编码器回答：查询来自已写的译文，键和值来自 memory，"
            "所以模式是一张“译文 × 原文”的表。每行以它将要写出的词元命名。\n"
            f"看得最多的：{lines}。",
        ),
        matrices=(
            Matrix(
                Said(
                    f"weights, layer {sharpest + 1}, mean of heads",
                    f"权重，第 {sharpest + 1} 层，各头平均",
                ),
                chosen,
                run.wanted,
                run.source,
                digits=2,
            ),
        ),
        claims=(
            Claim(
                Said("Each target token spends exactly 1 on the source",
                     "每个译文词元在原文上的权重之和恰为 1"),
                bool(torch.allclose(sums, torch.ones_like(sums), atol=1e-5)),
            ),
        ),
        question=Question(
            Said("Which source word will “chat” look at?", "“chat”会看原文的哪个词？"),
            Said(
                "See its row: mostly " + _watched(run, watched, "chat") + ".",
                "看它那一行：主要是 " + _watched(run, watched, "chat") + "。",
            ),
        ),
        trace=run.trace,
        show=f"decoder.layers.{sharpest}.cross_attention.softmax[0,0,0,0]",
        codes=("C23", "D6", "D9", "E6"),
    )  # fmt: skip


def _watched(run: SentenceRun, watched: list[str], word: str) -> str:
    place = run.wanted.index(word) if word in run.wanted else 0
    return f"“{watched[place]}”"


def _explanation(translator: Translator, run: SentenceRun) -> Step:
    model = translator.model
    with torch.no_grad():
        memory = model.encode(run.source_ids)
        everything = torch.ones_like(run.source_ids, dtype=torch.bool).unsqueeze(1)  # (1, 1, S)

        def surprise(hidden: int | None) -> torch.Tensor:
            """−log P of every right token when cross-attention may not see one source token."""
            mask = everything.clone()
            if hidden is not None:
                mask[0, 0, hidden] = False
            states = model.decode(run.target_ids, memory, mask)
            log_p = torch.log_softmax(model.project(states).double(), -1)[0]
            return -log_p.gather(1, run.gold_ids[0].unsqueeze(1)).squeeze(1)

        base = surprise(None)
        effect = torch.stack([surprise(place) - base for place in range(len(run.source))], 1)
    weights = torch.stack(
        [
            run.numbers(f"decoder.layers.{layer}.cross_attention.weights")[0].mean(0)
            for layer in range(model.config.decoder_layers)
        ]
    ).mean(0)
    attended, needed = weights.argmax(1), effect.argmax(1)
    agree = int((attended == needed).sum())
    place = run.wanted.index("chat") if "chat" in run.wanted else 1
    cat = run.source.index("cat") if "cat" in run.source else 1
    own = float(effect[place, cat])
    other = max(float(effect[place, at]) for at in range(len(run.source)) if at != cat)
    return Step(
        title=Said("Does attention explain? Test it", "注意力能作解释吗？检验一下"),
        text=Said(
            "Heat maps are read as reasons. Here is a test: hide one source token from "
            "cross-attention and see how much more surprised the model is by each right token. "
            "Where the number is large, that source token was needed.\n"
            f"For {agree} of {len(run.wanted)} target tokens, the most attended source token is "
            "also the most needed one. Attention is a hint about where information comes from; "
            "hiding is the proof.",
            "人们常把热图读作理由。这里做个检验：对交叉注意力隐藏一个原文词元，"
            "看模型对每个正确词元的惊讶程度增加多少。数字大，说明那个原文词元确实被需要。\n"
            f"{len(run.wanted)} 个译文词元中，有 {agree} 个“看得最多”的正是“最需要”的。"
            "注意力提示信息从哪里来，隐藏才是证明。",
        ),
        matrices=(
            Matrix(
                Said("increase of −log P when hidden", "隐藏后 −log P 的增量"),
                effect,
                run.wanted,
                run.source,
                digits=2,
            ),
        ),
        claims=(
            Claim(
                Said(
                    f"“{run.wanted[place]}” needs “{run.source[cat]}” more than any other token",
                    f"“{run.wanted[place]}”最需要的是“{run.source[cat]}”",
                ),
                own > other,
            ),
        ),
        question=Question(
            Said(
                f"Hide “{run.source[cat]}”: which target token suffers most?",
                f"隐藏“{run.source[cat]}”：哪个译文词元受损最大？",
            ),
            Said(
                f"“{run.wanted[int(effect[:, cat].argmax())]}”.",
                f"“{run.wanted[int(effect[:, cat].argmax())]}”。",
            ),
        ),
        trace=run.trace,
        show=f"decoder.layers.0.cross_attention.softmax[0,0,{place},{cat}]",
        codes=("C17", "C23"),
    )


def _output(run: SentenceRun) -> Step:
    logits = run.numbers("output.logits")[0]  # (T, V)
    probabilities = torch.softmax(logits, -1)
    gold = probabilities.gather(1, run.gold_ids[0].unsqueeze(1)).squeeze(1)
    best = bool((logits.argmax(1) == run.gold_ids[0]).all())
    last = len(run.wanted) - 1
    return Step(
        title=Said("Output: softmax(W_o h + b_o)", "输出：softmax(W_o h + b_o)"),
        text=Said(
            "The decoder's last states are compared with every token of the vocabulary: one "
            "dot product and a bias each, position by position. Softmax makes probabilities of "
            f"them. Each of the {len(run.wanted)} positions predicts the next token; when "
            "decoding, the last row alone is used.",
            "解码器最后的状态与词表中每个词元比较：每个位置、每个词元各一次点积加偏置，"
            f"softmax 再变成概率。{len(run.wanted)} 个位置各自预测下一个词元；"
            "解码时只用最后一行。",
        ),
        matrices=(
            Matrix(
                "P",
                torch.stack([gold, probabilities.sum(1)]),
                rows=(Said("P(token)", "P(词元)"), Said("sum over all tokens", "对全部词元求和")),
                columns=run.wanted,
            ),
        ),
        claims=(
            Claim(Said("Each position's probabilities add up to 1", "每个位置的概率之和为 1"),
                  bool(torch.allclose(probabilities.sum(1), torch.ones(len(gold)).double()))),
            Claim(Said("The most probable token is the one written, at every position",
                       "每个位置上，概率最大的正是写出的词元"), best),
        ),
        trace=run.trace,
        show=f"output.logits[0,{last},{int(run.gold_ids[0, last])}]",
        codes=("C25", "D6"),
    )  # fmt: skip


def _inference(translator: Translator, run: SentenceRun, sentence: str) -> Step:
    walk = translator.walk(sentence, top=3)
    lines, series, written = [], [], []
    for step in walk:
        if step.finished:
            break
        names = shown(translator.target_tokenizer, [one.id for one in step.candidates])
        chances = [one.probability for one in step.candidates]
        rivals = ", ".join(
            f"{name} {chance:.3f}" for name, chance in zip(names, chances, strict=True)
        )
        lines.append(f"  <start> {step.text} → {rivals}")
        written.append(names[0])
        series.append(Series(f"{len(lines)}. {names[0]}", range(len(names)), chances, names))
    listed = "\n".join(lines)
    final = walk.step
    return Step(
        title=Said("Step by step: write, append, repeat", "一步一步：写出、接上、再来"),
        text=Said(
            "Now no target is given. The decoder starts from <start> alone; the most probable "
            "token is appended, not swapped in, and all of it is fed again, until <end>. The "
            f"memory is computed once and asked at every step.\n{listed}\n{final.text}",
            "现在不给译文。解码器只从 <start> 出发；概率最大的词元接在后面（不是替换），"
            f"再全部送入，直到 <end>。memory 只算一次，每一步都去问它。\n{listed}\n{final.text}",
        ),
        pictures=(Picture(Said("the best at each step", "每一步的前三名"), "bars", series[:4]),),
        claims=(
            Claim(Said("Step by step gives the same sentence as translating at once",
                       "逐步写出的句子与直接翻译的相同"), final.text == run.text),
            Claim(Said("It ends by itself, with <end>", "它自己以 <end> 结束"),
                  bool(walk.ids) and walk.ids[-1] == translator.target_tokenizer.end),
        ),
        question=Question(
            Said("What is the decoder's very first input?", "解码器的第一个输入是什么？"),
            Said("The start token, nothing else.", "只有起始词元。"),
        ),
        codes=("C27", "D8", "D9", "C24"),
    )  # fmt: skip


LESSON = Lesson(
    name="translate-a-sentence",
    title=Said("Translate a sentence", "翻译一句话"),
    about=Said(
        "“The cat is on the mat.” through a trained model: every shape, every block, every step.",
        "“The cat is on the mat.” 走过训练好的模型：每个形状、每个模块、每一步。",
    ),
    tell=tell,
    trained=True,
)
