"""The kinds of inputs, and how errors name them."""

from __future__ import annotations

import enum


class Kind(enum.StrEnum):
    """Kinds of input. `BODY` is never recognised: the caller has to request it."""

    CAPTURE = "capture"
    REQUEST_LOG = "request-log"
    BATCHES = "batches"
    LOG_FILE = "log-file"
    FRAMES = "frames"
    BODY = "body"
    DEFINITION = "definition"
    JSON = "json"
    FOLDER = "folder"
    LAKE = "lake"

    @property
    def what(self) -> str:
        """The name of this kind in errors."""
        return _WHAT[self][0]

    @property
    def try_instead(self) -> str:
        """The advice in errors if frames were expected."""
        return _WHAT[self][1]


_WHAT = {
    Kind.CAPTURE: ("a packet capture", "kwire decode reads it"),
    Kind.REQUEST_LOG: (
        "a broker's request log, which holds no bytes of messages",
        "kwire decode lists its requests, and kwire stats counts them",
    ),
    Kind.BATCHES: ("record batches", "kwire dump shows them"),
    Kind.LOG_FILE: ("a file of a log directory that holds no messages", "kwire dump shows its entries, if it has any"),
    Kind.FRAMES: ("requests and responses", "kwire decode shows them"),
    Kind.BODY: ("a body alone", "kwire decode --message NAME --message-version N shows it"),
    Kind.DEFINITION: ("a message definition", "kwire lint checks it, and --specs decodes with it"),
    Kind.JSON: ("JSON without bytes in it", "kwire encode makes bytes of the JSON that kwire decode prints"),
    Kind.FOLDER: ("a folder", "give the files in it; kwire dump reads partitions and log directories"),
    Kind.LAKE: ("a lake", "kwire query asks it in SQL, and kwire diagnose says what is wrong"),
}
