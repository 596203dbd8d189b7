"""What is in a lake, to be compared with what is in another one."""

import os

COSTS = """select * exclude (prefix_bytes, value_bytes, count), sum(prefix_bytes), sum(value_bytes), sum(count)
           from costs group by all"""


def die(_):
    """A task that ends its process."""
    os._exit(9)


def rows_of(lake, query):
    """The rows of a query over a lake."""
    from kwire_cli.pipeline.lake.query import Lake

    with Lake(lake) as tables:
        return [tuple(row.values()) for row in tables.arrow(query).read_all().to_pylist()]


def content(lake, without=""):
    """The columns and the rows of all tables, costs in sum; frames without some columns."""
    from kwire_cli.pipeline.lake.query import Lake
    from kwire_cli.stores import path_of

    queries = {
        "costs": COSTS,
        "inputs": "select path, size, digest, rows > 0 from inputs",
        "frames": f"select * {f'exclude ({without})' if without else ''} from frames",
    }
    out = {}
    with Lake(path_of(lake)) as tables:
        for name in tables.tables:
            found = tables.arrow(queries.get(name, f"select * from {name}")).read_all()
            out[name] = [(each.name, each.type) for each in found.schema], sorted(map(repr, found.to_pylist()))
    return out
