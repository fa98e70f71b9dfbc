"""The examples of examples/fraudgen that run in seconds.

  examples_test.py FRAUDGEN

Examples whose Python packages are missing are skipped.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import fraudgen
from readers_test import have

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/fraudgen"
OPTIONS = ("--rows", 60_000, "--seed", 3)
EVENTS = 5_000  # the mock cluster keeps only some megabytes


def need(test: unittest.TestCase, *modules: str) -> None:
    missing = [module for module in modules if not have(module)]
    if missing:
        test.skipTest(f"no {', '.join(missing)}; tools/setup.sh test installs it")


def number(text: str) -> int:
    return int(text.replace(",", ""))


class Readers(fraudgen.Case):
    def setUp(self) -> None:
        super().setUp()
        if not fraudgen.writes_parquet():
            self.skipTest("built without Arrow")

        self.data = self.make("data", *OPTIONS, "--format", "parquet")

    def run_example(self, name: str) -> str:
        done = subprocess.run([sys.executable, "-B", EXAMPLES / name, self.data],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_duckdb(self) -> None:
        need(self, "duckdb")
        import duckdb
        questions = (EXAMPLES / "duckdb.sql").read_text("utf-8").replace("'data/", f"'{self.data}/")
        connection = duckdb.connect()
        answers = [connection.execute(statement).fetchall()
                   for statement in duckdb.extract_statements(questions)]
        losses, payments, chains, unknown = answers
        self.assertEqual(sum(row[1] for row in losses), 60_000 // 50)
        self.assertEqual(len(payments), 4)
        self.assertEqual(len(chains), 5)
        self.assertEqual(len(unknown), 5)
        for _, _, _, known, true in unknown:
            self.assertGreater(true, known)

    def test_pandas(self) -> None:
        need(self, "pandas", "pyarrow")
        said = self.run_example("pandas_rule.py")
        self.assertTrue(said.startswith("60,000 payments, 18,000 of them"), said)
        known, true = re.search(r"known at the cut: (\S+) of (\S+)", said).groups()
        self.assertLess(number(known), number(true))
        self.assertGreater(number(re.search(r"alarms: ([\d,]+),", said)[1]), 0)

    def test_polars(self) -> None:
        need(self, "polars")
        import polars
        device = polars.read_parquet(self.data / "transactions/*.parquet")["device_id"]
        users = re.findall(r"^│ (\d+) +┆ (\d+) +┆ (\d+)", self.run_example("polars_devices.py"),
                           re.MULTILINE)
        self.assertEqual(users[0][0], "1")
        self.assertGreater(len(users), 1)
        self.assertEqual(sum(int(payments) for _, _, payments in users),
                         len(device) - device.null_count())


class Events(fraudgen.Case):
    def test_kafka(self) -> None:
        need(self, "confluent_kafka")
        if "without librdkafka" in fraudgen.output_of("version"):
            self.skipTest("built without librdkafka")
        import confluent_kafka
        # A mock cluster in this process, for the lifetime of the producer.
        producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0,
                                             "bootstrap.servers": "none"})
        (server,) = producer.list_topics(timeout=60).brokers.values()
        address = f"{server.host}:{server.port}"
        fraudgen.output_of("stream", "--target", "kafka", "--kafka-server", address, "--pace", "max",
                           "--max-events", EVENTS, *OPTIONS)
        done = subprocess.run([sys.executable, "-B", EXAMPLES / "kafka_alarms.py", address,
                               "transactions"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("5,000 events, 0 came twice; "), done.stdout)


class Clusters(fraudgen.Case):
    """Runs each task as the cluster would. With so few rows, all are in the first part."""

    asked = ("--rows", "5000", "--format", "csv", "--file-rows", "1000", "--seed", "3")

    def setUp(self) -> None:
        super().setUp()
        self.whole = self.make("whole", *self.asked)
        # Under the name that the examples use.
        programs = self.place / "bin"
        programs.mkdir()
        (programs / "fraudgen").symlink_to(pathlib.Path(fraudgen.PROGRAM).resolve())
        self.environment = {**fraudgen.ENVIRONMENT, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run_tasks(self, command: list[str], tasks: list[dict[str, str]]) -> None:
        for task in tasks:
            subprocess.run(command, env=self.environment | task, check=True)

    def test_slurm(self) -> None:
        shared = self.place / "shared"
        self.run_tasks(["bash", str(EXAMPLES / "slurm_array.sh"), str(shared), *self.asked],
                       [{"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": "3"}
                        for task in (3, 2)])
        # The missing task, as an array of its own.
        self.run_tasks(["bash", str(EXAMPLES / "slurm_array.sh"), str(shared), *self.asked],
                       [{"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "1", "SHARDS": "3"}])
        self.assertEqual(fraudgen.hashes(shared), fraudgen.hashes(self.whole))

    def test_kubernetes(self) -> None:
        need(self, "yaml")
        import yaml
        job = yaml.safe_load((EXAMPLES / "kubernetes_job.yaml").read_text("utf-8"))["spec"]
        (container,) = job["template"]["spec"]["containers"]
        settings = {each["name"]: each["value"] for each in container["env"]}
        self.assertEqual(settings["SHARDS"], str(job["completions"]))
        # A folder instead of the bucket.
        command = container["command"]
        shared = self.place / "shared"
        self.run_tasks([*command, *self.asked],
                       [settings | {"OUTPUT": str(shared), "JOB_COMPLETION_INDEX": str(index)}
                        for index in range(job["completions"])])
        self.assertEqual(fraudgen.hashes(shared), fraudgen.hashes(self.whole))


class Scenario(fraudgen.Case):
    """A kind of fraud in a file keeps the promises of the built-in ones."""
    ROWS = 260_000  # three blocks

    def setUp(self) -> None:
        super().setUp()
        need(self, "duckdb")
        if not fraudgen.writes_parquet():
            self.skipTest("built without Arrow")

    def write(self, name: str, *arguments: object) -> pathlib.Path:
        return self.make(name, "--rows", self.ROWS, "--format", "parquet", "--scenario",
                         EXAMPLES / "false_auction.toml", *arguments)

    def test_scenario(self) -> None:
        import duckdb
        data = self.write("data", "--threads", 1)
        frauds, victims, mules = duckdb.sql(f"""
            SELECT count(*), count(*) FILTER (fraud_role = 'VICTIM'), count(*) FILTER (fraud_role <> 'VICTIM')
            FROM '{data}/transactions/*.parquet' WHERE fraud_type = 'FALSO_LEILAO'""").fetchall()[0]
        self.assertAlmostEqual(frauds, self.ROWS * 0.02 * 6 / 150, delta=4)
        self.assertGreater(min(victims, mules), frauds // 4)
        # Mules pass on what they received from several payers.
        collected, = duckdb.sql(f"""
            WITH paid AS (FROM '{data}/transactions/*.parquet' JOIN '{data}/rings/*.parquet' r USING (transaction_id)
                          WHERE fraud_type = 'FALSO_LEILAO')
            SELECT count(*) FROM (SELECT ring_id FROM paid WHERE hop = 0 GROUP BY ring_id, counterparty_account
                                  HAVING count(*) > 1)""").fetchall()[0]
        self.assertGreater(collected, 5)
        fraudgen.output_of("check", data, "--quiet")
        # Damage is found in these rows, too.
        files = sorted((data / "rings").glob("*.parquet"))
        duckdb.sql(f"COPY (SELECT * REPLACE ('CYCLE' AS pattern) FROM '{files[0]}') TO '{files[0]}' (FORMAT parquet)")
        with self.assertRaises(AssertionError):
            fraudgen.output_of("check", data, "--quiet")

    def test_shards_and_threads_write_the_same_bytes(self) -> None:
        one = fraudgen.hashes(self.write("one", "--threads", 1))
        self.write("parts", "--shard", "2/2", "--threads", 3)
        self.assertEqual(fraudgen.hashes(self.write("parts", "--shard", "1/2")), one)

    def test_built_in_scenarios_can_be_given_as_files(self) -> None:
        text = fraudgen.output_of("scenarios", "CADEIA_DIVIDIDA")
        (self.place / "same.toml").write_text(text, "utf-8")
        options = ("--rows", 3_000, "--format", "csv")
        self.assertEqual(fraudgen.hashes(self.make("same", *options, "--scenario", self.place / "same.toml")),
                         fraudgen.hashes(self.make("usual", *options)))


if __name__ == "__main__":
    unittest.main()
