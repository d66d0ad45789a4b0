"""The choice among candidates in words: the frontier's knee, how the choice would move, and the commands for it.

Enters a Reading; every part is optional in the document. What a doubt forbids is not offered: no command, no knee.
"""

import shlex

from paretoken.report.figures import mapping, number, plain, rows
from paretoken.report.reading import Reading
from paretoken.units import show_percent


def knee_label(reading: Reading) -> str | None:
    """The candidate at the frontier's knee."""
    found = mapping(reading.result.get("knee")).get("label")
    return plain(found) if found and not reading.invalid else None


def knee_words(reading: Reading) -> str:
    """One sentence about it; '' without one."""
    label = knee_label(reading)
    if label is None:
        return ""
    why = plain(mapping(reading.result.get("knee")).get("why") or "").rstrip(".")
    head = (
        f"The recommended, {label}, stands at the knee of the frontier"
        if label == reading.recommended
        else f"The knee of the frontier is {label}"
    )
    return f"{head}{f': {why}' if why else ''}."


def sensitivity(reading: Reading) -> list[dict[str, str]]:
    """How the choice would move with the objective and the price."""
    if reading.invalid:
        return []
    found = []
    for row in rows(reading.result.get("sensitivity")):
        label = plain(row.get("label") or "nothing")
        same = label == reading.recommended
        found.append(
            {
                "if": plain(row.get("if") or ""),
                "label": label,
                "role": reading.role(label),
                "same": "the same choice" if same else "",
                "why": plain(row.get("why") or ""),
            }
        )
    return found


def serve_command(reading: Reading) -> str:
    """'' where nothing may be served. Documents of before had it at the top."""
    if reading.recommended is None or reading.invalid:
        return ""
    held = mapping(reading.result.get("commands"))
    return plain(held.get("serve") or reading.result.get("serve") or "")


def commands(reading: Reading) -> list[dict[str, str]]:
    """What can be copied: name, text, and what it is for."""
    serve = serve_command(reading)
    held = mapping(reading.result.get("commands")) if reading.recommended is not None and not reading.invalid else {}
    processes = held.get("launch")  # a list of words each
    launches = [
        shlex.join(_argument(word) for word in words)
        for words in (processes if isinstance(processes, list) else ())
        if isinstance(words, list)
    ]
    own = "On your own llama.cpp"
    wanted = (
        ("Serve it", serve),
        ("Verify it again", plain(held.get("verify") or "")),
        *((own if len(launches) == 1 else f"{own}, process {n}", text) for n, text in enumerate(launches, start=1)),
    )
    return [{"name": name, "text": text} for name, text in wanted if text]


def _argument(word: object) -> str:
    """As it is, but for what moves a cursor or reorders the words around it."""
    return "".join(c if c.isprintable() else "�" for c in str(word))


def details(reading: Reading) -> list[tuple[str, str]]:
    """One line each: how often the prompt cache hit, and how many drafted tokens were accepted."""
    found = []
    cache = mapping(reading.result.get("prompt_cache"))
    rates = [
        f"{show_percent(rate)} {name}"
        for name, key in (("as given", "baseline"), ("recommended", "recommended"))
        if (rate := number(mapping(cache.get(key)).get("hit_rate"))) is not None
    ]
    if rates:
        found.append(("Prompt tokens from the cache", ", ".join(rates)))
    drafted = mapping(reading.result.get("speculation"))
    accepted, words = number(drafted.get("acceptance")), plain(drafted.get("words") or "")
    said = [] if accepted is None else [f"{show_percent(accepted)} accepted"]
    if said or words:
        found.append(("Drafted tokens", "; ".join([*said, *([words] if words else [])])))
    return found
