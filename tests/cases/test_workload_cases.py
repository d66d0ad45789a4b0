"""The cases about what is asked, under their ids: dt-unique-prompts, dt-one-token-prompt."""

import json
from pathlib import Path
from typing import Any

from paretoken.workloads.synthetic import synthetic


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    content = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return content["input"], content["expect"]


def test_dt_unique_prompts() -> None:
    given, expect = case("dt-unique-prompts")
    setting = given["synthetic"]
    workload = synthetic(
        requests=setting["n"],
        input_tokens=setting["input_tokens"],
        output_tokens=16,
        seed=setting["seed"],
        count_tokens=lambda text: len(text.split()),
    )
    texts = [request.messages[-1].content for request in workload.requests]
    assert len(set(texts)) == expect["distinct_prompts"]
    assert len({tuple(text.split()[:16]) for text in texts}) == expect["distinct_first_16_tokens"]
    assert expect["shared_prefix_only_when_asked"] and workload.shared_prefix_tokens == 0
    assert all(len(request.messages) == 1 for request in workload.requests)


def test_dt_one_token_prompt() -> None:
    given, expect = case("dt-one-token-prompt")
    special = int(given["tokenizer_special_tokens"])

    def count_tokens(text: str) -> int:
        return special + len(text.split())

    setting = given["synthetic"]
    workload = synthetic(
        requests=setting["n"],
        input_tokens=setting["input_tokens"],
        output_tokens=16,
        seed=0,
        count_tokens=count_tokens,
    )
    texts = [request.messages[-1].content for request in workload.requests]
    assert all(text.strip() for text in texts) is expect["prompts_nonempty"]
    assert {count_tokens(text) - special for text in texts} == {expect["content_tokens"]}
    assert len(set(texts)) == setting["n"]
