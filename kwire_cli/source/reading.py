"""Settings for reading inputs, the caller that reads them, and the base class of opened inputs.

`Reading` has the options of a command that concern its inputs. A `Caller` receives remarks, faults and progress, so
that readers do not depend on the command line.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.message.frames import Hints
from kwire_cli.source.files import Naming
from kwire_cli.source.kinds import Kind
from kwire_cli.stores.paths import BYTES, location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.records.batch import Hide
    from kwire_cli.records.codecs import Limits
    from kwire_cli.source.packets import tcp
    from kwire_cli.source.recognition import Recognised
    from kwire_cli.spec.catalog import Catalog


class Follow(NamedTuple):
    """Settings for following a capture as it grows, until `stop` is true. `opening` was read from a pipe before.

    `sleep` waits while a file does not grow.
    """

    stop: Callable[[], bool]
    limits: tcp.Limits | None = None
    opening: bytes = b""
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reading:
    """Settings for reading inputs: the definitions, and what the caller knows of the inputs.

    Attributes:
        catalog: The message definitions.
        input_kind: The kind of the inputs, if the caller knows it.
        form: The form of encoded bytes in text, one of `source.text.reading.FORMS`.
        message: The message of bodies. If it is set, inputs are bodies.
        version: The version of a body, or of a frame that does not contain it.
        api: The api of a frame that does not contain it, by name or key.
        kind: `request` or `response` for a frame that does not show it.
        header: The form of request headers, `kafka` or `kip482`.
        framed: Whether a size prefix precedes each frame; None to detect it.
        port: The broker's port in captures; None to detect it.
        key_logs: The key logs with which TLS is decrypted.
        naming: How capture files are grouped into capture points.
        follow: How a capture is followed; None to read only the existing data.
        record_format: The format of record batches, `auto` to use their magic bytes. If it is set, inputs are batches.
        topic: The topic of records; None to detect it from the folder or the records.
        limits: The limits of decompression; None for the default limits.
        every: Whether a folder yields all files of a log directory, including files without batches.
        verbose: Whether the caller receives remarks on how inputs were recognised.
        connections: Whether captures also yield their TCP connections, each after its end.
        packets: Whether lines of captures have the places of their packets.
        hide: The secrets in records that `to_json` of batches leaves out by default.

    """

    catalog: Catalog
    input_kind: Kind | None = None
    form: str = "auto"
    message: str | None = None
    version: int | None = None
    api: str | int | None = None
    kind: str | None = None
    header: str = "kafka"
    framed: bool | None = None
    port: int | None = None
    key_logs: tuple[str, ...] = ()
    naming: Naming = field(default_factory=Naming)
    follow: Follow | None = None
    record_format: str | None = None
    topic: str | None = None
    limits: Limits | None = None
    every: bool = False
    verbose: bool = False
    connections: bool = False
    packets: bool = False
    hide: Hide | None = None

    @property
    def says(self) -> Kind | None:
        """The kind of the inputs, if the caller specified it or used an option that implies it."""
        if self.input_kind is not None:
            return self.input_kind
        if self.follow:
            return Kind.CAPTURE
        if self.message:
            return Kind.BODY
        if self.record_format:
            return Kind.BATCHES
        known = (self.api, self.kind, self.version, self.framed)
        return Kind.FRAMES if any(value is not None for value in known) or self.header != "kafka" else None

    @property
    def hints(self) -> Hints:
        """Return the hints for reading frames. Raises InputError if the api is unknown."""
        api = None if self.api is None else self.catalog.api(self.api)
        return Hints(api, self.version, self.kind, self.header)

    @property
    def unknown_version(self) -> str:
        """A remark that the message or the api lacks the requested version; empty if it has the version."""
        api = None if self.api is None else self.catalog.api(self.api)
        name = self.message or (api and (api.request if self.kind == "request" else api.response))
        if name is None or self.version is None:
            return ""
        entry = self.catalog.entry(name)
        if not entry.valid_versions or self.version in entry.valid_versions:
            return ""
        low, high = entry.valid_versions
        nearest = low if self.version < low else high
        return f"{entry.name} has versions {entry.valid_versions}: {self.version} is decoded as {nearest}"

    @property
    def groups_captures(self) -> bool:
        """Return whether capture files are grouped into capture points."""
        return self.form == "auto" and not self.message and not self.follow


Read = list[tuple[str, str]]
"""The labels of inputs that were read, each with the `emptiness` of the input."""


def empty_inputs(read: Read) -> InputError | None:
    """Return the error for inputs that are readable but empty. Return None if any input has contents."""
    if not read or not all(reason for _, reason in read):
        return None
    if len(read) == 1:
        return InputError(read[0][1], file=read[0][0])
    return InputError("; ".join(f"{label}: {reason}" for label, reason in read))


def nothing_in(read: Read, what: str) -> InputError:
    """Return the error for inputs without `what`: they are empty, or --port may help to recognise their contents."""
    text = f"there is no {what} in this; --port says which port is the broker's"
    return empty_inputs(read) or InputError(text, file=read[0][0] if len(read) == 1 else None)


class Caller:
    """The program that reads inputs: its standard input, and callbacks for remarks and progress. This base class
    ignores them.
    """

    stdin: IO[bytes] | None = None

    def note(self, text: str) -> None:
        """Receive a remark on an input."""

    def unreadable(self, error: InputError) -> None:
        """Receive the error of a file in a folder. If this method returns, the other files are read."""
        raise error

    def begin(self, arguments: Sequence[str]) -> None:
        """Receive the arguments whose inputs are read next."""

    def progress(self, label: str, at: int, size: int, unit: str = BYTES) -> None:
        """Receive the number of bytes that were read of an input. `size` is 0 if it is unknown."""

    @property
    def stopped(self) -> bool:
        """Return whether reading must stop, because the caller has enough results."""
        return False

    def done(self) -> None:
        """Receive the end of an input."""

    def idle(self) -> None:
        """Receive that a pipe has no more data for now."""


class Opened:
    """An opened input with its subjects. Subclasses are the kinds of inputs."""

    def __init__(self, recognised: Recognised, how: Reading, caller: Caller) -> None:
        self.recognised = recognised
        self.how = how
        self.caller = caller

    @property
    def kind(self) -> Kind:
        """The kind of the input."""
        return self.recognised.kind

    @property
    def name(self) -> str | None:
        """The name of the file, `standard input`, or None for an argument that is the bytes itself."""
        return None if self.recognised.name is None else location(self.recognised.name)

    @property
    def label(self) -> str:
        """The name to show for the input."""
        return self.name or "the argument"

    @property
    def emptiness(self) -> str:
        """Why a complete input had no subjects, such as `no packets`. Empty if the input contains data that was not
        recognised.
        """
        return ""

    def subjects(self) -> Iterator[Any]:
        """Yield the subjects of the input (`source.opening.Subject`), once. Raise InputError if it cannot be read."""
        raise NotImplementedError
