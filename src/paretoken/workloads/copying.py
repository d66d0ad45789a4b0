"""Answers that repeat their prompt, as in edits, extraction and quoting: each request asks for a passage word for word.

Enters: how many requests, how long an answer, a seed. Leaves: a Workload of single-turn sessions under the chat's
system prompt, every passage another one. Speculation by n-grams lives on such answers; beside `chat`, whose answers
repeat little, it shows whether it pays.
"""

from collections.abc import Iterator
from random import Random

from paretoken.core.request import Message, Workload
from paretoken.workloads.base import Lengths, Session, workload_of
from paretoken.workloads.chat_phrases import ANSWER_SENTENCES
from paretoken.workloads.chat_texts import SYSTEM_PROMPT, SYSTEM_PROMPT_TOKENS

TOKENS_PER_WORD = 1.25  # as in chat
ASK = "Repeat the following text word for word, and say nothing else.\n\n"
_SYSTEM = Message("system", SYSTEM_PROMPT)


def copying(
    *,
    requests: int,
    output_tokens: int,
    seed: int,
    warmup: int = 0,
    warmup_output_tokens: int | None = None,
    ignore_eos: bool = True,
) -> Workload:
    """The passage is about as long as the answer. Raises UsageError for lengths that cannot be."""
    lengths = Lengths(requests, output_tokens, warmup, warmup_output_tokens)
    passages = _passages(Random(seed), output_tokens)
    sessions = [
        Session(((_SYSTEM, Message("user", ASK + next(passages))),), warmup=number < warmup)
        for number in range(warmup + requests)
    ]
    return workload_of(
        "copying", sessions, lengths, seed=seed, ignore_eos=ignore_eos, shared_prefix_tokens=SYSTEM_PROMPT_TOKENS
    )


def _passages(random: Random, tokens: int) -> Iterator[str]:
    """Sentences in an order of their own for each, with numbers drawn anew, cut to the length at a word."""
    wanted = max(1, round(tokens / TOKENS_PER_WORD))
    while True:
        words: list[str] = []
        while len(words) < wanted:
            for sentence in random.sample(ANSWER_SENTENCES, len(ANSWER_SENTENCES)):
                words += sentence.replace("{n}", str(random.randrange(3, 2000))).split()
        yield " ".join(words[:wanted])
