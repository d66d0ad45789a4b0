"""After screening: the finalist is verified, the finals are held, and they alone decide who is recommended."""

from collections.abc import Sequence

from paretoken.core.candidate import Candidate
from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect
from paretoken.metrics.slo import held, per_request
from paretoken.study.choose import GATE_PASSES, Choice, Entrant, finalists_in_order, recommend
from paretoken.study.finals import Side, effect_in, run_finals, side_of, worse_than
from paretoken.study.screening import kld_words, refuse
from paretoken.study.space import BASELINE, Point
from paretoken.study.state import State
from paretoken.study.steps import Block, Steps

FEWEST_BLOCKS = 2  # below, blocks cannot show how much they scatter


def verify_finalist(steps: Steps, state: State) -> None:
    """The fastest screened candidate whose behaviour passes on many positions and whose slots are intact; and the hand
    setting's slots, which have to be intact like anyone's."""
    talk, space = steps.bench.talk, state.space
    hand = space.candidate(space.hand)
    _check_slots(steps, state, hand)
    for trial in finalists_in_order(state.trials, [space.label(BASELINE), hand.label], steps.objective):
        candidate = trial.candidate
        behaviour = None
        if candidate.model.fingerprint != space.model.fingerprint:
            talk.progress(f"verifying {candidate.label}")
            behaviour = steps.verify_model(space.model, candidate.model, state.plan.final_positions)
            talk.line(f"  verified {candidate.label}: {behaviour['verdict']} ({kld_words(behaviour)})")
            if behaviour["verdict"] not in GATE_PASSES:
                refuse(steps, state, trial, behaviour)
                continue
        if _check_slots(steps, state, candidate) != "intact":
            continue
        state.finalist, state.behaviour = candidate, behaviour
        return


def _check_slots(steps: Steps, state: State, candidate: Candidate) -> str:
    """intact, not_intact or inconclusive; one slot changes nothing and needs no look."""
    if int(candidate.engine_settings.get("slots", 1)) <= 1:
        return "intact"
    steps.bench.talk.progress(f"checking that the slots of {candidate.label} change only when tokens come")
    found = steps.verify_slots(candidate)
    state.intact[candidate.label] = found
    verdict = str(found["verdict"])
    steps.bench.talk.line(f"  service settings of {candidate.label}: {verdict.replace('_', ' ')}")
    return verdict


def hold_finals(steps: Steps, state: State) -> None:
    """Baseline, hand setting and finalist; the baseline alone where nobody else is left."""
    space, plan = state.space, state.plan
    entrants = [space.candidate(BASELINE)]
    if space.hand != BASELINE:
        entrants.append(space.candidate(space.hand))
    if state.finalist is not None:
        entrants.append(state.finalist)
    steps.bench.talk.line(f"Finals: {', '.join(candidate.label for candidate in entrants)}")
    found = run_finals(steps, entrants, blocks=plan.blocks, requests=plan.requests_per_block)
    steps.bench.talk.progress("")
    whole = found.whole_blocks
    if found.interrupted:
        state.interrupted = True
        steps.bench.talk.line(f"Interrupted: reporting the {whole} of {plan.blocks} blocks that every finalist has.")
    for candidate in entrants:
        if candidate.label in found.broken:
            _drop_finalist(state, candidate, found.broken[candidate.label])
        elif whole >= FEWEST_BLOCKS:
            blocks = found.by_label[candidate.label][:whole]
            side = _side(steps, candidate, blocks)
            state.sides[candidate.label] = side


def _side(steps: Steps, candidate: Candidate, blocks: Sequence[Block]) -> Side:
    objective = steps.objective
    return side_of(candidate, blocks, objective.load, steps.price, steps.seed, per_request(objective.slo))


def _drop_finalist(state: State, candidate: Candidate, reason: str) -> None:
    state.trials.append(Trial("finals", "finals", candidate, "crashed", reason))
    if state.finalist == candidate:
        state.finalist, state.behaviour = None, None


def choose_by_finals(steps: Steps, state: State) -> Choice:
    """Who is recommended, by the finals alone."""
    space = state.space
    baseline = state.sides.get(space.label(BASELINE))
    if baseline is None:
        why = (
            "the study was interrupted before its finals had two blocks each; go on with --resume"
            if state.interrupted
            else "the baseline broke in the finals"
        )
        return Choice(None, why)
    hand_side = None if space.hand == BASELINE else state.sides.get(space.label(space.hand))
    # At one stream the expert sets nothing by hand: then the baseline is what nothing may be worse than.
    by_hand = baseline if space.hand == BASELINE else hand_side
    finalist_side = None if state.finalist is None else state.sides.get(state.finalist.label)
    hand = None if hand_side is None else _entrant(steps, state, hand_side, None)
    finalist = None if finalist_side is None else _entrant(steps, state, finalist_side, by_hand)
    return recommend(_entrant(steps, state, baseline, None), hand, finalist)


def _entrant(steps: Steps, state: State, side: Side, by_hand: Side | None) -> Entrant:
    """`by_hand`: what an expert would have set, for the finalist only."""
    objective, space, label = steps.objective, state.space, side.candidate.label

    def against(point: Point) -> Effect | None:
        found = state.against(point, objective.effect_margin)
        return effect_in(found.get(label, []), objective.deciding_metric)

    is_finalist = side.candidate == state.finalist
    behaviour = state.behaviour if is_finalist and state.behaviour is not None else {"verdict": "equivalent"}
    return Entrant(
        label,
        vs_baseline=against(BASELINE),
        vs_hand=None if space.hand == BASELINE else against(space.hand),
        behaviour=behaviour["verdict"],
        intact=state.intact.get(label, {"verdict": "intact"})["verdict"],
        failed_share=side.failed_share,
        worse_than_hand=None if by_hand is None else worse_than(side, by_hand, objective),
        slo=held(objective.slo, side.summary["metrics"]),
    )
