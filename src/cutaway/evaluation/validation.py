"""Validation during training, by the same function as `cutaway evaluate`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutaway.artifact.folder import ModelFolder
    from cutaway.training.events import Scores, Validate


def validator(beam: int) -> "Validate":
    """A function that decodes with a beam and scores, for `train`."""

    def validate(folder: "ModelFolder", sources: Sequence[str], targets: Sequence[str]) -> "Scores":
        from cutaway.decode import Translator
        from cutaway.evaluation import evaluate
        from cutaway.training.events import Scores

        evaluation = evaluate(
            Translator(folder),
            zip(sources, targets, strict=True),
            lowercase=folder.tokenizer.lowercase,
            beam=beam,
        )
        outputs = evaluation.hypotheses
        wanted = [t.lower() for t in targets] if folder.tokenizer.lowercase else targets
        exact = sum(o == t for o, t in zip(outputs, wanted, strict=True))
        scores = evaluation.scores
        return Scores(
            metrics={
                "bleu": scores.bleu.score,
                "chrf": scores.chrf.score,
                "exact": 100 * exact / max(1, len(outputs)),
            },
            outputs=outputs,
            signatures={"bleu": scores.bleu.signature, "chrf": scores.chrf.signature},
        )

    return validate
