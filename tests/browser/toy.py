"""A small translator that has really learned: a few dozen sentence pairs, overfitted in seconds."""

from pathlib import Path

import torch
import torch.nn.functional as F

from cutaway.artifact.folder import ModelFolder, write_model_folder
from cutaway.artifact.snapshots import write_snapshot
from cutaway.config import ModelConfig
from cutaway.model import Transformer
from cutaway.text import Tokenizer

SUBJECTS = {
    "The cat": "Le chat",
    "The dog": "Le chien",
    "The bird": "L'oiseau",
    "A child": "Un enfant",
}
VERBS = {"is on": "est sur", "sleeps under": "dort sous", "looks at": "regarde", "sees": "voit"}
OBJECTS = {"the mat": "le tapis", "the house": "la maison", "the tree": "l'arbre"}
PAIRS = [
    (f"{s} {v} {o}.", f"{SUBJECTS[s]} {VERBS[v]} {OBJECTS[o]}.")
    for s in SUBJECTS
    for v in VERBS
    for o in OBJECTS
]


def batch(tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs as padded ids: sources end with <end>, targets begin with <start> and end too."""
    sources = [tokenizer.encode(source, end=True) for source, _ in pairs]
    targets = [tokenizer.encode(target, start=True, end=True) for _, target in pairs]
    longest = [max(map(len, side)) for side in (sources, targets)]
    source = torch.tensor([ids + [0] * (longest[0] - len(ids)) for ids in sources])
    target = torch.tensor([ids + [0] * (longest[1] - len(ids)) for ids in targets])
    return source, target


def build(path: Path, *, updates: int = 64, layers: int = 2, width: int = 24) -> Path:
    """Train the toy and write its folder, with a few snapshots of the way."""
    torch.manual_seed(7)
    texts = [text for pair in PAIRS for text in pair]
    tokenizer = Tokenizer.train(texts, kind="word", vocabulary=400)
    config = ModelConfig(
        vocabulary=tokenizer.vocabulary,
        encoder_layers=layers,
        decoder_layers=layers,
        d_model=width,
        heads=3,
        d_ff=2 * width,
        dropout=0.0,
        norm="pre",
        max_length=64,
    )
    model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    source, target = batch(tokenizer, PAIRS)
    kept: dict[int, dict[str, torch.Tensor]] = {}
    for update in range(updates + 1):
        if update in (0, updates // 8, updates // 3, updates):
            kept[update] = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    model.eval()
    folder = ModelFolder(model, tokenizer, languages=("en", "fr"), generation={"beam": 1})
    write_model_folder(path, folder)
    for update, tensors in kept.items():
        write_snapshot(path / "snapshots", update, tensors, {"loss": 0.0})
    return path
