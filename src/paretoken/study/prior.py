"""What is expected of each option before anything ran: the roofline's word, with its stated error.

Enters the machine's measured limits and the model's sizes; leaves, for each option, the expected log-effect on the rate
against its axis's default, and its standard deviation. Decision rule 9: it orders, it does not judge. Decoding on CPUs
is bound by arithmetic where the roofline says bandwidth (a third to a half of it was seen), hence the wide deviations.
"""

import math

from paretoken.machine.limits import Limits
from paretoken.models.dimensions import EMBEDDING, Dimensions, dimensions
from paretoken.models.gguf_header import Header, read_header
from paretoken.models.gguf_types import BY_NAME
from paretoken.search.space import Option
from paretoken.study.space import DEFAULT, SLOTS, WEIGHTS, Space
from paretoken.techniques.model.quantize import plan

Prior = dict[tuple[str, Option], tuple[float, float]]

# Of the log-effect. Weights and slots were seen to miss the roofline by a factor of up to 1.5 either way.
WEIGHTS_SD, SLOTS_SD = 0.25, 0.35
# Settings of which the roofline knows nothing: mean and deviation, from what they did on the machines of docs/LOG.md.
SETTINGS = {
    "kv_cache": (-0.02, 0.08),
    "threads": (-0.35, 0.3),
    "replicas": (-0.1, 0.25),
    "prefill_chunk": (-0.1, 0.15),
    "speculate": (-0.02, 0.06),
    "samplers": (0.01, 0.05),
}
SPECULATE_COPYING = (0.1, 0.1)  # where answers repeat their prompt


def prior_of(space: Space, limits: Limits | None, asks: str) -> Prior:
    """For the workload of the name `asks`. Without limits of the machine only the deviations are known."""
    settings = {**SETTINGS, **({"speculate": SPECULATE_COPYING} if asks == "copying" else {})}
    header = read_header(space.model.path)
    sizes = dimensions(header)
    given_bytes = sizes.weight_bytes_per_step
    found: Prior = {}
    for axis in space.tree.axes:
        for option in axis.options[1:]:
            if axis.name == WEIGHTS:
                # With a slot a stream, since the best have about that: there the arithmetic of all of them counts too.
                as_given = _step_s(sizes, limits, given_bytes, space.streams)
                made = _step_s(sizes, limits, _bytes_as(header, sizes, str(option)), space.streams)
                found[axis.name, option] = math.log(as_given / made), WEIGHTS_SD
            elif axis.name == SLOTS:
                slots = int(space.settings[axis.name, option]["slots"])
                gain = slots * _step_s(sizes, limits, given_bytes, 1) / _step_s(sizes, limits, given_bytes, slots)
                found[axis.name, option] = math.log(gain), SLOTS_SD
            elif option != DEFAULT:
                found[axis.name, option] = settings.get(axis.name, (0.0, 0.2))
    return found


def _step_s(sizes: Dimensions, limits: Limits | None, weight_bytes: float, slots: int) -> float:
    """One decode step by the roofline, reading and multiplying one after the other; 1 where no limit is known."""
    if limits is None:
        return 1.0
    return weight_bytes / limits.read_bytes_per_s + 2 * sizes.active_parameters * slots / limits.flop_s


def _bytes_as(header: Header, sizes: Dimensions, to: str) -> float:
    """Bytes that a step reads once the model is made `to`: as given, times how the matrices shrink."""
    types = plan(header, to)
    used = [t for t in header.tensors if sizes.tied or t.name != EMBEDDING]
    before = sum(tensor.bytes for tensor in used)
    after = sum(tensor.rows * BY_NAME[types[tensor.name]].row_bytes(tensor.width) for tensor in used)
    return sizes.weight_bytes_per_step * after / before
