"""fraudgen with a local S3 server that verifies signatures; pyarrow reads the objects.

  bucket_test.py SERVER PROGRAM     (versitygw, which tools/setup.sh builds, and fraudgen)
"""

import collections.abc
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from fraudgen import ENVIRONMENT, PROGRAM, Case, hashes, writes_parquet

try:
    import pyarrow.fs
    import pyarrow.parquet
except ImportError:
    MISSING = "pyarrow is not installed; run tools/setup.sh"
else:
    MISSING = ""

SERVER = pathlib.Path(sys.argv.pop() if len(sys.argv) > 1 else "versitygw")
if not SERVER.exists():
    MISSING = f"no S3 server at {SERVER}; `tools/setup.sh test` builds it where there is Go"
elif not MISSING and not writes_parquet():
    MISSING = "fraudgen was built without Arrow"
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing-secret"}
OTHERS = ("AWS_", "MINIO_")
KILLS = 15


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_server(folder: pathlib.Path) -> tuple[subprocess.Popen, str]:
    """Starts a server on a free port, which another process may take first."""
    (folder / "buckets/bucket").mkdir(parents=True)
    (folder / "metadata").mkdir()
    while True:
        endpoint = f"127.0.0.1:{free_port()}"
        server = subprocess.Popen(
            [SERVER, "--quiet", "--port", endpoint, "posix", "--sidecar", folder / "metadata",
             folder / "buckets"], env={**os.environ, "ROOT_ACCESS_KEY": "testing",
                                       "ROOT_SECRET_KEY": "testing-secret"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        host, port = endpoint.split(":")
        while server.poll() is None:
            try:
                socket.create_connection((host, int(port))).close()
                return server, endpoint
            except OSError:
                time.sleep(0.02)


def without_etags(files: dict[str, bytes]) -> dict[str, str]:
    hashed = {}
    for name, content in files.items():
        if name.startswith("_fraudgen/manifest-"):
            content = b"".join(line for line in content.splitlines(keepends=True)
                               if not line.startswith(b'  "etag": '))
        hashed[name] = hashlib.sha256(content).hexdigest()
    return hashed


@unittest.skipIf(MISSING, MISSING)
class Bucket(Case):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.server_folder = pathlib.Path(folder.name, "buckets/bucket")
        server, self.endpoint = start_server(pathlib.Path(folder.name))
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.environment = {name: value for name, value in ENVIRONMENT.items()
                            if not name.startswith(OTHERS)}
        self.environment |= KEYS | {"AWS_ENDPOINT_URL": f"http://{self.endpoint}"}
        self.client = pyarrow.fs.S3FileSystem(
            access_key="testing", secret_key="testing-secret", region="us-east-1",
            endpoint_override=self.endpoint, scheme="http")

    def fraudgen(self, *arguments: object,
                 environment: collections.abc.Mapping[str, str] | None = None
                 ) -> subprocess.CompletedProcess:
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment if environment is None else environment,
                              check=False)

    def objects(self, prefix: str) -> dict[str, bytes]:
        selector = pyarrow.fs.FileSelector(f"bucket/{prefix}", recursive=True)
        found = {}
        for info in self.client.get_file_info(selector):
            if info.type == pyarrow.fs.FileType.File:
                with self.client.open_input_stream(info.path) as stream:
                    found[info.path.removeprefix(f"bucket/{prefix}/")] = stream.read()
        return found

    def assert_error(self, done: subprocess.CompletedProcess, status: int, *parts: str) -> None:
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("fraudgen: "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_same_bytes_as_folder(self) -> None:
        for arguments in (("--rows", 30000, "--format", "csv", "--file-rows", 7000),
                          ("--rows", 200000, "--format", "parquet")):
            with self.subTest(arguments):
                name = arguments[3]
                folder = self.make(name, *arguments)
                done = self.fraudgen("--output", f"s3://bucket/{name}", *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"s3://bucket/{name}: ", done.stdout)
                self.assertEqual(without_etags(self.objects(name)), hashes(folder))
        rows = pyarrow.parquet.read_table("bucket/parquet/transactions",
                                          filesystem=self.client)
        self.assertEqual(rows.num_rows, 200000)

    def test_keys_contain_last_day(self) -> None:
        summaries = []
        for _ in range(2):
            done = self.fraudgen("--output", "minio://bucket/lake", "--date-partition",
                                 "--rows", 100, "--end-date",
                                 "2024-02-29", "--json", "--minio-endpoint",
                                 f"http://{self.endpoint}/")
            self.assertEqual(done.returncode, 0, done.stderr)
            summaries.append(json.loads(done.stdout))
        first, second = summaries
        self.assertEqual(second["output"], "s3://bucket/lake/2024/02/29")
        self.assertEqual((second["files_made"], second["files_kept"]), (0, first["files_made"]))
        self.assertIn("2024/02/29/transactions/part-00000.jsonl", self.objects("lake"))

    def test_killed_run_resumes(self) -> None:
        arguments = ("--rows", 60000, "--format", "jsonl", "--file-rows", 15000, "--threads", 2)
        folder = self.make("whole", *arguments)
        begin = time.monotonic()
        self.assertEqual(self.fraudgen("--output", "s3://bucket/undisturbed", *arguments).returncode,
                         0)
        took = time.monotonic() - begin
        chance = random.Random(20261121)
        command = [PROGRAM, "--output", "s3://bucket/data", "--quiet", *map(str, arguments)]
        for _ in range(KILLS):
            run = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE)
            time.sleep(chance.uniform(0, took))
            run.kill()
            errors = run.communicate()[1]
            self.assertIn(run.returncode, (0, -signal.SIGKILL), errors)
        done = self.fraudgen(*command[1:])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(without_etags(self.objects("data")), hashes(folder))

    def test_concurrent_shards(self) -> None:
        arguments = ("--rows", 30000, "--format", "csv", "--file-rows", 7000)
        folder = self.make("whole", *arguments)
        command = [PROGRAM, "--output", "s3://bucket/data", "--quiet", *map(str, arguments)]
        runs = [subprocess.Popen([*command, "--shard", f"{index}/3"], env=self.environment)
                for index in (1, 2, 3)]
        self.assertEqual([run.wait() for run in runs], [0, 0, 0])
        self.assertEqual(self.fraudgen(*command[1:]).returncode, 0)
        self.assertEqual(without_etags(self.objects("data")), hashes(folder))

    def test_ctrl_c(self) -> None:
        run = subprocess.Popen([PROGRAM, "--output", "s3://bucket/data", "--rows", "900000000",
                                "--format", "csv", "--file-rows", "5000"],
                               env=self.environment, stderr=subprocess.PIPE, text=True)
        while not self.client.get_file_info(
                "bucket/data/_fraudgen/manifest-transactions.part-00000.csv.json").is_file:
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        errors = run.communicate()[1]
        self.assertEqual((run.returncode, errors.splitlines()[-1]), (
            130, "fraudgen: stopped; finished files are kept, run the same command to resume"))

    def test_errors(self) -> None:
        rows = ("--rows", 100)
        self.assert_error(self.fraudgen("--output", "s3://nowhere/data", *rows), 12,
                          f"http://{self.endpoint} has no bucket 'nowhere'; check the name")
        for wrong in ({"AWS_SECRET_ACCESS_KEY": "wrong"}, {"AWS_ACCESS_KEY_ID": "nobody"}):
            self.assert_error(
                self.fraudgen("--output", "s3://bucket/data", *rows,
                              environment=self.environment | wrong), 5,
                "rejected the credentials; check --s3-access-key")
        nobody = f"http://127.0.0.1:{free_port()}"
        self.assert_error(self.fraudgen("--output", "s3://bucket/data", "--s3-endpoint", nobody,
                                        *rows), 12,
                          f"{nobody} does not respond; check --s3-endpoint")
        self.assert_error(self.fraudgen("--output", "s3://Bucket", *rows), 2, "has no valid bucket")
        self.assert_error(self.fraudgen("--output", "s3://bucket", "--s3-access-key", "a", *rows), 2,
                          "set both or neither")
        self.assert_error(self.fraudgen("--output", "s3://bucket", "--s3-endpoint", "http://", *rows),
                          2, "is not an endpoint; expected http://host:port")
        self.assert_error(self.fraudgen("--output", self.place / "data", "--s3-endpoint", nobody,
                                        *rows), 2, "require --output s3://bucket/prefix")
        self.assert_error(self.fraudgen("--output", "gs://bucket", *rows), 2, "'gs://bucket' is invalid")
        self.assertFalse((self.place / "data").exists())

    def test_check(self) -> None:
        for arguments in (("--format", "csv", "--file-rows", 7000),
                          ("--format", "parquet"),
                          ("--format", "jsonl", "--model", "classic", "--partition", "type")):
            with self.subTest(arguments):
                asked = ("--rows", 30000, *arguments)
                name = arguments[1]
                folder = self.make(name, *asked)
                done = self.fraudgen("--output", f"s3://bucket/{name}", *asked)
                self.assertEqual(done.returncode, 0, done.stderr)
                there = self.fraudgen("check", f"s3://bucket/{name}", "--json", "--quiet")
                here = self.fraudgen("check", folder, "--json", "--quiet")
                self.assertEqual((there.returncode, there.stderr), (0, ""), there.stdout)
                self.assertEqual(there.stdout, here.stdout)

    def test_check_finds_damage(self) -> None:
        done = self.fraudgen("--output", "s3://bucket/data", "--rows", 3000, "--format",
                             "csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        with self.client.open_input_stream("bucket/data/transactions/part-00000.csv") as stream:
            whole = stream.read()
        with self.client.open_output_stream("bucket/data/transactions/part-00000.csv") as stream:
            stream.write(whole[:whole.rindex(b"\n", 0, -1) + 1])
        self.client.delete_file("bucket/data/accounts/part-00000.csv")
        wrong = self.fraudgen("check", "s3://bucket/data", "--quiet")
        self.assertEqual(wrong.returncode, 1, wrong.stderr)
        for name in ("files: none is missing", "files: sizes match",
                     "transactions: values are those of the settings",
                     "transactions/part-00000.csv: 1 difference\n  row 3000: missing, should be TXN_"):
            self.assertIn(name, wrong.stdout)

    def test_report(self) -> None:
        rows = ("--rows", 3000, "--quiet")
        self.assertEqual(self.fraudgen("--output", "s3://bucket/data", *rows).returncode, 0)
        there = self.fraudgen("report", "s3://bucket/data", "--output", "-")
        if "without the chart library" in there.stderr:
            self.skipTest("built without the chart library")
        self.assertEqual(there.returncode, 0, there.stderr)
        here = self.fraudgen("report", self.make("data", *rows), "--output", "-")
        self.assertEqual(there.stdout.replace("s3://bucket/data", "data"), here.stdout)

    def test_check_errors(self) -> None:
        self.assert_error(self.fraudgen("check", "s3://bucket/none", "--quiet"), 2,
                          "s3://bucket/none is not a fraudgen data set")
        self.assert_error(self.fraudgen("check", "s3://nowhere/data", "--quiet"), 2,
                          "has no bucket 'nowhere'; check the name")
        self.assert_error(self.fraudgen("check", "s3://bucket/data", "--quiet",
                                        environment=self.environment
                                        | {"AWS_SECRET_ACCESS_KEY": "wrong"}), 2,
                          "rejected the credentials")
        self.assert_error(self.fraudgen("check", "s3://Bucket", "--quiet"), 2, "has no valid bucket")

    def test_rejects_other_seed(self) -> None:
        command = ("--output", "s3://bucket/data", "--rows", 100)
        self.assertEqual(self.fraudgen(*command).returncode, 0)
        self.assert_error(self.fraudgen(*command, "--seed", 2), 15, "the seed is 1 there and 2 here")


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    # ctest shows the reason.
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)
