"""A Transformer by hand: three sentences, d = 6, one head of width 4, every matrix shown."""

from collections.abc import Iterator, Sequence

import torch

from cutaway.corpus.embedded import thrones
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.by_hand_encoder import encoder
from cutaway.lessons.by_hand_model import (
    LIMIT,
    PAIRS,
    UPDATES,
    article_model,
    bare,
    continued,
    ids,
    raw_words,
    recorded,
    trained,
    vocabulary,
    words_of,
)
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Series, Step
from cutaway.lessons.recorded import dimensions, numbers, table
from cutaway.lessons.section import Sections
from cutaway.lessons.two_heads import two_heads
from cutaway.text import Tokenizer

TEXT = Sections("by-hand")
LAYER = "decoder.layers.0"
D6, D4 = dimensions(6), dimensions(4, "h")
SIZES = (280, 320, 340, 400)  # vocabularies of pieces; 261 of each are bytes and marks


def steps(_: LessonInputs) -> Iterator[Step]:
    """Words, encoder and decoder on the article's weights; then the same model trained."""
    yield _sentences()
    yield _vocabulary()
    yield _ids()
    yield _pieces()
    so_far = ["<start>", *thrones().continuation.split()]
    trace = recorded(article_model(), figures.WORDS, so_far)
    yield from encoder(trace)
    yield _reads(trace, so_far)
    yield _masked(trace, so_far)
    yield from two_heads()
    yield _cross(trace, so_far)
    yield _logits(trace, so_far)
    yield _probabilities()
    yield _feedback()
    yield _training()
    yield _continuation()


def _sentences() -> Step:
    words = len(raw_words())
    section = TEXT.section("sentences", listed="\n".join(thrones().sentences), words=words)
    section.claim("words", words == 30)
    return section.step("A1")


def _vocabulary() -> Step:
    raw = raw_words()
    counts = (len(set(raw)), len({bare(word) for word in raw}), len(vocabulary()))
    spaces, spelled, lower = counts
    section = TEXT.section("vocabulary", words=len(raw), spaces=spaces, bare=spelled, lower=lower)
    rules = section.labels("spaces", "bare", "lower")
    section.picture("size", "bars", Series("", (0, 1, 2), counts, rules))
    section.claim("counts", counts == (25, 24, 23))
    return section.step("A2")


def _ids() -> Step:
    lines = [[bare(word).lower() for word in sentence.split()] for sentence in thrones().sentences]
    numbered = [[ids()[word] for word in line] for line in lines]
    section = TEXT.section(
        "ids",
        start=ids()["<start>"],
        end=ids()["<end>"],
        you=ids()["you"],
        sentence=" ".join(lines[1]),
    )
    section.matrix("table", [list(ids().values())], columns=list(ids()))
    section.matrix("sentence", [numbered[1]], columns=lines[1])
    section.claim("back", [words_of(line) for line in numbered] == lines)
    return section.step("A3")


def _pieces() -> Step:
    sentence, size = thrones().sentences[1], SIZES[1]
    shares = [words_per_token(pieces_of(one)) for one in SIZES]
    tokenizer = pieces_of(size)
    tokens = list(tokenizer.encode(sentence))
    section = TEXT.section(
        "pieces",
        size=size,
        sentence=sentence,
        tokens=len(tokens),
        words=len(sentence.split()),
        least=SIZES[0],
        most=SIZES[-1],
        few=shares[0],
        many=shares[-1],
    )
    names = [str(one) for one in SIZES]
    section.matrix("pieces", [tokens], columns=tokenizer.pieces(tokens))
    section.picture("share", "bars", section.series("share", SIZES, shares, names))
    section.claim("grows", shares == sorted(shares) and shares[0] < shares[-1])
    section.claim("lossless", tokenizer.decode(tokens) == sentence)
    return section.step("A3")


def pieces_of(size: int) -> Tokenizer:
    """A vocabulary of so many pieces, learned from the three sentences."""
    return Tokenizer.train(thrones().sentences, kind="bpe", vocabulary=size)


def words_per_token(tokenizer: Tokenizer) -> float:
    """How many words one token is, on average over the three sentences."""
    tokens = sum(len(tokenizer.encode(sentence)) for sentence in thrones().sentences)
    return len(raw_words()) / tokens


def _reads(trace: Trace, so_far: Sequence[str]) -> Step:
    states = numbers(trace, "decoder.states")
    wrapped = [*so_far, "<end>"]
    numbered = [ids()[word] for word in wrapped]
    start = figures.given("by_hand", "start")[0] + numbers(trace, "decoder.positions.positions")[0]
    section = TEXT.section("reads", right=thrones().continuation)
    section.matrix("reads", [numbered[:-1]], columns=wrapped[:-1])
    section.matrix("predicts", [numbered[1:]], columns=wrapped[1:])
    section.matrix("input", states, so_far, D6)
    section.claim("start", (states[0] - start).abs().max() < 1e-12)
    return section.step("A18", "A19", trace=trace, show="decoder.states[0,0,0]")


def _masked(trace: Trace, so_far: Sequence[str]) -> Step:
    head = f"{LAYER}.self_attention"
    masked, weights = numbers(trace, f"{head}.masked"), numbers(trace, f"{head}.weights")
    normed = numbers(trace, f"{LAYER}.self_attention_add_norm.normed")
    section = TEXT.section("masked")
    section.matrix("masked", masked, so_far, so_far, digits=3)
    section.matrix("weights", weights, so_far, so_far)
    section.matrix("norm", normed, so_far, D6)
    section.claim("above", bool((weights.triu(1) == 0).all()) and float(weights[0, 0]) == 1.0)
    return section.step("A20", "A10", trace=trace, show=f"{head}.masked[0,0,1,2]")


def _cross(trace: Trace, so_far: Sequence[str]) -> Step:
    head = f"{LAYER}.cross_attention"
    weights = numbers(trace, f"{head}.weights")
    with_the = recorded(article_model(), thrones().prompt.split(), so_far)
    rows, more = numbers(with_the, f"{head}.weights").shape
    section = TEXT.section("cross", rows=len(weights), columns=weights.shape[1], more=more)
    section.matrix("query", numbers(trace, f"{head}.query"), so_far, D4)
    section.matrix("key", numbers(trace, f"{head}.key"), figures.WORDS, D4)
    section.matrix("weights", weights, so_far, figures.WORDS)
    section.matrix("output", numbers(trace, f"{LAYER}.feed_forward_add_norm.normed"), so_far, D6)
    section.claim("sources", _asks_the_encoder(trace, head))
    section.claim("shape", (rows, more) == (len(so_far), len(thrones().prompt.split())))
    return section.step("A20", trace=trace, show=f"{head}.weights[0,0,0,0]")


def _asks_the_encoder(trace: Trace, head: str) -> bool:
    """Whether queries come from the decoder's states, keys and values from the memory."""
    memory = numbers(trace, "encoder.layers.0.feed_forward_add_norm.normed")
    states = numbers(trace, f"{LAYER}.self_attention_add_norm.normed")
    made_of = {"query": ("W_Q", states), "key": ("W_K", memory), "value": ("W_V", memory)}
    return all(
        bool(
            (source @ trace[f"{head}.{weight}.weight"].tensor.T - numbers(trace, f"{head}.{name}"))
            .abs()
            .max()
            < 1e-12
        )
        for name, (weight, source) in made_of.items()
    )


def _logits(trace: Trace, so_far: Sequence[str]) -> Step:
    logits = numbers(trace, "output.logits")
    alone = numbers(recorded(article_model(), figures.WORDS, ["<start>"]), "output.logits")
    flat = figures.given("by_hand", "decoder_output").flatten()
    least = {
        word: float(flat[: len(first)] @ table([first])[0] + flat[-len(last) :] @ table([last])[0])
        for word, (first, last) in figures.VISIBLE_WEIGHTS.items()
    }
    words = list(ids())[1:]
    section = TEXT.section("logits")
    bars = Series("", list(range(len(words))), logits[0, 1:].tolist(), words)
    section.matrix("logits", logits, so_far, list(ids()), digits=2)
    section.matrix(
        "least",
        [list(least.values())],
        columns=list(least),
        printed=[[figures.LOGITS[word] for word in least]],
    )
    section.picture("logits", "bars", bars)
    section.claim("alone", (alone[0] - logits[0]).abs().max() < 1e-12)
    section.claim("impossible", all(least[word] > figures.LOGITS[word] for word in least))
    return section.step("A22", trace=trace, show="output.logits[0,0,7]")


def _probabilities() -> Step:
    shown, logits = list(figures.LOGITS), table([list(figures.LOGITS.values())])
    softmax = torch.softmax(logits, dim=-1)
    you, i = shown.index("you"), shown.index("I")
    printed = [figures.PROBABILITIES[word] for word in shown]
    section = TEXT.section(
        "probabilities",
        best=logits[0, you],
        ratio=softmax[0, you] / softmax[0, i],
        printed=printed[you] / printed[i],
    )
    section.matrix("logits", logits, columns=shown, digits=2)
    section.matrix("softmax", softmax, columns=shown, printed=[printed], tolerance=0.002)
    section.claim("winner", int(softmax.argmax()) == you)
    return section.step("A23")


def _feedback() -> Step:
    prompt, right = thrones().prompt, thrones().continuation
    before = continued(article_model(), prompt)
    said = " ".join(before.words)
    section = TEXT.section("feedback", prompt=prompt, said=said, limit=LIMIT, right=right)
    section.matrix("chances", [before.chances], columns=before.words)
    section.claim("untrained", said != f"{right} <end>")
    return section.step("A24")


def _training() -> Step:
    losses = trained().losses
    ends = (losses[0], losses[-1])
    section = TEXT.section("training", updates=UPDATES)
    curve = section.series("loss", list(range(1, UPDATES + 1)), losses)
    section.picture("loss", "curves", curve)
    section.matrix("loss", [ends], columns=section.labels("first", "last"))
    section.claim("falls", ends[0] > 3 and ends[1] < 0.01)
    return section.step("A4", "A7")


def _continuation() -> Step:
    prompt, right = thrones().prompt, thrones().continuation
    model = trained().model
    runs = {given: continued(model, given) for given, _ in PAIRS}
    said = runs[prompt].words
    trace = recorded(model, prompt.split(), ["<start>", *said[:-1]])
    proof = trace.prove()
    given1, given2, given3 = runs
    section = TEXT.section(
        "continuation",
        prompt=prompt,
        said=" ".join(said),
        right=right,
        cells=proof.cells,
        given1=given1,
        given2=given2,
        given3=given3,
    )
    for key, run in zip(("first", "second", "third"), runs.values(), strict=True):
        section.matrix(key, [run.chances], columns=run.words)
    section.claim(
        "all",
        all(runs[given].words == [*follows.split(), "<end>"] for given, follows in PAIRS),
    )
    section.claim("says", said[:-1] == right.split())
    section.claim("cells", proof.complete)
    return section.step("A23", "A24", "A25", trace=trace, show=f"probabilities[0,0,{ids()['you']}]")


LESSON = Lesson("by-hand", steps)
