"""The logits child's work on a service-level change: the same weights, set up and loaded as before and as after it.

Enter the loaded model and a part of the plan (logits.py writes it); leaves `positions` events, read "service". Two
kinds of positions, since the settings act on different batches: whole prompts read at once, and sequences that are
decoded token by token, as many side by side as there are slots.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from paretoken.verification.distance import Distances, Logits, Reference
from paretoken.verification.how import SERVICE, How
from paretoken.verification.llama_model import Decoder, EngineRefused, LoadedModel
from paretoken.verification.logits_jobs import Emit, at_once, emit_windows

# A slot's neighbour arrives with a prompt of this many tokens every so many steps; its prefill shares their batch.
NEWCOMER_TOKENS = 40
NEWCOMER_EVERY = 16


def service(models: Mapping[str, LoadedModel], plan: Mapping[str, Any], emit: Emit) -> None:
    """`plan`: before and after (a How each), slots_before, slots_after, prompt_tokens and prompt_positions (0: no
    prompts), windows (0: no decoding) of window_positions."""
    model = models["baseline"]
    before, after = How(**plan["before"]), How(**plan["after"])
    prompts: list[list[int]] = []
    outputs: list[int] = []
    if plan["prompt_positions"]:
        length = _prompt_length(model, plan["prompt_tokens"], before, after)
        outputs = _outputs(length, min(plan["prompt_positions"], at_once(model.n_vocab)))
        prompts = _prompts(model, plan["documents"], length)[: -(-plan["prompt_positions"] // len(outputs))]
        if not prompts:
            raise EngineRefused(f"the text is too short for a prompt of {length} tokens; give a longer one")
    together = max(plan["slots_before"], plan["slots_after"])
    windows = _cut(model, plan["documents"], plan["window_positions"])[: plan["windows"] // together * together]
    if plan["windows"] and len(windows) < together:
        raise EngineRefused(f"the text is too short for {together} slots; give a longer one")
    steps = plan["window_positions"]
    positions = len(prompts) * len(outputs) + len(windows) * steps
    emit({"event": "windows", "positions": positions, "windows": len(prompts) + len(windows)})
    for number, prompt in enumerate(prompts):
        targets = np.asarray([prompt[i + 1] for i in outputs], dtype=np.int64)
        found = Reference(_read(model, before, prompt, outputs), targets).distances(
            _read(model, after, prompt, outputs)
        )
        _emit_prompt(emit, number, found)
    for first in range(0, len(windows), together):
        neighbour = windows[first - 1][:NEWCOMER_TOKENS]
        side_by_side = windows[first : first + together]
        ours = _in_slots(model, before, side_by_side, steps, neighbour, plan["slots_before"])
        theirs = _in_slots(model, after, side_by_side, steps, neighbour, plan["slots_after"])
        for i, window in enumerate(side_by_side):
            targets = np.asarray(window[1 : steps + 1], dtype=np.int64)
            found = Reference(ours[i], targets).distances(theirs[i])
            emit_windows(emit, SERVICE, len(prompts) + first + i, [window], found)


def _prompt_length(model: LoadedModel, wanted: int, before: How, after: How) -> int:
    """As long as the model was trained for at most; it must still be cut otherwise after the change of a ubatch."""
    length = min(wanted, model.trained_context)
    smaller = min(before.ubatch, after.ubatch)
    if before.ubatch != after.ubatch and length <= smaller:
        raise EngineRefused(
            f"no prompt of this model is longer than a ubatch of {smaller}, so they can't be told apart"
        )
    return length


def _outputs(length: int, most: int) -> list[int]:
    """Evenly spread places in a prompt, its last one among them."""
    every = -(-length // most)
    return list(range(length - 1, -1, -every))[::-1]


def _prompts(model: LoadedModel, documents: Sequence[str], length: int) -> list[list[int]]:
    """Pieces of length + 1 tokens (the last one is only a target) of all documents in a row."""
    tokens = [token for text in documents for token in model.tokens(text)]
    return [tokens[i : i + length + 1] for i in range(0, len(tokens) - length, length + 1)]


def _read(model: LoadedModel, how: How, prompt: Sequence[int], outputs: Sequence[int]) -> Logits:
    length = len(prompt) - 1
    with Decoder(model, how, length=length, tokens_at_once=length, outputs=len(outputs)) as decoder:
        rows = [(prompt[i], i, 0) for i in range(length)]
        return decoder.decode(rows, frozenset(outputs)).copy()  # the decoder's own memory ends with it


def _in_slots(
    model: LoadedModel, how: How, windows: list[list[int]], steps: int, neighbour: list[int], slots: int
) -> list[Logits]:
    """Logits (step × vocabulary) of each window, `slots` of them decoded side by side. As in a server, sequences share
    every batch, and now and then a newcomer's prompt is read in the same batch."""
    found: list[Logits] = []
    for first in range(0, len(windows), slots):
        found.extend(_stepped(model, how, windows[first : first + slots], steps, neighbour if slots > 1 else None))
    return found


def _cut(model: LoadedModel, documents: Sequence[str], positions: int) -> list[list[int]]:
    """All whole windows of every document: the first of each, then the second of each, and so on."""
    size = positions + 1
    cut = []
    for text in documents:
        tokens = model.tokens(text)
        cut.append([tokens[i : i + size] for i in range(0, len(tokens) - size + 1, size)])
    return [windows[k] for k in range(max(map(len, cut))) for windows in cut if k < len(windows)]


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


def _emit_prompt(emit: Emit, number: int, found: Distances) -> None:
    values = {name: array.tolist() for name, array in asdict(found).items()}
    emit({"event": "positions", "read": SERVICE, "document": number, **values})
