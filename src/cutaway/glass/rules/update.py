"""Optimizer steps that one kernel takes for a list of parameters."""

from typing import Any

from cutaway.glass.expr import Expr, add, div, mul, number, op, sub
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell


def _lists(call: Call, names: list[str]) -> tuple[dict[str, list[Operand]], dict[str, int]]:
    """The lists of tensors, and where each begins among the results."""
    lists = {name: list(call.get(name, [])) for name in names}
    starts: dict[str, int] = {}
    total = 0
    for name in names:
        starts[name] = total
        total += len(lists[name])
    return lists, starts


def _at(argument: Any) -> Expr:
    return argument.first if isinstance(argument, Operand) else number(argument)


def fused_adam(decoupled: bool) -> RuleMaker:
    """m ← m + (1−β₁)(g − m); v ← β₂v + (1−β₂)g²; p ← p − lr/(1−β₁ᵗ)·m/(√v/√(1−β₂ᵗ) + ε)."""

    def rule(call: Call) -> list[Rule | None]:
        names = ["self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"]
        lists, starts = _lists(call, names)
        lr, decay = _at(call["lr"]), number(call["weight_decay"])
        beta1, beta2 = float(call["beta1"]), float(call["beta2"])
        rules: list[Rule | None] = [None] * len(call.outputs)
        for place, parameter in enumerate(lists["self"]):
            where = call.outputs[place].index
            p, g = cell(parameter, where), cell(lists["grads"][place], where)
            gradient: Expr = op("neg", g) if call["maximize"] else g
            if not decoupled and decay != 0:
                gradient = add(gradient, mul(decay, p))
            m = cell(lists["exp_avgs"][place], where)
            v = cell(lists["exp_avg_sqs"][place], where)
            first = add(m, mul(number(1 - beta1), sub(gradient, m)))
            second = add(mul(number(beta2), v), mul(number(1 - beta2), gradient, gradient))
            step = _at(call["state_steps"][place])
            slot = {name: starts[name] + place for name in names}
            held = call.result(slot["exp_avg_sqs"]).at(*where)
            if call["amsgrad"]:
                top = cell(lists["max_exp_avg_sqs"][place], where)
                rules[slot["max_exp_avg_sqs"]] = Rule(
                    "maximum", "pointwise", op("maximum", top, held)
                )
                held = call.result(slot["max_exp_avg_sqs"]).at(*where)
            root = div(op("sqrt", held), op("sqrt", sub(1, op("pow", number(beta2), step))))
            size = div(lr, sub(1, op("pow", number(beta1), step)))
            kept = mul(p, sub(1, mul(lr, decay))) if decoupled and decay != 0 else p
            moved = div(
                mul(size, call.result(slot["exp_avgs"]).at(*where)), add(root, number(call["eps"]))
            )
            rules[slot["self"]] = Rule("addcdiv", "pointwise", sub(kept, moved))
            rules[slot["grads"]] = Rule("copy", "view", g)
            rules[slot["exp_avgs"]] = Rule("lerp", "pointwise", first)
            rules[slot["exp_avg_sqs"]] = Rule("addcmul", "pointwise", second)
        return rules

    return rule


def fused_sgd(call: Call) -> list[Rule | None]:
    """b ← μb + (1−d)g; p ← p − lr·b (or g + μb, with Nesterov's look ahead)."""
    names = ["self", "grads", "momentum_buffer_list"]
    lists, starts = _lists(call, names)
    lr, decay = _at(call["lr"]), number(call["weight_decay"])
    momentum, damping = float(call["momentum"]), float(call["dampening"])
    rules: list[Rule | None] = [None] * len(call.outputs)
    for place, parameter in enumerate(lists["self"]):
        where = call.outputs[place].index
        p, g = cell(parameter, where), cell(lists["grads"][place], where)
        gradient: Expr = op("neg", g) if call["maximize"] else g
        gradient = add(gradient, mul(decay, p)) if decay != 0 else gradient
        rules[starts["grads"] + place] = Rule("copy", "view", g)
        step = gradient
        if lists["momentum_buffer_list"]:
            slot = starts["momentum_buffer_list"] + place
            before = cell(lists["momentum_buffer_list"][place], where)
            fresh = add(mul(number(momentum), before), mul(number(1 - damping), gradient))
            if call["is_first_step"]:
                fresh = gradient
            rules[slot] = Rule("lerp", "pointwise", fresh)
            held = call.result(slot).at(*where)
            step = add(gradient, mul(number(momentum), held)) if call["nesterov"] else held
        rules[starts["self"] + place] = Rule("addcmul", "pointwise", sub(p, mul(lr, step)))
    return rules


TABLE: dict[str, RuleMaker] = {
    "_fused_adam": fused_adam(False),
    "_fused_adamw": fused_adam(True),
    "_fused_sgd": fused_sgd,
}
