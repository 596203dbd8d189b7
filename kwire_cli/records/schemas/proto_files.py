"""Descriptors of .proto files, from protoc of grpcio-tools.

protoc runs as a process in a temporary folder, which contains copies of the schema and of the files that it imports,
each under the name that the import states. protoc searches only this folder and the folder of Protobuf's own files,
and protoc itself refuses absolute names and "..", so a hostile schema reads and writes nothing else. A schema cannot
set options of protoc, and a crash of protoc is an error of one schema.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.model import MOST_REASON
from kwire_cli.stores.opening import task_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.records.schemas.model import Schema

MAIN = "kwire_schema.proto"
"""The name of the compiled file, which nothing imports."""
FOLDER = "files"
"""The folder of the copies, below the temporary folder."""
_IMPORT = re.compile(r"""\bimport\b[^;"']{0,200}["']([^"'\n]{1,500})["']""")
_NAME = re.compile(r"(?!/)(?:(?!\.{1,2}/)[^/\\\0-\x1f]+/)*[^/\\\0-\x1f]+\.proto")
"""Names that are written into the folder. protoc refuses other names, except for names without the suffix."""
_MISSING = re.compile(r"^(?P<file>.+): File not found\.$", re.MULTILINE)
_MISTAKE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?!warning)(?P<reason>.+)$", re.MULTILINE)
_LARGEST = 16 << 20
"""Maximum characters of a .proto file and its imports. protoc takes many times as much memory."""
_SECONDS = 60
"""Time limit of one compilation."""


def imports_of(text: str) -> list[str]:
    """Return the names that a .proto file imports, and names in comments that look like imports."""
    return _IMPORT.findall(text)


def compile_proto(schema: Schema, text: str, sources: Mapping[str, str], descriptors: list[Any]) -> list[Any]:
    """Return the descriptors of a .proto file and of its imports. The descriptor of the file, MAIN, is the last one.

    `sources` are the contents of files by the names in imports, `descriptors` are imported files that are descriptors
    already.

    Raises:
        InputError: The file is malformed, a file that it imports is missing, or grpcio-tools is not installed.

    """
    if find_spec("grpc_tools") is None:
        reason = "reading .proto files needs grpcio-tools: pip install 'kwire[schemas]', or give a descriptor set"
        raise InputError(reason, file=schema.file)
    if len(text) + sum(map(len, sources.values())) > _LARGEST:
        raise InputError(f"a .proto file and its imports have at most {_LARGEST >> 20} MiB", file=schema.file)
    try:
        with tempfile.TemporaryDirectory(prefix="kwire-", dir=task_folder()) as folder:
            return _compile(schema, Path(folder), {**sources, MAIN: text}, descriptors)
    except (OSError, UnicodeEncodeError) as error:
        raise InputError(f"cannot compile the .proto file: {error}", file=schema.file) from None
    except subprocess.TimeoutExpired:
        raise InputError(f"compiling the .proto file takes over {_SECONDS} seconds", file=schema.file) from None


def _compile(schema: Schema, folder: Path, sources: Mapping[str, str], descriptors: list[Any]) -> list[Any]:
    root = folder / FOLDER
    known = folder / "known.desc"
    out = folder / "out.desc"
    for name, text in sources.items():
        if _NAME.fullmatch(name):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    known.write_bytes(descriptor_pb2.FileDescriptorSet(file=descriptors).SerializeToString())
    command = [
        sys.executable, "-P", "-m", "grpc_tools.protoc", f"-I{FOLDER}", f"--descriptor_set_in={known.name}",
        "--include_imports", f"--descriptor_set_out={out.name}", MAIN,
    ]  # fmt: skip
    done = subprocess.run(  # noqa: S603 - a fixed command
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
    )
    if done.returncode or not out.exists():
        raise _error(schema, done)
    return list(descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file)


def _error(schema: Schema, done: subprocess.CompletedProcess[bytes]) -> InputError:
    output = done.stderr.decode("utf-8", "replace")
    if missing := _MISSING.search(output):
        reason = f"{schema.label} imports {missing['file']}, which is missing: --schemas takes its folder"
        return InputError(reason, file=schema.file)
    mistake = _MISTAKE.search(output)
    if mistake is None:
        return InputError(f"not a .proto file: protoc ended with code {done.returncode}", file=schema.file)
    name = mistake["file"].removeprefix(f"{FOLDER}/")
    reason = f"not a .proto file: {mistake['reason'][:MOST_REASON]}"
    if name != MAIN:
        return InputError(f"{schema.label} imports {name}, which is {reason}", file=schema.file)
    return InputError(reason, file=schema.file, line=int(mistake["line"]), column=int(mistake["column"]))
