from paretoken.metrics.reuse import cache_hit_rate, draft_acceptance

from ..made import failed, record


def test_the_hit_rate_is_over_tokens_and_not_over_requests() -> None:
    found = [
        record(0, reply={"prompt_tokens": 100, "cached_tokens": 90}),
        record(1, reply={"prompt_tokens": 300, "cached_tokens": 10}),
    ]
    assert cache_hit_rate(found) == 0.25
    assert cache_hit_rate([*found, record(2, reply={"prompt_tokens": 100}), failed(3)]) == 0.25


def test_what_a_server_does_not_count_is_not_known() -> None:
    assert cache_hit_rate([record(0, reply={"prompt_tokens": 100})]) is None
    assert draft_acceptance([record(0)]) is None


def test_acceptance_is_kept_over_drafted() -> None:
    one = record(0, reply={"server_timings": {"draft_n": 30.0, "draft_n_accepted": 10.0}})
    two = record(1, reply={"server_timings": {"draft_n": 10.0, "draft_n_accepted": 10.0}})
    assert draft_acceptance([one, two]) == 0.5
