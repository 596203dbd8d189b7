"""Write the bundled specs: `python -m kwire_cli.spec.importer facts FOLDER`, `... release 4.5 JARS`, `... add FILES`, `... accepted 4.1 JAR`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kwire_cli.errors import KwireError
from kwire_cli.spec.facts import write_from_facts
from kwire_cli.spec.location import specs_folder
from kwire_cli.spec.releases import Merged, add_definitions, merge_release, write_accepted


def main(arguments: list[str] | None = None) -> int:
    """Run the importer; 0 when it did its work, 2 when its input can't be used."""
    parser = argparse.ArgumentParser(prog="python -m kwire_cli.spec.importer", description=__doc__)
    parser.add_argument("--specs", type=Path, default=Path(specs_folder()), help="the specs folder to write (default: the bundled one)")
    commands = parser.add_subparsers(dest="command", required=True)
    facts = commands.add_parser("facts", help="write every spec file anew from a folder of facts")
    facts.add_argument("folder", type=Path)
    release = commands.add_parser("release", help="merge the definitions of a newer Kafka into the specs")
    release.add_argument("release", help="its number, such as 4.5")
    release.add_argument("sources", type=Path, nargs="+", help="its jars, or folders with its JSON files")
    add = commands.add_parser("add", help="add definitions, or replace those of their name, and say nothing of a release")
    add.add_argument("sources", type=Path, nargs="+", help="files in Kafka's grammar, folders or jars; of an api both halves")
    accepted = commands.add_parser("accepted", help="write down which versions a release accepts, and leave all else as it is")
    accepted.add_argument("release", help="its number, such as 4.1")
    accepted.add_argument("sources", type=Path, nargs="+", help="its kafka-clients jar, or a folder with its JSON files")
    options = parser.parse_args(arguments)
    try:
        lines = {"facts": _facts, "release": _release, "add": _add, "accepted": _accepted}[options.command](options)
    except (KwireError, OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _facts(options: argparse.Namespace) -> list[str]:
    return [f"{len(write_from_facts(options.folder, options.specs))} files written"]


def _release(options: argparse.Namespace) -> list[str]:
    return _told(merge_release(options.sources, options.specs, options.release))


def _add(options: argparse.Namespace) -> list[str]:
    return _told(add_definitions(options.sources, options.specs))


def _told(merged: Merged) -> list[str]:
    new = [f"new: {name}" for name in merged.added]
    return [*new, *(f"replaced: {name}" for name in merged.replaced), *(f"dropped: {note}" for note in merged.notes)]


def _accepted(options: argparse.Namespace) -> list[str]:
    return [f"{options.release} accepts {write_accepted(options.sources, options.specs, options.release)} apis"]


if __name__ == "__main__":
    sys.exit(main())
