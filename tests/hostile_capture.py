"""A capture in which names, ids and errors try to do something to the terminal."""

import packets as make
from damage import packet_of
from wire import Wire

EVIL = "[red]\x1b[2J\x1b]0;owned\x07\u202e\u2066\x9b31m[/red]\r\n\u200b\ud7ff\U000e0041[@click=app.quit]x[/]"


def hostile_capture(path):
    talk = make.Talk()
    said = [
        (0, Wire.request("Metadata", version=1, client=EVIL, topics=[{"name": EVIL}])),
        (1, Wire.response("Metadata", version=1, topics=[{"errorCode": 3, "name": EVIL, "partitions": []}])),
        (0, b"\0\0\0\x10\x7f\x7f\0\x01\0\0\0\x02\0\x06" + b"\x1b[31mz"),
        (1, b"\x1b]52;c;AAAA\x07" * 8),
    ]
    segments = [*talk.handshake(), *(talk.segment(side, data) for side, data in said), *talk.goodbye()]
    path.write_bytes(make.pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)]))
    return path
