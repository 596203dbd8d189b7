"""Frames that a program between client and broker changed: it inserted a carriage return before each line feed.

Such a frame is malformed. It also has more bytes than its size field specifies, so its end is cut off. To check for
this fault, the carriage returns are removed and zeros are appended, which decode as a short string, an empty array or
no tags. If the result is well-formed, the carriage returns are the cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.message.frames import Hints, read

if TYPE_CHECKING:
    from kwire_cli.source.kafka.captured import Captured

CHANGED = b"\r\n"
ORIGINAL = b"\n"
MOST_FRAME = 1 << 14
"""Maximum size of an examined frame. Larger frames contain records, in which 0d 0a can be ordinary data."""


def client_if_mended(line: Captured) -> str | None:
    """Return the client of a malformed frame that is well-formed with 0a in place of 0d 0a; None for other lines.

    The client is the client id, or the host if the client id is empty.
    """
    data = line.seen.data
    if not line.is_frame or line.plain is not None or len(data) > MOST_FRAME or CHANGED not in data:
        return None
    request = line.request if line.kind == "response" else line
    if request is None or not line.anomalies:
        return None
    catalog = line.connection.catalog
    hints = Hints(kind="request")
    if line.kind == "response":
        api = None if request.api_key is None else catalog.api_by_key(request.api_key)
        if api is None or request.api_version is None:
            return None
        hints = Hints(api, request.api_version, "response")
    mended = bytes(data).replace(CHANGED, ORIGINAL).ljust(len(data), b"\0")
    frame = read(catalog, mended, hints, number=0, start=0, stop=len(mended), prefixed=True)
    if frame.kind != line.kind or frame.guess or frame.anomalies or frame.body is None:
        return None
    client_id = request.client_id
    if line.kind == "request":
        client_id = frame.header.value.get("clientId") if frame.header else None
    return str(client_id) if client_id else request.src.rpartition(":")[0]
