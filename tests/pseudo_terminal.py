"""Run kwire's command line as a process whose terminal is a pseudo-terminal."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from dataclasses import dataclass

LONGEST = 60
"""Seconds until a process that does not end is an error."""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    """All that came to the terminal, results and remarks."""


def on_terminal(*arguments, keys=(), rows=24, columns=100, variables=None):
    """Run one command. `keys` are pairs: a text to wait for on the terminal, and what is typed then."""
    size = struct.pack("HHHH", rows, columns, 0, 0)
    settings = {name: value for name, value in os.environ.items() if name not in {"PAGER", "KWIRE_PAGER", "LESS"}}
    settings |= {"TERM": "xterm", "NO_COLOR": "1", **(variables or {})}
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execve(sys.executable, [sys.executable, "-m", "kwire_cli", *map(str, arguments)], settings)
    out, typed, ends = b"", list(keys), time.monotonic() + LONGEST
    while time.monotonic() < ends:
        if not select.select([terminal], [], [], 0.05)[0]:
            if typed and typed[0][0] in out.decode("utf-8", "replace"):
                os.write(terminal, typed.pop(0)[1])
            continue
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # all processes have closed it
            break
        if not data:
            break
        out += data
    else:
        os.kill(process, 9)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return Ended(os.waitstatus_to_exitcode(status), out.decode("utf-8", "replace").replace("\r\n", "\n"))
