"""What is read out of a server's answers; the ways there are tested with check_texts."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from paretoken.errors import EngineError
from paretoken.verification import greedy
from paretoken.verification.greedy import CHATS, Said, ask


class Somewhere:
    """As much of a Running as is asked of it."""

    base_url = "http://127.0.0.1:1"
    protocol = "openai-chat-sse"
    model_name = "m"

    def check(self, within_s: float = 0.0) -> None:
        pass


def position(token: int, *best: tuple[int, float | None]) -> dict[str, Any]:
    return {"id": token, "top_logprobs": [{"id": i, "logprob": logprob} for i, logprob in best]}


def answers(monkeypatch: pytest.MonkeyPatch, completion: object, status: int = 200) -> list[Mapping[str, Any]]:
    asked: list[Mapping[str, Any]] = []

    def exchange(url: str, body: Mapping[str, Any], **_: Any) -> tuple[int, str, bytes]:
        asked.append(body)
        if url.endswith("/apply-template"):
            return 200, "application/json", b'{"prompt": "written"}'
        return status, "application/json", json.dumps(completion).encode()

    monkeypatch.setattr(greedy, "exchange", exchange)
    return asked


def said(**extra: Any) -> Said:
    [found] = ask(Somewhere(), [(4, CHATS[0])], 8, gaps=True, extra=extra)  # type: ignore[arg-type]
    return found


def test_tokens_leads_and_drafts_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answers(
        monkeypatch,
        {
            "content": "a b",
            "tokens": [5, 6, 7],
            "completion_probabilities": [position(5, (5, -0.1), (9, -2.1)), position(6), position(7, (8, -1), (7, -2))],
            "timings": {"draft_n": 6, "draft_n_accepted": 1},
        },
    )
    found = said(cache_prompt=False)
    assert (found.prompt, found.tokens, found.text, found.drafted, found.accepted) == (4, (5, 6, 7), "a b", 6, 1)
    assert found.gaps[0] == pytest.approx(2.0)
    assert found.gaps[1:] == (None, None)  # drafted; not the likeliest
    assert asked[1]["prompt"] == "written"
    assert (asked[1]["temperature"], asked[1]["n_probs"], asked[1]["cache_prompt"]) == (0, 2, False)


def test_leads_that_do_not_belong_to_the_tokens_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    probabilities = [position(5, (5, -0.1), (9, -2.1))]
    answers(monkeypatch, {"content": "a", "tokens": [5, 6], "completion_probabilities": probabilities})
    assert said().gaps == (None, None)


@pytest.mark.parametrize(
    ("completion", "status"),
    [
        ({"content": "a"}, 200),
        ({"content": "a", "tokens": ["x"]}, 200),
        ({"content": "a", "tokens": [5], "completion_probabilities": [position(5, (5, None), (6, -1.0))]}, 200),
        ([1], 200),
        ({}, 500),
    ],
)
def test_a_server_that_answers_otherwise_is_one_sentence(
    completion: object, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, completion, status)
    with pytest.raises(EngineError, match="the engine's server"):
        said()
