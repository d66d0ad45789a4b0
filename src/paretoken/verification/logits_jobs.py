"""The work of the logits child: what it decodes, in which order, and what it says about each position.

Enter loaded models and a part of the plan (logits.py writes it); leaves one event per window, slot or answer through
`emit`. Logits are compared where they arise and never leave the process: one position is 200 kB, its distances 60 B.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from paretoken.verification.distance import Distances, Logits, Reference
from paretoken.verification.how import How
from paretoken.verification.llama_model import Decoder, LoadedModel, TokensDiffer

Emit = Callable[[dict[str, Any]], None]

# One decode call: windows are put together up to this many tokens, and fewer when the vocabulary is large, so that
# the baseline's logits, their exponentials and a candidate's logits stay below half a gigabyte.
_TOGETHER = 512
_LOGITS_AT_ONCE = 32_000_000


def at_once(n_vocab: int) -> int:
    """How many positions may have their logits together."""
    return min(_TOGETHER, _LOGITS_AT_ONCE // n_vocab)


def compare(models: Mapping[str, LoadedModel], plan: Mapping[str, Any], emit: Emit) -> None:
    """Teacher-forced windows: the baseline once a group of windows, then every read of that group against it."""
    base = models["baseline"]
    windows = _windows(models, plan["documents"], plan["window_positions"])
    plain = How(plan["threads"], kv_type=plan["kv_types"]["baseline"])
    emit({"event": "windows", "positions": sum(len(w) - 1 for w in windows), "windows": len(windows)})
    for first, group in _groups(windows, base.n_vocab):
        reference = Reference(*_joined(base, plain, group))
        for read in plan["reads"]:
            mine = group[: max(0, read["windows"] - first)]
            if not mine:
                continue
            how = How(read["threads"], read["ubatch"], read["flash_attention"], read["kv_type"])
            together = [[window] for window in mine] if read["alone"] else [mine]
            row = 0
            for offset, batch in _numbered(together):
                logits, _ = _joined(models[read["model"]], how, batch)
                found = reference.distances(logits, slice(row, row + len(logits)))
                row += len(logits)
                emit_windows(emit, read["name"], first + offset, batch, found)


def answers(models: Mapping[str, LoadedModel], plan: Mapping[str, Any], emit: Emit) -> None:
    """Greedy answers to chat prompts by each model; the baseline's top-2 gap tells a near tie from a real change."""
    for which, model in models.items():
        how = How(plan["threads"], kv_type=plan["kv_types"][which])
        for number, messages in enumerate(plan["prompts"]):
            written = model.chat([(role, content) for role, content in messages])
            plain = "\n\n".join(content for _, content in messages)
            prompt = model.tokens(written, special=True) if written is not None else model.tokens(plain)
            tokens, gaps, ended = _greedy(model, how, prompt, plan["tokens"])
            emit(
                {
                    "event": "answer",
                    "model": which,
                    "prompt": number,
                    "templated": written is not None,
                    "tokens": tokens,
                    "gaps": gaps,
                    "text": model.text(tokens) if tokens else "",
                    "ended": ended,
                }
            )


def _windows(models: Mapping[str, LoadedModel], documents: Sequence[str], positions: int) -> list[list[int]]:
    """The first positions + 1 tokens of each document, by the baseline's tokenizer, which the candidate must share."""
    windows = []
    for number, text in enumerate(documents):
        tokens = models["baseline"].tokens(text)
        for which, model in models.items():
            if model.tokens(text) != tokens:
                raise TokensDiffer(f"the {which} cuts document {number} into other tokens than the baseline does")
        if len(tokens) >= 2:
            windows.append(tokens[: positions + 1])
    return windows


def _groups(windows: list[list[int]], n_vocab: int) -> Iterator[tuple[int, list[list[int]]]]:
    """(index of its first window, windows) of what is decoded in one batch."""
    budget = at_once(n_vocab)
    group: list[list[int]] = []
    for i, window in enumerate(windows):
        if group and sum(map(len, group)) + len(window) > budget:
            yield i - len(group), group
            group = []
        group.append(window)
    if group:
        yield len(windows) - len(group), group


def _numbered(batches: Sequence[list[list[int]]]) -> Iterator[tuple[int, list[list[int]]]]:
    offset = 0
    for batch in batches:
        yield offset, batch
        offset += len(batch)


def _joined(model: LoadedModel, how: How, windows: list[list[int]]) -> tuple[Logits, np.ndarray[Any, Any]]:
    """Logits of all positions that have a next token, window after window, and those next tokens."""
    total = sum(map(len, windows))
    with Decoder(model, how, length=max(map(len, windows)), tokens_at_once=total, sequences=len(windows)) as decoder:
        logits = decoder.windows(windows)
        ends = np.cumsum([len(w) for w in windows]) - 1
        kept = np.delete(logits, ends, axis=0)  # a copy: the decoder's own memory ends with it
    targets = np.concatenate([np.asarray(w[1:], dtype=np.int64) for w in windows])
    return kept, targets


def _greedy(model: LoadedModel, how: How, prompt: list[int], count: int) -> tuple[list[int], list[float], bool]:
    """The best token again and again; its lead over the second, each time; whether the model ended by itself."""
    tokens: list[int] = []
    gaps: list[float] = []
    with Decoder(model, how, length=len(prompt) + count, tokens_at_once=len(prompt)) as decoder:
        logits = decoder.decode([(t, i, 0) for i, t in enumerate(prompt)])[-1]
        while len(tokens) < count:
            best = int(logits.argmax())
            if model.ends(best):
                return tokens, gaps, True
            tokens.append(best)
            gaps.append(float(logits[best] - np.partition(logits, -2)[-2]))
            if len(tokens) < count:
                logits = decoder.decode([(best, len(prompt) + len(tokens) - 1, 0)])[-1]
    return tokens, gaps, False


def emit_windows(emit: Emit, read: str, first: int, windows: list[list[int]], found: Distances) -> None:
    row = 0
    for i, window in enumerate(windows):
        rows = slice(row, row + len(window) - 1)
        row = rows.stop
        values = {name: array[rows].tolist() for name, array in asdict(found).items()}
        emit({"event": "positions", "read": read, "document": first + i, **values})
