"""Measures the rows that Spark and Ray make with two workers, beside as many processes of the program, in turns in one
run; prints all rounds.

  engines.py --build BUILD [--rows N] [--rounds N] [--engines spark,ray]

Run by the interpreter of build/engines. Rows are made and counted where they are made, not stored. Engines are started
before, and warmed by one round that is not counted. Processor time is that of all processes below this one, sampled ten
times a second.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WORKERS = 2


class Processor(threading.Thread):
    """Adds up the processor time of all processes below this one, also of those that nobody waits for."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._used: dict[int, int] = {}  # ticks when last seen, by process
        self.start()

    def run(self) -> None:
        while True:
            self._look()
            time.sleep(0.1)

    def seconds(self) -> float:
        self._look()
        return sum(self._used.copy().values()) / os.sysconf("SC_CLK_TCK")

    def _look(self) -> None:
        parents = {}
        used = {}
        for entry in os.listdir("/proc"):
            try:
                fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                parents[int(entry)] = int(fields[1])
                used[int(entry)] = int(fields[11]) + int(fields[12])
            except (OSError, ValueError):
                continue
        for pid in parents:
            above = pid
            while above not in (0, 1, os.getpid()):
                above = parents.get(above, 0)
            if above == os.getpid():
                self._used[pid] = used[pid]


class Engines:
    def __init__(self, options: argparse.Namespace) -> None:
        self.build = pathlib.Path(options.build).resolve()
        self.settings = {"rows": options.rows, "model": options.model}
        self.shards = options.shards
        packages = str(self.build / "lib/python")
        sys.path.insert(0, packages)
        os.environ["PYTHONPATH"] = packages
        self.folder = tempfile.TemporaryDirectory()
        self.spark = None

    def processes(self) -> int:
        """Runs a process per worker, each of which makes its share of the rows."""
        code = ("import sys, fraudgen; rows = int(sys.argv[1])\n"
                "print(sum(batch.num_rows for batch in fraudgen.generate(rows=rows, model=sys.argv[2], shard=sys.argv[3])))")
        running = [subprocess.Popen([sys.executable, "-c", code, str(self.settings["rows"]), self.settings["model"],
                                     f"{index + 1}/{WORKERS}"], stdout=subprocess.PIPE) for index in range(WORKERS)]
        return sum(int(process.communicate()[0]) for process in running)

    def start_spark(self) -> None:
        import pyspark  # pylint: disable=import-outside-toplevel
        from pyspark.sql import SparkSession  # pylint: disable=import-outside-toplevel
        from fraudgen.spark import FraudgenDataSource  # pylint: disable=import-outside-toplevel
        os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_HOME=os.path.dirname(pyspark.__file__),
                          SPARK_WORKER_DIR=self.folder.name)
        self.spark = (SparkSession.builder.master(f"local-cluster[{WORKERS},1,1024]").config("spark.ui.enabled", "false")
                      .config("spark.driver.memory", "600m").config("spark.executor.memory", "700m")
                      .config("spark.local.dir", self.folder.name).config("spark.ui.showConsoleProgress", "false")
                      .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"]).getOrCreate())
        self.spark.sparkContext.setLogLevel("ERROR")
        self.spark.dataSource.register(FraudgenDataSource)

    def read_spark(self) -> int:
        frame = self.spark.read.format("fraudgen").options(shards=self.shards, **self.settings).load()
        frame.write.format("noop").mode("overwrite").save()
        return self.settings["rows"]

    def start_ray(self) -> None:
        import ray  # pylint: disable=import-outside-toplevel
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        ray.init(num_cpus=WORKERS, object_store_memory=300 << 20, include_dashboard=False, log_to_driver=False,
                 logging_level="ERROR")
        ray.data.DataContext.get_current().enable_progress_bars = False

    def read_ray(self) -> int:
        import pyarrow  # pylint: disable=import-outside-toplevel
        import fraudgen.ray  # pylint: disable=import-outside-toplevel
        data = fraudgen.ray.read(shards=self.shards, **self.settings)
        counts = data.map_batches(lambda table: pyarrow.table({"rows": [table.num_rows]}), batch_format="pyarrow",
                                  batch_size=None)
        return counts.sum("rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--model", default="coherent")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="spark,ray")
    options = parser.parse_args()
    engines = Engines(options)
    processor = Processor()
    print(" ".join(sys.argv))
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the beginning")
    print(f"{'engine':8} {'way':10} {'round':>5} {'wall s':>8} {'cpu s':>8} {'k rows/s':>9} {'k rows/cpu s':>13}")
    for engine in options.engines.split(","):
        getattr(engines, f"start_{engine}")()
        read = getattr(engines, f"read_{engine}")
        read()
        spent: dict[str, list[tuple[float, float]]] = {"processes": [], engine: []}
        for number in range(options.rounds):
            for way, run in (("processes", engines.processes), (engine, read)):
                began, used = time.monotonic(), processor.seconds()
                rows = run()
                seconds, used = time.monotonic() - began, processor.seconds() - used
                assert rows == options.rows, rows
                spent[way].append((seconds, used))
                print(f"{engine:8} {way:10} {number:5} {seconds:8.2f} {used:8.2f} {rows / seconds / 1000:9.0f} "
                      f"{rows / used / 1000:13.0f}", flush=True)
        for at, name in enumerate(("wall time", "processor time")):
            pairs = sorted(mine[at] / theirs[at] for mine, theirs in zip(spent[engine], spent["processes"]))
            print(f"{engine}: {name} {statistics.median(pairs):.2f} of that of {WORKERS} processes "
                  f"({pairs[0]:.2f} to {pairs[-1]:.2f})", flush=True)
        if engine == "spark":
            engines.spark.stop()
        else:
            import ray  # pylint: disable=import-outside-toplevel
            ray.shutdown()
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
