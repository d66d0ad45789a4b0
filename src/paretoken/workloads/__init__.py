"""What is asked: `chat` (varied conversations in prose), `copying` (answers that repeat their prompt) and `synthetic`
(prompts of a given length)."""

from paretoken.plugins import Registry

WORKLOADS = Registry(
    "workload",
    {
        "chat": "paretoken.workloads.chat:chat",
        "copying": "paretoken.workloads.copying:copying",
        "synthetic": "paretoken.workloads.synthetic:synthetic",
    },
)
