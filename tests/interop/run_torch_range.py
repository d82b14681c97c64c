"""Runs with another torch: translates, records, proves, trains, resumes; answers what came out."""

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "src"))

import cutaway
from cutaway import glass
from cutaway.config import RunConfig
from cutaway.corpus.embedded import embedded
from cutaway.training.events import Updated

SIZE = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 32, "heads": 2, "d_ff": 48}


class Stop(Exception):
    """Ends a run in the middle."""


def trained(folder: Path, stop: int = 0) -> dict[int, float]:
    """Update → loss of a small run of ten updates, stopped on the way if asked."""
    losses: dict[int, float] = {}

    def watch(event: object) -> None:
        if isinstance(event, Updated):
            losses[event.update] = event.loss
            if event.update == stop:
                raise Stop

    tables = {
        "data": {"source": str(folder / "s"), "target": str(folder / "t"), "holdout": 10},
        "model": {"preset": "tiny", **SIZE},
        "tokenizer": {"vocabulary": 300},
        "train": {"updates": 10, "tokens": 200, "threads": 1, "save_minutes": 0.0, "log_every": 1},
    }
    with contextlib.suppress(Stop):
        cutaway.train(folder / "model", RunConfig.from_tables(tables), watch=watch)
    return losses


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = embedded("en-fr", "train")[:400]
        (folder / "s").write_text("\n".join(source for source, _ in pairs) + "\n", encoding="utf-8")
        (folder / "t").write_text("\n".join(target for _, target in pairs) + "\n", encoding="utf-8")
        losses = trained(folder, stop=5) | trained(folder)
        ours = cutaway.load(folder / "model").translate(["The cat."])
    translator = cutaway.load("demo-en-fr", engine="torch")
    model: Any = translator.model
    with glass.record(model) as trace:
        loss = model(torch.tensor([[7, 11, 13, 3]]), torch.tensor([[2, 17, 19]])).square().mean()
        loss.backward()
    proof = trace.prove()
    with glass.record(model.train()) as second:  # dropout draws, and an operation on functions
        logits = model(torch.tensor([[7, 3]]), torch.tensor([[2]]))
        chosen = torch.cond(logits.sum() > 0, torch.sin, torch.cos, (logits.detach(),))
    dropped = second.prove()
    answer = {
        "torch": torch.__version__,
        "text": translator.translate(["The cat is on the mat."], beam=5)[0].text,
        "losses": losses,
        "translated": len(ours),
        "explained": trace.explain("encoder.layers.0.self_attention.scores[0,1,2,3]").text,
        "proven": [proof.proven, proof.cells, len(proof.opaque)],
        "dropped": [dropped.proven, dropped.cells, second.stopped, list(chosen.shape)],
    }
    Path(sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")


main()
