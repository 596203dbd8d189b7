"""Block `wireshark`: tshark with kwire's dissector beside tshark's own, on the captures of the block `captures`.

Measured is processor time, as there. What loading the dissector takes is in every row.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import make_traffic
from captures import busy, installed
from timing import Row, measure_in_turns, print_verdict, ratio

OWN, OURS = "its own dissector", "kwire's dissector"
WAYS = {
    "-V": (("-V",), ("-V",)),
    "-T ek": (("-Y", "kafka", "-J", "kafka", "-T", "ek"), ("-Y", "kwire", "-J", "kwire", "-T", "ek")),
    "-T fields": (
        ("-T", "fields", "-e", "frame.number", "-e", "kafka.api_key", "-e", "kafka.topic_name"),
        ("-T", "fields", "-e", "frame.number", "-e", "kwire.api_key", "-e", "kwire.topic"),
    ),
}
MOST = 10
"""How many times as long as C code Lua may take."""


def block(runs: int, folder: Path | None, messages: int = 30_000) -> None:
    kwire, tshark = installed(), shutil.which("tshark")
    if not kwire or not tshark:
        print("  tshark is not here")
        return
    with tempfile.TemporaryDirectory() as scratch:
        files = make_traffic.captures(folder or Path(scratch), messages)
        lua, empty = Path(scratch) / "kwire.lua", Path(scratch) / "empty.pcap"
        subprocess.run((kwire, "wireshark", "-o", str(lua)), check=True)
        empty.write_bytes(files["small"].read_bytes()[:24])
        script = ("-X", f"lua_script:{lua}")
        rows = [Row("nothing", OWN, *busy(tshark, "-n", "-r", str(empty)))]
        rows.append(Row("nothing", OURS, *busy(tshark, "-n", *script, "-r", str(empty))))
        for name, path in files.items():
            for way, (own, ours) in WAYS.items():
                rows.append(Row(f"{name} {way}", OWN, *busy(tshark, "-n", "-r", str(path), *own)))
                rows.append(Row(f"{name} {way}", OURS, *busy(tshark, "-n", *script, "-r", str(path), *ours)))
        measure_in_turns(rows, runs)
        print(f"\n  the file has {lua.stat().st_size / 1e3:.0f} kB")
        for row in rows:
            print(f"    {row.input:<20} {row.name:<20} " + (f"{row.seconds:>8.2f} s" if row.seconds else row.why or ""))
        loading = [row.seconds or 0 for row in rows[:2]]
        print_verdict("seconds to load", loading[1] - loading[0], at_most=1)
        for name in files:
            for way in WAYS:
                print_verdict(f"{name} {way}, ours / its own", ratio(rows, f"{name} {way}", OURS, OWN), at_most=MOST)
