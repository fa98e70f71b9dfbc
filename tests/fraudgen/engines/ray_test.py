"""fraudgen.ray on a real Ray: a head and two nodes with one core each.

  ray_test.py BUILD
"""

import importlib.util
import os
import pathlib
import signal
import sys
import tempfile
import unittest

for needed in ("ray", "pyarrow", "pandas"):
    if importlib.util.find_spec(needed) is None:
        print(f"needs {needed} in this environment: tools/setup.sh engines")
        sys.exit(77)

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0", RAY_ENABLE_UV_RUN_RUNTIME_ENV="0")

import pyarrow  # pylint: disable=wrong-import-position
import ray  # pylint: disable=wrong-import-position
from ray.cluster_utils import Cluster  # pylint: disable=wrong-import-position
from testing_engines import ROWS, SETTINGS, SHARDS, digest, program_shard  # pylint: disable=wrong-import-position

import fraudgen.ray  # pylint: disable=wrong-import-position

STORE = 100 << 20  # of each node


def setUpModule():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE})
    unittest.addModuleCleanup(cluster.shutdown)
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=STORE)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    unittest.addModuleCleanup(ray.shutdown)
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    context.target_max_block_size = 4 << 20  # so that a shard has several blocks


def rows_of(data):
    """Returns all rows as a table, in the order of the shards."""
    batches = list(data.iter_batches(batch_format="pyarrow", batch_size=None))
    return pyarrow.concat_tables([table for table in batches if table.num_rows > 0])


class Ray(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = digest(pyarrow.concat_tables([program_shard(index) for index in range(SHARDS)]))

    def test_rows_are_those_of_the_shards_of_the_program(self):
        self.assertEqual(digest(rows_of(fraudgen.ray.read(shards=SHARDS, **SETTINGS))), self.expected)

    def test_a_shard_is_a_task_on_any_node(self):
        def node(table):
            return pyarrow.table({"node": [ray.get_runtime_context().get_node_id()], "rows": [table.num_rows]})

        data = fraudgen.ray.read(shards=8, columns=["amount"], **SETTINGS)
        seen = data.map_batches(node, batch_format="pyarrow", batch_size=None).take_all()
        self.assertEqual(sum(row["rows"] for row in seen), ROWS)
        self.assertEqual(len({row["node"] for row in seen}), 2)

    def test_shard_of_a_killed_worker_is_made_again(self):
        with tempfile.TemporaryDirectory() as folder:
            killed = pathlib.Path(folder) / "killed"

            def die_once(table):
                mine = pathlib.Path(folder) / f"attempt-{os.getpid()}"
                if mine.exists() and not killed.exists():  # in its second block
                    killed.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                mine.touch()
                return table

            data = fraudgen.ray.read(shards=SHARDS, **SETTINGS)
            # Runs in the process that makes the rows: Ray fuses both.
            rows = rows_of(data.map_batches(die_once, batch_format="pyarrow", batch_size=None))
            self.assertEqual(digest(rows), self.expected)
            self.assertTrue(killed.exists())
            self.assertGreaterEqual(len(list(pathlib.Path(folder).glob("attempt-*"))), 2)

    def test_limit_makes_only_some_rows(self):
        self.assertEqual(fraudgen.ray.read(shards=SHARDS, **SETTINGS).limit(10).count(), 10)

    def test_categories_and_types(self):
        data = fraudgen.ray.read(rows=1000, columns=["timestamp", "amount", "type", "is_fraud"], money="cents")
        table = rows_of(data)
        self.assertEqual(digest(table), digest(program_shard(0, 1, rows=1000, money="cents").select(table.column_names)))

    def test_wrong_settings(self):
        for error, settings in ((ValueError, {"rows": "many"}), (ValueError, {"rows": 10, "table": "clouds"}),
                                (ValueError, {"rows": 10, "shards": 0}), (TypeError, {"row": 10}),
                                (TypeError, {"rows": 10, "shard": "1/2"})):
            with self.assertRaises(error):
                fraudgen.ray.read(**settings)


if __name__ == "__main__":
    unittest.main()
