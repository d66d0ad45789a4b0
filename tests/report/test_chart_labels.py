from hypothesis import given
from hypothesis import strategies as st

from paretoken.report.chart_labels import Box, Wanted, box_around, place

FRAME = (400.0, 300.0)


def test_a_free_label_stands_right_of_its_point() -> None:
    (box,) = place([Wanted(100, 100, 60, 16)], FRAME, [])
    assert (box.left, box.top, box.right, box.bottom) == (110, 92, 170, 108)


def test_a_label_does_not_leave_the_frame() -> None:
    (box,) = place([Wanted(390, 10, 60, 16)], FRAME, [])
    assert box.outside(*FRAME) == 0


def test_a_label_goes_round_what_is_in_its_way() -> None:
    point = box_around(130, 100, 8)
    (box,) = place([Wanted(100, 100, 60, 16)], FRAME, [point])
    assert box.overlap(point) == 0


def test_labels_of_neighbours_do_not_overlap() -> None:
    wanted = [Wanted(200 + 3 * n, 150 + 2 * n, 70, 16) for n in range(5)]
    boxes = place(wanted, FRAME, [])
    assert all(a.overlap(b) == 0 for n, a in enumerate(boxes) for b in boxes[n + 1 :])


def test_the_same_points_have_the_same_places() -> None:
    wanted = [Wanted(200, 150, 70, 16), Wanted(201, 151, 70, 16)]
    assert place(wanted, FRAME, []) == place(wanted, FRAME, [])


def test_the_nearest_point_of_a_box() -> None:
    box = Box(10, 10, 20, 20)
    assert box.nearest(0, 15) == (10, 15)
    assert box.nearest(15, 15) == (15, 15)
    assert box.nearest(30, 40) == (20, 20)


def test_overlap_is_an_area() -> None:
    assert Box(0, 0, 10, 10).overlap(Box(5, 5, 20, 20)) == 25
    assert Box(0, 0, 10, 10).overlap(Box(10, 0, 20, 10)) == 0


@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), max_size=12))
def test_every_label_has_a_place_inside(points: list[tuple[float, float]]) -> None:
    boxes = place([Wanted(x, y, 60, 16) for x, y in points], FRAME, [])
    assert len(boxes) == len(points)
    assert all(box.outside(*FRAME) < 30 for box in boxes)
