"""A temporary local S3 server, and an upload command to measure its throughput."""

import os
import pathlib
import socket
import subprocess
import sys
import time

KEY, SECRET = "measuring", "measuring-secret"


def server_of(build: str) -> pathlib.Path | None:
    """Returns the server built by tools/setup.sh, or None."""
    return next(iter(sorted(pathlib.Path(build, "servers").glob("versitygw-*/versitygw"))), None)


class Bucket:
    """Context manager of a server with an empty bucket at `bucket.endpoint`."""

    NAME = "bucket"

    def __init__(self, server: pathlib.Path, folder: pathlib.Path) -> None:
        self.server = server.resolve()
        self.folder = folder.resolve()  # the server changes its working directory
        self.endpoint = ""

    def __enter__(self) -> "Bucket":
        (self.folder / "buckets" / self.NAME).mkdir(parents=True)
        (self.folder / "metadata").mkdir()
        for _ in range(10):
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                port = listener.getsockname()[1]
            self.process = subprocess.Popen(
                [self.server, "--quiet", "--port", f"127.0.0.1:{port}", "posix", "--sidecar",
                 self.folder / "metadata", self.folder / "buckets"],
                env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.endpoint = f"http://127.0.0.1:{port}"
            # The server exits at once if the port was taken meanwhile.
            while self.process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    return self
                except OSError:
                    time.sleep(0.02)
        raise RuntimeError(f"{self.server} did not start in 10 attempts")

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def flags(self) -> list[str]:
        return ["--s3-endpoint", self.endpoint, "--s3-region", "us-east-1", "--s3-access-key", KEY,
                "--s3-secret-key", SECRET]

    def empty(self) -> None:
        for file in (self.folder / "buckets" / self.NAME).rglob("*"):
            if file.is_file():
                file.unlink()

    def put(self, size: int) -> list[str]:
        """Returns a command that uploads an object of `size` bytes."""
        return [sys.executable, "-B", __file__, self.endpoint, f"{self.NAME}/object", str(size)]


def main() -> None:
    """Uploads with pyarrow, in a separate process because pyarrow needs much memory."""
    import pyarrow.fs
    endpoint, place, size = sys.argv[1:]
    client = pyarrow.fs.S3FileSystem(access_key=KEY, secret_key=SECRET, region="us-east-1",
                                     endpoint_override=endpoint)
    left = int(size)
    part = bytes(10 << 20)
    with client.open_output_stream(place) as stream:
        while left > 0:
            stream.write(part[:min(left, len(part))])
            left -= len(part)


if __name__ == "__main__":
    main()
