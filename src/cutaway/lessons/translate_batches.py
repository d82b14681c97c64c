"""Many sentences at once: padding, truncation, and what a maximum length costs.

Part of the lesson `translate-a-sentence`.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch

from cutaway.config import ModelConfig
from cutaway.corpus import encode_pairs
from cutaway.decode import Translator
from cutaway.decode.stepper import pad
from cutaway.glass import record
from cutaway.lessons.lesson import Step
from cutaway.lessons.section import Sections
from cutaway.model import Transformer

TEXT = Sections("translate-a-sentence")
SENTENCES = (
    "The cat is on the mat.",
    "I love AI.",
    "There is a miniature Eiffel tower on the table.",
)
LENGTHS = (32, 64, 128, 256)  # tokens of one sentence, for the memory of attention
LIMIT = 8  # tokens a pair may have in the example of truncation
REPEATED = 12  # times the sentences are joined to make a long text


def batch_steps(translator: Translator) -> Iterator[Step]:
    """Padding, then truncation, then the cost of a maximum length."""
    yield _padding(translator)
    yield _truncation(translator)
    yield _lengths(translator)


def _padding(translator: Translator) -> Step:
    model, tokenizer = translator.model, translator.tokenizer
    rows = [tokenizer.encode(text, end=True) for text in SENTENCES]
    longest = max(map(len, rows))
    ids = pad(rows, tokenizer.pad, torch.device("cpu"))
    with torch.no_grad():
        together = model.encode(ids)
        alone = [model.encode(torch.tensor([row]))[0] for row in rows]
    gap = max(
        float((together[at, : len(row)] - alone[at]).abs().max()) for at, row in enumerate(rows)
    )
    batched = [one.text for one in translator.translate(list(SENTENCES), beam=1)]
    single = [translator.translate([text], beam=1)[0].text for text in SENTENCES]
    lines = "\n".join(f"  {a} → {b}" for a, b in zip(SENTENCES, batched, strict=True))
    section = TEXT.section(
        "padding",
        pad=tokenizer.pad,
        empty=1 - sum(map(len, rows)) / ids.numel(),
        lines="\n" + lines,
        gap=gap,
    )
    section.matrix(
        "ids",
        ids,
        [f"“{text}”" for text in SENTENCES],
        [str(number) for number in range(longest)],
    )
    section.claim("alone", gap < 1e-3)
    section.claim("same", batched == single)
    return section.step("C28")


def _truncation(translator: Translator) -> Step:
    """What the product does with a pair longer than the limit, in training and in use."""
    tokenizer, theirs = translator.tokenizer, translator.target_tokenizer
    most = translator.model.config.max_length
    text = SENTENCES[2]
    whole = tokenizer.encode(text, end=True)
    pairs = [(text, "."), ("I.", ".")]
    truncated, cut_report = encode_pairs(pairs, tokenizer, theirs, max_length=LIMIT)
    skipped, skip_report = encode_pairs(pairs, tokenizer, theirs, max_length=LIMIT, long="skip")
    kept = truncated[0][0].tolist()
    half = tokenizer.decode(kept)
    outputs = [one.text for one in translator.translate([text, half], beam=1)]
    long = " ".join(SENTENCES * REPEATED)
    pieces = translator.pieces(long)
    section = TEXT.section(
        "truncation",
        limit=LIMIT,
        most=most,
        whole=len(whole),
        output=outputs[0],
        half=half,
        half_output=outputs[1],
        tokens=len(tokenizer.encode(long)),
        pieces=sum(piece.translate for piece in pieces),
    )
    width = max(len(whole), LIMIT)
    filled = [[*row, *[tokenizer.pad] * (width - len(row))] for row in (whole, kept)]
    columns = [str(number) for number in range(width)]
    long_pair = (0,)  # the first pair is too long, the second is not
    section.matrix("ids", filled, section.labels("whole", "cut"), columns)
    section.claim("end", kept == [*whole[: LIMIT - 1], tokenizer.end])
    section.claim(
        "reported",
        cut_report.numbers == skip_report.numbers == long_pair
        and (len(truncated), len(skipped)) == (2, 1),
    )
    section.claim("nothing-lost", "".join(piece.text for piece in pieces) == long)
    return section.step("C28")


def _lengths(translator: Translator) -> Step:
    """Bytes of the attention weights of one sentence, read from recorded passes."""
    config = replace_length(translator.model.config)
    model = Transformer(config).eval()
    megabytes = []
    for length in LENGTHS:
        with torch.no_grad(), record(model) as trace:
            model.encode(torch.full((1, length), config.pad + 1))
        layers = range(config.encoder_layers)
        weights = [trace[f"encoder.layers.{n}.self_attention.weights"].tensor for n in layers]
        megabytes.append(sum(tensor.numel() * 4 for tensor in weights) / 1e6)
    growth = (megabytes[-1] / megabytes[0]) ** (1 / (len(LENGTHS) - 1))
    section = TEXT.section("lengths", growth=growth, most=translator.model.config.max_length)
    section.picture(
        "weights",
        "bars",
        section.series("megabytes", LENGTHS, megabytes, [str(length) for length in LENGTHS]),
    )
    section.claim("square", abs(growth - 4) < 0.2)
    return section.step("C28")


def replace_length(config: ModelConfig) -> ModelConfig:
    """The model's settings with a maximum length for the longest sentence of the example."""
    return replace(config, max_length=max(config.max_length, LENGTHS[-1]))
