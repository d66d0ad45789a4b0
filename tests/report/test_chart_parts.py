import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.report.chart_parts import Scale, scale_around
from paretoken.report.chart_waits import swarm, thinned


@pytest.mark.parametrize(
    "scale", [Scale(10, 60, 300), Scale(0.5, 20, 300, "log"), Scale(0, 0.5, 300, "symlog")], ids=lambda s: s.kind
)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_pixels_and_values_are_each_others_inverse(scale: Scale, share: float) -> None:
    value = scale.low + share * (scale.high - scale.low)
    assert scale.from_px(scale.to_px(value)) == pytest.approx(value)
    assert 0 <= scale.to_px(value) <= scale.pixels + 1e-9


def test_far_apart_values_get_a_logarithmic_axis() -> None:
    assert scale_around([1.0, 9.0], 300).kind == "log"
    assert scale_around([40.0, 90.0], 300).kind == "linear"
    assert scale_around([0.0, 9.0], 300).kind == "linear"


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20))
def test_every_value_is_inside_its_axis(values: list[float]) -> None:
    for from_zero in (False, True):
        scale = scale_around(values, 300, from_zero=from_zero)
        assert all(-1e-6 <= scale.to_px(value) <= 300 + 1e-6 for value in values)
        assert all(scale.low * (1 - 1e-6) <= tick <= scale.high * (1 + 1e-6) for tick in scale.ticks())


def test_ticks_are_round_and_not_too_many() -> None:
    assert Scale(41, 97, 300).ticks() == [60.0, 80.0] or Scale(41, 97, 300).ticks() == [50.0, 60.0, 70.0, 80.0, 90.0]
    assert Scale(0.8, 6, 300, "log").ticks() == [1, 2, 3, 5]
    assert Scale(0, 0.5, 300, "symlog").ticks() == [0.0, 0.001, 0.01, 0.1]


def test_one_value_has_an_axis() -> None:
    assert scale_around([5.0], 300).to_px(5.0) == pytest.approx(150, abs=1)
    assert scale_around([0.0], 300, from_zero=True).high > 0


def test_thinning_keeps_both_ends_and_the_order() -> None:
    kept = thinned(list(range(1000, 0, -1)), 50)
    assert (len(kept), kept[0], kept[-1]) == (50, 1, 1000)
    assert kept == sorted(kept)
    assert thinned([3.0, 1.0], 50) == [1.0, 3.0]


def test_dots_at_one_place_are_moved_apart() -> None:
    moved = swarm([100.0] * 5, room_px=60)
    assert len(set(moved)) == 5
    assert sum(moved) == pytest.approx(0, abs=6)
    assert swarm([10.0, 200.0], 60) == [0.0, 0.0]


def test_a_full_column_is_pressed_into_its_row() -> None:
    assert max(map(abs, swarm([100.0] * 400, room_px=60))) <= 30.5
