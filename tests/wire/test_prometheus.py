"""The exposition format: what is valid is read, what is not is counted, and nothing raises."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.wire import prometheus
from paretoken.wire.prometheus import parse

PAGE = b"""# HELP http_requests_total Requests so far.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

escaped{path="C:\\\\DIR\\\\FILE.TXT",error="Cannot find\\n\\"FILE\\"",brace="}"} 1.5e9
no_labels 12.47
spaced { a = "1" , b = "2", } 4
nothing +Inf -3982045
odd{problem="division by zero"} -inf
not_a_number NaN
vllm:ttft_seconds_bucket{le="0.1"} 2 # {trace_id="KOO5S4vxi0o"} 0.05 1520879607.789
"""


def test_samples_with_labels_escapes_timestamps_and_special_values() -> None:
    page = parse(PAGE)
    assert page.malformed == 0 and not page.truncated
    assert page.total("http_requests_total") == 1030
    assert page.total("http_requests_total", (("code", "400"),)) == 3
    (labels,) = page.samples["escaped"]
    assert dict(labels) == {"path": "C:\\DIR\\FILE.TXT", "error": 'Cannot find\n"FILE"', "brace": "}"}
    assert page.total("escaped") == 1.5e9
    assert page.total("no_labels") == 12.47
    assert page.samples["spaced"] == {(("a", "1"), ("b", "2")): 4.0}
    assert page.samples["nothing"] == {(): math.inf}
    assert math.isnan(page.samples["not_a_number"][()])
    assert page.samples["vllm:ttft_seconds_bucket"] == {(("le", "0.1"),): 2.0}


def test_what_is_not_finite_is_no_total() -> None:
    page = parse(PAGE)
    for name in ("nothing", "odd", "not_a_number", "absent"):
        assert page.total(name) is None


def test_openmetrics_ends_at_its_mark_and_names_counters_with_total() -> None:
    page = parse(b"# TYPE a counter\na_total 5\na_created 1.6e9\n# EOF\nb 1\n")
    assert page.total("a") == page.total("a_total") == 5
    assert page.total("b") is None
    assert parse(b"a 5\n").total("a_total") == 5


@pytest.mark.parametrize(
    "line",
    [
        "<html>",
        "name",
        "name one",
        "name 1_000",
        "name 0x10",
        "1name 3",
        'name{a="1"',
        'name{a="1" b="2"} 3',
        "name{a=1} 3",
        'name{a="1",a="2"} 3',
        'name{"a"="1"} 3',
        "name 3 tomorrow",
        "name 3 4 5",
        "a" * (prometheus.LINE_CHARACTERS + 1),
    ],
)
def test_a_malformed_line_is_counted_and_left_out(line: str) -> None:
    page = parse(f"before 1\n{line}\nafter 2\n".encode())
    assert page.malformed == 1
    assert set(page.samples) == {"before", "after"}


def test_a_sample_said_twice_counts_once() -> None:
    page = parse(b'a{x="1"} 2\na{x="1"} 3\n')
    assert (page.total("a"), page.malformed) == (2, 1)


def test_a_long_line_within_the_limit_is_read() -> None:
    value = "x" * (prometheus.LINE_CHARACTERS - 100)
    assert parse(f'a{{b="{value}"}} 1\n'.encode()).total("a") == 1


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MOST_SAMPLES", 2)
    page = parse(b"a 1\nb 2\nc 3\n")
    assert page.truncated and set(page.samples) == {"a", "b"}
    monkeypatch.setattr(prometheus, "PAGE_BYTES", 5)
    page = parse(b"a 1\nb 2\n")
    assert page.truncated and page.total("a") == 1


def test_a_histogram_adds_up_its_label_sets_and_keeps_the_buckets_that_all_have() -> None:
    page = parse(
        b'h_bucket{m="a",le="0.1"} 1\nh_bucket{m="a",le="1.0"} 2\nh_bucket{m="a",le="+Inf"} 3\nh_sum{m="a"} 4\n'
        b'h_count{m="a"} 3\nh_bucket{m="b",le="1"} 1\nh_bucket{m="b",le="+Inf"} 1\nh_sum{m="b"} 0.5\nh_count{m="b"} 1\n'
    )
    found = page.histogram("h")
    assert found is not None
    assert (found.bounds, found.cumulative, found.count, found.sum) == ((1.0, math.inf), (3.0, 4.0), 4.0, 4.5)
    only = page.histogram("h", (("m", "a"),))
    assert only is not None and only.bounds == (0.1, 1.0, math.inf)


def test_counts_that_fall_are_no_histogram() -> None:
    assert parse(b'h_bucket{le="1"} 5\nh_bucket{le="+Inf"} 3\nh_sum 1\nh_count 3\n').histogram("h") is None
    assert parse(b'h_bucket{le="1"} 5\n').histogram("h") is None


@given(st.binary(max_size=400))
def test_no_bytes_raise(data: bytes) -> None:
    parse(data)


@given(st.text(alphabet='ab_:{}="\\,# \t\n01.eE+-NaInf', max_size=300))
def test_no_text_of_the_format_s_own_characters_raises(text: str) -> None:
    page = parse(text.encode())
    for name in page.samples:
        page.total(name)
        page.histogram(name.removesuffix("_bucket"))
