"""The differences of two messages applied to the value of a, of which b's must come: written from what docs/diff.md
says, not from what compares.
"""

import copy
import re

TOKEN = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def tokens(path):
    return [int(index) if index else name for name, index in TOKEN.findall(path)]


def applied(value, differences):
    """What differs within fields first, at a's places; then elements leave their arrays, and others enter, the
    innermost arrays first.
    """
    out = copy.deepcopy(value)
    arrays = {}
    for each in differences:
        path = tokens(each.at.a)
        if each.kind == "bytes":
            continue
        if "_tags" in path:
            _unknown_tag(out, path, each)
        elif each.kind in {"removed", "added", "moved"} and isinstance(path[-1], int):
            arrays.setdefault(tuple(path[:-1]), []).append(each)
        elif each.kind == "removed" or each.b.offset is None:  # a default that is left out
            del _at(out, path[:-1])[path[-1]]
        else:
            _at(out, path[:-1])[path[-1]] = each.b.value
    for path in sorted(arrays, key=len, reverse=True):
        _elements(_at(out, path), arrays[path])
    return out


def _elements(array, differences):
    leave = {_index(each.a): array[_index(each.a)] for each in differences if each.a}
    enter = {
        _index(each.b): each.b.value if each.kind == "added" else leave[_index(each.a)]
        for each in differences
        if each.b
    }
    array[:] = [part for index, part in enumerate(array) if index not in leave]
    for index in sorted(enter):
        array.insert(index, enter[index])


def _unknown_tag(out, path, each):
    at = path.index("_tags")
    struct = _at(out, path[:at])
    rows = {row["tag"]: row["data"] for row in struct.pop("unknownTaggedFields", [])}
    if each.kind == "removed":
        del rows[path[at + 1]]
    else:
        rows[path[at + 1]] = each.b.value
    if rows:
        struct["unknownTaggedFields"] = [{"tag": tag, "data": rows[tag]} for tag in sorted(rows)]


def _index(side):
    return tokens(side.path)[-1]


def _at(out, path):
    for token in path:
        out = out[token]
    return out
