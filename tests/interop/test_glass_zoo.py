"""Other people's models, recorded as they are and proven to the last cell."""

import pytest

from tests.interop.conftest import Ask

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("model", ["bert", "gpt2", "marian", "t5", "llama"])
def test_a_training_step_is_proven_cell_by_cell(model: str, ask: Ask) -> None:
    answer = ask("huggingface", "run_glass_zoo.py", {"model": model})
    assert not answer["opaque"]
    assert not answer["failures"]
    assert answer["proven"] == answer["cells"] > 50_000
    assert not answer["missing"]
    assert 0 < answer["errors"]["float64"] <= 1  # in units of the bound of rounding
    assert {"forward", "backward", "update"} <= set(answer["phases"])
    assert any(name.endswith((".weights", ".attn_weights")) for name in answer["names"])
