"""Names in the data act on nothing: no view, error, note or progress on a terminal, no page, no proposed command in a
shell. That formats quote them is proved in tests/view.
"""

import io
import json
import re
import shlex

import click
import pytest
from kit import logs as records
from kit.captures import hostile_capture, hostile_frames, named_traffic
from kit.commands import Terminal, kwire
from kit.logs import line as log_line
from kit.views import data_of, elements_of

from kwire_cli.cli import progress as progress_module
from kwire_cli.cli.environment import Environment
from kwire_cli.cli.main import COMMANDS as ALL, HIDDEN as UNLISTED, cli

HOSTILE = "a\x1b]8;;http://b\x1b\\c\x1b[2Jd\re\x07f\x9b31mg\x90h\x9di\u202ej\u2066k\u2028l\x7fm\bn\x0bo\x00p\u200fq\u061cr\u200bs\u200dt\u2060u\ufeffv\U000e0041w\U000e007f"
"""A title, a link, a cleared screen, the start of a line, colours by one byte, a turned direction, and what can't be
seen."""
MARKED = f"{HOSTILE}<img src=trap>|`x`[y](http://z)\n::error::]]]]]]> %%{{init}}%% #;<!-- $(id) 'q\" & --z"
"""A name that Markdown, HTML, XML, GitHub and a shell would act on too."""
ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""What kwire itself sends."""

SCREEN = re.compile(r"\x1b\[\??\d*(?:;\d+)*[HJKABhl]|\r")
"""How a screen is drawn anew."""


def acting(text):
    """What a terminal would act on in a text in which colours are wanted."""
    return ACTS.findall(COLOURS.sub("", text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of every kind with hostile names in them, under a hostile name."""
    top = tmp_path_factory.mktemp("hostile")
    name = HOSTILE.replace("/", "").replace("\0", "")
    (top / f"frames{name}.bin").write_bytes(hostile_frames(HOSTILE))
    (top / f"capture{name}.pcap").write_bytes(hostile_capture(HOSTILE))
    (top / f"traffic{name}.pcap").write_bytes(named_traffic(MARKED))
    (top / f"log{name}.log").write_bytes(
        log_line(3, 1, client=HOSTILE, request={"topics": [{"name": HOSTILE}], HOSTILE: 1}, principal=HOSTILE)
        + log_line(1, 1, client=HOSTILE)
    )
    raw = HOSTILE.encode()
    for at, codec in (("x-0", 0), (f"{name[:40]}-1", 1)):
        (top / at).mkdir()
        some = [records.record(raw, raw, number, 0, [(HOSTILE, raw)]) for number in range(2)]
        (top / at / "00000000000000000000.log").write_bytes(
            records.batch(0, some, codec) + raw + records.batch(2, some, codec)
        )
    (top / "x-0" / f"odd{name[:40]}").write_bytes(raw)
    (top / "leader-epoch-checkpoint").write_bytes(b"0\n1\n" + raw)
    for number, about in enumerate((HOSTILE, HOSTILE * 2)):
        fields = [
            {"name": "A", "type": "string", "versions": "0+", "default": about, "about": about},
            {"name": f"B{number}", "type": "int8", "versions": "0+", "about": about},
        ]
        spec = {"type": "data", "name": "Made", "validVersions": "0", "flexibleVersions": "none", "fields": fields}
        (top / f"made{number}{name[:40]}.json").write_text(json.dumps(spec))
    (top / "bad.json").write_text(
        json.dumps(
            {"type": "data", "name": HOSTILE, HOSTILE: 1, "validVersions": HOSTILE, "fields": [{"name": HOSTILE}]}
        )
    )
    return top


def one(folder, pattern):
    [found] = folder.glob(pattern)
    return found


def forms(*names):
    return [("--format", name) for name in names]


def formats_of(name):
    """The formats of a command that are text, in their order."""
    command = cli.get_command(click.Context(cli), name)
    choices = [option.type.choices for option in command.params if "--format" in option.opts]
    return [each for some in choices for each in some if each not in {"arrow", "parquet", "pcap", "pcapng", "raw"}]


INPUTS = {
    "breaking": (["breaking", "--against"], ["made0*", "made1*"]),
    "clients": (["clients", "--to", "4.0"], ["traffic*", "log*"]),
    "compare": (["compare"], ["frames*"]),
    "decode": (["decode", "--full"], ["traffic*"]),
    "diagnose": (["diagnose"], ["traffic*"]),
    "diff": (["diff"], ["capture*", "traffic*"]),
    "doctor": (["doctor"], []),
    "dump": (["dump", "--deep"], ["*-?"]),
    "dump all": (["dump", "--all"], ["*-?", "leader*"]),
    "encode": (["encode", "-m", "FindCoordinatorRequest", "--message-version", "0", json.dumps({"key": MARKED})], []),
    "explain": (["explain"], ["frames*"]),
    "groups": (["groups"], ["traffic*"]),
    "lint": (["lint"], ["made*", "bad.json"]),
    "overhead": (["overhead", "--by", "client"], ["traffic*"]),
    "sequence": (["sequence"], ["traffic*"]),
    "stats": (["stats", "--by", "client"], ["traffic*"]),
    "summary": (["summary"], ["traffic*"]),
    "transactions": (["transactions"], ["traffic*"]),
}
"""A run of each command that names can get into; formats are taken from the command. That every text is escaped is
proved in tests/view/test_lines.py."""
ELSEWHERE = {"export", "query"}
"""Other tests here run these commands."""
WHOLE = {"decode", "dump", "breaking", "groups", "sequence", "encode"}
"""Commands in all their formats: frames, batches, definitions, an answer, a drawing. Of each other one, what people
see, which is written by functions of its own; its other formats are written as those of `groups` are."""
OF_ITS_OWN = ("tree", "table", "text")
COMMANDS = {
    **{
        name: (words, files, forms(*(form for form in formats_of(words[0]) if name in WHOLE or form in OF_ITS_OWN)))
        for name, (words, files) in INPUTS.items()
    },
    "spec": (["spec", "show", "Made", "--specs"], ["made0*"], forms("table", "bnf")),
    "no definition": (["spec", "show", "Made", "--specs"], ["bad.json"], [()]),
}
CASES = [(name, form) for name, (_, _, forms_) in COMMANDS.items() for form in forms_]
FOR_EYES = {"tree", "hex", "table", "wide", "text", "bnf", "markdown", "html", "svg", "github"}


def test_each_command_with_formats_is_run():
    assert {name for name in (*ALL, *UNLISTED) if formats_of(name)} == {
        words[0] for words, _ in INPUTS.values()
    } | ELSEWHERE


@pytest.mark.usefixtures("few_rules")
@pytest.mark.parametrize(("name", "form"), CASES, ids=[f"{name} {' '.join(form[1:])}" for name, form in CASES])
def test_no_view_acts_on_a_terminal(folder, name, form):
    words, patterns, _ = COMMANDS[name]
    done = run([*words, *(path for pattern in patterns for path in sorted(folder.glob(pattern)))], form)
    assert name in INPUTS or "Usage:" not in done.err, done.err


def run(words, form):
    """Run a command on a terminal and in a pipe, and check both outputs; return the first one."""
    done = kwire(*words, *form, terminal=True)
    assert done.out or done.err
    assert acting(SCREEN.sub("", done.out)) == []
    assert acting(done.err) == []
    piped = kwire(*words, *form)
    assert ACTS.findall(piped.err) == []
    if not form or form[1] in FOR_EYES:
        assert ACTS.findall(piped.out) == []
    return done


def test_names_in_proposed_commands_are_words_of_a_shell(folder):
    out = kwire("diagnose", one(folder, "traffic*"), "--format", "jsonl").out
    commands = [row["command"] for row in map(json.loads, out.split("\n")[:-1]) if row.get("command")]
    words = [shlex.split(command)[1:] for command in commands]
    assert ["--group", MARKED] in words
    assert ["--transactional-id", MARKED] in words


def test_no_table_of_a_lake_acts_on_a_terminal(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(progress_module, "AFTER", 3600)
    for form in forms("table", "json"):
        run(["export", one(folder, "traffic*"), "--force", "-o", tmp_path / "lake"], form)
    name = MARKED.replace("\0", "").replace('"', '""')
    sql = f'select client_id as "{name}", count(*) from frames group by all'
    for form in forms(*formats_of("query")):
        run(["query", tmp_path / "lake", sql], form)


def test_no_page_shows_what_cannot_be_seen(folder):
    words, patterns, _ = COMMANDS["stats"]
    files = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    found = elements_of(*words, *files, "--format", "html")
    data = data_of(*words, *files, "--format", "html")
    attributes = [value for _, each in found.elements for value in each.values() if value]
    assert "31mg" in json.dumps(data)
    assert [text for text in [found.title, *attributes, *texts_in(data)] if ACTS.search(text.replace("\n", ""))] == []


def texts_in(value):
    """The texts in a document, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (key, *texts_in(each))


def test_the_names_are_shown_and_not_left_out(folder):
    out = kwire("decode", one(folder, "frames*"), "--format", "tree").out
    assert "a\\x1b]8;;http://b\\x1b\\\\c\\x1b[2Jd\\re\\x07f\\x9b31mg" in out
    assert "\\u202ej\\u2066k" in out


SAID = [
    *("", "breaking", "clients --to", "compare --form", "decode", "decode --filter", "diff", "dump", "encode"),
    *("explain", "lint", "overhead --by", "spec show"),
]


@pytest.mark.parametrize("words", SAID)
def test_no_error_acts_on_a_terminal(words, folder):
    for terminal in (False, True):
        name = HOSTILE.replace("\0", "")  # no argument of a process has one
        for more in ([name], [name, str(one(folder, "capture*"))], [f"--{name}"]):
            done = kwire(*words.split(), *more, terminal=terminal)
            assert done.err or done.out
            assert acting(done.err) == []
            assert not terminal or acting(done.out) == []


def test_what_is_made_harmless_is_not_told_as_it_was(folder, tmp_path):
    for number, path in enumerate(sorted(folder.iterdir())):
        for terminal in (True, False):
            done = kwire("sanitize", path, tmp_path / f"{number}-{terminal}-{path.name}", terminal=terminal)
            assert done.err
            assert acting(done.out + done.err) == []


def test_progress_does_not_act_beyond_its_line(monkeypatch):
    monkeypatch.setattr(progress_module, "AFTER", 0)
    environment = Environment(stderr=Terminal(), stdout=io.BytesIO(), stdin=Terminal(), variables={"NO_COLOR": "1"})
    environment.progress.tell(HOSTILE, 1, 2)
    environment.close()
    said = environment.stderr.getvalue().decode()
    assert "31mg" in said
    assert acting(SCREEN.sub("", said)) == []


def test_raw_bytes_are_not_sent_to_a_terminal():
    words = ("encode", "-m", "HeartbeatResponse", "--message-version", "0", "--format", "raw", '{"errorCode":0}')
    assert kwire(*words).raw == b"\0\0"
    done = kwire(*words, terminal=True)
    assert done.code == 2
    assert "a terminal may act on raw bytes" in done.err
    assert done.raw == b""
