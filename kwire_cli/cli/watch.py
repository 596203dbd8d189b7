"""`kwire watch`: what goes by on an interface, or in a stream of packets, as it goes by."""

from __future__ import annotations

import codecs
import contextlib
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from kwire_cli.analysis.stats import Stats
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, complete_filter
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Environment, Exit, Interrupt
from kwire_cli.cli.inputs import Terminal, reading_of
from kwire_cli.cli.options import PORT, Choosing, Definitions, Report
from kwire_cli.cli.typed_options import argument, flag, option, takes
from kwire_cli.errors import InputError
from kwire_cli.source.kafka.captured import time_text
from kwire_cli.source.opening import open_input
from kwire_cli.source.packets.live import Capturing, interfaces
from kwire_cli.source.packets.tcp import Limits
from kwire_cli.source.reading import Follow
from kwire_cli.view.answers import answer_document
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import STYLES, without_control
from kwire_cli.view.terminal import answer_text
from kwire_cli.view.traffic import interval_line, rows_for, screen_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.kafka.captured import Captured

MOST_GROUPS, MOST_CONNECTIONS = 10_000, 1 << 14
"""Clients, topics and so on that are counted one by one, and connections that are open at a time: memory stays flat for
days.

A connection whose end was not captured stays open until others take its place.
"""
FORMATS = ("table", "jsonl")


EXAMPLES = (
    ("kwire watch eth0", "rates, latencies and errors, redrawn until Ctrl-C"),
    ("kwire watch lo --filter 'api == Produce' -o kept.pcap", "one api, its packets kept"),
    ("ssh broker tcpdump -U -w - port 9092 | kwire watch -", "the traffic of another machine"),
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Definitions):
    """Options of `kwire watch`."""

    source: str | None = argument(metavar="INTERFACE", required=False, shell_complete=complete_file)
    port: tuple[int, ...] = option(
        "--port",
        section="Choose",
        type=PORT,
        multiple=True,
        metavar="N",
        help="Capture only this port of brokers; repeatable.",
    )
    filter: str | None = option(
        "--filter",
        section="Choose",
        metavar="TEXT",
        shell_complete=complete_filter,
        help="Count only frames that match, such as 'topic == orders'; see docs/filter.md.",
    )
    duration: float | None = option(
        "--duration",
        section="Output",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="Stop after this long.  [default: on Ctrl-C]",
    )
    every: float = option(
        "--every",
        section="Output",
        type=click.FloatRange(min=0.1),
        default=2.0,
        show_default=True,
        metavar="SECONDS",
        help="Set how often figures are printed.",
    )
    keep: str | None = option(
        "--output",
        "-o",
        section="Output",
        metavar="FILE",
        shell_complete=complete_file,
        help="Write the packets to this file too.",
    )
    force: bool = flag("--force", section="Output", help="Overwrite the file of --output if it exists.")
    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice(FORMATS),
        help="Set the output format.  [default: table, redrawn on a terminal]",
    )
    tls_keylog: tuple[str, ...] = option(
        "--tls-keylog",
        section="Input",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="Decrypt TLS with this key log (SSLKEYLOGFILE); repeatable; see docs/tls.md.",
    )

    @property
    def is_live(self) -> bool:
        """Return True: the terminal is drawn anew."""
        return True


@click.command(name="watch", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Watch Kafka traffic live: rates, latencies and errors by api, client, topic and broker.

    INTERFACE is a network interface of this machine, such as eth0, lo or any, on which tcpdump or dumpcap
    captures; - for packets from standard input; or a capture file, which is followed as it grows. Ctrl-C ends
    it and prints the totals.
    """
    source = options.source
    if source is None:
        if environment.stdin.isatty():
            raise click.UsageError(
                f"which interface? There are {', '.join(interfaces()) or 'none'}; any is for all, - for packets "
                f"from standard input"
            )
        source = "-"
    choice = Choice(Choosing(filter=options.filter), options.catalog)  # before anything is captured
    interrupt = Interrupt()
    ends: float | None = None

    def stop() -> bool:
        nonlocal ends
        if ends is None and options.duration is not None:
            ends = time.monotonic() + options.duration  # it begins with the first look at the packets
        return bool(interrupt) or (ends is not None and time.monotonic() >= ends)

    with contextlib.ExitStack() as opened, interrupt.watched():
        capturing: Capturing | None = None
        packets: str | IO[bytes] = environment.stdin if source == "-" else source
        if source != "-" and (source in interfaces() or not Path(source).exists()):
            capturing = Capturing(source, options.port)
            opened.callback(capturing.end)
            packets = capturing.output
        written = opened.enter_context(_written(options.keep, source, force=options.force)) if options.keep else None
        name = "standard input" if source == "-" else source
        if capturing is None and source != "-" and Path(source).is_file() and options.duration is None:
            environment.note(f"kwire: {source} is a file, and is followed as it grows; Ctrl-C ends it with the totals")
        display = _Shown(environment, name, options.every, options.fmt)
        opened.callback(display.close)
        follow = Follow(
            stop=stop,
            limits=Limits(connections=MOST_CONNECTIONS),
            keep=None if written is None else partial(_keep, written),
        )
        how = replace(
            reading_of(options, follow=follow),
            port=options.port[0] if len(options.port) == 1 else None,
            key_logs=options.tls_keylog,
        )
        for line in choice.among(open_input(packets, how, _Watching(environment, display), name=name).subjects()):
            display.add(line)
        display.end()
        if capturing:
            capturing.end()
            if capturing.dropped:
                environment.note(
                    f"kwire: {capturing.tool} had no time for {capturing.dropped} packets: --port captures fewer"
                )
    return Exit.DONE


@contextlib.contextmanager
def _written(path: str, source: str, *, force: bool) -> Iterator[IO[bytes]]:
    if force and Path(source).exists() and Path(path).exists() and Path(source).samefile(path):
        raise InputError("this is the input itself", file=path)
    try:
        file = Path(path).open("wb" if force else "xb", buffering=0)  # noqa: SIM115 - closed below
    except FileExistsError:
        raise InputError("is there already; --force writes over it", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None
    with file:
        yield file


def _keep(file: IO[bytes], data: bytes) -> None:
    try:
        while data:
            data = data[file.write(data) :]
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=file.name) from None


class _Shown:
    """Statistics that are counted and shown: of the last seconds, and since the beginning."""

    def __init__(self, environment: Environment, where: str, every: float, fmt: str | None) -> None:
        self._environment, self._where, self._every = environment, where, every
        self._document = fmt == "jsonl"
        self._total, self._recent = Stats(most=MOST_GROUPS), Stats(most=MOST_GROUPS)
        self._begun = self._since = time.monotonic()
        self._screen: Any = None
        self._live = environment.to_terminal and not self._document

    def add(self, line: Captured) -> None:
        """Count a line."""
        self._recent.add(line)
        if time.monotonic() - self._since >= self._every:
            self._show()

    def tick(self) -> None:
        """Nothing has come for a moment."""
        if time.monotonic() - self._since >= self._every:
            self._show()
        self._environment.flush()

    def end(self) -> None:
        """Show the totals."""
        self._total.merge(self._recent)
        self.close()
        if self._document:
            self._write(self._total, "total", time.monotonic() - self._begun)
        else:
            emit(self._environment, self._total.answer(), Report(fmt="table"))
        self._environment.flush()
        if not self._total.kinds:
            self._environment.note(
                "kwire: nothing of Kafka was seen; is the port right, and is it this interface that the traffic takes?"
            )

    def close(self) -> None:
        """Give the terminal back."""
        if self._screen:
            self._screen.stop()
            self._screen = None

    def _show(self) -> None:
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        recent, self._recent = self._recent, Stats(most=MOST_GROUPS)
        self._total.merge(recent)
        if self._document:
            self._write(recent, "interval", seconds)
            return
        line = interval_line(recent, seconds, time_text(time.time_ns()) or "")
        if self._live:
            self._renew(line, now - self._begun)
        else:
            self._environment.write_lines([line])

    def _write(self, stats: Stats, kind: str, seconds: float) -> None:
        head = {"kind": kind, "time": time_text(time.time_ns()), "seconds": round(seconds, 3)}
        self._environment.write(dumps(head | answer_document(stats.answer()), indent=False))

    def _renew(self, line: Any, elapsed: float) -> None:
        if self._screen is None:
            self._screen = _screen(self._environment)
        console = self._screen.console
        text = Text(no_wrap=True, overflow="crop")
        for row in screen_head(line, self._where, elapsed):
            for part, style in without_control(row):
                text.append(part, STYLES.get(style, ""))
            text.append("\n")
        answer = self._total.answer(rows_for(console.height))
        text.append_text(Text.from_ansi(answer_text(answer, console.width, colour=not console.no_color)))
        self._screen.update(text, refresh=True)


class _Watching(Terminal):
    """The command as the caller: what is counted is shown when no more packets are there."""

    def __init__(self, environment: Environment, display: _Shown) -> None:
        super().__init__(environment)
        self._display = display

    def note(self, text: str) -> None:
        """Write a remark below what is shown."""
        self._display.close()
        super().note(text)

    def idle(self) -> None:
        """Show what was counted, if it is time."""
        self._display.tick()


def _screen(environment: Environment) -> Any:
    """A part of the terminal that is written over."""
    file: Any = codecs.getwriter("utf-8")(environment.stdout, "backslashreplace")
    console = Console(file=file, force_terminal=True, no_color=not environment.in_colour, highlight=False, markup=False)
    live = Live(
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        vertical_overflow="crop",
    )
    live.start()
    return live
