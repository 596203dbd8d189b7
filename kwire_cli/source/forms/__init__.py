"""The text forms that bytes are written in: one module each, with `read(text) -> Reading`; this registry names them.

A module is imported when its form is tried, so that recognising plain hex costs nothing of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_cli.source.forms.model import Reader

# name -> (module, function)
READERS: dict[str, tuple[str, str]] = {
    "hex": ("plain_hex", "read"),
    "hex-lines": ("plain_hex", "read_lines"),
    "xxd": ("xxd", "read"),
    "hexdump": ("hexdump", "read"),
    "od": ("od", "read"),
    "wireshark": ("wireshark", "read"),
    "wireshark-packets": ("wireshark", "read_packets"),
    "tcpdump": ("tcpdump", "read"),
    "tcpdump-packets": ("tcpdump", "read_packets"),
    "c": ("c_source", "read"),
    "java": ("java_source", "read"),
    "python": ("python_source", "read"),
    "node": ("node_source", "read"),
    "json": ("json_array", "read"),
    "base64": ("base64_text", "read"),
    "log": ("log_lines", "read"),
}

# The order in which auto tries them. Rows with offsets come before plain hex, which would take offsets for bytes;
# base64 comes late, since nearly any word is base64; and bytes inside lines of a log are looked for where nothing fits all of a text.
ROW_FORMS = ("tcpdump", "xxd", "hexdump", "od", "wireshark")
OTHER_FORMS = ("hex", "json", "node", "python", "c", "java", "base64", "log")


def reader(form: str) -> Reader:
    """The function that reads `form`, a key of READERS."""
    module, function = READERS[form]
    found: Reader = getattr(import_module(f"{__name__}.{module}"), function)
    return found
