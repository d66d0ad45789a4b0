"""The work of the logits child: what it decodes, in which order, and what it says about each position.

Enter loaded models and a part of the plan (logits.py writes it); leaves one event per window, slot or answer through
`emit`. Logits are compared where they arise and never leave the process: one position is 200 kB, its distances 60 B.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from paretoken.verification.distance import Distances, Logits, Reference
from paretoken.verification.llama_model import Decoder, EngineRefused, How, LoadedModel, TokensDiffer

Emit = Callable[[dict[str, Any]], None]

# One decode call: windows are put together up to this many tokens, and fewer when the vocabulary is large, so that
# the baseline's logits, their exponentials and a candidate's logits stay below half a gigabyte.
_TOGETHER = 512
_LOGITS_AT_ONCE = 32_000_000

# A slot's neighbour arrives with a prompt of this many tokens every so many steps; its prefill shares their batch.
NEWCOMER_TOKENS = 40
NEWCOMER_EVERY = 16


def compare(models: Mapping[str, LoadedModel], plan: Mapping[str, Any], emit: Emit) -> None:
    """Teacher-forced windows: the baseline once a group of windows, then every read of that group against it."""
    base = models["baseline"]
    windows = _windows(models, plan["documents"], plan["window_positions"])
    plain = How(plan["threads"])
    emit({"event": "windows", "positions": sum(len(w) - 1 for w in windows), "windows": len(windows)})
    for first, group in _groups(windows, base.n_vocab):
        reference = Reference(*_joined(base, plain, group))
        for read in plan["reads"]:
            mine = group[: max(0, read["windows"] - first)]
            if not mine:
                continue
            how = How(read["threads"], read["ubatch"], read["flash_attention"])
            together = [[window] for window in mine] if read["alone"] else [mine]
            row = 0
            for offset, batch in _numbered(together):
                logits, _ = _joined(models[read["model"]], how, batch)
                found = reference.distances(logits, slice(row, row + len(logits)))
                row += len(logits)
                _emit_windows(emit, read["name"], first + offset, batch, found)


def slots(models: Mapping[str, LoadedModel], plan: Mapping[str, Any], emit: Emit) -> None:
    """Teacher-forced decoding step by step: `slots` sequences side by side, then each of them alone.

    As in a server, sequences share every batch, and now and then a newcomer's prompt is read in the same batch.
    """
    model, count, how = models["baseline"], plan["slots"], How(plan["threads"])
    windows = _cut(model, plan["documents"], plan["window_positions"])[: plan["windows"] // count * count]
    if len(windows) < count:
        raise EngineRefused(f"the text is too short for {count} slots; give a longer one")
    steps = plan["window_positions"]
    emit({"event": "windows", "positions": len(windows) * steps, "windows": len(windows)})
    for first in range(0, len(windows), count):
        side_by_side = windows[first : first + count]
        newcomer = windows[first - 1][:NEWCOMER_TOKENS] if count > 1 else None
        together = _stepped(model, how, side_by_side, steps, newcomer)
        for i, window in enumerate(side_by_side):
            alone = _stepped(model, how, [window], steps, None)[0]
            targets = np.asarray(window[1 : steps + 1], dtype=np.int64)
            found = Reference(alone, targets).distances(together[i])
            _emit_windows(emit, "slots", first + i, [window], found)


def answers(models: Mapping[str, LoadedModel], plan: Mapping[str, Any], emit: Emit) -> None:
    """Greedy answers to chat prompts by each model; the baseline's top-2 gap tells a near tie from a real change."""
    for which, model in models.items():
        for number, messages in enumerate(plan["prompts"]):
            written = model.chat([(role, content) for role, content in messages])
            plain = "\n\n".join(content for _, content in messages)
            prompt = model.tokens(written, special=True) if written is not None else model.tokens(plain)
            tokens, gaps, ended = _greedy(model, How(plan["threads"]), prompt, plan["tokens"])
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


def _cut(model: LoadedModel, documents: Sequence[str], positions: int) -> list[list[int]]:
    """All whole windows of every document: the first of each, then the second of each, and so on."""
    size = positions + 1
    cut = []
    for text in documents:
        tokens = model.tokens(text)
        cut.append([tokens[i : i + size] for i in range(0, len(tokens) - size + 1, size)])
    return [windows[k] for k in range(max(map(len, cut))) for windows in cut if k < len(windows)]


def _groups(windows: list[list[int]], n_vocab: int) -> Iterator[tuple[int, list[list[int]]]]:
    """(index of its first window, windows) of what is decoded in one batch."""
    budget = min(_TOGETHER, _LOGITS_AT_ONCE // n_vocab)
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


def _stepped(model: LoadedModel, how: How, windows: list[list[int]], steps: int, newcomer: list[int] | None) -> Logits:
    """Logits (sequence × step × vocabulary) of windows decoded one token a step, all sequences in one batch."""
    kept = np.empty((len(windows), steps, model.n_vocab), dtype=np.float32)
    extra = len(newcomer or ())
    room, sequences = len(windows) + extra, len(windows) + (1 if extra else 0)
    length = max(steps, (steps // NEWCOMER_EVERY + 1) * extra)
    with Decoder(model, how, length=length, tokens_at_once=room, sequences=sequences) as decoder:
        arrived = 0
        for step in range(steps):
            rows = [(window[step], step, i) for i, window in enumerate(windows)]
            if newcomer and step % NEWCOMER_EVERY == NEWCOMER_EVERY // 2:
                rows += [(t, arrived + i, len(windows)) for i, t in enumerate(newcomer)]
                arrived += extra
            kept[:, step] = decoder.decode(rows)[: len(windows)]
    return kept


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


def _emit_windows(emit: Emit, read: str, first: int, windows: list[list[int]], found: Distances) -> None:
    row = 0
    for i, window in enumerate(windows):
        rows = slice(row, row + len(window) - 1)
        row = rows.stop
        values = {name: array[rows].tolist() for name, array in asdict(found).items()}
        emit({"event": "positions", "read": read, "document": first + i, **values})
