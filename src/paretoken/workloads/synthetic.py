"""Prompts of a given length in tokens, made of common words; their first tokens differ.

Enters: how many, how long, a seed and, for exact lengths, a callable that counts the tokens of a text (an endpoint's or
an engine's own). Leaves: a Workload of single-turn sessions. Without the callable one word is taken as one token, and
the workload's name says that its lengths are approximate. Knows no tokenizer of its own.
"""

from collections.abc import Callable, Iterator
from random import Random

from paretoken.core.request import Message, Workload
from paretoken.errors import UsageError
from paretoken.workloads.base import Lengths, Session, workload_of
from paretoken.workloads.synthetic_words import WORDS

_TRIES = 200  # changes of one prompt until its length is met; single-token words need one or two


def synthetic(
    *,
    requests: int,
    input_tokens: int,
    output_tokens: int,
    seed: int,
    count_tokens: Callable[[str], int] | None = None,
    warmup: int = 0,
    warmup_output_tokens: int | None = None,
    ignore_eos: bool = True,
) -> Workload:
    """`input_tokens` is the length of the user's text; a chat template's own tokens come on top.

    `count_tokens` may add special tokens of its own: what it says of an empty text is taken off.
    """
    if input_tokens < 1:
        raise UsageError(f"a prompt needs at least one token, not {input_tokens}")
    lengths = Lengths(requests, output_tokens, warmup, warmup_output_tokens)
    random = Random(seed)
    openings = _openings(random, warmup + requests, input_tokens)
    texts: Iterator[str]
    if count_tokens is None:
        texts = (" ".join(_grown(next(openings), input_tokens, random)) for _ in range(warmup + requests))
    else:
        content_tokens = _content_counter(count_tokens)
        texts = (_exact(openings, input_tokens, content_tokens, random) for _ in range(warmup + requests))
    sessions = [Session(((Message("user", text),),), warmup=i < warmup) for i, text in enumerate(texts)]
    name = "synthetic" if count_tokens is not None else "synthetic (approximate lengths)"
    return workload_of(name, sessions, lengths, seed=seed, ignore_eos=ignore_eos)


def _openings(random: Random, count: int, input_tokens: int) -> Iterator[list[str]]:
    """Distinct beginnings: as many first words as there are, and only after them the same ones with another second."""
    words = list(WORDS)
    random.shuffle(words)
    if input_tokens == 1:
        yield from ([word] for word in words)
    else:
        for shift in range(1, len(words)):
            yield from ([word, words[(place + shift) % len(words)]] for place, word in enumerate(words))
    raise UsageError(f"there are not {count} distinct prompts of {input_tokens} tokens; ask for fewer or longer ones")


def _grown(words: list[str], length: int, random: Random) -> list[str]:
    """Words up to a length; a beginning that is already longer is left as it is."""
    return words + random.choices(WORDS, k=max(0, length - len(words)))


def _content_counter(count_tokens: Callable[[str], int]) -> Callable[[str], int]:
    special = count_tokens("")
    return lambda text: count_tokens(text) - special


def _exact(openings: Iterator[list[str]], length: int, content_tokens: Callable[[str], int], random: Random) -> str:
    """The next beginning that can be grown to exactly `length` tokens, grown."""
    opening = next(openings)
    while content_tokens(" ".join(opening)) > length:
        opening = next(openings)
    words = _grown(opening, length, random)
    for _ in range(_TRIES):
        text = " ".join(words)
        missing = length - content_tokens(text)
        if missing == 0:
            return text
        # By half the distance, since some words are several tokens: so it closes in from both sides.
        step = max(1, abs(missing) // 2)
        if missing > 0:
            words += random.choices(WORDS, k=step)
        else:
            words = words[: max(len(opening), len(words) - step)]
    raise UsageError(
        f"no text of exactly {length} tokens was found with this tokenizer; leave the counting out for about {length}"
    )
