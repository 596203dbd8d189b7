"""Secrets are in no view: not as text, not as hex, not as base64, not in the ASCII column; whole, cut, damaged, guessed
or forwarded.
"""

import base64
import re

import pytest
from hypothesis import given, strategies as st
from kit.secrets import CATALOG, ENTRIES, NEWEST, SECRET, TABLE, body_of, framed, piped as kwire, shows, value_of
from kit.traffic import body_of as filled_body

import kwire_cli
from kwire_cli.cli.message_views import VIEWS
from kwire_cli.message.roles import CONFIG_VALUES, FORWARDED, SECRET_FIELDS
from kwire_cli.spec.kafka import is_sensitive_config

FORMATS = [name for name, view in VIEWS.items() if view.FRAMES]


def views(*arguments, **options):
    """What a command prints in every format, colours or not, with all notes."""
    for extra in ([], ["--full"]):
        for fmt in FORMATS:
            done = kwire("decode", "--format", fmt, *extra, *arguments, **options)
            yield shown(done)


def shown(done):
    """All that a command printed."""
    return (done.out + done.err).replace("\\u003c", "<")


def test_shows_sees_every_form():
    raw = SECRET.encode()
    for text in (
        SECRET,
        f"a{SECRET[3:8]}b",
        raw.hex(),
        raw.hex(" "),
        *(base64.b64encode(b"abc"[:i] + raw).decode() for i in range(3)),
    ):
        assert shows(text)
    assert not shows("<redacted 20 bytes>")


@pytest.mark.parametrize(("message", "path", "version"), NEWEST, ids=str)
def test_a_secret_field_is_in_no_view(message, path, version):
    body = body_of(message, path, version).hex()
    for text in views("--message", message, "--message-version", version, body):
        assert not shows(text)
        assert "<redacted 20 bytes>" in text
    for fmt in FORMATS:
        done = kwire(
            "decode", "--format", fmt, "--message", message, "--message-version", version, "--show-secrets", body
        )
        assert shows(shown(done))


@pytest.mark.parametrize(("message", "path", "version"), NEWEST, ids=str)
def test_a_cut_message_shows_no_secret(message, path, version):
    body = body_of(message, path, version)
    at = body.index(SECRET.encode())
    for cut in (*range(at + 4, at + len(SECRET) + 1, 5), len(body) - 1):
        for fmt in FORMATS:
            done = kwire("decode", "--format", fmt, "-m", message, "--message-version", version, body[:cut].hex())
            assert not shows(shown(done))


@pytest.mark.parametrize(("message", "path", "version"), NEWEST, ids=str)
def test_an_unknown_version_shows_no_secret(message, path, version):
    body = body_of(message, path, version)
    for text in views("-m", message, "--message-version", 99, body.hex()):
        assert not shows(text)


@pytest.mark.slow  # a command for every fourth byte of each request
@pytest.mark.parametrize(("message", "path", "version"), [row for row in NEWEST if row[0].endswith("Request")], ids=str)
def test_a_request_cut_anywhere_shows_no_secret(message, path, version):
    frame = framed(CATALOG[message].api_key, version, body_of(message, path, version))
    at = frame.index(SECRET.encode())
    for cut in range(at + 4, len(frame) + 1, 4):
        done = kwire("decode", "--format", "hex", frame[:cut].hex())
        assert not shows(done.out + done.err)
    for stray in (b"\0", b"\0\0\0\x05", b"\xff" * 20):
        for text in views((frame + stray).hex()):
            assert not shows(text)


@pytest.mark.parametrize(("message", "path", "version"), [row for row in NEWEST if row[0].endswith("Request")], ids=str)
@pytest.mark.parametrize("prefixed", [True, False])
def test_a_request_of_an_unknown_version_shows_no_secret(message, path, version, prefixed):
    frame = framed(CATALOG[message].api_key, version, body_of(message, path, version))
    frame = frame[:6] + b"\0\x63" + frame[8:]
    for text in views(frame[0 if prefixed else 4 :].hex()):
        assert not shows(text)


@given(st.data())
@pytest.mark.parametrize(
    "message", ["SaslAuthenticateRequest", "AlterUserScramCredentialsRequest", "RenewDelegationTokenRequest"]
)
def test_a_damaged_message_shows_no_secret(message, data):
    path = data.draw(st.sampled_from(sorted(SECRET_FIELDS[message])))
    version = data.draw(st.sampled_from([*CATALOG[message].valid_versions.each()]))
    body = bytearray(body_of(message, path, version))
    # Any byte before the secret: counts, lengths, what stands before them.
    body[data.draw(st.integers(0, body.index(SECRET.encode()) - 1))] = data.draw(st.integers(0, 255))
    fmt = data.draw(st.sampled_from(FORMATS))
    done = kwire("decode", "--format", fmt, "-m", message, "--message-version", version, bytes(body).hex())
    assert not shows(shown(done))


RESPONSES = [row for row in ENTRIES if row[0].endswith("Response")]


@pytest.mark.parametrize(("message", "path", "version"), RESPONSES, ids=str)
def test_a_guessed_response_shows_no_secret(message, path, version):
    api_key = CATALOG[message].api_key
    flexible = CATALOG.header_version("response", api_key, version)
    data = bytes(4) + b"\0" * flexible + body_of(message, path, version)
    frame = len(data).to_bytes(4, "big") + data
    for fmt in FORMATS:
        done = kwire("decode", "--format", fmt, frame.hex())
        assert not shows(shown(done)), done.out


def test_a_header_that_can_not_be_read_hides_what_follows():
    frame = framed(36, 2, bytes([len(SECRET) + 1]) + SECRET.encode() + b"\0", client_id=b"")
    frame = frame[:12] + b"\x7f\xff" + frame[14:]  # the client id claims to be longer than all there is
    for text in views("--kind", "request", frame.hex()):
        assert not shows(text)


def test_unknown_tags_of_a_message_with_secrets_are_hidden():
    tag = {"tag": 5, "data": base64.b64encode(SECRET.encode()).decode()}
    body = kwire_cli.encode(
        {"authBytes": "AA==", "unknownTaggedFields": [tag]}, message="SaslAuthenticateRequest", version=2
    )
    for text in views("-m", "SaslAuthenticateRequest", "--message-version", 2, body.hex()):
        assert not shows(text)


@pytest.mark.parametrize(
    "name", ["log.retention.ms", "cleanup.policy", "ssl.protocol", "sasl.mechanism.inter.broker.protocol"]
)
def test_the_value_of_a_harmless_config_is_shown(name):
    body = body_of("ConfigRecord", "value", 0, name=name)
    assert all(shows(text) for text in views("-m", "ConfigRecord", "--message-version", 0, body.hex()))


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [
        ("ssl.keystore.password", True),
        ("ssl.key.password", True),
        ("ssl.keystore.key", True),
        ("ssl.keystore.certificate.chain", True),
        ("listener.name.sasl_ssl.plain.sasl.jaas.config", True),
        ("delegation.token.secret.key", True),
        ("delegation.token.master.key", True),
        ("sasl.login.password", True),
        ("MY.Custom.API_KEY", True),
        ("rsm.config.azure.account.key", True),
        ("azure.storage.connection.string", True),
        ("basic.auth.user.info", True),
        ("aws.session.token", True),
        ("db.passwd", True),
        ("retention.ms", False),
        ("ssl.keystore.type", False),
        ("message.timestamp.type", False),
        ("delegation.token.max.lifetime.ms", False),
    ],
)
def test_sensitive_configs_are_known_by_their_name(name, sensitive):
    assert is_sensitive_config(name) is sensitive


def test_a_config_that_says_it_is_sensitive_is_hidden_whatever_its_name():
    path = "results[].configs[].value"
    spec = CATALOG["DescribeConfigsResponse"]
    value = value_of(spec, spec.fields, 4, path, name="harmless")
    value["results"][0]["configs"][0]["isSensitive"] = True
    body = kwire_cli.encode(value, message=spec.name, version=4)
    assert not any(shows(text) for text in views("-m", spec.name, "--message-version", 4, body.hex()))


def test_the_synonyms_of_a_sensitive_config_are_hidden_whatever_their_name():
    config = {"name": "harmless", "synonyms": [{"name": "harmless.too", "value": SECRET, "source": 5}]}
    for sensitive in (True, False):
        results = [{"configs": [config | {"isSensitive": sensitive}]}]
        value = filled_body("DescribeConfigsResponse", 4, {"results": results})
        body = kwire_cli.encode(value, message="DescribeConfigsResponse", version=4)
        assert (
            any(shows(text) for text in views("-m", "DescribeConfigsResponse", "--message-version", 4, body.hex()))
            is not sensitive
        )


def envelope(inner, version=0):
    data = {"requestData": base64.b64encode(inner).decode(), "requestPrincipal": None, "clientHostAddress": "fwAAAQ=="}
    return kwire_cli.encode(data, message="EnvelopeRequest", version=version)


def test_a_forwarded_request_is_hidden_where_it_holds_a_secret():
    assert FORWARDED == {"EnvelopeRequest": "requestData"}
    secret = framed(51, 0, body_of("AlterUserScramCredentialsRequest", "upsertions[].salt", 0))[4:]
    for text in views("-m", "EnvelopeRequest", "--message-version", 0, envelope(secret).hex()):
        assert not shows(text)
        assert "redacted" in text
    assert all(
        shows(text)
        for text in views(
            "--show-secrets", "--full", "-m", "EnvelopeRequest", "--message-version", 0, envelope(secret).hex()
        )
        if "|" not in text
    )


def test_a_forwarded_request_is_shown_where_it_holds_none():
    plain = framed(18, 3, bytes([len(SECRET) + 1]) + SECRET.encode() + b"\x02a\0")[4:]
    text = kwire(
        "decode", "-f", "hex", "--full", "-m", "EnvelopeRequest", "--message-version", 0, envelope(plain).hex()
    ).out
    assert shows(text)
    assert "redacted" not in text


@pytest.mark.parametrize(
    "inner", [b"", b"\0", b"\xff\xff\0\0", b"\0\x33" + SECRET.encode()], ids=["empty", "byte", "unknown", "cut"]
)
def test_a_forwarded_request_that_can_not_be_read_is_hidden(inner):
    for text in views("-m", "EnvelopeRequest", "--message-version", 0, envelope(inner).hex()):
        assert not shows(text)


def test_envelopes_in_envelopes_are_hidden_and_do_no_harm():
    inner = framed(18, 3, bytes([len(SECRET) + 1]) + SECRET.encode() + b"\x02a\0")[4:]
    for _ in range(600):
        inner = framed(58, 0, envelope(inner))[4:]
    done = kwire("decode", "-f", "jsonl", stdin=inner)
    assert done.code == 0
    assert not shows(done.out)
    assert "<redacted" in done.out


TOKENS = [
    b"\0alice\0" + SECRET.encode(),
    b"n,,n=alice,r=" + SECRET.encode(),
    b"r=abc,s=" + SECRET.encode() + b",i=4096",
    b"c=biws,r=abc,p=" + SECRET.encode(),
    b"n,,\x01auth=Bearer " + SECRET.encode() + b"\x01\x01",
]


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: repr(token[:6]))
@pytest.mark.parametrize("prefix", ["right", "none", "longer"])
def test_a_raw_sasl_token_is_hidden(token, prefix):
    size = {"right": len(token).to_bytes(4, "big"), "none": b"", "longer": (len(token) + 5).to_bytes(4, "big")}[prefix]
    for extra in ([], ["--kind", "response"], ["--kind", "request"]):
        for text in views("--input", "raw", "-", *extra, stdin=size + token):
            assert not shows(text)
    # Of a token nothing is decoded, so that only the hex view shows its bytes.
    assert shows(kwire("decode", "-f", "hex", "--full", "--show-secrets", "--input", "raw", stdin=size + token).out)


def test_lossless_output_is_refused_where_there_are_secrets():
    body = body_of("SaslAuthenticateRequest", "authBytes", 2).hex()
    done = kwire("decode", "--lossless", "-m", "SaslAuthenticateRequest", "--message-version", 2, body)
    assert (done.code, done.out) == (2, "")
    assert "--show-secrets" in done.err
    kept = kwire(
        "decode", "--lossless", "--show-secrets", "-m", "SaslAuthenticateRequest", "--message-version", 2, body
    ).out
    assert kwire("encode", stdin=kept.encode()).out.strip() == body


SMELLS = re.compile(
    r"hmac|salt|passw|secret|auth(?!oriz)|token|credential|privat|certificat|storedkey|serverkey|jaas|configs?$",
    re.IGNORECASE,
)
HARMLESS = {
    # who asked for a token, and the public name of it
    "tokenRequesterPrincipalType",
    "tokenRequesterPrincipalName",
    "tokenId",
    "tokenAuthenticated",
    "controllerToken",
}


def test_no_field_that_smells_of_secrets_was_forgotten():
    forgotten = []
    for entry in CATALOG:
        spec = CATALOG[entry.name]
        known = TABLE.get(entry.name, frozenset()) | {FORWARDED.get(entry.name)}
        for path, field in all_fields(spec, spec.fields):
            holder = field.element_type in {"string", "bytes", "records"}
            if holder and SMELLS.search(field.name) and path not in known and field.json_name not in HARMLESS:
                forgotten.append(f"{entry.name}.{path}")
            configs = re.search(r"configs\[\]\.value$", path, re.IGNORECASE)
            if configs and path not in known:
                forgotten.append(f"{entry.name}.{path}")
    assert forgotten == []


def all_fields(spec, fields, prefix=""):
    for field in fields:
        path = f"{prefix}{field.json_name}{'[]' if field.is_array else ''}"
        yield path, field
        yield from all_fields(spec, spec.struct_fields(field), f"{path}.") if field.struct_name else ()


def test_every_entry_of_the_tables_is_a_field():
    for message, paths in [*SECRET_FIELDS.items(), *CONFIG_VALUES.items(), *((m, {p}) for m, p in FORWARDED.items())]:
        known = {path for path, _ in all_fields(CATALOG[message], CATALOG[message].fields)}
        assert paths <= known
