"""`kwire wireshark`: a dissector for Wireshark and tshark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kwire_cli.cli.command import Command
from kwire_cli.cli.options import Definitions, Output
from kwire_cli.cli.typed_options import takes
from kwire_cli.view.wireshark.dissector import dissector

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment

EXAMPLES = (
    ("kwire wireshark -o kwire.lua", "one file, for Wireshark's folder of Lua plugins"),
    ("kwire wireshark --specs MetadataResponse.json -o kwire.lua", "with a definition of your own"),
    ("kwire wireshark --specs 3.9 -o kwire.lua", "with the layouts of Kafka 3.9 where releases differ"),
)


class Options(Output, Definitions):
    """Options of `kwire wireshark`."""


@click.command(name="wireshark", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> None:
    """Write a dissector for Wireshark and tshark that knows every message.

    The dissector is one Lua file. It needs neither kwire nor Python.
    """
    environment.write(dissector(options.catalog).rstrip("\n"))
