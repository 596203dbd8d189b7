"""From secrets to keys: what the key schedules of TLS 1.2 (RFC 5246, 5 and 6.3) and 1.3 (RFC 8446, 7) derive."""

from __future__ import annotations

import hashlib
import hmac

from kwire_cli.structs.network.tls import LABEL


def expand_label(digest: str, secret: bytes, label: str, size: int) -> bytes:
    """HKDF-Expand-Label with an empty context: `size` bytes, no more than the hash gives at once."""
    info = LABEL.build({"length": size, "label": b"tls13 " + label.encode(), "context": b""})
    return hmac.digest(secret, info + b"\1", digest)[:size]


def next_secret(digest: str, secret: bytes) -> bytes:
    """The traffic secret after a KeyUpdate."""
    return expand_label(digest, secret, "traffic upd", hashlib.new(digest).digest_size)


def key_block(digest: str, master: bytes, server_random: bytes, client_random: bytes, size: int) -> bytes:
    """So many bytes of the PRF of TLS 1.2 over a master secret."""
    seed = b"key expansion" + server_random + client_random
    out, at = b"", seed
    while len(out) < size:
        at = hmac.digest(master, at, digest)
        out += hmac.digest(master, at + seed, digest)
    return out[:size]
