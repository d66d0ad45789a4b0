"""When sessions become due: `closed` (a fixed number of streams) and `poisson` (an open loop at a rate)."""

from paretoken.plugins import Registry

ARRIVALS = Registry(
    "arrivals",
    {
        "closed": "paretoken.arrivals.closed:Closed",
        "poisson": "paretoken.arrivals.poisson:Poisson",
    },
)
