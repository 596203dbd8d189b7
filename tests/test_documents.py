"""Pages on the four source documents: the output of their commands, and the figures that they compare with it."""

import ast
import re

import pytest
from kit.commands import BLOCK, ROOT, hold_page, json_of, kwire

import kwire_cli
from kwire_cli.spec.model import fields_by_path

PAGES = ("kafka9927", "kip482", "kip82", "kip98")
CLAIM = re.compile(r"^\| (.*?) \| (.*?) \| (.*?) \| (same|corrected|explained) \|$", re.MULTILINE)
"""A claim, the figures of the document, the figures of kwire, and the verdict."""
SUM = re.compile(r"(?P<terms>[-+*\d ]+) = (?P<result>-?\d+)")
CODE = re.compile(r"```python\n(.*?)```\n", re.DOTALL)


def text_of(page):
    return (ROOT / "docs" / f"{page}.md").read_text("utf-8")


def prose_of(page):
    return " ".join(text_of(page).split())


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_says(page, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(ROOT / "docs" / f"{page}.md", updating)


@pytest.mark.parametrize("page", PAGES)
def test_figures_are_those_that_commands_print(page):
    claims = 0
    for section in text_of(page).split("\n## "):
        printed = "\n".join([block["output"] for block in BLOCK.finditer(section)] + CODE.findall(section))
        for claim, says, measured, verdict in CLAIM.findall(section):
            claims += 1
            at = 0
            for item in items(measured):
                for text in terms(item):
                    assert re.search(rf"(?<!\w){re.escape(text)}(?!\w)", printed), (claim, text)
                if not SUM.fullmatch(item):
                    at = printed.index(item, at) + len(item)
            assert (verdict == "same") == agrees(says, measured), claim
    assert claims >= 14


def items(cell):
    return cell.replace("`", "").split(", ")


def terms(item):
    """Return what a command has to print: the terms of a sum, or the item as it is."""
    found = SUM.fullmatch(item)
    return re.findall(r"\d+", found["terms"]) if found else [item]


def results(cell):
    """Return the items of a cell, of sums their results, which have to be right."""
    out = []
    for item in items(cell):
        found = SUM.fullmatch(item)
        if found:
            assert eval(compile(ast.parse(found["terms"].strip(), mode="eval"), "sum", "eval")) == int(found["result"])
        out.append(found["result"] if found else item)
    return out


def agrees(says, measured):
    """Return whether the figures are equal, or within the bound that the document states."""
    bound = re.fullmatch(r"([<>]) (\d+)", says)
    if not bound:
        return results(says) == results(measured)
    numbers = [int(number) for number in results(measured)]
    return max(numbers) < int(bound[2]) if bound[1] == "<" else min(numbers) > int(bound[2])


def rows(page, heading):
    """Return the rows of a table that begins with this heading, as lists of cells."""
    table = text_of(page).split(f"{heading}\n")[1].split("\n\n")[0]
    return [cells(line) for line in table.splitlines()[1:]]


def cells(row):
    return [cell.strip("`") for cell in re.split(r" *\| *", row)[1:-1]]


def test_messages_in_three_forms_have_the_sizes_in_the_table():
    columns = "version | inflexible | flexible | arrays | buffers | strings | sections | all-tagged | escape-bytes"
    table = rows("kip482", f"| message | options | {columns} |")
    assert len(table) == 8
    larger = 0
    for message, options, *numbers in table:
        rejected = ("--form", "all-tagged", "--form", "escape-bytes")
        tables = json_of("compare", "-m", message, *options.split(), "--form", "flexible", *rejected)["tables"]
        forms = {row["form"]: row for row in tables["forms"]}
        saved = {row["of"]: abs(row["difference"]) for row in tables["flexible"]}
        kinds = [saved.get(name, 0) for name in ("arrays", "byte buffers", "strings", "tag sections")]
        sizes = [forms[name]["size"] for name in ("inflexible", "flexible", "all-tagged", "escape-bytes")]
        assert [str(number) for number in (forms["flexible"]["version"], *sizes[:2], *kinds, *sizes[2:])] == numbers
        larger += forms["all-tagged"]["size"] > forms["flexible"]["size"]
    assert f"right for {larger} of the 8 messages below" in prose_of("kip482")


def test_tagged_arrays_of_objects_are_those_in_the_table():
    catalog = kwire_cli.catalog()
    shipped = []
    for entry in catalog:
        for path, field in fields_by_path(catalog.message(entry.name)):
            if field.tag is not None and field.is_array and field.struct_name:
                shipped.append([entry.name, path, str(field.tag)])
    assert rows("kip482", "| message | field | tag |") == shipped
    assert f"Kafka ships {len(shipped)} of them" in prose_of("kip482")


def test_printed_differences_lie_between_three_and_four_elements():
    words = "-m MetadataResponse --message-version 9 --form packed-best --form packed-worst --make"
    sizes = []
    for in_sync in (1, 2):
        made = f"brokers=2,partitions=100,replicas=2,topics[].partitions[].isrNodes={in_sync}"
        found = json_of("compare", *words.split(), made)["tables"]["forms"]
        sizes.append({row["form"]: row["size"] for row in found})
    three, four = sizes
    printed = {"as given": 3216, "packed-best": 1170, "packed-worst": 4026}
    pairs = [("as given", "packed-best"), ("packed-worst", "packed-best"), ("packed-worst", "as given")]
    elements = []
    for more, less in pairs:
        low = three[more] - three[less]
        step = four[more] - four[less] - low
        elements.append(int(100 * (3 + (printed[more] - printed[less] - low) / step)) / 100)
    first, second, third = elements
    sentence = f"belong to {first:.2f} (fixed less best case), {second:.2f} (worst less best) and {third:.2f} elements"
    assert sentence in prose_of("kafka9927")


def test_ratios_of_the_printed_times_are_those_to_fixed():
    heading = "| encoding | struct serialise | struct deserialise | buffer serialise | buffer deserialise |"
    times = [list(map(float, row[1:])) for row in rows("kafka9927", heading)]
    fixed, best, best_ratio, worst, worst_ratio = times
    assert best_ratio == [round(time / base, 3) for time, base in zip(best, fixed, strict=True)]
    assert worst_ratio == [round(time / base, 3) for time, base in zip(worst, fixed, strict=True)]


def test_keys_at_the_ends_of_each_range_have_the_name_in_the_table():
    ends = []
    names = []
    for first, last, first_decimal, last_decimal, name in rows(
        "kip82", "| from | to | from, decimal | to, decimal | range |"
    ):
        assert (int(first, 16), int(last, 16)) == (int(first_decimal), int(last_decimal))
        ends += [int(first, 16), int(last, 16)]
        names += [name, name]
    assert (ends[0], ends[-1], len(ends)) == (0, 0xFFFFFFFF, 2 * 21)
    assert all(first == last + 1 for last, first in zip(ends[1::2], ends[2::2], strict=False))
    headers = [{"key": key, "value": ""} for key in ends]
    data = kwire_cli.write_records([{"records": [{"headers": headers}]}], "kip82-draft")
    tree = kwire("dump", "--deep", "--record-format", "kip82-draft", "-f", "tree", "-", stdin=data).out
    assert re.findall(r"header \d+ \((.*)\):", tree) == names


def test_an_unsigned_varint_is_never_longer_than_a_signed_one():
    sizes = {"packed32": {}, "upacked32": {}}
    step = re.compile(r"^\w{8}  ([\w ]+?) +(u?packed32)\[\d+\] = (\d+) ", re.MULTILINE)
    for data, name, number in step.findall(text_of("kafka9927")):
        sizes[name][int(number)] = len(data.split())
    highest = {size: number for number, size in sorted(sizes["packed32"].items())}
    assert highest == {1: 63, 2: 8191, 3: 1048575, 4: 134217727, 5: 2147483647}
    assert all(sizes["upacked32"][number] <= size for size, number in highest.items())
