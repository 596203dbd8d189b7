"""The forms that the options of `kwire compare` choose for messages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cost.forms.choices import Choice, check_fields, concerns
from kwire_cli.cost.forms.comparing import Comparing
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.model import MessageSpec

EVERY_ENCODING = ("packed", "upacked")
CHOOSING = ("versions", "flexible", "all_tagged", "encodings", "overlays")
"""Options that choose forms; without any of them it is those that tell most."""


def note_held(environment: Environment, options: dict[str, Any], spec: MessageSpec) -> None:
    """Say that there are fewer versions of a message than --versions has; `9+` and all mean those that there are."""
    from kwire_cli.spec.versions import Versions

    text = options["versions"]
    if not text or text == "all" or text.endswith("+"):
        return
    meant, valid = Versions.parse(text), spec.valid_versions
    if meant.low < valid.low or meant.high > valid.high:
        environment.note(f"kwire: {spec.name} has versions {valid}: --versions {text} is held to these")


def comparing(options: dict[str, Any], specs: list[MessageSpec], version: int, *, several: bool) -> Comparing:
    """What prices messages in the forms that were asked for; where none were, in those that tell most."""
    from kwire_cli.spec.overlay_files import load_overlay

    fields = tuple(name.strip() for name in (options["fields"] or "").split(",") if name.strip())
    if fields and not options["encodings"]:
        raise click.UsageError("--fields needs an --encoding")
    if options["cases"] and not (options["encodings"] or options["overlays"]) and any(options[name] for name in CHOOSING):
        raise click.UsageError("--cases needs an --encoding or --overlay")
    if not several:
        check_fields(specs, fields)
    if not any(options[name] for name in CHOOSING):
        valid = () if several else tuple(other for other in specs[0].valid_versions.each() if other != version)
        return Comparing(Choice(valid, ends=several, both_ways=True, tagged=True, encodings=EVERY_ENCODING, cases=options["cases"]))
    overlays = tuple((Path(name).stem, load_overlay(name)) for name in options["overlays"])
    for name, overlay in overlays:
        if not several and not concerns(overlay, specs[0]):
            raise InputError(f"the overlay {name} does not change {specs[0].name}, but {', '.join(overlay.messages)}")
    versions = _versions(options["versions"], None if several else specs[0])
    both_ways, tagged, encodings, cases = (options[name] for name in ("flexible", "all_tagged", "encodings", "cases"))
    choice = Choice(versions, both_ways=both_ways, tagged=tagged, encodings=encodings, fields=fields, cases=cases, overlays=overlays)
    return Comparing(choice)


def _versions(text: str | None, spec: MessageSpec | None) -> tuple[int, ...]:
    """The versions that are meant; of one message those that it has, of several every number that was said."""
    from kwire_cli.spec.versions import Versions

    if not text:
        return ()
    known = spec.valid_versions if spec else Versions(0, 255)
    try:
        meant = known if text == "all" else Versions.parse(text)
    except ValueError as error:
        raise click.UsageError(f"--versions: {error}, or all") from None
    if not meant & known:
        raise InputError(f"{spec.name if spec else 'no message'} has versions {known}, not {text}")
    return tuple((meant & known).each())
