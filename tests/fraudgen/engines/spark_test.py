"""fraudgen.spark on a real Spark: a master and two executors, each a process with one core.

  spark_test.py BUILD
"""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

for needed in ("pyspark", "pyarrow"):
    if importlib.util.find_spec(needed) is None:
        print(f"needs {needed} in this environment: tools/setup.sh engines")
        sys.exit(77)
if subprocess.run(["java", "-version"], capture_output=True, check=False).returncode != 0:
    print("needs Java 17 or later: tools/setup.sh engines")
    sys.exit(77)

import pyarrow.compute  # pylint: disable=wrong-import-position
import pyspark  # pylint: disable=wrong-import-position
from pyspark.sql import SparkSession  # pylint: disable=wrong-import-position
from pyspark.sql.functions import spark_partition_id  # pylint: disable=wrong-import-position
from testing_engines import BUILD, ROWS, SETTINGS, SHARDS, digest, program_shard  # pylint: disable=wrong-import-position

import fraudgen  # pylint: disable=wrong-import-position
from fraudgen.spark import FraudgenDataSource  # pylint: disable=wrong-import-position

HOME = tempfile.TemporaryDirectory()
FOLDER = pathlib.Path(HOME.name)
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)  # where executors find their jars
os.environ["SPARK_WORKER_DIR"] = str(FOLDER / "workers")


def start():
    """Returns a session on a cluster of processes on this machine."""
    return (SparkSession.builder.master("local-cluster[2,1,1024]").appName("fraudgen")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "600m")
            .config("spark.executor.memory", "600m")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.local.dir", str(FOLDER / "local"))
            .config("spark.sql.warehouse.dir", str(FOLDER / "warehouse"))
            .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
            .getOrCreate())


def setUpModule():
    unittest.addModuleCleanup(HOME.cleanup)
    spark = start()
    unittest.addModuleCleanup(spark.stop)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(FraudgenDataSource)


class Spark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spark = SparkSession.active()
        cls.expected = [digest(program_shard(index)) for index in range(SHARDS)]

    def read(self, **options):
        return self.spark.read.format("fraudgen").options(**options).load()

    def digests(self, frame):
        """Returns the digest of each partition."""
        table = frame.withColumn("partition_of_row", spark_partition_id()).toArrow()
        partitions = table.column("partition_of_row")
        rows = table.drop_columns("partition_of_row")
        return [digest(rows.filter(pyarrow.compute.equal(partitions, index))) for index in range(SHARDS)]

    def failure(self, **options):
        """Returns the error of options, which is raised before a job runs."""
        tracker = self.spark.sparkContext.statusTracker()
        before = len(tracker.getJobIdsForGroup())
        with self.assertRaises(Exception) as raised:
            self.read(**options)
        self.assertEqual(len(tracker.getJobIdsForGroup()), before)
        return str(raised.exception)


class Batch(Spark):
    def test_partitions_have_the_rows_of_the_shards_of_the_program(self):
        self.assertEqual(self.digests(self.read(shards=SHARDS, **SETTINGS)), self.expected)

    def test_both_workers_make_rows(self):
        def executor(batches):
            rows = sum(batch.num_rows for batch in batches)
            # A worker is a child of a daemon, that of the executor.
            status = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text()
            yield pyarrow.RecordBatch.from_pydict({"executor": [int(status.split()[3])], "rows": [rows]})

        found = self.read(shards=8, **SETTINGS, columns="amount").mapInArrow(executor, "executor long, rows long")
        rows = found.collect()
        self.assertEqual(sum(row.rows for row in rows), ROWS)
        self.assertEqual(len({row.executor for row in rows}), 2)

    def test_columns_and_types(self):
        frame = self.read(rows=1000, columns="transaction_id, timestamp,amount,is_fraud,type", money="decimal")
        self.assertEqual([(field.name, field.dataType.simpleString()) for field in frame.schema],
                         [("transaction_id", "string"), ("timestamp", "timestamp_ntz"), ("amount", "decimal(18,2)"),
                          ("is_fraud", "boolean"), ("type", "string")])
        self.assertEqual(frame.count(), 1000)

    def test_every_table(self):
        for name in fraudgen.schema(type="all", graph=True):
            settings = {"rows": 2000, "type": "all", "table": name}
            found = self.read(**settings, graph=True).toArrow()
            done = subprocess.run([BUILD / "bin/fraudgen", "-o", "-", "--format", "csv", "--rows", "2000", "--type", "all", "--graph",
                                   "--table", name, "--quiet"], capture_output=True, check=True)
            self.assertEqual(found.num_rows, done.stdout.count(b"\n") - 1, name)

    def test_scenarios_are_read_by_the_driver(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "mine.toml")
            file.write_text('name = "MINE"\nweight = 90\namount = 100\n', encoding="utf-8")
            found = self.read(rows=3000, scenario=str(file), columns="fraud_type")
        self.assertGreater(found.filter("fraud_type = 'MINE'").count(), 0)

    def test_rows_of_a_size_are_determined_once(self):
        self.assertEqual(self.read(size="2MB", shards=2).count(),
                         self.read(size="2MB", shards=5).count())

    def test_wrong_options(self):
        for options, expected in (({"row": 10}, "unknown option 'row'"), ({"rows": "many"}, "rows"),
                                  ({"rows": 10, "table": "clouds"}, "unknown table 'clouds'"),
                                  ({"rows": 10, "columns": "amout"}, "amout"),
                                  ({"rows": 10, "shards": 0}, "shards: '0'"),
                                  ({"rows": 10, "shards": "two"}, "shards: 'two'"),
                                  ({"rows": 10, "path": "/data"}, "unknown option 'path'"),
                                  ({"rows": 10, "size": "1MB"}, "size")):
            self.assertIn(expected, self.failure(**options))

    def test_schema_cannot_be_given(self):
        with self.assertRaises(Exception) as raised:
            self.spark.read.format("fraudgen").schema("amount double").options(rows=10).load().collect()
        self.assertIn("the schema follows from the options", str(raised.exception))


class Killed(Spark):
    """A worker is killed in the middle of the second shard, once."""

    # Enough rows that none of the shards is made before its first rows are used.
    SETTINGS = {**SETTINGS, "rows": 1_200_000}
    COLUMNS = ["transaction_id", "timestamp", "amount"]

    def check_made_again(self, victims):
        attempts = FOLDER / f"attempts-{victims}"
        attempts.mkdir()
        first = attempts / "killed"

        def children(pid):
            return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                    for child in (task / "children").read_text().split()]

        def die_once(batches):
            from pyspark import TaskContext  # pylint: disable=import-outside-toplevel
            context = TaskContext.get()
            (attempts / f"{context.partitionId()}-{context.taskAttemptId()}").touch()
            for batch in batches:
                yield batch
                if context.partitionId() == 1 and not first.exists():
                    first.touch()
                    # A worker is a child of a daemon, that of the executor; the rows are made in another worker.
                    executor = int(pathlib.Path(f"/proc/{os.getppid()}/stat").read_text().split()[3])
                    workers = [worker for daemon in children(executor) for worker in children(daemon)]
                    for victim in [executor] if victims == "executor" else workers:
                        if victim != os.getpid():
                            os.kill(victim, signal.SIGKILL)

        frame = self.read(shards=SHARDS, columns=",".join(self.COLUMNS), **self.SETTINGS)
        self.assertEqual(self.digests(frame.mapInArrow(die_once, frame.schema)),
                         [digest(program_shard(index, **self.SETTINGS).select(self.COLUMNS)) for index in range(SHARDS)])
        self.assertTrue(first.exists())
        self.assertEqual(len(list(attempts.glob("1-*"))), 2)

    def test_shard_of_a_killed_executor_is_made_again(self):
        self.check_made_again("executor")

    def test_shard_of_a_killed_python_worker_is_made_again(self):
        self.check_made_again("worker")


class Stream(Spark):
    def query(self, name, sink, **options):
        """Returns the error of a query over all that is available, or None."""
        stream = (self.spark.readStream.format("fraudgen").options(**{**SETTINGS, "shards": SHARDS, **options}).load())
        query = (stream.writeStream.option("checkpointLocation", str(FOLDER / name / "checkpoint"))
                 .foreachBatch(sink).trigger(availableNow=True).start())
        try:
            query.awaitTermination(120)
        except Exception as error:  # pylint: disable=broad-exception-caught  # the type depends on Spark's version
            return str(error)
        finally:
            query.stop()
        return None

    def test_batches_are_shards_and_a_query_resumes(self):
        rows = {}

        def fail_in_the_second(frame, batch):
            if batch == 1:
                raise RuntimeError("disk full")
            rows[batch] = digest(frame.toArrow())

        def keep(frame, batch):
            rows[batch] = digest(frame.toArrow())

        self.assertIn("disk full", self.query("resumed", fail_in_the_second, maxShardsPerTrigger=1))
        self.assertEqual(rows, {0: self.expected[0]})
        self.assertIsNone(self.query("resumed", keep, maxShardsPerTrigger=1))
        self.assertEqual([rows[batch] for batch in sorted(rows)], self.expected)
        self.assertIsNone(self.query("resumed", self.fail_on_any, maxShardsPerTrigger=1))

    @staticmethod
    def fail_on_any(frame, batch):
        raise AssertionError(f"batch {batch} has {frame.count()} rows")

    def test_checkpoint_of_other_rows_is_refused(self):
        taken = []
        self.assertIsNone(self.query("other", lambda frame, batch: taken.append(batch), maxShardsPerTrigger=2))
        self.assertEqual(taken, [0, 1])
        for changed in ({"seed": 8}, {"shards": SHARDS + 1}):
            self.assertIn("the checkpoint is of other rows or shards",
                          self.query("other", self.fail_on_any, maxShardsPerTrigger=2, **changed))


if __name__ == "__main__":
    unittest.main()
