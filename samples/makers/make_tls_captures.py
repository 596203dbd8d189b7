"""TLS captures between OpenSSL's own client and servers on the loopback interface, with Kafka frames of a sample in
them, and their key log.

Usage: make_tls_captures.py FOLDER      (needs openssl, tcpdump and editcap, and the right to capture on lo)

FOLDER gets tls.pcapng, with the keys of all connections but one in it, and tls-keys.txt, the same keys as a file. Each
connection is another case.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import kwire_cli
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic

SAMPLE = Path(__file__).resolve().parents[1] / "captures" / "kafka-python-4.4.0.pcapng"
PORT, EARLY_PORT = 9093, 9094
PAUSE = 0.15


def exchanges():
    """Requests with their responses, of the connection that has most of them."""
    by_stream = {}
    for line in traffic(kwire_cli.catalog(), Capture(str(SAMPLE))):
        if line.kind == "response":
            by_stream.setdefault(line.stream, []).append((line.request.seen.data, line.seen.data))
    return max(by_stream.values(), key=len)


class Broker:
    """Answers the n-th request of a connection with the n-th response."""

    def __init__(self, folder, known):
        self.known = known
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        self.context.set_ciphers("ALL:@SECLEVEL=0")
        self.context.minimum_version = ssl.TLSVersion.TLSv1
        self.context.set_ecdh_curve("prime256v1")
        self.socket = socket.create_server(("127.0.0.1", PORT))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            plain, _ = self.socket.accept()
            threading.Thread(target=self.talk, args=(plain,), daemon=True).start()

    def talk(self, plain):
        with contextlib.suppress(OSError, ValueError), self.context.wrap_socket(plain, server_side=True) as tls:
            file = tls.makefile("rwb")
            for _, response in self.known:
                size = int.from_bytes(file.read(4))
                file.read(size)
                file.write(response)
                file.flush()
            tls.unwrap()


def client(folder, requests, *options, port=PORT, keys="keys.txt", commands=(), linger=0.0):
    """OpenSSL's client sends these requests, with `commands` (such as b"K") between the first ones."""
    arguments = [
        "openssl",
        "s_client",
        "-connect",
        f"127.0.0.1:{port}",
        *options,
        *(["-keylogfile", str(folder / keys)] if keys else []),
    ]
    run = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(3 * PAUSE)
    for number, request in enumerate(requests):
        run.stdin.write(request)
        run.stdin.flush()
        time.sleep(PAUSE)
        if number < len(commands):
            run.stdin.write(commands[number])
            run.stdin.flush()
            time.sleep(PAUSE)
    time.sleep(linger)
    with contextlib.suppress(OSError):
        run.stdin.close()
    try:
        run.wait(5)
    except subprocess.TimeoutExpired:
        run.kill()


def early(folder, known):
    """The first request as early data of a session that goes on (0-RTT); a server of OpenSSL answers from its standard
    input.
    """
    arguments = [
        "openssl",
        "s_server",
        "-accept",
        str(EARLY_PORT),
        "-cert",
        str(folder / "cert.pem"),
        "-key",
        str(folder / "key.pem"),
    ]
    server = subprocess.Popen(
        [*arguments, "-early_data", "-num_tickets", "1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    time.sleep(3 * PAUSE)
    client(folder, [], "-sess_out", str(folder / "early.pem"), port=EARLY_PORT)
    (folder / "early.bin").write_bytes(known[0][0])
    options = ("-sess_in", str(folder / "early.pem"), "-early_data", str(folder / "early.bin"))

    def answer():
        for _, response in known[:2]:
            time.sleep(4 * PAUSE)
            server.stdin.write(response)
            server.stdin.flush()

    threading.Thread(target=answer, daemon=True).start()
    client(folder, [known[1][0]], *options, port=EARLY_PORT, linger=8 * PAUSE)
    server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "keys.txt").unlink(missing_ok=True)
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "3650",
        "-subj",
        "/CN=broker",
    ]
    subprocess.run([*make, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    known = exchanges()[:4]
    requests = [request for request, _ in known]
    Broker(folder, known)
    dump = subprocess.Popen(
        [
            "tcpdump",
            "-U",
            "-i",
            "lo",
            "-w",
            folder / "raw.pcap",
            "tcp",
            "port",
            str(PORT),
            "or",
            "tcp",
            "port",
            str(EARLY_PORT),
        ]
    )
    time.sleep(1)
    session = str(folder / "session.pem")
    p256 = ("-groups", "P-256")
    for options in (
        ("-quiet", "-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256", *p256),
        ("-quiet", "-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256", *p256),
        ("-quiet", "-tls1_3", "-groups", "X25519:P-256"),  # the server asks for another hello
        ("-quiet", "-tls1_3", "-sess_out", session, *p256),
        ("-quiet", "-tls1_3", "-sess_in", session, *p256),
        ("-quiet", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("-quiet", "-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("-quiet", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384", "-sess_out", session),
        ("-quiet", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384", "-sess_in", session),
        ("-quiet", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384", "-no_ticket", "-sess_out", session),
        ("-quiet", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384", "-no_ticket", "-sess_in", session),
    ):
        client(folder, requests, *options)
    for options in (
        ("-quiet", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"),  # CBC
        ("-quiet", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"),
    ):
        client(folder, requests[:1], *options)
    client(
        folder, requests, "-tls1_3", *p256, commands=(b"k\n", b"K\n", b"K\n")
    )  # key updates of one side, and of both
    client(folder, requests[:1], "-quiet", "-tls1_3", *p256, keys=None)
    early(folder, known)
    time.sleep(1)
    dump.terminate()
    dump.wait()
    keys = (folder / "keys.txt").read_text()
    (folder / "tls-keys.txt").write_text(
        "".join(f"{line}\n" for line in keys.splitlines() if not line.startswith(("#", "EXPORTER")))
    )
    raw = folder / "raw.pcap"
    subprocess.run(
        ["editcap", "--inject-secrets", f"tls,{folder / 'tls-keys.txt'}", raw, folder / "tls.pcapng"], check=True
    )
    for name in ("raw.pcap", "keys.txt", "key.pem", "cert.pem", "session.pem", "early.pem", "early.bin"):
        (folder / name).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
