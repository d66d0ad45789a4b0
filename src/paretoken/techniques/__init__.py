"""What one can switch on. A technique's folder is decided by its claim: `model/` may change which tokens come,
`service/` only when they come. `TECHNIQUES` is the map."""

from paretoken.plugins import Registry

TECHNIQUES = Registry(
    "technique",
    {
        "batching": "paretoken.techniques.service.batching:Batching",
        "quantize": "paretoken.techniques.model.quantize:Quantize",
    },
)
