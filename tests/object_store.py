"""A server on this machine that speaks S3, and files on it."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

ACCESS = {
    "AWS_ACCESS_KEY_ID": "someone",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""What workers have to find in their environment; the server lets anybody in."""


class ObjectStore:
    """`query` leads a URL to the server; `put` copies files to its bucket."""

    bucket = "kwire"

    def __init__(self, port):
        from pyarrow.fs import FileSystem

        self.endpoint = f"127.0.0.1:{port}"
        self.query = f"?endpoint_override={self.endpoint}&scheme=http&region=us-east-1"
        self.files, _ = FileSystem.from_uri(f"s3://{self.bucket}{self.query}&allow_bucket_creation=true")
        self.files.create_dir(self.bucket)

    def url(self, key=""):
        return f"s3://{self.bucket}/{key}{self.query}"

    def put(self, key, data):
        with self.files.open_output_stream(f"{self.bucket}/{key}", compression=None) as out:
            out.write(data)
        return self.url(key)

    def copy(self, folder, key):
        """A folder of this machine with all that is in it."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.put(f"{key}/{path.relative_to(folder)}", path.read_bytes())
        return self.url(key)


@contextmanager
def serving():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = dict.fromkeys(ACCESS)
    given.update({name: os.environ.get(name) for name in given})
    os.environ.update(ACCESS)
    program = f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"
    server = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        yield ObjectStore(port)
    finally:
        server.kill()
        server.wait(30)
        for name, value in given.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
