import re
import sys
import xml.etree.ElementTree as ET

import pytest

from paretoken.errors import MissingExtraError
from paretoken.report.chart_behaviour import behaviour_points, margin_nat
from paretoken.report.chart_contributions import contribution_rows
from paretoken.report.chart_frontier import MANY, common_stat, frontier, wait_points
from paretoken.report.chart_scatter import Point
from paretoken.report.chart_style import PALETTE, standalone, svg_of, theme_css
from paretoken.report.charts import pictures
from paretoken.report.reading import Reading
from tests.report.sample import BASELINE, HALF, WINNER, WRONG, interrupted, sample
from tests.report.sample_variants import many_trials, of_before


def test_each_colour_of_a_chart_is_in_the_palette_so_that_it_has_a_dark_twin(whole_page: str) -> None:
    charts = re.findall(r"<svg.*?</svg>", whole_page, re.DOTALL)
    assert len(charts) == 8
    used = set(re.findall(r'(?:fill|stroke)="(#[^"]+)"', "".join(charts)))
    assert used <= {light for light, _ in PALETTE.values()}
    assert len(used) >= 8
    css = theme_css()
    assert all(f'[fill="{light}"]' in css and f'[stroke="{light}"]' in css for light in used)


def test_charts_scale_with_their_frame_and_have_readable_text(whole_page: str) -> None:
    for chart in re.findall(r"<svg.*?</svg>", whole_page, re.DOTALL):
        root = ET.fromstring(chart)
        assert "viewBox" in root.attrib
        assert "width" not in root.attrib
        width = float(root.attrib["viewBox"].split()[2])
        smallest = min(float(t.attrib["font-size"].removesuffix("px")) for t in root.iter("text"))
        shown_at_px = 354 if width < 500 else 940  # a phone's column; wide charts are not shown on phones
        assert smallest * shown_at_px / width >= 10


def test_each_picture_has_words_that_stand_in_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("frontier", "waits", "behaviour", "contributions"):
        monkeypatch.setattr(f"paretoken.report.chart_{name}.svg_of", lambda *_: "<svg/>")
    found = pictures(Reading(sample()))
    assert "Q8_0 · 8 slots (recommended): 71.3 tok/s" in found["frontier_first_word"].words
    assert f"{HALF.label} (knee of the frontier): 60.8 tok/s" in found["frontier_per_token"].words
    assert "Q4_0 (refused): 92 MB, KLD 0.33 nat" in found["behaviour"].words
    assert "margin of 0.01 nat" in found["behaviour"].words
    assert "8 slots: alone 1.21×, inside the winner 1.40×" in found["contributions"].words
    assert f"{BASELINE.label}: 96 requests" in found["first_words"].words
    assert "first word after" in found["timeline"].words
    assert found["timeline"].wide_svg is not None


def test_a_study_without_finals_has_the_pictures_that_it_has_numbers_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretoken.report.chart_frontier.svg_of", lambda *_: "<svg/>")
    assert set(pictures(Reading(interrupted()))) == {"frontier_first_word", "frontier_per_token"}
    assert pictures(Reading({})) == {}


def test_all_points_of_a_picture_have_the_same_statistic() -> None:
    result = sample()
    assert common_stat(Reading(result), "tpot_ms") == "p95"
    screened = next(point for point in result["candidates"] if point["label"] == WRONG.label)
    screened["tpot_ms"] = {"stat": "p50", "value": 74.0, "ci95": [70.0, 78.0]}
    reading = Reading(result)
    assert common_stat(reading, "tpot_ms") == "p50"
    winner = next(point for point in wait_points(reading, "tpot_ms") if point.label == WINNER.label)
    assert winner.x.value == reading.figure(WINNER.label, "tpot_ms", "p50").value


def test_a_crashed_candidate_does_not_decide_the_statistic() -> None:
    result = sample()
    crashed = {"label": "F16 · 4 slots", "state": "crashed", "output_tok_s": None, "tpot_ms": None}
    result["candidates"].append(crashed)
    assert common_stat(Reading(result), "tpot_ms") == "p95"


def test_the_refused_stay_in_the_picture() -> None:
    roles = {point.label: point.role for point in wait_points(Reading(sample()), "ttft_from_due_ms")}
    assert roles[WRONG.label] == "refused"
    assert roles[WINNER.label] == "recommended"


def test_a_point_without_a_number_is_left_out() -> None:
    result = sample()
    result["candidates"][0]["output_tok_s"]["value"] = None
    result["candidates"][1]["output_tok_s"] = {"value": 0.0, "ci95": None}
    labels = [point.label for point in wait_points(Reading(result), "tpot_ms")]
    assert result["candidates"][0]["label"] not in labels
    assert result["candidates"][1]["label"] not in labels


def test_of_many_candidates_only_those_that_matter_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    named: dict[str, bool] = {}

    def note(points: list[Point], *_: object) -> list[object]:
        named.update({point.label: point.named for point in points})
        return []

    monkeypatch.setattr("paretoken.report.chart_frontier.scatter", note)
    monkeypatch.setattr("paretoken.report.chart_frontier.svg_of", lambda *_: "<svg/>")
    frontier(Reading(many_trials()), "tpot_ms", "each next token")
    assert len(named) > MANY
    assert all(named[judged.label] for judged in (BASELINE, WINNER, WRONG, HALF))
    assert not named["Q4_1 as given · 8 slots · f16 cache"]
    frontier(Reading(sample()), "tpot_ms", "each next token")
    assert named["F16 · 8 slots"]


def test_every_variant_that_the_study_lists_is_a_point() -> None:
    reading = Reading(sample())
    points = {point.label: point for point in behaviour_points(reading)}
    assert set(points) == {"as given", "Q8_0", "F16", "Q4_0", "2 layers pruned", "same bits, repacked", "Q6_K"}
    assert points["Q8_0"].role == "recommended"
    assert points["2 layers pruned"].role == points["Q4_0"].role == "refused"
    assert (points["same bits, repacked"].y.value, points["same bits, repacked"].y.low) == (0.0, None)
    assert points["Q6_K"].y.low == 0.0  # no divergence is below zero, whatever an interval says
    assert margin_nat(reading) == 0.01


def test_only_one_of_two_variants_of_one_size_is_the_recommended() -> None:
    result = sample()
    result["model_level"].append({**result["model_level"][1], "label": "Q8_0 but otherwise"})
    roles = {point.label: point.role for point in behaviour_points(Reading(result))}
    assert (roles["Q8_0"], roles["Q8_0 but otherwise"]) == ("recommended", "other")


def test_a_contribution_that_was_not_measured_is_not_drawn() -> None:
    rows = {row.words: row for row in contribution_rows(Reading(sample()))}
    assert list(rows) == ["Q8_0 weights", "8 slots", "prompt cache", "all together"]
    assert not rows["prompt cache"].inside.known
    assert contribution_rows(Reading(of_before())) == []


def test_weights_stand_once_with_the_finest_evidence() -> None:
    points = {point.label: point for point in behaviour_points(Reading(of_before()))}
    assert set(points) == {"as given", "Q8_0", "F16", "Q4_0"}
    assert points["Q8_0"].y.value == 0.0041  # the finals' 2048 positions, not screening's 256
    assert points["as given"].y.value == 0.0


def test_hostile_names_stay_text_in_a_chart() -> None:
    """A control character aborts the renderer's process, and a tag would leave the chart."""
    result = sample()
    result["candidates"] = result["candidates"][:2]
    result["candidates"][0]["label"] = "</text><script>\x1b\x00\ufffe"
    drawn = frontier(Reading(result), "tpot_ms", "each next token")
    assert drawn is not None
    assert "<script" not in drawn
    assert "&lt;/text&gt;&lt;script&gt;" in drawn


def test_a_missing_renderer_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match="report"):
        svg_of([], 10, 10)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r"'report'"):
        frontier(Reading(sample()), "tpot_ms", "each next token")


def test_a_picture_can_stand_alone(whole_page: str) -> None:
    chart = re.findall(r"<svg.*?</svg>", whole_page, re.DOTALL)[0]
    alone = ET.fromstring(standalone(chart))
    assert alone.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme:dark" in (alone[0].text or "")
    assert len(list(alone.iter())) == len(list(ET.fromstring(chart).iter())) + 2


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "muted", "baseline", "hand", "recommended", "refused", "line"])
def test_text_can_be_read_on_its_paper(name: str, theme: int) -> None:
    assert contrast(PALETTE[name][theme], PALETTE["paper"][theme]) >= 4.5
