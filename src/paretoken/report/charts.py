"""The pictures of a study, each with the words that stand in for it.

Enters a Reading; leaves SVG strings in light colours (chart_style.theme_css gives a page their dark twins). Needs the
extra `report`; draws offline.
"""

from dataclasses import dataclass

from paretoken.report.chart_behaviour import behaviour_against_size, behaviour_points, margin_nat
from paretoken.report.chart_contributions import contributions_picture, contributions_words
from paretoken.report.chart_frontier import common_stat, frontier, wait_points
from paretoken.report.chart_scatter import ROLE_WORDS, Point
from paretoken.report.chart_waits import NARROW, WIDE, distributions, timeline
from paretoken.report.figures import show_ms, show_nat, show_rate
from paretoken.report.reading import FIRST_WORD, PER_TOKEN, Reading


@dataclass(frozen=True, slots=True)
class Picture:
    """`svg` for a column; `wide_svg` is the same for a wide place, where it differs. `words` say what it shows."""

    svg: str
    words: str
    wide_svg: str | None = None


def pictures(reading: Reading) -> dict[str, Picture]:
    """Those that this study has the numbers for."""
    first, each = frontier(reading, FIRST_WORD, "first word"), frontier(reading, PER_TOKEN, "each next token")
    made = {
        "contributions": (contributions_picture(reading), contributions_words(reading)),
        "frontier_first_word": (first, _frontier_words(reading, FIRST_WORD, "the first word")),
        "frontier_per_token": (each, _frontier_words(reading, PER_TOKEN, "each next token")),
        "first_words": (
            distributions(reading, FIRST_WORD, "wait for the first word"),
            _dots_words(reading, FIRST_WORD),
        ),
        "per_tokens": (distributions(reading, PER_TOKEN, "wait for each next token"), _dots_words(reading, PER_TOKEN)),
        "behaviour": (behaviour_against_size(reading), _behaviour_words(reading)),
    }
    found = {name: Picture(svg, words) for name, (svg, words) in made.items() if svg is not None}
    narrow, wide = timeline(reading, width=NARROW), timeline(reading, width=WIDE)
    if narrow is not None:
        found["timeline"] = Picture(narrow, _timeline_words(reading), wide)
    return found


def _named(point: Point) -> str:
    role = ROLE_WORDS[point.role]
    words = [*([role] if role else []), *(["knee of the frontier"] if point.at_knee else [])]
    return f"{point.label} ({', '.join(words)})" if words else point.label


def _frontier_words(reading: Reading, name: str, what: str) -> str:
    stat = "median" if common_stat(reading, name) == "p50" else "p95"
    said = [
        f"{_named(point)}: {show_rate(point.y.value)}, {show_ms(point.x.value)}"
        for point in wait_points(reading, name)
        if point.x.value is not None and point.y.value is not None
    ]
    return f"Output rate against the {stat} wait for {what}. {'; '.join(said)}."


def _behaviour_words(reading: Reading) -> str:
    said = [
        f"{_named(point)}: {point.x.value:.0f} MB, KLD {show_nat(point.y.value)} nat"
        for point in behaviour_points(reading)
        if point.x.value is not None and point.y.value is not None
    ]
    margin = margin_nat(reading)
    line = f", with the margin of {margin:g} nat as a line" if margin else ""
    return f"Mean KL divergence against size{line}. {'; '.join(said)}."


def _dots_words(reading: Reading, name: str) -> str:
    what = "the first word" if name == FIRST_WORD else "each next token"
    said = []
    for label in reading.finalists:
        values = sorted(reading.samples(label, name))
        if values:
            said.append(f"{label}: {len(values)} requests, {show_ms(values[0])} to {show_ms(values[-1])}")
    return f"The wait of every request for {what}. {'; '.join(said)}."


def _timeline_words(reading: Reading) -> str:
    said = []
    for label in reading.finalists:
        moments = reading.timeline_ms(label)
        if moments:
            said.append(f"{label}: first word after {show_ms(moments[0])}, the last after {show_ms(max(moments))}")
    return f"One median request, token by token, with a line at 100 ms. {'; '.join(said)}."
