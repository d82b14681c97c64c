"""What one cell is made of, for every kind of operation; rules are data, see the trace format."""

from cutaway.glass.rules import (
    contraction,
    convolution,
    join,
    lookup,
    loss,
    norm,
    pointwise,
    pooling,
    reduction,
    rowwise,
    scatter,
    source,
    update,
)
from cutaway.glass.rules.call import OPAQUE, Call, Operand, Output, Rule, RuleMaker

__all__ = ["OPAQUE", "TABLE", "Call", "Operand", "Output", "Rule", "rules_for"]

TABLE: dict[str, RuleMaker] = {
    **source.TABLE,
    **pointwise.TABLE,
    **reduction.TABLE,
    **contraction.TABLE,
    **rowwise.TABLE,
    **norm.TABLE,
    **lookup.TABLE,
    **scatter.TABLE,
    **join.TABLE,
    **loss.TABLE,
    **convolution.TABLE,
    **pooling.TABLE,
    **update.TABLE,
}


def rules_for(call: Call) -> list[Rule]:
    """A rule for each output; an operation without a rule is opaque."""
    name = call.op.split(".")[1]
    if name not in TABLE and name.endswith("_"):
        name = name[:-1]  # in place: the same arithmetic on the value before
    maker = TABLE.get(name)
    if maker is None and source.is_draw(call):
        maker = source.draw
    if maker is None:
        return [OPAQUE] * len(call.outputs)
    made = maker(call)
    rules = [made] if isinstance(made, Rule) else [rule or OPAQUE for rule in made]
    return rules + [OPAQUE] * (len(call.outputs) - len(rules))
