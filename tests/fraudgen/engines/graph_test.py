"""fraudgen.to_torch_geometric.

  graph_test.py BUILD
"""

import collections
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

import pyarrow
from testing_engines import BUILD

import fraudgen

READY = all(importlib.util.find_spec(name) for name in ("torch", "torch_geometric"))
SETTINGS = {"rows": 3000, "graph": True}


@unittest.skipUnless(READY, "needs torch and torch_geometric in this environment")
class Graph(unittest.TestCase):
    def tables(self, **settings):
        return [fraudgen.generate(**{**SETTINGS, **settings}, table=table).read_all() for table in ("nodes", "edges")]

    def check(self, graph, nodes, edges):
        """The graph has exactly these nodes and edges, with their values."""
        self.assertTrue(graph.validate())
        kinds = collections.defaultdict(set)
        for row in nodes.to_pylist():
            kinds[row["kind"].lower()].add(row["node_id"])
        self.assertEqual({kind: set(graph[kind].node_id) for kind in graph.node_types}, kinds)
        self.assertEqual({kind: graph[kind].num_nodes for kind in graph.node_types},
                         {kind: len(names) for kind, names in kinds.items()})
        found = []
        for source, kind, target in graph.edge_types:
            edge = graph[source, kind, target]
            for n, (begin, end) in enumerate(edge.edge_index.t().tolist()):
                payment = kind in ("sends", "pays")
                found.append((graph[source].node_id[begin], graph[target].node_id[end], kind.upper(), int(edge.time[n]),
                              float(edge.amount[n]) if payment else None,
                              graph.payment_types[int(edge.payment_type[n])] if payment else None,
                              bool(edge.y[n]) if payment else None))
        seconds = edges["at"].cast(pyarrow.timestamp("s"), safe=False).cast(pyarrow.int64()).to_pylist()
        expected = [(row["source"], row["target"], row["kind"], at, row["amount"], row["payment_type"], row["is_fraud"])
                    for at, row in zip(seconds, edges.to_pylist())]
        self.assertEqual(collections.Counter(found), collections.Counter(expected))

    def test_readers(self):
        nodes, edges = self.tables()
        self.assertGreater(edges.num_rows, 3000)
        graph = fraudgen.to_torch_geometric(*(fraudgen.generate(**SETTINGS, table=name) for name in ("nodes", "edges")))
        self.check(graph, nodes, edges)

    def test_folders(self):
        for form in ("parquet", "arrow"):
            with self.subTest(form=form), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([BUILD / "bin/fraudgen", "--rows", "3000", "--graph", "--format", form, "--output",
                                       "data", "--quiet"], cwd=folder, check=False)
                self.assertEqual(done.returncode, 0)
                self.check(fraudgen.to_torch_geometric(pathlib.Path(folder) / "data"), *self.tables())

    def test_nodes_of_several_blocks_are_one(self):
        nodes, edges = self.tables(rows=300_000)
        self.assertLess(len(nodes["node_id"].unique()), nodes.num_rows)
        graph = fraudgen.to_torch_geometric(nodes, edges)
        self.assertEqual(sum(graph[kind].num_nodes for kind in graph.node_types), len(nodes["node_id"].unique()))

    def test_edges_of_other_rows_are_refused(self):
        nodes, _ = self.tables()
        _, edges = self.tables(seed=2)
        with self.assertRaises(ValueError):
            fraudgen.to_torch_geometric(nodes, edges)

    def test_folders_without_a_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(FileNotFoundError):
                fraudgen.to_torch_geometric(folder)
            subprocess.run([BUILD / "bin/fraudgen", "--rows", "1000", "--graph", "--format", "csv", "--output", "data",
                            "--quiet"], cwd=folder, check=True)
            with self.assertRaises(ValueError):
                fraudgen.to_torch_geometric(pathlib.Path(folder) / "data")


class WithoutTorch(unittest.TestCase):
    def test_the_error_says_what_to_install(self):
        code = ("import sys; sys.modules['torch'] = None; sys.path.insert(0, sys.argv[1]); import fraudgen\n"
                "try: fraudgen.to_torch_geometric('data')\n"
                "except ImportError as error: print(error)")
        done = subprocess.run([sys.executable, "-c", code, BUILD / "lib/python"], capture_output=True, text=True,
                              check=True)
        self.assertIn("pip install 'fraudgen[torch]'", done.stdout)


if __name__ == "__main__":
    unittest.main()
