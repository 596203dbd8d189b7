"""Original packets of chosen frames, written to a new capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.packets.writing import copy_packets

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


def write_capture(name: str, chosen: Mapping[str, Container[int]]) -> None:
    """Write packets, chosen by number from each capture, to a new file: pcap if its name ends so, else pcapng.

    Raises InputError if the file exists or cannot be written.
    """
    path = Path(name)
    if path.exists():
        raise InputError("this file exists; choose another name")
    try:
        with path.open("xb") as file:

            def write(data: bytes) -> None:
                file.write(data)

            copy_packets(chosen, "pcap" if path.suffix == ".pcap" else "pcapng", write)
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None
