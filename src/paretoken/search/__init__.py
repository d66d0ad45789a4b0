"""What to try next. Pure: a search sees points and numbers, never an engine. `STRATEGIES` is the map."""

from paretoken.plugins import Registry

STRATEGIES = Registry(
    "strategy",
    {
        "grid": "paretoken.search.strategies.grid:Grid",
        "halving": "paretoken.search.strategies.halving:Halving",
        "racing": "paretoken.search.strategies.racing:Racing",
        "random": "paretoken.search.strategies.random:Random",
        "tpe": "paretoken.search.strategies.tpe:Tpe",
    },
)
