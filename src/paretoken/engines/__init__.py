"""Who answers: adapters of engines that we can launch (registry), and endpoints that others run (endpoint.py)."""

from paretoken.plugins import Registry

ENGINES = Registry(
    "engine",
    {
        "llamacpp": "paretoken.engines.llamacpp:LlamaCpp",
        "null": "paretoken.engines.null:Null",
        "scripted": "paretoken.engines.scripted:Scripted",
    },
)
