"""The table of names against pages as the servers' documentation shows them, shortened, with values of ours."""

import pytest

from paretoken.wire.prometheus import parse
from paretoken.wire.server_metrics import COUNTER, DIALECTS, GAUGE, HISTOGRAM, dialect_of, name_in
from tests.wire.expositions import PAGES


def test_each_page_is_of_its_own_dialect() -> None:
    assert set(PAGES) == {dialect.name for dialect in DIALECTS}
    for name, page in PAGES.items():
        found = dialect_of(parse(page.encode()))
        assert found is not None and found.name == name


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_are_read_whole(name: str) -> None:
    page = parse(PAGES[name].encode())
    assert page.malformed == 0
    dialect = next(dialect for dialect in DIALECTS if dialect.name == name)
    assert sum(name_in(page, metric) is not None for metric in dialect.metrics) >= 8


def test_a_page_of_something_else_is_of_no_dialect() -> None:
    assert dialect_of(parse(b"python_gc_objects_collected_total 4\nprocess_cpu_seconds_total 2\n")) is None
    assert dialect_of(parse(b"<html>")) is None


def test_older_names_are_read_where_newer_ones_are_not() -> None:
    vllm = next(dialect for dialect in DIALECTS if dialect.name == "vllm")
    by_name = {metric.name: metric for metric in vllm.metrics}
    old = parse(
        b"vllm:gpu_cache_usage_perc 0.5\nvllm:time_per_output_token_seconds_count 3\n"
        b"vllm:gpu_prefix_cache_hits_total 4\nvllm:kv_cache_usage_perc 0.25\n"
    )
    assert name_in(old, by_name["itl"]) == "vllm:time_per_output_token_seconds"
    assert name_in(old, by_name["prefix_cache_hits"]) == "vllm:gpu_prefix_cache_hits_total"
    assert name_in(old, by_name["kv_used"]) == "vllm:kv_cache_usage_perc"


def test_the_table_is_sound() -> None:
    for dialect in DIALECTS:
        names = [metric.name for metric in dialect.metrics]
        assert len(names) == len(set(names))
        assert all(metric.kind in (COUNTER, GAUGE, HISTOGRAM) for metric in dialect.metrics)
    assert [dialect.name for dialect in DIALECTS if dialect.tried] == ["llama.cpp"]
