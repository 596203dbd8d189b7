"""Calls made up by tests: of captures or request logs in shape, with any bodies."""

from kwire_cli.analysis.call import Call, Evidence, instant, named_topic
from kwire_cli.spec.kafka import FIND_COORDINATOR, WAITING

HOSTILE = (None, 0, -1, 1 << 70, 2.5, True, "", "x" * 500, "\x1b[2J", [], {}, [None], [[]], [{}], [1, "a", None])
"""Values that no definition has in their place."""


class FakeCall(Call):
    """A call of which only some attributes matter; the others have a value that changes nothing."""

    def __init__(self, api="Metadata", version=12, *, request=None, response=None, **more):
        self.values = {
            "api": api,
            "api_key": FIND_COORDINATOR if api == "FindCoordinator" else 3,
            "version": version,
            "client_id": "app",
            "software": None,
            "client": "10.0.0.1:50000",
            "broker": "10.0.0.2:9092",
            "node": None,
            "connection": (None, 0),
            "asked": 1_700_000_000.0,
            "answered": 1_700_000_000.5,
            "request": {} if request is None else request,
            "response": response,
            "errors": [],
            "topics": [],
            "throttle": 0.0,
            "delayed": api in WAITING,
            "sizes": (0, 0),
            "frame": 1,
            "capture": None,
        } | more

    def topic(self, of):
        return named_topic(of) or ""

    def evidence(self, *, of_request=False):
        time = self.values["asked" if of_request else "answered"]
        frame = self.values["frame"] + (not of_request)
        return Evidence(self.api, instant(time), frame, 0, self.values["capture"])


for _name in ("api", "api_key", "version", "client_id", "software", "client", "broker", "node", "connection", "asked",
              "answered", "request", "response", "errors", "topics", "throttle", "delayed", "sizes"):  # fmt: skip
    setattr(FakeCall, _name, property(lambda self, name=_name: self.values[name]))
