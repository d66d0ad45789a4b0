"""After the search: the finalist is verified, the finals are held, and they alone decide who is recommended."""

from collections.abc import Sequence

from paretoken.core.candidate import Candidate
from paretoken.core.objective import Objective
from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect
from paretoken.metrics.slo import held, per_request
from paretoken.search.base import REFUSED, Told
from paretoken.search.space import Point
from paretoken.study.ablation import ablations_of, further_points
from paretoken.study.choose import GATE_PASSES, Choice, Entrant, recommend
from paretoken.study.finals import Finals, Side, effect_in, run_finals, side_of, worse_than
from paretoken.study.intactness import guilty_of
from paretoken.study.plan import ABLATION_BLOCKS
from paretoken.study.refusals import kld_words, refuse
from paretoken.study.searching import strategy_for
from paretoken.study.state import State
from paretoken.study.steps import Block, Steps

FEWEST_BLOCKS = 2  # below, blocks cannot show how much they scatter


def verify_finalist(steps: Steps, state: State) -> None:
    """The best point of the search whose behaviour passes on many positions and whose service settings are intact; and
    the hand setting's, which have to be intact like anyone's."""
    space = state.space
    if space.hand != space.baseline:
        _check_service(steps, state, space.hand)
    strategy = strategy_for(steps, state)
    # Baseline and hand setting are in the finals anyway.
    told = [each for each in state.told if each.point not in (space.baseline, space.hand)]
    while (point := strategy.best(told)) is not None:
        candidate = space.candidate(point)
        if not _behaves(steps, state, point, candidate):
            told.append(Told(point, 1.0, REFUSED, None, 0.0))
        elif _check_service(steps, state, point) != "intact":
            guilty = guilty_of(point, state.intact[space.label(point)])
            told += [
                Told(other, 1.0, "infeasible", None, 0.0)
                for other in dict.fromkeys([point, *(each.point for each in told)])
                if other == point or (guilty and guilty <= set(other.pairs))
            ]
        else:
            state.finalist, state.finalist_point = candidate, point
            state.behaviour = state.verified.get(space.tree.model_level(point))
            return


def _behaves(steps: Steps, state: State, point: Point, candidate: Candidate) -> bool:
    """Whether the point's model level passes the gate (decision rule 7)."""
    talk, space = steps.bench.talk, state.space
    level = space.tree.model_level(point)
    if level == space.tree.model_level(space.baseline):
        return True
    if level not in state.verified:
        words = space.model_words(point)
        talk.progress(f"verifying {words}")
        found = steps.verify_model(space.model, candidate, state.plan.final_positions)
        state.verified[level] = found
        talk.line(f"  verified {words}: {found['verdict']} ({kld_words(found)})")
    behaviour = state.verified[level]
    if behaviour["verdict"] in GATE_PASSES:
        return True
    trial = next((t for t in reversed(state.trials) if t.candidate.label == candidate.label), None)
    trial = trial or Trial("verified", "screening", candidate, "refused", point=point.as_json())
    refuse(state, trial, behaviour)
    return False


def _check_service(steps: Steps, state: State, point: Point) -> str:
    """intact, not_intact or inconclusive; a point without service-level techniques changes nothing."""
    space = state.space
    before = space.without_service(point)
    if before == point:
        return "intact"
    label = space.label(point)
    steps.bench.talk.progress(f"checking that the service settings of {label} change only when tokens come")
    found = steps.verify_service(space.candidate(before), space.candidate(point))
    state.intact[label] = found
    verdict = str(found["verdict"])
    steps.bench.talk.line(f"  service settings of {label}: {verdict.replace('_', ' ')}")
    return verdict


def hold_finals(steps: Steps, state: State) -> None:
    """Baseline, hand setting and finalist, and beside them what shows each technique's part; the baseline alone where
    nobody else is left."""
    space, plan = state.space, state.plan
    points = list(
        dict.fromkeys([space.baseline, space.hand, *([state.finalist_point] if state.finalist_point else [])])
    )
    state.ablations = ablations_of(space, state.finalist_point or space.hand)
    further = further_points(state.ablations, points, plan.ablations)
    steps.bench.talk.line(f"Finals: {', '.join(space.label(point) for point in points)}")
    if further:
        words = ", ".join(space.label(point) for point in further)
        steps.bench.talk.line(f"  and, for each technique apart, in {ABLATION_BLOCKS} of the blocks: {words}")
    found = run_finals(
        steps,
        [space.candidate(point) for point in points],
        blocks=plan.blocks,
        requests=plan.requests_per_block,
        further=[space.candidate(point) for point in further],
        until_s=plan.budget.seconds if plan.budget.given else None,
    )
    steps.bench.talk.progress("")
    _keep_finals(steps, state, found, [space.candidate(point) for point in points])


def _keep_finals(steps: Steps, state: State, found: Finals, entrants: Sequence[Candidate]) -> None:
    whole = found.whole_blocks
    if found.interrupted:
        state.interrupted = True
        steps.bench.talk.line(
            f"Interrupted: reporting the {whole} of {state.plan.blocks} blocks that every finalist has."
        )
    for candidate in entrants:
        if candidate.label in found.broken:
            _drop_finalist(state, candidate, found.broken[candidate.label])
        elif whole >= FEWEST_BLOCKS:
            state.sides[candidate.label] = _side(steps, candidate, found.by_label[candidate.label][:whole])
    for candidate, blocks in found.further:
        blocks = blocks[:whole]
        if candidate.label not in found.broken and len(blocks) >= FEWEST_BLOCKS:
            state.further[candidate.label] = _side(steps, candidate, blocks)


def _side(steps: Steps, candidate: Candidate, blocks: Sequence[Block]) -> Side:
    objective = steps.objective
    return side_of(candidate, blocks, objective.load, steps.price, steps.seed, per_request(objective.slo))


def _drop_finalist(state: State, candidate: Candidate, reason: str) -> None:
    state.trials.append(Trial("finals", "finals", candidate, "crashed", reason))
    if state.finalist == candidate:
        state.finalist, state.finalist_point, state.behaviour = None, None, None


def choose_by_finals(steps: Steps, state: State, objective: Objective | None = None) -> Choice:
    """Who is recommended, by the finals alone; for another objective, who would have been."""
    objective = objective or steps.objective
    space = state.space
    baseline = state.sides.get(space.label(space.baseline))
    if baseline is None:
        return Choice(None, _undecided(steps, state) if state.interrupted else "the baseline broke in the finals")
    hand_side = None if space.hand == space.baseline else state.sides.get(space.label(space.hand))
    # At one stream the expert sets nothing by hand: then the baseline is what nothing may be worse than.
    by_hand = baseline if space.hand == space.baseline else hand_side
    finalist_side = None if state.finalist is None else state.sides.get(state.finalist.label)
    hand = None if hand_side is None else _entrant(state, objective, hand_side, None)
    finalist = None if finalist_side is None else _entrant(state, objective, finalist_side, by_hand)
    return recommend(_entrant(state, objective, baseline, None), hand, finalist)


def _undecided(steps: Steps, state: State) -> str:
    """What an interrupted study knows before its finals: a direction, which is no recommendation."""
    best, runs = strategy_for(steps, state).best(state.told), len(state.told)
    if best is not None:
        hint = f"best so far in {runs} short runs: {state.space.label(best)}, neither verified nor decided; "
    else:
        hint = f"in {runs} short runs nothing kept its answers so far; " if runs else ""
    return f"the study was interrupted before its finals had two blocks each; {hint}go on with --resume"


def _entrant(state: State, objective: Objective, side: Side, by_hand: Side | None) -> Entrant:
    """`by_hand`: what an expert would have set, for the finalist only."""
    space, label = state.space, side.candidate.label

    def against(point: Point) -> Effect | None:
        found = state.against(point, objective.effect_margin)
        return effect_in(found.get(label, []), objective.deciding_metric)

    is_finalist = side.candidate == state.finalist
    behaviour = state.behaviour if is_finalist and state.behaviour is not None else {"verdict": "equivalent"}
    return Entrant(
        label,
        vs_baseline=against(space.baseline),
        vs_hand=None if space.hand == space.baseline else against(space.hand),
        behaviour=behaviour["verdict"],
        intact=state.intact.get(label, {"verdict": "intact"})["verdict"],
        failed_share=side.failed_share,
        worse_than_hand=None if by_hand is None else worse_than(side, by_hand, objective),
        slo=held(objective.slo, side.summary["metrics"]),
    )
