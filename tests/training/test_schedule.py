"""The learning rate of every update follows its formula."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.config import ModelConfig, TrainConfig
from cutaway.training.schedule import learning_rate, peak_rate

SCHEDULES = ("noam", "inverse-sqrt", "cosine", "constant")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_rises_in_a_line_to_the_peak(schedule: str) -> None:
    settings = TrainConfig.from_dict({"schedule": schedule, "warmup": 40})
    rates = [learning_rate(settings, n, peak=0.3, updates=1000) for n in range(1, 41)]
    assert rates == pytest.approx([0.3 * n / 40 for n in range(1, 41)])


def test_after_the_rise_each_goes_its_way() -> None:
    def rate(schedule: str, update: int) -> float:
        settings = TrainConfig.from_dict({"schedule": schedule, "warmup": 100})
        return learning_rate(settings, update, peak=1.0, updates=1100)

    assert rate("constant", 900) == 1.0
    assert rate("inverse-sqrt", 400) == pytest.approx(math.sqrt(100 / 400))
    assert rate("cosine", 600) == pytest.approx(0.5)
    assert rate("cosine", 1100) == pytest.approx(0.0)


def test_noam_is_the_papers_formula() -> None:
    """rate = D^-0.5 · min(n^-0.5, n · warmup^-1.5)"""
    settings = TrainConfig(schedule="noam", warmup=4000)
    model = ModelConfig.preset("base", vocabulary=100)
    peak = peak_rate(settings, model, 100_000)
    for update in (1, 1000, 4000, 70_000):
        wanted = 512**-0.5 * min(update**-0.5, update * 4000**-1.5)
        assert learning_rate(settings, update, peak=peak, updates=100_000) == pytest.approx(wanted)


@given(
    schedule=st.sampled_from(SCHEDULES),
    warmup=st.integers(0, 5000),
    updates=st.integers(1, 10_000),
    share=st.floats(0, 1),
)
def test_no_rate_is_below_zero_or_above_the_peak(
    schedule: str, warmup: int, updates: int, share: float
) -> None:
    settings = TrainConfig.from_dict({"schedule": schedule, "warmup": warmup})
    update = max(1, round(updates * share))
    assert 0 <= learning_rate(settings, update, peak=0.7, updates=updates) <= 0.7 + 1e-12
