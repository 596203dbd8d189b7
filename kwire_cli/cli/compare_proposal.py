"""`kwire compare --proposal`: the cost of a proposed definition, or of a new field, for captured messages.

Each frame of the inputs is encoded with the current and with the proposed definition. --assume gives the values of new
fields, which captured messages lack.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.proposal_answer import ProposalPrices
from kwire_cli.analysis.costs.proposals import Assumption, Pricing
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.compare_inputs import subjects
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.inputs import Terminal, missing_names, reading_of
from kwire_cli.cli.options import Captures, Choosing, Definitions, Messages
from kwire_cli.cli.typed_options import option
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs
from kwire_cli.spec.field_text import is_field_text, overlay_of_field
from kwire_cli.stores.paths import exists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.overlay import Overlay

KIP = "kip"
"""The format of a paragraph and a table for a KIP."""
PROPOSAL_OPTIONS = ("proposals", "assumed")
"""Fields of ProposalOptions that only proposals support."""
_TAKES = frozenset({Kind.CAPTURE, Kind.FRAMES})


class ProposalOptions(Captures, Choosing, Messages, Definitions):
    """Options for the price of a proposal on the inputs of a command."""

    proposals: tuple[str, ...] = option(
        "--proposal",
        section="Choose",
        multiple=True,
        metavar="FILE",
        shell_complete=complete_file,
        help="Price this proposed definition or overlay; repeatable.",
    )
    assumed: tuple[str, ...] = option(
        "--assume",
        section="Choose",
        multiple=True,
        rare=True,
        metavar="PATH=VALUE[@SHARE]",
        help="Assume this value, or len:N, of a new field in the proposal.",
    )


def proposals_of(options: ProposalOptions, sources: tuple[str, ...]) -> tuple[Sequence[str | Overlay], tuple[str, ...]]:
    """Return the proposals and the inputs. The first two arguments can be a message and a new field of it."""
    may_be = len(sources) > 1 and not exists(sources[0]) and is_field_text(sources[1])
    if not may_be or all(character in string.hexdigits for character in sources[0]):
        return options.proposals, sources
    field = overlay_of_field(options.catalog.message(sources[0]), sources[1])
    return (*options.proposals, field), sources[2:]


def prices_of(
    environment: Environment, options: ProposalOptions, proposals: Sequence[str | Overlay], sources: tuple[str, ...]
) -> ProposalPrices:
    """Return the prices of proposals on all frames of the inputs.

    Raises InputError if a proposal or an assumption makes no sense, or if the proposal changes none of the messages.
    """
    catalog = options.catalog
    assumptions = [Assumption.parse(text) for text in options.assumed]
    prices = ProposalPrices(Redaction(catalog, show_secrets=False), Pricing(catalog, proposals, assumptions))
    choice = Choice(options, catalog)
    for opened in open_inputs(sources, reading_of(options), Terminal(environment), takes=_TAKES):
        for subject in subjects(opened, choice):
            prices.add(subject)
    if not prices.priced:
        refused = "; ".join(prices.pricing.refused)
        raise InputError(
            f"{missing_names(sources)}no message is changed by the proposal ({prices.pricing.others} others, "
            f"{prices.skipped} not decoded whole){f'; {refused}' if refused else ''}"
        )
    return prices
