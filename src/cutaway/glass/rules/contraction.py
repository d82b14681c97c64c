"""Sums of products: matrix products in all their forms."""

from cutaway.glass.expr import Expr, Fold, add, mul, number, op
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell

FORMS = {  # operation: the two factors, their indices with k the summed one, and what is added
    "mm": ("self", ("i0", "k"), "mat2", ("k", "i1"), None),
    "bmm": ("self", ("i0", "i1", "k"), "mat2", ("i0", "k", "i2"), None),
    "mv": ("self", ("i0", "k"), "vec", ("k",), None),
    "dot": ("self", ("k",), "tensor", ("k",), None),
    "vdot": ("self", ("k",), "other", ("k",), None),
    "addmm": ("mat1", ("i0", "k"), "mat2", ("k", "i1"), "self"),
    "baddbmm": ("batch1", ("i0", "i1", "k"), "batch2", ("i0", "k", "i2"), "self"),
    "addmv": ("mat", ("i0", "k"), "vec", ("k",), "self"),
}


def product(left: Operand, rows: tuple[str, ...], right: Operand, columns: tuple[str, ...]) -> Expr:
    """Σ_k a[…,k]·b[…k…]."""
    terms = left.shape[rows.index("k")]
    return Fold((("k", terms),), op("mul", left.at(*rows), right.at(*columns)), "sum")


def contraction(
    left: str, rows: tuple[str, ...], right: str, columns: tuple[str, ...], added: str | None
) -> RuleMaker:
    """α·Σ_k a·b + β·c."""

    def rule(call: Call) -> Rule:
        summed = product(call[left], rows, call[right], columns)
        if added is None:
            return Rule("contraction", "contraction", summed)
        scaled, beta = mul(number(call["alpha"]), summed), number(call["beta"])
        if beta == 0:
            return Rule("contraction", "contraction", scaled)
        bias = mul(beta, cell(call[added], call.out.index))
        return Rule("affine", "contraction", add(scaled, bias))

    return rule


def linear(call: Call) -> Rule:
    """Σ_k x[…,k]·w[j,k] + b[j]."""
    source, weight, bias = call["input"], call["weight"], call.get("bias")
    where = call.out.index
    lead, row = (where[:-1], (where[-1], "k")) if weight.rank == 2 else (where, ("k",))
    summed = product(source, (*lead, "k"), weight, row)
    if bias is None:
        return Rule("contraction", "contraction", summed)
    return Rule("affine", "contraction", add(summed, cell(bias, where)))


TABLE: dict[str, RuleMaker] = {
    **{name: contraction(*form) for name, form in FORMS.items()},
    "linear": linear,
}
