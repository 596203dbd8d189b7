"""Definitions with mistakes: the bundled ones, each changed in one to three places at random."""

import copy
import json
import random
from pathlib import Path

from kwire_cli.spec.files import specs_folder

VERSIONS = ("0", "1", "0+", "1+", "2+", "9+", "0-1", "0-2", "1-3", "3-1", "none", "None", "", " 1+ ", "1 +", "01",
    "+1", "-1",
    "32767", "32768", "0-32767", "32767+", "1-", "a", "all", "1--2", "0x1", "\u0661", "0 - 2", "1-+2",
    "none+")  # fmt: skip
TYPES = ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "string", "bytes", "uuid", "records",
    "[]string", "[]bytes", "[]records", "[]int32", "[]bool", "[]uuid", "[]uint16", "[]float64", "[][]int32", "[]",
    "int24",
    "String", "[]Topic", "Topic", "[]Nowhere", "Nowhere", " int32 ", "[] int32", "[]int32 ", "Ünicode", "A-b",
    "")  # fmt: skip
DEFAULTS = ("0", "-1", "1", "00", "010", "0x7f", "0x7FFFFFFFFFFFFFFF", "0X1", "-0x1", "0x-1", "+5", "127", "128",
    "32767", "32768",
    "65535", "65536", "4294967295", "4294967296", "2147483647", "2147483648", "-9223372036854775808", "1_000", " 1",
    "1 ", "1.5",
    "1.5f", "1e400", "NaN", "Infinity", "-Infinity", "0x1p3", "1d", "inf", "nan", "true", "True", "TRUE", "false",
    "null", "NULL", "",
    "abc",
    'a"b', "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA==", "AAAA", "+/==", "\u0661", "0x", "-")  # fmt: skip
FIELD_NAMES = (
    "topics",
    "Topics",
    "topicId",
    "Name",
    "name",
    "NAME",
    "a-b",
    "1a",
    "A1",
    "a_b",
    "",
    " A",
    "Ä",
    "A b",
    "class",
    "Int",
)
OBJECTS = (
    None,
    True,
    False,
    0,
    1,
    -1,
    3.0,
    1.5,
    1e300,
    2**70,
    "",
    " ",
    "true",
    "x",
    [],
    {},
    [[]],
    ["x"],
    [0],
    [None],
    {"a": 1},
)
VALUES = {
    "versions": VERSIONS, "validVersions": VERSIONS, "flexibleVersions": VERSIONS, "nullableVersions": VERSIONS,
    "taggedVersions": VERSIONS, "deprecatedVersions": VERSIONS, "headerVersions": ({"0+": "1"}, {}, "0+", None),
    "type": TYPES, "default": DEFAULTS, "tag": (0, 1, 2, -1, 2**31 - 1, 2**31, "0", " 1 ", "", "x", 1.0, 1.5, None,
    True, "1.0"),
    "apiKey": (0, 1, 18, -1, 32767, 32768, 65535, "3", " 3", "", "x", 1.0, 1.5, None, True, "0x1"),
    "entityType": ("unknown", "transactionalId", "producerId", "groupId", "topicName", "brokerId", "TOPIC_NAME",
    "topicname", "", None, 1),
    "ignorable": (True, False, "true", "false", "True", "TRUE", "yes", "", " true ", "null", 0, 1, 2, None, 1.0),
    "about": ("", "x", None, 1, True, [], {}, ["x"]), "name": FIELD_NAMES,
    "listeners": (["broker"], ["controller"], ["zkBroker"], [], "broker", [""], "", ["Broker"], None, ["broker",
    "broker"], [0], 0, [None]),
    "latestVersionUnstable": (True, False, "true", "", 1, None), "fields": ([], None, {}, "", "x", [None], [{}]),
    "commonStructs": ([], None, {}, [{"name": "Topic", "versions": "0+", "fields": []}], [{"name": "topic",
    "versions": "0+"}],
        [{"name": "Used", "versions": "none", "fields": [{"name": "A", "type": "int8", "versions": "0+"}]}],
        [{"name": "Loop", "versions": "0+", "fields": [{"name": "A", "type": "[]Loop", "versions": "0+"}]}],
        [{"name": "A"}], [{}], ""),
    "encoding": ("packed32", {"0+": "fixed32"}), "elementEncoding": ("packed32",), "optionalFields": ([], None),
    "colour": ("red", None),
}  # fmt: skip
VALUES["mapKey"] = VALUES["zeroCopy"] = VALUES["ignorable"]
MESSAGE = ("name", "type", "validVersions", "deprecatedVersions", "flexibleVersions", "apiKey", "fields",
    "commonStructs",
    "listeners", "latestVersionUnstable", "headerVersions", "optionalFields", "about", "colour")  # fmt: skip
FIELD = ("name", "type", "versions", "fields", "mapKey", "nullableVersions", "default", "ignorable", "entityType",
    "about",
    "taggedVersions", "flexibleVersions", "tag", "zeroCopy", "encoding", "elementEncoding", "optionalFields",
    "colour")  # fmt: skip
MESSAGE_TYPES = ("request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value", "Request",
    "DATA", "coordinator_key", "", "thing", None, 0)  # fmt: skip
MESSAGE_NAMES = ("Foo", "FooRequest", "FooResponse", "Request", "foo", "", None, 3, "fooRequest", "FooREQUEST")


def mutations(count, seed):
    """Yield texts of definitions, most of them wrong."""
    choose = random.Random(seed)
    sources = [path.read_text("utf-8") for path in sorted(Path(specs_folder()).glob("[A-Z]*.json"))]
    for _ in range(count):
        value = json.loads(choose.choice(sources))
        for _ in range(choose.choice((1, 1, 1, 1, 1, 2))):
            _change(value, choose)
        text = json.dumps(value, indent=1, ensure_ascii=choose.random() < 0.5)
        yield _change_text(text, choose) if choose.random() < 0.12 else text


def _objects(value):
    """The objects of a definition with what each one is: the message, a common struct or a field."""
    found = [(value, "message")]
    for key, kind in (("fields", "field"), ("commonStructs", "struct")):
        inner = value.get(key)
        for item in inner if isinstance(inner, list) else []:
            if isinstance(item, dict):
                found += [(item, kind), *_objects(item)[1:]]
    return found


def _change(value, choose):
    objects = _objects(value)
    target, kind = choose.choice(objects[:1] if choose.random() < 0.25 else objects)
    keys = MESSAGE if kind == "message" else FIELD
    change = choose.choice(
        ("set",) * 8
        + ("drop", "drop", "object", "object", "object", "rename", "twice", "swap", "take", "tag", "common")
    )
    if change == "set":
        key = choose.choice(keys)
        pool = VALUES[key]
        if kind == "message" and key in {"type", "name"}:
            pool = MESSAGE_TYPES if key == "type" else MESSAGE_NAMES
        target[key] = copy.deepcopy(choose.choice(pool))
    elif change == "drop" and target:
        del target[choose.choice(list(target))]
    elif change == "object" and target:
        target[choose.choice(list(target))] = copy.deepcopy(choose.choice(OBJECTS))
    elif change == "rename" and target:
        key = choose.choice(list(target))
        target[choose.choice((key.upper(), key.capitalize(), key + "s", "_" + key))] = target.pop(key)
    elif change in {"twice", "swap", "take"} and isinstance(target.get("fields"), list) and target["fields"]:
        fields = target["fields"]
        field = copy.deepcopy(choose.choice(fields))
        if change == "twice":
            if isinstance(field, dict) and choose.random() < 0.5:
                field["name"] = str(field.get("name", "")).swapcase()
            fields.append(field)
        elif change == "take":
            fields.append(copy.deepcopy(choose.choice(objects)[0]))
        else:
            choose.shuffle(fields)
    elif change == "tag":
        target |= {"tag": choose.randrange(3), "taggedVersions": choose.choice(VERSIONS[:9])}
    elif change == "common":
        _make_common(value, choose)


def _make_common(value, choose):
    """Move the sub-fields of a field to a common struct, or use one that is there."""
    fields = [item for item, kind in _objects(value) if kind == "field" and isinstance(item.get("type"), str)]
    structs = value.setdefault("commonStructs", [])
    if not fields or not isinstance(structs, list):
        return
    field = choose.choice([item for item in fields if "fields" in item] or fields)
    name = field["type"].removeprefix("[]")
    structs.append({"name": name, "versions": choose.choice(VERSIONS[:9]), "fields": field.pop("fields", [])})


def _change_text(text, choose):
    lines = text.splitlines()
    at = choose.randrange(len(lines))
    line = lines[at]
    lines[at] = choose.choice((
        f"{line} // a comment", f"/* a comment */ {line}", f"# {line}", f"{line},", line.rstrip(","),
        f"{line}\n{line}", "",
        line.replace('"', "'"), line.replace(": ", " = "), line.replace('"', ""), line.replace(": 1", ": 01"),
        f"\ufeff{line}",
        line.replace(': "', ': "\\u0041'), line.replace(': "', ': "\\q'), line.replace(': "', ': "\t'), f"\f{line}",
        f"\u00a0{line}",
        line.replace(": 1", ": 1."), line.replace(": 1", ": +1"), line.replace(": 1", ": NaN"), f"{line} /* no end",
    ))  # fmt: skip
    changed = "\n".join(lines)
    end = choose.choice(("",) * 8 + ("\n", "}", "\n// end", "{}", "\0", ",", "null", "\x1a"))
    return choose.choice(("",) * 8 + ("\ufeff", "// begin\n", "[")) + changed + end
