"""Sums of products: matrix products in all their forms."""

from cutaway.glass.expr import Expr, add, at, mul, number, reduce
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell


def _product(left: Expr, right: Expr, terms: int) -> Expr:
    return reduce("sum", [("k", terms)], ("mul", left, right))


def mm(call: Call) -> Rule:
    """Σ_k a[i,k]·b[k,j]."""
    left, right = call["self"], call["mat2"]
    expr = _product(at(left.position, "i0", "k"), at(right.position, "k", "i1"), left.shape[1])
    return Rule("contraction", "contraction", expr)


def bmm(call: Call) -> Rule:
    """Σ_k a[b,i,k]·b[b,k,j]."""
    left, right = call["self"], call["mat2"]
    expr = _product(
        at(left.position, "i0", "i1", "k"), at(right.position, "i0", "k", "i2"), left.shape[2]
    )
    return Rule("contraction", "contraction", expr)


def mv(call: Call) -> Rule:
    """Σ_k a[i,k]·v[k]."""
    left, right = call["self"], call["vec"]
    expr = _product(at(left.position, "i0", "k"), at(right.position, "k"), left.shape[1])
    return Rule("contraction", "contraction", expr)


def dot(call: Call) -> Rule:
    """Σ_k a[k]·b[k]."""
    left, right = call["self"], call["other"] if "other" in call.arguments else call["tensor"]
    expr = _product(at(left.position, "k"), at(right.position, "k"), left.shape[0])
    return Rule("contraction", "contraction", expr)


def _plus(call: Call, product: Expr, added: Operand) -> Rule:
    beta, alpha = number(call.get("beta", 1)), number(call.get("alpha", 1))
    scaled = mul(alpha, product)
    if beta == 0:
        return Rule("contraction", "contraction", scaled)
    bias = mul(beta, cell(added, call.out.index))
    return Rule("affine", "contraction", add(scaled, bias))


def addmm(call: Call) -> Rule:
    """Σ_k a[i,k]·b[k,j] + c[i,j]."""
    left, right = call["mat1"], call["mat2"]
    product = _product(at(left.position, "i0", "k"), at(right.position, "k", "i1"), left.shape[1])
    return _plus(call, product, call["self"])


def baddbmm(call: Call) -> Rule:
    """Σ_k a[b,i,k]·b[b,k,j] + c[b,i,j]."""
    left, right = call["batch1"], call["batch2"]
    product = _product(
        at(left.position, "i0", "i1", "k"), at(right.position, "i0", "k", "i2"), left.shape[2]
    )
    return _plus(call, product, call["self"])


def addmv(call: Call) -> Rule:
    """Σ_k a[i,k]·v[k] + c[i]."""
    left, right = call["mat"], call["vec"]
    product = _product(at(left.position, "i0", "k"), at(right.position, "k"), left.shape[1])
    return _plus(call, product, call["self"])


def linear(call: Call) -> Rule:
    """Σ_k x[…,k]·w[j,k] + b[j]."""
    source, weight, bias = call["input"], call["weight"], call.get("bias")
    where = call.out.index
    lead = where[:-1] if weight.rank == 2 else where
    row = (where[-1], "k") if weight.rank == 2 else ("k",)
    product = _product(at(source.position, *lead, "k"), at(weight.position, *row), weight.shape[-1])
    if bias is None:
        return Rule("contraction", "contraction", product)
    return Rule("affine", "contraction", add(product, cell(bias, where)))


TABLE: dict[str, RuleMaker] = {
    "mm": mm,
    "bmm": bmm,
    "mv": mv,
    "dot": dot,
    "vdot": dot,
    "addmm": addmm,
    "baddbmm": baddbmm,
    "addmv": addmv,
    "linear": linear,
}
