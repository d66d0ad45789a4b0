"""The OpenAI-like protocols: what is asked, and what one event says."""

from typing import Any

import pytest

from paretoken.core.request import Message, Request, Sampling
from paretoken.wire import protocol_named
from paretoken.wire.base import ToolPart
from paretoken.wire.openai_events import openai_piece


def request(ignore_eos: bool = False) -> Request:
    messages = (Message("system", "Be brief."), Message("user", "Hi"))
    return Request(0, 0, 0, messages, Sampling(max_tokens=5, seed=3, ignore_eos=ignore_eos))


def test_a_chat_body() -> None:
    assert protocol_named("openai-chat-sse").body(request(), "m", {"cache_prompt": False}) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "max_tokens": 5,
        "temperature": 0.0,
        "seed": 3,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": False,
    }


def test_ignore_eos_is_sent_only_when_asked_for() -> None:
    for name in ("openai-chat-sse", "openai-completions-sse"):
        assert "ignore_eos" not in protocol_named(name).body(request(), "m", {})
        assert protocol_named(name).body(request(ignore_eos=True), "m", {})["ignore_eos"] is True


def test_a_completions_body() -> None:
    body = protocol_named("openai-completions-sse").body(request(), "m", {})
    assert body["prompt"] == "Be brief.\n\nHi"
    assert "messages" not in body
    assert body["stream_options"] == {"include_usage": True}


def choice(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


@pytest.mark.parametrize(
    ("event", "is_chunk"),
    [
        (choice(content="a"), True),
        (choice(text="a"), True),
        (choice(reasoning="a"), True),
        (choice(reasoning_content="a"), True),
        (choice(refusal="a"), True),
        (choice(tool_calls=[{"index": 0, "function": {"name": "f"}}]), True),
        (choice(tool_calls=[{"index": 0, "function": {"arguments": "{"}}]), True),
        ({"choices": [{"text": "a"}]}, True),
        ({"choices": [{"index": None, "delta": {"content": "a"}}]}, True),
        (choice(role="assistant"), False),
        (choice(role="assistant", content=""), False),
        (choice(content=None), False),
        (choice(content=["a"]), False),
        (choice(tool_calls=[{"index": 0, "id": "call_1"}]), False),
        ({"choices": [{"index": 1, "delta": {"content": "a"}}]}, False),
        ({"choices": [], "usage": {"completion_tokens": 3}}, False),
        ({"choices": None}, False),
        ({}, False),
    ],
)
def test_what_is_a_chunk(event: dict[str, Any], is_chunk: bool) -> None:
    assert openai_piece(event).is_chunk is is_chunk


def test_both_names_of_reasoning_are_one_text() -> None:
    assert openai_piece(choice(reasoning="same", reasoning_content="same")).reasoning == "same"


def test_other_choices_are_not_read() -> None:
    event = {
        "choices": [
            {"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"},
            {"index": 0, "delta": {"content": "a"}},
        ]
    }
    piece = openai_piece(event)
    assert (piece.text, piece.finish_reason) == ("a", None)


def test_usage_and_timings() -> None:
    piece = openai_piece(
        {
            "choices": [],
            "usage": {
                "completion_tokens": 4,
                "prompt_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            "timings": {"cache_n": 8, "prompt_ms": 12.5, "note": "x"},
        }
    )
    assert (piece.output_tokens, piece.prompt_tokens, piece.cached_tokens, piece.reasoning_tokens) == (4, 9, 0, 2)
    assert piece.timings == {"cache_n": 8.0, "prompt_ms": 12.5}


def test_cached_tokens_of_llama_cpp_stand_in_its_timings() -> None:
    assert openai_piece({"usage": {"completion_tokens": 4}, "timings": {"cache_n": 8}}).cached_tokens == 8


def test_a_tool_fragment_without_an_index_takes_its_position() -> None:
    piece = openai_piece(choice(tool_calls=[{"function": {"name": "f"}}, {"function": {"name": "g"}}, "junk"]))
    assert piece.tools == (ToolPart(0, "", "f", ""), ToolPart(1, "", "g", ""))
