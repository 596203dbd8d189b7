"""What stands around messages on a connection: the size prefix of a frame (org.apache.kafka.common.network.NetworkReceive)."""

from __future__ import annotations

from kwire_cli.spec.model import FieldSpec, MessageSpec
from kwire_cli.spec.versions import NONE, Versions

SIZE_PREFIX = MessageSpec("FrameSize", "header", Versions(0, 0), NONE, (FieldSpec("Size", "int32", Versions(0, 0)),))
"""An int32: the number of bytes that follow."""
