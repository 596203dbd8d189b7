"""The JSON form of Answers, as tests look into it."""

from kwire_cli.view.answers import answer_document


def keyed(document):
    """Return the tables of an answer as objects of rows by their first column, and the facts beside them."""
    tables = {name: {next(iter(row.values())): row for row in rows} for name, rows in document["tables"].items()}
    return tables | document["facts"]


def keyed_answer(answer):
    """Return `keyed` of an Answer."""
    return keyed(answer_document(answer))
