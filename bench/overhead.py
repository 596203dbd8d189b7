"""Block `overhead`: `kwire overhead` beside plain `kwire decode --format jsonl` of the same captures in one run; and
its memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from captures import JSONL, print_beside

if TYPE_CHECKING:
    from pathlib import Path

OVERHEAD, BY_TOPIC = "kwire overhead", "kwire overhead --by topic,kind"
COMMANDS = {
    JSONL: ("decode", "--format", "jsonl"),
    OVERHEAD: ("overhead",),
    BY_TOPIC: ("overhead", "--by", "topic,kind"),
}


def block(runs: int, folder: Path | None, messages: int = 300_000) -> None:
    print_beside(COMMANDS, [OVERHEAD], runs, folder, messages, most=1.3, most_memory=1.1)
