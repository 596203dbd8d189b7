"""`kwire decode -o FILE.pcap` and `.pcapng`: copy the packets of the selected frames.

The views collect the numbers of the packets while frames are decoded, and copy them in a second pass over the captures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kwire_cli.cli.message_views import View
from kwire_cli.errors import InputError, counted
from kwire_cli.source.packets.writing import copy_packets

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.message_views import MessageSettings
    from kwire_cli.source.kafka.captured import Captured


class Pcap(View):
    """The original packets in the format pcap."""

    FORM: ClassVar[str] = "pcap"

    def __init__(self, environment: Environment, settings: MessageSettings) -> None:
        super().__init__(environment, settings)
        self._chosen: dict[str, set[int]] = {}

    def begin_capture(self, *, whole: bool) -> None:
        """Begin a capture. Raise InputError for a pipe, which cannot be read twice."""
        if not whole:
            raise InputError(f"--format {self.FORM} reads a capture twice; save the pipe to a file first")

    def line(self, line: Captured) -> None:
        """Select the packets of a line."""
        for file, packet in line.packets:
            if file is not None and packet is not None:
                self._chosen.setdefault(file, set()).add(packet)

    def end(self) -> None:
        """Copy the selected packets."""
        copy_packets(self._chosen, self.FORM, self.environment.write_bytes)
        count = sum(map(len, self._chosen.values()))
        if count:
            packets = counted(count, "packet")
            self.environment.note(f"kwire: {packets} copied as captured, secrets included; see kwire sanitize")


class Pcapng(Pcap):
    """The original packets in the format pcapng."""

    FORM = "pcapng"


VIEWS: dict[str, type[View]] = {"pcap": Pcap, "pcapng": Pcapng}
"""Views by output format."""
