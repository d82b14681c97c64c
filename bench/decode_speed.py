"""Decoding speed of the tiny model: cached and batched against a plain loop over the decoder.

    python bench/decode_speed.py [--threads 2] [--vocabulary 8000]

Every output has 20 tokens. The plain loop decodes one sentence at a time and runs the whole
decoder over everything so far at each step, as the paper's formula reads. Ratios say what cache
and batches bring; absolute figures depend on the machine and on what else it does.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import torch

from cutaway.config import ModelConfig
from cutaway.decode import DecodeOptions, Special, Task
from cutaway.decode.search import search
from cutaway.model import Transformer

LENGTH = 20
SPECIAL = Special(start=2, end=3, forbidden=(0, 1, 2, 4))


def plain(model: Transformer, task: Task) -> list[int]:
    """Greedy decoding without cache or batch."""
    with torch.inference_mode():
        source = torch.tensor([task.source])
        ids = [SPECIAL.start]
        for _ in range(LENGTH):
            logits = model(source, torch.tensor([ids]))[0, -1]
            logits[[*SPECIAL.forbidden, SPECIAL.end]] = -torch.inf
            ids.append(int(logits.argmax()))
        return ids[1:]


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The best of several runs, after one to warm up: what the machine can do when let alone."""
    work()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--tokens", type=int, nargs="*", default=[1024, 2048, 4096, 8192])
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    model = Transformer(ModelConfig.preset("tiny", vocabulary=arguments.vocabulary)).eval()
    sources = torch.randint(5, arguments.vocabulary, (arguments.sentences, LENGTH - 1)).tolist()
    tasks = [Task((*source, 3)) for source in sources]
    # Random weights never end by themselves; the least length makes every output the same size.
    greedy = DecodeOptions(min_length=LENGTH, max_length=LENGTH)
    beam = DecodeOptions(beam=5, min_length=LENGTH, max_length=LENGTH)

    loop = seconds(lambda: [plain(model, task) for task in tasks[:3]], 3) / 3
    one = seconds(lambda: search(model, tasks[:1], greedy, SPECIAL), 15)
    same = [search(model, [task], greedy, SPECIAL)[0].hypotheses[0].ids for task in tasks[:3]]
    assert [list(ids) for ids in same] == [plain(model, task) for task in tasks[:3]]
    print(f"tiny, vocabulary {arguments.vocabulary}, {LENGTH} tokens, {arguments.threads} threads")
    print(f"{'plain loop, one sentence':34} {loop * 1e3:8.1f} ms")
    print(f"{'cached, one sentence':34} {one * 1e3:8.1f} ms {loop / one:7.1f} x")
    one_beam = seconds(lambda: search(model, tasks[:1], beam, SPECIAL), 9)
    print(f"{'cached, one sentence, beam 5':34} {one_beam * 1e3:8.1f} ms")
    for tokens in arguments.tokens:
        taken = seconds(partial(search, model, tasks, greedy, SPECIAL, tokens=tokens), 3)
        rate = len(tasks) / taken
        print(f"{f'batches of {tokens} tokens':34} {rate:8.0f} sentences/s {rate * loop:7.1f} x")
    taken = seconds(lambda: search(model, tasks[:128], beam, SPECIAL), 2)
    print(f"{'batches, beam 5':34} {128 / taken:8.0f} sentences/s")


if __name__ == "__main__":
    main()
