"""Records for folds, made as Kafka would write them: values in Kafka's JSON form, encoded by definition."""

import functools

import kwire_cli as kwire
from kwire_cli.analysis.state import topics
from kwire_cli.analysis.state.answer import state_answer
from kwire_cli.analysis.state.events import Event
from kwire_cli.message.encode import encode
from kwire_cli.view.answers import answer_document


@functools.cache
def catalog():
    return kwire.catalog()


def body(name, version, value):
    return encode(catalog(), value, name, version)


def int16(number):
    return number.to_bytes(2, "big", signed=True)


def keyed(number, name, key, value, version=0, key_version=0):
    """The key and value of a coordinator's record; `name` without Key and Value, `value` None for a tombstone."""
    return int16(number) + body(f"{name}Key", key_version, key), None if value is None else int16(version) + body(
        f"{name}Value", version, value
    )


def framed(name, value, version=0):
    """The value of a record of the metadata log."""
    number = catalog().entry(name).api_key
    return None, bytes([1, number, version]) + body(name, version, value)


COMMIT, ABORT = (b"\0\0\0\1", b"\0\0\0\0\0\0"), (b"\0\0\0\0", b"\0\0\0\0\0\0")


def tables_of(*parts, hide=None):
    """The tables of the answer of partitions of one topic, in their JSON form."""
    return answer_document(state_answer([(parts[0].topic, parts)], hide=hide))["tables"]


class Log:
    """A topic's log and what it says so far."""

    def __init__(self, topic):
        self.topic, self.state, self.offset = topic, topics.new_state(catalog(), topic), 0

    def add(self, record, producer=-1, control=False, epoch=0):
        topics.apply(self.topic, self.state, Event(self.offset, 1_760_000_000_000, producer, epoch, control, *record))
        self.offset += 1
        return self

    def end(self, producer, marker):
        return self.add(marker, producer, control=True)

    def tables(self, hide=None):
        """The tables of its answer in their JSON form."""
        return tables_of(topics.Folded(self.topic, None, self.state), hide=hide)

    def rows(self, kind):
        return [row for row in self.state.rows(hide=None) if row["kind"] == kind]
