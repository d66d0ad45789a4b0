"""The parts of a result document that tell of the choice: contributions, knee, sensitivity, commands, variants.

Synthetic, as sample.py's. Documents of before lack them all; NEW_PARTS are their names.
"""

from typing import Any

from paretoken.core.verdict import Effect

NEW_PARTS = (
    "contributions",
    "knee",
    "sensitivity",
    "binds",
    "commands",
    "model_level",
    "prompt_cache",
    "speculation",
)


def _effect(verdict: str, ratio: float, low: float, high: float) -> dict[str, Any]:
    return Effect("output_tok_s", verdict, ratio, (low, high), 4, 0.03).as_json()


def contributions(winner: str) -> dict[str, Any]:
    return {
        "of": winner,
        "metric": "output_tok_s",
        "rows": [
            {
                "technique": "quantize",
                "level": "model",
                "settings": {"to": "Q8_0"},
                "words": "Q8_0 weights",
                "alone": _effect("better", 1.158, 1.121, 1.197),
                "removed": _effect("worse", 0.746, 0.719, 0.775),
                "label_alone": "Q8_0 · 1 slot",
                "label_removed": "Q4_1 as given · 8 slots",
                "missing": None,
            },
            {
                "technique": "batching",
                "level": "service",
                "settings": {"slots": 8},
                "words": "8 slots",
                "alone": _effect("better", 1.206, 1.171, 1.243),
                "removed": _effect("worse", 0.716, 0.690, 0.744),
                "label_alone": "Q4_1 as given · 8 slots",
                "label_removed": "Q8_0 · 1 slot",
                "missing": None,
            },
            {
                "technique": "prompt_cache",
                "level": "service",
                "settings": {"prompt_cache": True},
                "words": "prompt cache",
                "alone": _effect("unknown", 1.012, 0.981, 1.044),
                "removed": None,
                "label_alone": "Q4_1 as given · 1 slot · cache",
                "label_removed": None,
                "missing": "the budget ended before the winner without it was measured",
            },
        ],
        "whole": _effect("better", 1.617, 1.552, 1.684),
        "product_of_alone": 1.397,
        "overlap": "together they bring more than the product of the single ones: a step of 8 streams reads the "
        "weights once, so that their type matters more",
    }


def model_level(published_bytes: int, q8_bytes: int, f16_bytes: int, q4_bytes: int) -> list[dict[str, Any]]:
    def row(label: str, size: int, value: float, ci95: list[float] | None, verdict: str) -> dict[str, Any]:
        kld = {"value": value, "ci95": ci95}
        return {"label": label, "bytes": size, "kld": kld, "verdict": verdict, "margin_nat": 0.01}

    return [
        row("as given", published_bytes, 0.0, None, "equivalent"),
        row("Q8_0", q8_bytes, 0.0041, [0.0036, 0.0047], "changed_small"),
        row("F16", f16_bytes, 0.0031, [0.0020, 0.0047], "inconclusive"),
        row("Q4_0", q4_bytes, 0.328, [0.291, 0.367], "changed"),
        row("2 layers pruned", 91_000_000, 1.92, [1.71, 2.14], "fail"),
        row("same bits, repacked", published_bytes + 1_200_000, 0.0, None, "equivalent"),
        row("Q6_K", 112_400_000, 0.0068, [-0.0002, 0.0138], "inconclusive"),
    ]


def choice(winner: str, half: str, study: str) -> dict[str, Any]:
    """All parts but the variants, for a winner with 8 slots and its sister with 4."""
    return {
        "contributions": contributions(winner),
        "knee": {"label": half, "why": "from here on 17 % more rate cost 66 % more wait for each next token"},
        "sensitivity": [
            {"if": "the objective were latency", "label": half, "why": "its next token comes after 58.0 ms"},
            {"if": "memory cost twice as much", "label": winner, "why": "its weights are 2 % of the machine's"},
        ],
        "binds": "memory bandwidth binds the winner: 41 % of what a plain read reaches is used",
        "commands": {
            "serve": f"paretoken serve {study}",
            "verify": f"paretoken verify {study}",
            "launch": [["llama-server", "--model", "my model.Q8_0.gguf", "--parallel", "8", "--ctx-size", "4096"]],
        },
        "prompt_cache": {"baseline": {"hit_rate": 0.62}, "recommended": {"hit_rate": 0.71}},
        "speculation": {"acceptance": 0.34, "words": "drafts by n-gram, so few that it was switched off"},
    }
