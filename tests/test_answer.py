"""Answers put together."""

from kwire_cli.answer import Answer, Column, Fact, Facts, Note, Table, together
from kwire_cli.view.answers import answer_document


def an_answer(records, text):
    return Answer(
        "summary",
        [
            Facts([Fact("inWords", text, spoken=True), Fact("records", records, wide=True)]),
            Note(f"a note about {text}"),
            Table("topics", (Column("topic"), Column("records", "count")), [(text, records)]),
        ],
    )


def test_a_single_answer_stays_as_it_is():
    answer = an_answer(3, "three")
    assert together("summary", {"logs": answer}) is answer


def test_rows_and_facts_name_their_answer_and_sentences_stay_apart():
    both = together("summary", {"logs": an_answer(3, "three"), "captures": an_answer(4, "four")})
    document = answer_document(both)
    assert document["tables"] == {
        "facts": [{"of": "logs", "records": 3}, {"of": "captures", "records": 4}],
        "topics": [{"of": "logs", "topic": "three", "records": 3}, {"of": "captures", "topic": "four", "records": 4}],
    }
    assert [
        (block.title, [fact.value for fact in block.facts]) for block in both.blocks if isinstance(block, Facts)
    ] == [
        ("logs", ["three"]),
        ("captures", ["four"]),
    ]
    assert [block.text for block in both.blocks if isinstance(block, Note)] == [
        "a note about three",
        "a note about four",
    ]
    assert [block.wide for block in both.blocks if isinstance(block, Table)] == [True, False]


def test_facts_that_people_see_make_a_table_that_people_see():
    seen = Answer("summary", [Facts([Fact("records", 3)])])
    both = together("summary", {"logs": seen, "captures": seen})
    assert [block.wide for block in both.blocks if isinstance(block, Table)] == [False]
