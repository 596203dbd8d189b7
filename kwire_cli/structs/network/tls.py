"""TLS 1.2 (RFC 5246, 5288, 7905) and 1.3 (RFC 8446): records, the handshake messages that say which keys are used, and what ciphers are fed with."""

from __future__ import annotations

from construct import Bytes, GreedyBytes, GreedyRange, Int8ub, Int16ub, Int64ub, Optional, Prefixed, Struct

RECORD = Struct("type" / Int8ub, "version" / Int16ub, "length" / Int16ub)
CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA, HEARTBEAT = 20, 21, 22, 23, 24
MAX_RECORD = (1 << 14) + 2048
"""Bytes of a record behind its header, at most; in TLS 1.3 2048 are 256."""

TLS_1_2, TLS_1_3 = 0x0303, 0x0304
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", TLS_1_2: "TLS 1.2", TLS_1_3: "TLS 1.3"}

MESSAGE = Struct("type" / Int8ub, "length" / Bytes(3))
"""What stands before every handshake message."""
CLIENT_HELLO, SERVER_HELLO, END_OF_EARLY_DATA, FINISHED, KEY_UPDATE = 1, 2, 5, 20, 24
MESSAGES = {
    0: "HelloRequest",
    CLIENT_HELLO: "ClientHello",
    SERVER_HELLO: "ServerHello",
    4: "NewSessionTicket",
    END_OF_EARLY_DATA: "EndOfEarlyData",
    8: "EncryptedExtensions",
    11: "Certificate",
    12: "ServerKeyExchange",
    13: "CertificateRequest",
    14: "ServerHelloDone",
    15: "CertificateVerify",
    16: "ClientKeyExchange",
    FINISHED: "Finished",
    22: "CertificateStatus",
    KEY_UPDATE: "KeyUpdate",
    25: "CompressedCertificate",
}

_EXTENSIONS = Prefixed(Int16ub, GreedyRange(Struct("type" / Int16ub, "data" / Prefixed(Int16ub, GreedyBytes))))
PRE_SHARED_KEY, EARLY_DATA, SUPPORTED_VERSIONS = 41, 42, 43

RANDOM = Bytes(32)
CLIENT_HELLO_BODY = Struct(
    "legacy_version" / Int16ub,
    "random" / RANDOM,
    "session_id" / Prefixed(Int8ub, GreedyBytes),
    "cipher_suites" / Prefixed(Int16ub, GreedyBytes),
    "compression_methods" / Prefixed(Int8ub, GreedyBytes),
    "extensions" / Optional(_EXTENSIONS),
)
SERVER_HELLO_BODY = Struct(
    "legacy_version" / Int16ub,
    "random" / RANDOM,
    "session_id" / Prefixed(Int8ub, GreedyBytes),
    "cipher_suite" / Int16ub,
    "compression_method" / Int8ub,
    "extensions" / Optional(_EXTENSIONS),
)
SELECTED_VERSION = Int16ub
"""The extension supported_versions in a ServerHello."""
HELLO_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random of a ServerHello that asks for another ClientHello: the SHA-256 of "HelloRetryRequest"."""

ALERT_BODY = Struct("level" / Int8ub, "description" / Int8ub)
ALERTS = {
    0: "close_notify",
    10: "unexpected_message",
    20: "bad_record_mac",
    22: "record_overflow",
    40: "handshake_failure",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    90: "user_canceled",
    100: "no_renegotiation",
    109: "missing_extension",
    110: "unsupported_extension",
    112: "unrecognized_name",
    113: "bad_certificate_status_response",
    115: "unknown_psk_identity",
    116: "certificate_required",
    120: "no_application_protocol",
}

TAG = Bytes(16)
"""What an AEAD puts behind a record's text, with every cipher here."""
NONCE = Bytes(12)
SALT, EXPLICIT_NONCE = Bytes(4), Bytes(8)
"""The two parts of a nonce of AES-GCM in TLS 1.2; the second stands in the record before its text (RFC 5288)."""
INNER_TYPE = Int8ub
"""Behind a record's text in TLS 1.3, and before the zeros that pad it."""
ADDITIONAL_DATA = Struct("sequence" / Int64ub, "type" / Int8ub, "version" / Int16ub, "length" / Int16ub)
"""What a record of TLS 1.2 is authenticated with; in TLS 1.3 it is the record's header."""
LABEL = Struct("length" / Int16ub, "label" / Prefixed(Int8ub, GreedyBytes), "context" / Prefixed(Int8ub, GreedyBytes))
"""HkdfLabel of RFC 8446, 7.1."""
