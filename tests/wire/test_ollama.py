"""Ollama's protocol: what is asked, and what one line says."""

from paretoken.core.request import Message, Request, Sampling
from paretoken.wire.ollama import OLLAMA, ollama_piece
from paretoken.wire.read import read_reply

JSON_LINES = "application/x-ndjson"


def test_a_body() -> None:
    request = Request(0, 0, 0, (Message("user", "Hi"),), Sampling(max_tokens=5, seed=3, ignore_eos=True))
    assert OLLAMA.body(request, "m", {"keep_alive": -1}) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "options": {"num_predict": 5, "temperature": 0.0, "seed": 3},
        "stream": True,
        "keep_alive": -1,
    }


def test_the_last_line_carries_counts_and_durations_in_nanoseconds() -> None:
    piece = ollama_piece(
        {"message": {"content": ""}, "done": True, "eval_count": 5, "prompt_eval_count": 11, "eval_duration": 4_000_000}
    )
    assert (piece.done, piece.finish_reason, piece.output_tokens, piece.prompt_tokens) == (True, None, 5, 11)
    assert piece.timings == {"eval_duration": 4_000_000.0}


def test_each_tool_call_is_a_call_of_its_own() -> None:
    lines = (
        b'{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":false}\n'
        b'{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"x":2}}}]},"done":false}\n'
        b'{"message":{"content":""},"done":true,"done_reason":"stop"}\n'
    )
    reply = read_reply("ollama-ndjson", 200, JSON_LINES, [(1.0, lines)], (1.0, "eof"))
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("f", '{"x": 1}'), ("f", '{"x": 2}')]
    assert reply.ok
    assert reply.n_chunks == 2


def test_an_error_line_fails_the_reply() -> None:
    lines = [(0.5, b'{"message":{"content":"a"},"done":false}\n'), (0.6, b'{"error":"model runner stopped"}\n')]
    reply = read_reply("ollama-ndjson", 200, JSON_LINES, lines, (0.6, "eof"))
    assert (reply.error, reply.error_message, reply.n_chunks) == ("stream_error", "model runner stopped", 1)


def test_thinking_is_reasoning_and_a_last_line_needs_no_newline() -> None:
    lines = [(0.5, b'{"message":{"thinking":"hm"},"done":false}\n'), (0.6, b'{"message":{"content":"a"},"done":true}')]
    reply = read_reply("ollama-ndjson", 200, JSON_LINES, lines, (0.7, "eof"))
    assert (reply.reasoning_text, reply.text, reply.chunk_at, reply.done_at) == ("hm", "a", (0.5, 0.7), 0.7)
    assert reply.ok
