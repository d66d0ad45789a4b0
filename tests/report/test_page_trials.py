from paretoken.report.page_trials import trials
from paretoken.report.reading import Reading
from tests.report.sample import sample
from tests.report.sample_variants import many_trials


def test_failed_trials_do_not_vanish() -> None:
    found = trials(Reading(sample()))
    rows = [row for group in found["groups"] for row in group["rows"]]
    assert [row["state"] for row in rows].count("crashed") == 1
    assert any("signal 9" in row["note"] for row in rows)
    assert found["states"] == "8 complete, 1 refused, 1 crashed"


def test_twenty_trials_stand_in_groups_the_fastest_first_and_the_failed_last() -> None:
    found = trials(Reading(many_trials()))
    assert (found["count"], found["has_effort"]) == (20, True)
    assert [group["phase"] for group in found["groups"]] == ["Screening", "Finals"]
    screening = found["groups"][0]
    assert screening["states"] == "8 complete, 3 refused, 2 infeasible, 2 crashed, 2 timeout"
    states = [row["state"] for row in screening["rows"]]
    order = ["complete", "refused", "infeasible", "crashed", "timeout"]
    assert states == sorted(states, key=order.index)
    rates = [float(row["rate"].split()[0]) for row in screening["rows"] if row["state"] == "complete"]
    assert rates == sorted(rates, reverse=True)


def test_a_point_shows_where_it_differs_from_the_baseline() -> None:
    rows = {row["label"]: row for row in trials(Reading(many_trials()))["groups"][0]["rows"]}
    assert rows["Q4_1 as given · 1 slot"]["point"] == ""
    assert rows["Q4_1 as given · 6 slots · q8_0 cache"]["point"] == "slots 6, kv type q8_0"
    assert rows["Q4_1 as given · 6 slots · q8_0 cache"]["effort"] == "requests 16, blocks 1"


def test_an_unknown_state_is_shown_and_nothing_is_a_table_of_nothing() -> None:
    result = {"trials": [{"candidate": {"label": "x"}, "state": "a state of tomorrow"}]}
    row = trials(Reading(result))["groups"][0]["rows"][0]
    assert (row["state"], row["kind"]) == ("a state of tomorrow", "unknown")
    assert trials(Reading({}))["count"] == 0
