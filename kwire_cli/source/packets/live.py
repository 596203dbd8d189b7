"""Captures that are made now: tcpdump or dumpcap as a process of its own, whichever is there, with packets on its
output as they come.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOOLS: dict[str, Callable[[str, str], list[str]]] = {
    "tcpdump": lambda interface, what: ["-i", interface, "-U", "-n", "-s", "0", "-w", "-", what],
    "dumpcap": lambda interface, what: ["-i", interface, "-q", "-w", "-", "-f", what],
}
"""The tools that capture, the preferred one first, with arguments for an interface and a capture filter."""
_PLACES = ("/usr/sbin", "/sbin", "/usr/local/sbin")
"""Folders of the tools that may be missing in PATH."""
PATIENCE, _MOMENT = 5.0, 0.2
"""Seconds that it may take to end, and between the end of its output and its own."""

_FORBIDDEN = re.compile(r"permission|not permitted|permitted to capture", re.IGNORECASE)
_NO_INTERFACE = re.compile(
    r"no such device|no device|doesn't exist|does not exist|not found|no such interface|isn't a valid", re.IGNORECASE
)
_DROPPED = re.compile(r"(\d+) packets? dropped by kernel|received/dropped on interface [^:]*: \d+/(\d+)", re.IGNORECASE)


class Capturing:
    """A capture on an interface that has begun. `output` is a pipe with pcap or pcapng; `end` ends it.

    Raises:
        InputError: There is no tool for it.

    """

    def __init__(self, interface: str, ports: Sequence[int] = ()) -> None:
        self.interface = interface
        self.tool, path = _tool()
        # In a file, so that nothing has to read it while the capture goes on.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        command = [path, *TOOLS[self.tool](interface, capture_filter(ports))]
        self._process = subprocess.Popen(  # noqa: S603 - the arguments are no shell's
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
        )
        self.dropped = 0

    @property
    def output(self) -> IO[bytes]:
        """The captured bytes, as a file."""
        output: Any = self._process.stdout
        return output  # type: ignore[no-any-return] # it was asked for

    def _has_ended(self) -> bool:
        """Return whether the process has ended by itself. Its output may have ended just before."""
        try:
            self._process.wait(_MOMENT)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> None:
        """End it, whether it has ended itself or not; `dropped` are then the packets that it had no time for.

        Raises:
            InputError: It could not capture: why, and what to do.

        """
        if self._said.closed:
            return
        own = self._has_ended()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        self.output.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.seek(0)
        said = self._said.read().decode("utf-8", "replace")
        self._said.close()
        self.dropped = sum(int(one or other) for one, other in _DROPPED.findall(said))
        if own and self._process.returncode:
            raise InputError(_reason(self.tool, self.interface, said), file=self.interface)


def capture_filter(ports: Sequence[int]) -> str:
    """Return the filter of what is captured: TCP, of these ports if there are any.

    A packet of which only the outside of a tunnel is seen does not match.
    """
    return " or ".join(f"tcp port {port}" for port in ports) or "tcp"


def interfaces() -> list[str]:
    """The names of the machine's interfaces."""
    try:
        return [name for _, name in socket.if_nameindex()]
    except OSError:
        return []


def _tool() -> tuple[str, str]:
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), *_PLACES))
    for tool in TOOLS:
        if path := shutil.which(tool, path=places):
            return tool, path
    raise InputError(
        "capturing needs tcpdump or dumpcap, and neither is installed (packages tcpdump, wireshark-common); "
        "or capture elsewhere: ssh HOST tcpdump -U -w - tcp | kwire watch -"
    )


def _reason(tool: str, interface: str, said: str) -> str:
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    if _FORBIDDEN.search(said):
        return (
            f"{tool} may not capture here: run kwire as root, or let {tool} do it: "
            f"sudo setcap cap_net_raw,cap_net_admin+eip $(command -v {tool}); or sudo {tool} … -w - | kwire watch -"
        )
    if _NO_INTERFACE.search(said):
        return f"there is no interface of this name; interfaces are {', '.join(interfaces()) or 'none'}, or any for all"
    return f"{tool} can't capture on {interface}: {last}" if last else f"{tool} ended without a word"
