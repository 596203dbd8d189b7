import pytest

from kwire_cli.cli import doctor, doctor_trials
from kwire_cli.cli.doctor import TRIALS, Trial


def without_libraries(monkeypatch):
    monkeypatch.setattr(doctor, "needs", list)


def test_what_works_is_told_before_it_is_tried(monkeypatch):
    without_libraries(monkeypatch)
    told = []
    found = [*doctor.tried(frozenset(), told.append, TRIALS[:2])]
    assert [(each.state, each.how) for each in found] == [("ok", ""), ("ok", "")]
    assert told == [each.name for each in found]


def test_a_trial_that_raises_or_crashes_is_broken(monkeypatch):
    without_libraries(monkeypatch)
    [found] = doctor.tried(frozenset(), lambda _: None, [Trial("no such thing", "nothing")])
    assert found.state == "broken"
    assert "AttributeError" in found.found
    [found] = doctor.tried(frozenset(), lambda _: None, [Trial("a crash", "os") for _ in "1"])
    assert found.state == "broken"


def test_a_crash_harms_nobody():
    found = doctor._run("a crash", "import os; os.abort()", "")
    assert found.state == "broken"
    assert "its process ended with" in found.found


def test_what_takes_too_long_is_broken(monkeypatch):
    monkeypatch.setattr(doctor, "SECONDS", 0.01)
    found = doctor._run("slow", "import time; time.sleep(60)", "")
    assert found.state == "broken"
    assert "timed out" in found.found


def test_what_lacks_something_is_not_tried(monkeypatch):
    without_libraries(monkeypatch)
    assert [*doctor.tried(frozenset({"java", "numba"}), lambda _: None, TRIALS[2:])] == []


def test_each_trial_is_there_and_sees_what_is_wrong():
    assert all(callable(getattr(doctor_trials, each.function)) for each in TRIALS)
    with pytest.raises(RuntimeError, match="gives 2 instead of 1"):
        doctor_trials._same(1, 2, "it")
