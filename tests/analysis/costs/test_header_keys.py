import pytest

from kwire_cli.analysis.costs.header_forms import HeaderKeys
from kwire_cli.errors import InputError
from kwire_cli.records.registers import USER_RANGE, Register, register_of


def test_names_have_the_numbers_of_the_sample_registers_and_then_those_of_the_users():
    register = Register({"mine": 5, "client.id": 9})
    assert [register.number(name) for name in ("cluster.id", "app.name", "mine", "client.id")] == [2, 1114000, 5, 9]
    assert [register.number(name) for name in ("x", "y", "x")] == [0x140000, 0x140001, 0x140000]
    assert [register.name(number) for number in (2, 5, 0x140001, 99)] == ["cluster.id", "mine", "y", "99"]


def test_a_number_that_the_register_has_is_not_given_again():
    register = Register({"taken": 0x140000, "too": 0x140001})
    assert register.number("x") == 0x140002


def test_names_that_find_no_number_are_left_out_and_counted():
    register = Register()
    keys = HeaderKeys(register)
    for number in range(USER_RANGE.last - USER_RANGE.first + 1):
        assert register.number(f"name {number}") is not None
    assert register.number("one more") is None
    assert keys.numbered((("one more", b"1"), ("client.id", b"2"))) == {1: b"2"}
    assert [count for what, count in keys.lost.items() if count and "range of keys is full" in what] == [1]


def test_headers_come_in_the_order_of_their_numbers():
    keys = HeaderKeys(Register())
    assert [*keys.numbered((("correlation.id", b"3"), ("client.id", b"1")))] == [1, 3]
    assert keys.lost["records whose headers change their order"] == 1


def test_a_map_has_the_last_value_of_a_name_and_no_null():
    keys = HeaderKeys(Register())
    assert keys.numbered(((5, b"1"), (1, None), (5, b"2"))) == {1: b"", 5: b"2"}
    assert sorted(count for count in keys.lost.values() if count) == [1, 1, 1]
    assert keys.named(((2, None),)) == [("cluster.id", None)]


def test_a_number_of_the_samples_is_that_of_a_name_of_ones_own():
    own = Register({"trace.id": 1})
    keys = HeaderKeys(own)
    assert [*keys.numbered((("trace.id", b"1"), ("client.id", b"2")))] == [1, USER_RANGE.first]
    assert not any(keys.lost.values())
    assert own.name(1) == "trace.id"


def test_a_register_is_an_object_of_names_and_numbers():
    assert [register_of({"a": 1, "b": 4294967295}).number(name) for name in ("a", "b")] == [1, 4294967295]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (5, "a register is"),
        ([{"key": 1, "name": "a"}], "a register is"),
        ({"a": "1"}, "numbers from 0 to 4294967295"),
        ({"a": True}, "numbers"),
        ({"a": -1}, "numbers"),
        ({"a": 1 << 32}, "numbers"),
        ({"a": 1, "b": 1}, "gives the number 1 twice"),
    ],
)
def test_what_is_wrong_with_a_register_is_said(document, says):
    with pytest.raises(InputError, match=says) as error:
        register_of(document, "r.json")
    assert "r.json" in str(error.value)
