"""paretoken verify: how far a model's behaviour lies from another's, and whether that is inside the margin; or, of a
study, whether its recommendation still holds."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paretoken.cli.talk import ConsoleTalk
from paretoken.errors import UsageError
from paretoken.units import show_percent

if TYPE_CHECKING:
    from paretoken.verification.verify import Verification

# Decision rule 7 → exit status: the gate passes, is not settled, or does not pass.
STATUS = {"equivalent": 0, "changed_small": 0, "inconclusive": 3, "changed": 4, "fail": 4}
RECHECK_STATUS = {"holds": 0, "not settled": 3, "does not hold": 4}


@click.command(
    epilog="Examples:\n\n  paretoken verify smollm2-135m smollm2-Q8_0.gguf"
    "\n\n  paretoken verify 01JB3YQ0V9V5W1S4Z7N2M8K6T4"
)
@click.argument("base")
@click.argument("candidate", required=False)
@click.option("--positions", type=click.IntRange(32, 100_000), default=2048, show_default=True, help="Token positions.")
@click.option("--behaviour", default="kld < 0.01", show_default=True, help="The margin, in nats.")
@click.option(
    "--text", type=click.Path(dir_okay=False), help="A text file to compare on, instead of the bundled books."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
@click.pass_context
def verify(
    ctx: click.Context,
    base: str,
    candidate: str | None,
    positions: int,
    behaviour: str,
    text: str | None,
    as_json: bool,
) -> int:
    """Compare CANDIDATE's next-token distributions with BASE's, over the whole vocabulary. With the ID of a study
    alone: measure its recommendation against its baseline again, on fresh blocks.

    Exit status: 0 equivalent or changed a little inside the margin, 3 not settled, 4 changed or broken.
    """
    if candidate is None:
        return _recheck(ctx.obj["home"], base, as_json)
    from paretoken.verification.behaviour import parse_margin
    from paretoken.verification.verify import verify as compare

    margin_nat = parse_margin(behaviour)
    talk = ConsoleTalk()
    found = compare(base, candidate, positions=positions, margin_nat=margin_nat, text=text, on_progress=talk.progress)
    talk.progress("")
    if found.behaviour.positions < 0.9 * positions:
        talk.line(
            f"the text holds {found.behaviour.positions:,} positions, not {positions:,}; --text gives a longer one"
        )
    click.echo(json.dumps(found.as_json(), indent=2, allow_nan=False) if as_json else "\n".join(lines(found)))
    return STATUS[found.verdict]


def _recheck(home: Path, study: str, as_json: bool) -> int:
    from paretoken.records.ulid import is_ulid
    from paretoken.study.recheck import recheck

    if not is_ulid(study):
        raise UsageError(f"'{study}' is no study's ID, and to compare a model with it another one is needed; give both")
    found = recheck(home, study, talk=ConsoleTalk())
    if as_json:
        click.echo(json.dumps(found, indent=2, allow_nan=False))
    else:
        click.echo(f"{found['verdict']}: {found['why']}")
    return RECHECK_STATUS[found["verdict"]]


def lines(found: "Verification") -> list[str]:
    """The verification for people."""
    behaviour = found.behaviour
    shown = [f"verdict    {found.verdict}: {behaviour.reason}"]
    if behaviour.same_top is not None and behaviour.ppl_ratio is not None:
        shown += [
            f"same top   {show_percent(behaviour.same_top.value)} of {behaviour.positions:,} positions "
            f"in {behaviour.documents} documents ({found.text})",
            f"perplexity × {behaviour.ppl_ratio.value:.4f}",
        ]
    if found.floors is not None:
        shown.append(
            f"floors     again: {found.floors.repeat.kld.value:.2g} nat; rounding: {found.floors.numerics_nat:.2g} nat"
        )
    if behaviour.smallest_detectable is not None:
        shown.append(f"detects    differences from {behaviour.smallest_detectable:.2g} nat on")
    differ = [pair for pair in found.answers if not pair.divergence.identical]
    if found.answers:
        shown.append(f"answers    {len(differ)} of {len(found.answers)} greedy answers differ")
    for pair in differ[:2] if not behaviour.passes else []:
        shown += [
            f"  asked    {pair.prompt}",
            f"  before   {_line(pair.baseline.text)}",
            f"  now      {_line(pair.candidate.text)}",
        ]
    shown += [f"doubt      {doubt.name}: {doubt.seen}; {doubt.kind.why}" for doubt in found.doubts]
    return shown


def _line(text: str) -> str:
    """A model's text is hostile: one short line of it, no control character reaches the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)[:160]
