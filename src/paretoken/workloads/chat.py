"""Conversations as people have them: varied, distinct asks in prose under one declared system prompt.

Enters: how many requests, how long an answer, a seed. Leaves: a Workload whose user prompts differ from their first
words on, so that no cache can profit from sharing that was not declared. In every four sessions one has a second turn;
it carries an assistant text written here, not the engine's own, so that every candidate does the same work.
Lengths of prompts are those of prose (about 15 to 60 tokens), not exact.
"""

from collections.abc import Iterator
from random import Random

from paretoken.core.request import Message, Workload
from paretoken.errors import UsageError
from paretoken.workloads.base import Lengths, Session, workload_of
from paretoken.workloads.chat_phrases import ANSWER_SENTENCES, ENDINGS, FOLLOW_UPS, OPENINGS
from paretoken.workloads.chat_texts import FIELDS, SYSTEM_PROMPT, SYSTEM_PROMPT_TOKENS, Field

SESSIONS_PER_SECOND_TURN = 4
TOKENS_PER_WORD = 1.25  # English prose with the vocabularies of today, punctuation included
_SYSTEM = Message("system", SYSTEM_PROMPT)


def chat(
    *,
    requests: int,
    output_tokens: int,
    seed: int,
    warmup: int = 0,
    warmup_output_tokens: int | None = None,
    ignore_eos: bool = True,
) -> Workload:
    """`requests` counts the measured turns exactly; `warmup` more single-turn requests come first, flagged.

    Raises UsageError when more distinct prompts are asked for than there are.
    """
    lengths = Lengths(requests, output_tokens, warmup, warmup_output_tokens)
    random = Random(seed)
    return workload_of(
        "chat",
        _sessions(lengths, random),
        lengths,
        seed=seed,
        ignore_eos=ignore_eos,
        shared_prefix_tokens=SYSTEM_PROMPT_TOKENS,
    )


def _sessions(lengths: Lengths, random: Random) -> Iterator[Session]:
    asks = _asks(random)
    for _ in range(lengths.warmup):
        yield Session(((_SYSTEM, _user(next(asks))),), warmup=True)
    left = lengths.requests
    number = 0
    two_turns_at = 0
    while left:
        place = number % SESSIONS_PER_SECOND_TURN
        if place == 0:  # exactly one in four, at a drawn place: runs of one length then hold the same work
            two_turns_at = random.randrange(SESSIONS_PER_SECOND_TURN)
        first = (_SYSTEM, _user(next(asks)))
        turns: tuple[tuple[Message, ...], ...] = (first,)
        if place == two_turns_at and left > 1:
            answer = Message("assistant", _answer(random, lengths.output_tokens))
            turns = (first, (*first, answer, _user(_filled(random.choice(FOLLOW_UPS), random))))
        yield Session(turns)
        left -= len(turns)
        number += 1


def _asks(random: Random) -> Iterator[str]:
    """Distinct prompts. Each subject is used once before any is used again, and then with another opening."""
    subjects = [(subject, field) for field in FIELDS for subject in field.subjects]
    random.shuffle(subjects)
    openings = {subject: random.sample(OPENINGS, len(OPENINGS)) for subject, _ in subjects}
    count = 0
    for round_number in range(len(OPENINGS)):
        for subject, field in subjects:
            yield subject + openings[subject][round_number] + _body(field, random)
            count += 1
    for shift in range(1, len(subjects)):
        for place, (subject, field) in enumerate(subjects):
            other = subjects[(place + shift) % len(subjects)][0]
            yield f"{subject} or {other.lower()}: {_body(field, random)}"
            count += 1
    raise UsageError(f"the chat workload has {count} distinct prompts, fewer than asked for; ask for fewer requests")


def _body(field: Field, random: Random) -> str:
    """None, one or two sentences about the situation, a task, and in half of the prompts a wish about the answer."""
    parts = random.sample(field.situations, random.choice((0, 1, 1, 2)))
    parts.append(random.choice(field.tasks))
    if random.random() < 1 / 2:
        parts.append(random.choice(ENDINGS))
    return _filled(" ".join(parts), random)


def _filled(text: str, random: Random) -> str:
    return text.replace("{n}", str(random.randrange(3, 20)))


def _answer(random: Random, tokens: int) -> str:
    """An assistant text of about as many tokens as the answers of this workload have."""
    words_wanted = max(1, round(tokens / TOKENS_PER_WORD))
    words: list[str] = []
    while len(words) < words_wanted:
        for sentence in random.sample(ANSWER_SENTENCES, len(ANSWER_SENTENCES)):
            words += _filled(sentence, random).split()
    return " ".join(words[:words_wanted])


def _user(text: str) -> Message:
    return Message("user", text)
