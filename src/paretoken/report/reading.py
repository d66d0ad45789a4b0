"""A study's result document (studies/ID/result.json) as the questions a report asks of it.

Enters the JSON as it is, perhaps from another version or hand; each question has an answer or None. Refuses to judge:
verdicts are read, never made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.report.figures import Figure, currency_of, mapping, number, numbers, plain, quantile, rows, scalar
from paretoken.report.gravity import by_gravity, is_fatal

BASELINE, HAND, RECOMMENDED, REFUSED, OTHER = "baseline", "hand", "recommended", "refused", "other"
VS_BASELINE, VS_HAND = "vs_baseline", "vs_hand_setting"
RATE, FIRST_WORD, PER_TOKEN = "output_tok_s", "ttft_from_due_ms", "tpot_ms"


@dataclass(frozen=True, slots=True)
class Reading:
    result: Mapping[str, Any]

    # Who is who

    @property
    def study(self) -> str:
        return plain(self.result.get("study") or "")

    @property
    def baseline(self) -> str:
        return self._label("baseline") or "the baseline"

    @property
    def hand(self) -> str | None:
        return self._label("hand_setting")

    @property
    def recommended(self) -> str | None:
        return self._label("recommended")

    def role(self, label: str) -> str:
        """One role a label: recommended stands before hand setting, hand setting before baseline."""
        if label == self.recommended and not self.invalid:
            return RECOMMENDED
        if label == self.baseline:
            return BASELINE
        if label == self.hand:
            return HAND
        return REFUSED if label in self.refused_labels else OTHER

    @property
    def refused(self) -> list[Mapping[str, Any]]:
        return rows(self.result.get("refused"))

    @property
    def refused_labels(self) -> list[str]:
        return [plain(item.get("label")) for item in self.refused]

    @property
    def finalists(self) -> list[str]:
        """The labels to show side by side: baseline, hand setting, who else ran finals, recommended."""
        ran = [plain(label) for label in mapping(mapping(self.result.get("finals")).get("by_label"))]
        others = [label for label in ran if label != self.recommended]
        wanted = [self.baseline, self.hand, *others, self.recommended]
        return list(dict.fromkeys(label for label in wanted if label))

    # What was measured

    @property
    def candidates(self) -> list[Mapping[str, Any]]:
        """One row a candidate. Documents of before had all of them under `frontier`."""
        return rows(self.result.get("candidates")) or rows(self.result.get("frontier"))

    def metrics(self, label: str) -> Mapping[str, Any]:
        """The finals' pooled metrics of a label, else what baseline, hand_setting or recommended carry."""
        finals = mapping(self.finals_of(label).get("metrics"))
        if finals:
            return finals
        for key in ("recommended", "baseline", "hand_setting"):
            if self._label(key) == label:
                return mapping(mapping(self.result.get(key)).get("metrics"))
        return {}

    def finals_of(self, label: str) -> Mapping[str, Any]:
        by_label = mapping(mapping(self.result.get("finals")).get("by_label"))
        return next((mapping(found) for name, found in by_label.items() if plain(name) == label), {})

    @property
    def deciding(self) -> str:
        """The metric that the objective improves; documents of before knew the rate only."""
        objective = mapping(self.result.get("objective"))
        return plain(objective.get("maximise") or objective.get("minimise") or RATE)

    def slo_of(self, label: str) -> list[Mapping[str, Any]]:
        """Each limit with what became of it for this finalist; empty without an SLO."""
        return rows(self.finals_of(label).get("slo"))

    def meets_slo(self, label: str) -> bool:
        return all(item.get("verdict") == "met" for item in self.slo_of(label))

    def samples(self, label: str, name: str) -> list[float]:
        return numbers(mapping(self.finals_of(label).get("samples")).get(name))

    def timeline_ms(self, label: str) -> list[float]:
        return numbers(self.finals_of(label).get("timeline_ms"))

    def figure(self, label: str, name: str, stat: str | None = None) -> Figure:
        metrics = self.metrics(label)
        return scalar(metrics, name) if stat is None else quantile(metrics, name, stat)

    def tail(self, name: str) -> str:
        """p95 where every finalist has one, else p50: statistics of two kinds are never put side by side."""
        return "p95" if all(self.figure(label, name, "p95").known for label in self.finalists) else "p50"

    def bytes_of(self, label: str) -> float | None:
        """The size of a label's model file: from its candidate, else from its row."""
        for holder in self._holders():
            candidate = mapping(holder.get("candidate"))
            if plain(holder.get("label") or candidate.get("label") or "") == label:
                size = number(mapping(candidate.get("model")).get("bytes")) or number(holder.get("bytes"))
                if size:
                    return size
        return None

    def weights_of(self, label: str) -> str | None:
        """The fingerprint of a label's weights."""
        for holder in self._holders():
            candidate = mapping(holder.get("candidate"))
            if plain(holder.get("label") or candidate.get("label") or "") == label:
                found = mapping(candidate.get("model")).get("fingerprint")
                if isinstance(found, str) and found:
                    return found
        return None

    def settings_of(self, label: str) -> Mapping[str, Any] | None:
        """The engine settings of a label; None where no candidate of the document has it."""
        for holder in self._holders():
            candidate = mapping(holder.get("candidate"))
            if candidate and plain(holder.get("label") or candidate.get("label") or "") == label:
                return mapping(candidate.get("engine_settings"))
        return None

    # What was judged

    def effect(self, side: str, metric: str) -> "Verdict":
        """`side` is VS_BASELINE or VS_HAND."""
        return _verdict_in(mapping(self.result.get("verdicts")).get(side), metric)

    def effect_of(self, label: str, side: str, metric: str) -> "Verdict":
        """The same of any finalist, recommended or not."""
        return _verdict_in(self.finals_of(label).get(side), metric)

    @property
    def behaviour(self) -> Mapping[str, Any]:
        return mapping(mapping(self.result.get("verdicts")).get("behaviour"))

    @property
    def intact(self) -> str | None:
        found = mapping(mapping(self.result.get("verdicts")).get("intact")).get("verdict")
        return plain(found) if found else None

    @property
    def margin_nat(self) -> float | None:
        return number(mapping(mapping(self.result.get("objective")).get("behaviour")).get("margin_nat"))

    @property
    def currency(self) -> str | None:
        """Of costs, where a price was given; None: cost is machine time."""
        return currency_of(self.metrics(self.baseline))

    @property
    def interrupted(self) -> bool:
        return self.result.get("interrupted") is True

    @property
    def doubts(self) -> list[Mapping[str, Any]]:
        """The gravest first."""
        return by_gravity(rows(self.result.get("doubts")))

    @property
    def fatal_doubts(self) -> list[Mapping[str, Any]]:
        return [doubt for doubt in self.doubts if is_fatal(doubt)]

    @property
    def invalid(self) -> bool:
        """A doubt forbids a verdict: then nothing is shown as recommended, whatever the document holds."""
        return bool(self.fatal_doubts) or self.effect(VS_BASELINE, RATE).word == "invalid"

    # What was asked

    @property
    def load(self) -> str:
        load = mapping(mapping(self.result.get("objective")).get("load"))
        streams, rate = number(load.get("concurrency")), number(load.get("rate_per_s"))
        if streams is not None:
            return "1 stream" if streams == 1 else f"{streams:.0f} concurrent streams"
        return f"{rate:g} requests/s" if rate is not None else "the stated load"

    @property
    def output_tokens(self) -> int | None:
        found = number(mapping(self.result.get("objective")).get("output_tokens"))
        return None if found is None else int(found)

    def _label(self, key: str) -> str | None:
        found = mapping(self.result.get(key)).get("label")
        return plain(found) if found else None

    def _holders(self) -> list[Mapping[str, Any]]:
        """Every object of the document that describes one candidate."""
        named = [mapping(self.result.get(key)) for key in ("baseline", "hand_setting", "recommended")]
        return [*named, *rows(self.result.get("trials")), *self.candidates, *self.refused]


@dataclass(frozen=True, slots=True)
class Verdict:
    """An Effect as stored (core/verdict.py)."""

    word: str
    ratio: Figure
    margin: float | None = None
    blocks: int = 0
    blocks_to_settle: int | None = None
    reason: str | None = None


def _verdict_in(effects: Any, metric: str) -> Verdict:
    for item in rows(effects):
        if item.get("metric") == metric:
            return verdict_of_effect(item)
    return Verdict(word="unknown", ratio=Figure(), reason="it was not compared")


def verdict_of_effect(effect: Mapping[str, Any]) -> Verdict:
    """An Effect's JSON (core/verdict.py) as it is stored."""
    needed = number(effect.get("blocks_to_settle"))
    return Verdict(
        word=plain(effect.get("verdict") or "unknown"),
        ratio=scalar(effect, "ratio"),
        margin=number(effect.get("margin")),
        blocks=int(number(effect.get("blocks")) or 0),
        blocks_to_settle=None if needed is None else int(needed),
        reason=plain(effect["reason"]) if effect.get("reason") else None,
    )
