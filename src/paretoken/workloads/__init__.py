"""What is asked: `chat` (varied conversations in prose) and `synthetic` (prompts of a given length)."""

from paretoken.plugins import Registry

WORKLOADS = Registry(
    "workload",
    {
        "chat": "paretoken.workloads.chat:chat",
        "synthetic": "paretoken.workloads.synthetic:synthetic",
    },
)
