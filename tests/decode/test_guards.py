"""Guards: what is a loop, and which lengths are odd."""

import pytest

from cutaway.decode.guards import loop, odd_length


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], None),
        ([9, 1, 2, 1, 2, 1, 2, 1, 2], (1, 2)),
        ([7] * 8, (0, 1)),
        ([7] * 7, None),  # "!!!!!!!" is no loop
        ([1, 2, 3, 1, 2, 3, 1, 2, 3], None),  # three times may be meant
        ([5, *[1, 2, 3] * 4, 6], (1, 3)),
    ],
)
def test_loops(ids: list[int], expected: tuple[int, int] | None) -> None:
    assert loop(ids) == expected


def test_odd_lengths_are_told_and_usual_ones_are_not() -> None:
    assert odd_length(20, 22) is None
    assert odd_length(2, 8) is None  # short sentences differ
    assert "shorter" in (odd_length(30, 5) or "")
    assert "longer" in (odd_length(5, 30) or "")
