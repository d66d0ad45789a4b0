"""Addresses as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.errors import UsageError
from paretoken.wire.url import Address, final_address, final_url, parse_url

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(
    ("base", "default_path", "url"),
    [
        ("http://h:9", "/v1/completions", "http://h:9/v1/completions"),
        ("http://h:9/v1/chat/completions/", CHAT, "http://h:9/v1/chat/completions"),
        ("http://h:9/v1/models", CHAT, "http://h:9/v1/chat/completions"),
        ("http://h:9/v1/chat/completions", "/v1/completions", "http://h:9/v1/completions"),
        ("http://h:9/proxy/v1", CHAT, "http://h:9/proxy/v1/chat/completions"),
        ("http://h:9/proxy", CHAT, "http://h:9/proxy/v1/chat/completions"),
        ("http://h:9/v3", CHAT, "http://h:9/v3/chat/completions"),
        ("https://h/v1beta/openai/", CHAT, "https://h/v1beta/openai/chat/completions"),
        ("http://h:11434", "/api/chat", "http://h:11434/api/chat"),
        ("http://h:11434/api/", "/api/chat", "http://h:11434/api/chat"),
        ("http://h:11434/api/chat", "/api/chat", "http://h:11434/api/chat"),
        ("http://h:11434/api/tags", "/api/chat", "http://h:11434/api/chat"),
        ("HTTP://H:80/", CHAT, "http://h/v1/chat/completions"),
        ("http://[::1]:9", CHAT, "http://[::1]:9/v1/chat/completions"),
    ],
)
def test_final_urls(base: str, default_path: str, url: str) -> None:
    assert final_url(base, default_path) == url
    assert final_url(url, default_path) == url  # nothing is added twice


def test_an_address_in_parts() -> None:
    assert parse_url("https://example.org/a/b") == Address("https", "example.org", 443, "/a/b")
    assert parse_url("http://127.0.0.1:8080") == Address("http", "127.0.0.1", 8080, "")
    assert final_address("http://[::1]:9", CHAT).host == "::1"
    assert final_address("http://[::1]:9", CHAT).host_header == "[::1]:9"
    assert parse_url("https://h:443").host_header == "h"


@pytest.mark.parametrize(
    "text",
    [
        "", "localhost:8080", "h", "ftp://h/x", "file:///etc/passwd", "http://", "http://:80", "http://h:0",
        "http://h:99999", "http://h:x", "http://[::1", "http://h/a b", "http://h/a\r\nx: y", "http://h\x00", "http://é/",
        "unix:///run/x.sock",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_url(text)
    assert "write http://HOST:PORT" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "\r" not in str(refusal.value)


@pytest.mark.parametrize("text", ["http://user:hush@h/", "http://hush@h", "ftp://user:hush@h/", "http://h x?key=hush"])
def test_secrets_in_an_address_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_url(text)
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    ["http://h/v1?key=hush", "https://h:8080?hush", "http://h/v1#hush", "http://h/a?b#hush", "http://h/a#b?hush"],
)
def test_a_query_or_fragment_is_refused_since_addresses_are_stored(text: str) -> None:
    with pytest.raises(UsageError) as refusal:
        final_address(text, CHAT)
    assert "hush" not in str(refusal.value)
    assert "--api-key-env" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_no_other_refusal_repeats_a_query_either() -> None:
    for text in ("h?key=hush", "h#hush", "ftp://h/?hush", "http://h:x/?hush", "http://h y/#hush", "http://[::1?hush"):
        with pytest.raises(UsageError) as refusal:
            parse_url(text)
        assert "hush" not in str(refusal.value)


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_a_sentence(text: str) -> None:
    for candidate in (text, f"http://{text}", f"http://h{text}"):
        try:
            address = final_address(candidate, CHAT)
        except UsageError:
            continue
        assert all(0x21 <= ord(character) <= 0x7E for character in address.url)
