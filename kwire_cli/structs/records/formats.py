"""The record formats by name."""

from __future__ import annotations

from kwire_cli.structs.records import kip82, kip98, v0, v1, v2

RECORD_SETS = {"v0": v0.MESSAGE_SET, "v1": v1.MESSAGE_SET, "v2": v2.BATCHES, "kip98-draft": kip98.MESSAGE_SETS, "kip82-draft": kip82.MESSAGE_SET}
"""What stands in a record set of this format: messages, batches or sets one after the other up to the end of the bytes.

The magic byte tells the first three apart. The drafts have the magic of v2 and are read only when asked for.
"""
