import gzip
import json
from pathlib import Path

import pytest

from kwire_cli import catalog
from kwire_cli.errors import InputError
from kwire_cli.spec.accepted import accepted_by, known_releases
from kwire_cli.spec.model import Versions

OWN = Path(__file__).parents[3] / "shared" / "real" / "own" / "captures"


def test_a_patch_accepts_what_its_release_does():
    assert accepted_by("4.4.1") == accepted_by("v4.4") == accepted_by("4.4")
    assert (accepted_by("3.9.2").versions[0], accepted_by("3.9.2").deprecated[0]) == (Versions(0, 11), Versions(0, 2))
    assert accepted_by("4.0").versions[0] == Versions(3, 12)


@pytest.mark.parametrize("release", ["0.10", "9.9", "", "four", "4"])
def test_a_release_that_is_not_known_is_refused(release):
    with pytest.raises(InputError, match=r"is not known; choose one of 2\.4, .*4\.4"):
        accepted_by(release)


def test_the_definitions_have_all_that_any_release_accepts():
    known = catalog()
    for release in known_releases():
        row = accepted_by(release)
        for key, versions in row.versions.items():
            api = known.api_by_key(key)
            assert api, (release, key)
            assert known.entry(api.request).valid_versions.covers(versions), (release, api.name)
            assert versions.covers(row.deprecated.get(key, Versions(0, -1)))


@pytest.mark.shared
@pytest.mark.parametrize(("log", "release"), [("java44-produce-consume", "4.4"), ("old39-sarama-0.8.2.0", "3.9")])
def test_brokers_say_that_they_accept_this(log, release):
    """Only Produce is said to begin at 0 where it does not, for librdkafka's sake (KAFKA-18659)."""
    with gzip.open(OWN / log / "broker-request-log.jsonl.gz", "rt") as lines:
        answers = (line["response"] for line in map(json.loads, lines) if line["requestHeader"]["requestApiKey"] == 18)
        said = next(answer["apiKeys"] for answer in answers if len(answer["apiKeys"]) > 1)
    row = accepted_by(release).versions
    for api in said:
        low = row[0].low if api["apiKey"] == 0 else api["minVersion"]
        assert row[api["apiKey"]] == Versions(low, api["maxVersion"]), api
