"""`--report clients` and `--report upgrade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cli.clients import BESIDE, show_clients

if TYPE_CHECKING:
    from kwire_cli.analysis.clients import Clients
    from kwire_cli.cli.reports import Asked


def show(asked: Asked) -> int:
    """Show the clients that speak to the brokers.

    With --to, show the clients that a newer release would refuse, and return 1 if there are any.
    """
    from kwire_cli.cli.reports.counting import counted
    from kwire_cli.pipeline.reports import CLIENTS

    release, now = asked.options["release"], asked.options["now"]

    def find() -> Clients:
        first, *others = counted(asked, CLIENTS, BESIDE)
        for other in others:
            first.beside(other)
        return first  # type: ignore[no-any-return] # as CLIENTS makes them

    return show_clients(asked.environment, asked.options["catalog"], find, release, now, asked.fmt)
