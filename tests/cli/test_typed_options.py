"""Options as classes that click fills."""

import click
import pytest
from click.testing import CliRunner

from kwire_cli.cli.environment import Environment
from kwire_cli.cli.options import Captures, Frames, Report
from kwire_cli.cli.typed_options import argument, flag, given, option, range_of, refuse, takes


class Options(Report, Frames, Captures):
    source: tuple[str, ...] = argument(nargs=-1)
    top: int | None = option("--top", "-t", type=click.IntRange(min=1))
    deep: bool = flag("--deep")


def run(*arguments):
    """What the function of a command gets."""
    got = []

    @click.command()
    @takes(Options)
    def command(_, options):
        got.append(options)

    result = CliRunner().invoke(command, arguments, obj=Environment())
    assert result.exception is None, result.output
    return got[0]


def test_a_command_gets_its_options_typed_and_frozen():
    options = run("a", "b", "--top", "3", "--kind", "response", "--unframed", "--tls-keylog", __file__)
    assert options.source == ("a", "b")
    assert options.top == 3
    assert options.kind == "response"
    assert options.framed is False
    assert options.tls_keylog == (__file__,)
    with pytest.raises(AttributeError, match="top cannot be set"):
        options.top = 4


def test_what_was_typed_is_named_as_it_was_typed():
    options = run("--kind", "response", "--unframed", "--top", "3", "--capture-point", "x")
    assert given(options, "kind", "framed", "top", "capture_point", "deep", "port") == [
        "--kind",
        "--unframed",
        "--top",
        "--capture-point",
    ]
    with pytest.raises(click.UsageError, match="--kind is for frames"):
        refuse(options, ("port", "kind"), "is for frames")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [((), "jsonl"), (("-o", "x.csv"), "csv"), (("-o", "x"), "table"), (("-o", "x.csv", "-f", "json"), "json")],
)
def test_the_format_is_that_of_the_file_unless_said(arguments, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments).format_for(Environment()) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("3", (3, 3)), ("3-", (3, None)), ("-3", (None, 3)), (" 3 - 5", (3, 5)), ("0-0", (0, 0))]
)
def test_a_range_of_numbers(text, expected):
    assert range_of(text, "--offsets") == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "takes A-B, A-, -B or A, not") for text in ("a-b", "", "-", "1-2-3")),
        ("5-3", "takes the lower number first, not '5-3'"),
        ("0", "counts from 1"),
    ],
)
def test_what_is_no_range(text, reason):
    with pytest.raises(click.UsageError, match=f"^--frames {reason}"):
        range_of(text, "--frames", 1)
