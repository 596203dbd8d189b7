from pathlib import Path

from kwire_cli.records.kafka_topics import COORDINATORS, FRAMED, MARKERS, MESSAGES
from kwire_cli.records.payload_fields import ASSIGNORS, FAMILIES, MEMBERS, OTHERS

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "schemas.md").read_text("utf-8")


def test_the_page_names_all_there_is():
    names = {row.path for row in (*MEMBERS, *OTHERS) if not row.message.endswith("Value")} | {
        row.kind for row in OTHERS
    }
    names |= {name for family in FAMILIES.values() for name in family.values()}
    names |= {data.name for roles in ASSIGNORS.values() for candidates in roles.values() for data in candidates}
    names |= {*COORDINATORS, *FRAMED, *MARKERS.values(), *(name for pair in MESSAGES.values() for name in pair)}
    assert {name for name in names if name not in PAGE} == set()
