"""Files of definitions: the bundled folder, names, and findings with their places.

The package may be a zip on a cluster, so bundled files are read by the loader of this module and not by their path.
"""

from __future__ import annotations

import json
import os
import os.path
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kwire_cli.errors import InputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.spec.jsontext import JsonText, Keys, Place


# The bundled specs: their folder, and reading their bytes.


def package_folder() -> str:
    """Return the folder of the package, which may be a path inside a zip."""
    return os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib's import costs more than the decode


@cache
def specs_folder() -> str:
    """Return the folder of the bundled specs: inside the package in a wheel and in a zip, next to it in a checkout or
    an editable install.
    """
    package = package_folder()
    in_zip = not os.path.isdir(package)  # noqa: PTH112 - as above
    package = package if in_zip else os.path.abspath(package)  # noqa: PTH100 - as above
    inside = os.path.join(package, "specs")  # noqa: PTH118 - as above
    return inside if in_zip or os.path.isdir(inside) else os.path.join(os.path.dirname(package), "specs")  # noqa: PTH112, PTH118, PTH120 - as above


def read_bundled(name: str) -> Any:
    """Return the parsed JSON of a bundled file, named relative to the specs folder. Raise SpecError if unreadable."""
    path = os.path.join(specs_folder(), name)  # noqa: PTH118 - as above
    loader: Any = __spec__.loader  # it reads from the source of this module: a folder or a zip
    try:
        return json.loads(loader.get_data(path))
    except ValueError as error:
        how = "; definitions get there by python -m kwire_cli.spec.importer add FILE, which leaves comments out"
        raise SpecError(
            f"a file of kwire's installation is not valid JSON: {error}{how if name[:1].isupper() else ''}", file=path
        ) from error
    except OSError as error:
        raise SpecError(f"a file of kwire's installation cannot be read: {error}", file=path) from error


def layout_file(release: str, message: str) -> str:
    """Return the bundled file of the layout that a message had up to a release."""
    return f"kafka-{release}/{message}.json"


# The files that hold definitions.


def json_files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Path]:
    """Yield the files among `paths` and the *.json files in the folders among them, without duplicates.

    Raise InputError for a path that does not exist.
    """
    earlier: set[Path] = set()
    for path in map(Path, paths):
        if path.is_dir():
            # In a folder with an index, such as kwire's, files in lower case are other data.
            indexed = (path / "index.json").exists()
            files = sorted(file for file in path.glob("*.json") if not indexed or file.name[0].isupper())
        elif path.exists():
            files = [path]
        else:
            raise InputError("there is no such file or folder", file=str(path))
        for file in files:
            if (place := file.resolve()) not in earlier:
                earlier.add(place)
                yield file


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a definition file. Raise InputError if it is unreadable, SpecError if it is not UTF-8."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=str(path)) from error
    return decoded(data, str(path))


def decoded(data: bytes, file: str) -> str:
    """Return the text of a definition file from its bytes. Raise SpecError if they are not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise SpecError("this is not UTF-8 text", file=file, line=line, column=column) from error


JAR_FOLDERS = ("common/message/", "common/metadata/", "message/")
"""Where Kafka's jars keep definitions: clients and coordinators, the KRaft metadata module, the remote storage
module."""


def jar_texts(jar: Path) -> Iterator[tuple[str, str]]:
    """Yield each definition in one of Kafka's jars with its place. Raise InputError if the jar cannot be read."""
    import zipfile  # noqa: PLC0415 - a command that reads no jar starts faster without it

    try:
        with zipfile.ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                if name.startswith(JAR_FOLDERS) and name.endswith(".json"):
                    yield f"{jar}!{name}", archive.read(name).decode("utf-8")
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as a jar: {error}", file=str(jar)) from error


# Facts from names of messages: earlier names, successors, and Kafka's module of a record.

RENAMED_APIS = {
    "ListOffsets": ["ListOffset"],
    "ElectLeaders": ["ElectPreferredLeaders"],
    "AlterPartition": ["AlterIsr"],
}
"""Names that earlier releases gave to an api: 2 and 43 (Kafka 2.8 and 2.4), 56 (3.2)."""


REPLACED_APIS = {"ListClientMetricsResources": "ListConfigResources"}
"""An api whose key now belongs to another one with the same layout. It remains a separate message, which the
successor's key also finds."""
RENAMED_MESSAGES = {"ZkMigrationStateRecord": ["ZkMigrationRecord"]}
"""Messages known by the name of the file that Kafka keeps them in."""


def successor_of(name: str) -> str | None:
    """Return the message that now has this one's api key, or None."""
    return next((new + name.removeprefix(old) for old, new in REPLACED_APIS.items() if name.startswith(old)), None)


def aliases_of(name: str) -> list[str]:
    """Return the names of a message in earlier releases of Kafka."""
    for suffix in ("Request", "Response"):
        stem = name.removesuffix(suffix)
        if stem != name and stem in RENAMED_APIS:
            return [alias + suffix for alias in RENAMED_APIS[stem]]
    return RENAMED_MESSAGES.get(name, [])


def module_of(name: str, kind: str) -> str | None:
    """Return Kafka's module of a record, within which ids are unique; None for a message without a record id."""
    if kind == "metadata":
        return "storage" if name.startswith("Remote") else "metadata"
    if kind not in {"coordinator-key", "coordinator-value"}:
        return None
    if name.startswith("TransactionLog"):
        return "transaction-coordinator"
    return "share-coordinator" if name.startswith(("ShareSnapshot", "ShareUpdate")) else "group-coordinator"


# Faults of a definition with their places: findings, and the report that reading and rules add them to.

Severity = Literal["error", "warning", "advice"]


class Finding(NamedTuple):
    """One violation of a rule, or advice. `line` and `column` count from 1; `path` names the place in the definition,
    as in Topics.Name.tag.

    A violation of compatibility has `path` in JSON names, the name of the `definition`, and the affected `versions`;
    none means all. `old_reads_new` is the fault of an old reader with the bytes of a new writer, `new_reads_old` the
    converse.
    """

    rule: str
    severity: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    path: str | None = None
    definition: str = ""
    versions: tuple[Any, ...] = ()
    old_reads_new: str | None = None
    new_reads_old: str | None = None

    @property
    def place(self) -> str:
        """The definition and the field in it."""
        return ".".join(filter(None, (self.definition, self.path)))


class Spot(NamedTuple):
    """A place in a definition: `keys` leads to it through the JSON, `path` names it for users."""

    keys: tuple[str | int, ...] = ()
    path: str = ""

    def key(self, name: str) -> Spot:
        """Return the place of one key of the object here."""
        return Spot((*self.keys, name), f"{self.path}.{name}" if self.path else name)

    def item(self, key: str, index: int, name: str) -> Spot:
        """Return the place of an item of the list under `key`; `name` is the item's own, if it has one."""
        name = name or f"{key}[{index}]"
        return Spot((*self.keys, key, index), f"{self.path}.{name}" if self.path else name)


class Report:
    """The findings of one definition. `text` gives their lines and columns."""

    def __init__(self, file: str | None = None, text: JsonText | None = None) -> None:
        self.file = file
        self.text = text
        self.findings: list[Finding] = []

    def place(self, keys: Keys) -> Place | None:
        """Return the place of a key in the definition, or of the closest enclosing value; None without `text`."""
        return self.text.nearest(keys) if self.text else None

    @property
    def duplicates(self) -> list[tuple[Keys, Place]]:
        """The keys in the definition that occur twice in one object, with their places."""
        return self.text.duplicates if self.text else []

    def add(self, rule: str, message: str, spot: Spot) -> Finding:
        """Add a violation at a place, and return it."""
        line, column = self.place(spot.keys) or (None, None)
        finding = Finding(rule, "error", message, self.file, line, column, spot.path or None)
        self.findings.append(finding)
        return finding
