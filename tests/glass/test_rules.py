"""Every rule against recorded operations, whatever the shape and layout of their operands."""

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cutaway import glass
from cutaway.glass.rules import TABLE
from tests.glass.cases import CASES, LAYOUTS, Source, uneven

# Optimizer kernels are met in test_training.py, detach_ in a beam search (test_record.py); the
# rest are other spellings of tested rules.
ELSEWHERE = """
detach _fused_adam _fused_adamw _fused_sgd linear softmax log_softmax _convolution to type_as
contiguous detach_copy lift_fresh_copy divide true_divide multiply subtract empty_strided
new_empty empty_permuted _index_put_impl norm vdot __and__ __or__ _native_batch_norm_legit
_native_batch_norm_legit_no_training normal random rand_like randint_like normal_functional
poisson geometric log_normal cauchy
"""


def run(name: str, source: Source) -> glass.Trace:
    torch.manual_seed(source.seed)
    with glass.record() as trace:
        result = CASES[name](source)
        if result.requires_grad:
            total = (result * uneven(result)).sum()
            total.backward()  # type: ignore[no-untyped-call]
    return trace


PHASES = (Phase.explicit, Phase.generate)  # shrinking such runs takes minutes

sources = st.builds(
    Source,
    seed=st.integers(0, 2**20),
    layouts=st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=4).map(tuple),
    sizes=st.permutations([2, 3, 5, 7]).map(lambda sizes: tuple(sizes[:3])),
)


@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=4, deadline=None, derandomize=True, phases=PHASES)
@given(source=sources)
def test_every_cell_follows_from_its_rule(name: str, source: Source) -> None:
    proof = run(name, source).prove()
    assert not proof.opaque
    assert not proof.failures
    assert proof.complete
    assert proof.cells > 20


def test_every_rule_is_met() -> None:
    met = set()
    for name in CASES:
        for value in run(name, Source(1, LAYOUTS, (3, 5, 7))):
            operation = value.op.split(".")[1] if "." in value.op else value.op
            met.add(operation if operation in TABLE else operation.rstrip("_"))
    assert set(TABLE) - met - set(ELSEWHERE.split()) == set()


def test_a_rule_that_lies_is_caught() -> None:
    torch.manual_seed(0)
    with glass.record() as trace:
        x = torch.rand(3, 5, dtype=torch.float64)
        y = x.exp()
    held = trace.values[-1]
    assert held.buffer is not None
    held.buffer.freeze()
    held.tensor()[1, 2] += 1e-6
    proof = trace.prove()
    assert not proof.complete
    assert proof.proven == proof.cells - 1
    (failure,) = proof.failures
    assert failure.address == "y[1,2]"
    assert y.shape == (3, 5)


def test_an_operation_without_a_rule_is_opaque_and_counted() -> None:
    with glass.record() as trace:
        x = torch.rand(3, 3, dtype=torch.float64)
        inverse = torch.linalg.inv(x + torch.eye(3))
    proof = trace.prove()
    assert proof.opaque
    assert not proof.complete
    assert proof.proven + sum(proof.opaque.values()) == proof.cells
    explanation = trace.explain("inverse[0,0]")
    assert explanation.kind == "opaque"
    assert explanation.recomputed is None
    assert inverse.shape == (3, 3)
