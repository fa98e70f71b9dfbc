"""Measures fraudgen: rows a second and memory, beside the disk, one writer's threads and others.

  measure.py --build BUILD --json FILE [--rows N] [--folder DIR] [--rounds N]

Each figure is the best of the rounds, for what disturbs a run only makes it slower. Whoever reads it
finds the processor time beside the wall time: where they differ, others used the machine.
"""

import argparse
import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

MEGABYTE = 1_000_000


@dataclasses.dataclass
class Figure:
    what: str
    rows: int
    bytes: int
    seconds: float
    processor_seconds: float
    memory: int  # most that one process had, in bytes
    limit: str = ""
    share_of_limit: float | None = None

    def line(self) -> str:
        rate = f"{self.rows / self.seconds / 1000:10,.0f}" if self.rows else " " * 10
        speed = f"{self.bytes / self.seconds / MEGABYTE:8,.0f}" if self.bytes else " " * 8
        memory = f"{self.memory / MEGABYTE:6,.0f}" if self.memory else " " * 6
        share = f"  {self.share_of_limit:.2f} of {self.limit}" if self.share_of_limit else ""
        return (f"{self.what:44} {rate} {speed} {self.seconds:8.2f} "
                f"{self.processor_seconds:8.2f} {memory}{share}")


HEAD = (f"{'what':44} {'k rows/s':>10} {'MB/s':>8} {'s':>8} {'cpu s':>8} {'MB':>6}")


def run_all(commands: list[list[str]], output: str | None) -> tuple[float, float, int]:
    """Wall seconds until all have ended, their processor seconds, the most memory of one."""
    sink = open(output or os.devnull, "wb")
    with sink:
        begin = time.monotonic()
        children = [subprocess.Popen(command, stdout=sink) for command in commands]
        processor, memory = 0.0, 0
        for child in children:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            processor += usage.ru_utime + usage.ru_stime
            memory = max(memory, usage.ru_maxrss * 1024)
        seconds = time.monotonic() - begin
    for command, child in zip(commands, children, strict=True):
        if child.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    return seconds, processor, memory


def size_of(folder: pathlib.Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir()
               if not file.name.startswith("manifest") and file.name != "fraudgen.toml")


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.program = str(pathlib.Path(options.build, "bin/fraudgen"))
        self.rows = options.rows
        self.rounds = options.rounds
        self.folder = pathlib.Path(options.folder)
        self.figures: list[Figure] = []

    def keep(self, figure: Figure, limit: Figure | None = None, by: str = "rows") -> Figure:
        if limit is not None:
            mine = getattr(figure, by) / figure.seconds
            figure.limit = limit.what
            figure.share_of_limit = mine / (getattr(limit, by) / limit.seconds)
        self.figures.append(figure)
        print(figure.line(), flush=True)
        return figure

    def best(self, what: str, once) -> Figure:
        tries = [once() for _ in range(self.rounds)]
        return min((Figure(what, *each) for each in tries), key=lambda figure: figure.seconds)

    def arguments(self, *more: str) -> list[str]:
        return [self.program, "--quiet", "--rows", str(self.rows), *more]

    def to_null(self, what: str, *more: str) -> Figure:
        def once():
            command = self.arguments("--output", "-", *more)
            return self.rows, 0, *run_all([command], None)
        return self.best(what, once)

    def stream(self, model: str, limit: Figure) -> None:
        """The same rows as a timeline, all of it on one processor."""
        core = str(min(os.sched_getaffinity(0)))

        def once():
            command = ["taskset", "-c", core, self.program, "stream", "--target", "stdout", "--pace",
                       "max", "--quiet", "--rows", str(self.rows), "--model", model]
            return self.rows, 0, *run_all([command], None)
        self.keep(self.best(f"{model} stream, one processor, to null", once), limit)

    def to_disk(self, what: str, processes: list[list[str]]) -> Figure:
        target = self.folder / "data"

        def once():
            shutil.rmtree(target, ignore_errors=True)
            os.sync()
            commands = [self.arguments("--output", str(target), *more) for more in processes]
            seconds, processor, memory = run_all(commands, None)
            return self.rows, size_of(target), seconds, processor, memory
        figure = self.best(what, once)
        shutil.rmtree(target, ignore_errors=True)
        return figure

    def disk(self, size: int) -> Figure:
        """The same count of bytes from a program that does nothing but write and sync."""
        file = self.folder / "disk"

        def once():
            file.unlink(missing_ok=True)
            os.sync()
            command = ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={size >> 20}",
                       "conv=fsync", "status=none"]
            seconds, processor, memory = run_all([command], None)
            return 0, size >> 20 << 20, seconds, processor, memory
        figure = self.best(f"dd, synced, {size / MEGABYTE:,.0f} MB", once)
        file.unlink(missing_ok=True)
        return figure

    def text(self, model: str) -> None:
        for name in ("jsonl", "csv"):
            form = ("--model", model, "--format", name, "--threads", "1")
            figure = self.keep(self.to_null(f"{model} {name}, one thread, to null", *form))
            if name == "jsonl":
                self.stream(model, figure)
        many = ["--model", model, "--format", "jsonl", "--threads", "2"]
        written = self.to_disk(f"{model} jsonl, two threads, to disk", [many])
        disk = self.keep(self.disk(written.bytes))
        self.keep(written, disk, "bytes")

    def columns(self, model: str) -> None:
        form = ["--model", model, "--format", "parquet"]
        self.keep(self.to_null(f"{model} parquet, one thread, to null", *form, "--threads", "1"))
        one = self.keep(self.to_disk(f"{model} parquet, one thread, to disk",
                                     [[*form, "--threads", "1"]]))
        halves = [[*form, "--threads", "1", "--shard", f"{half}/2"] for half in (1, 2)]
        pair = self.keep(self.to_disk(f"{model} parquet, two processes, to disk", halves), one)
        threads = self.to_disk(f"{model} parquet, two threads, to disk",
                               [[*form, "--threads", "2"]])
        self.keep(threads, pair)

    def duckdb(self) -> None:
        if importlib.util.find_spec("duckdb") is None:
            print("no duckdb wheel: its COPY is left out")
            return
        import duckdb
        source = self.folder / "source"
        run_all([self.arguments("--output", str(source), "--model", "classic",
                                "--format", "parquet")], None)
        target = self.folder / "duckdb.parquet"
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        connection.execute(
            f"CREATE TABLE rows AS SELECT * FROM '{source}/transactions_*.parquet'")

        def once():
            begin, processor = time.monotonic(), time.process_time()
            connection.execute(f"COPY rows TO '{target}' (FORMAT parquet, COMPRESSION zstd, "
                               "COMPRESSION_LEVEL 1)")
            return (self.rows, target.stat().st_size, time.monotonic() - begin,
                    time.process_time() - processor, 0)
        self.keep(self.best("DuckDB COPY of the same rows, one thread", once))
        connection.close()
        shutil.rmtree(source)
        target.unlink()


    def tpchgen(self) -> None:
        """The 16 columns of TPC-H's largest table, which it makes for databases to be measured with."""
        program = pathlib.Path(sys.executable).with_name("tpchgen-cli")
        if not program.exists():
            print("no tpchgen-cli: it is left out (tools/setup.sh bench)")
            return
        version = importlib.metadata.version("tpchgen-cli")
        target = self.folder / "tpch"
        scale = max(self.rows / 6_000_000, 0.01)

        def once():
            shutil.rmtree(target, ignore_errors=True)
            os.sync()
            seconds, processor, memory = run_all(
                [[str(program), "parquet", "--scale-factor", f"{scale:.2f}", "--tables=lineitem",
                  "--compression=ZSTD(1)", "--num-threads=1", "--quiet",
                  f"--output-dir={target}"]], None)
            size = sum(file.stat().st_size for file in target.rglob("*.parquet"))
            return round(scale, 2) * 6_000_000, size, seconds, processor, memory
        self.keep(self.best(f"tpchgen-cli {version} lineitem, ZSTD-1, one thread", once))
        shutil.rmtree(target)

    def faker(self) -> None:
        if importlib.util.find_spec("faker") is None:
            print("no Faker: it is left out (tools/setup.sh bench)")
            return
        script = pathlib.Path(__file__).with_name("faker_rows.py")
        version = importlib.metadata.version("faker")
        rows = 20_000

        def once():
            seconds, processor, memory = run_all([[sys.executable, "-B", str(script), str(rows)]],
                                                 str(self.folder / "faker.jsonl"))
            return rows, (self.folder / "faker.jsonl").stat().st_size, seconds, processor, memory
        self.keep(self.best(f"Faker {version}, 10 fields, JSON lines", once))


def models(program: str) -> list[str]:
    """Those that the program knows; it names them when it is asked for another."""
    said = subprocess.run([program, "--model", "?"], capture_output=True, text=True, check=False)
    return [name for name in ("classic", "coherent") if name in said.stderr]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--json", required=True)
    parser.add_argument("--rows", type=int, default=2 << 21)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder or options.build) as folder:
        options.folder = folder
        bench = Bench(options)
        version = subprocess.run([bench.program, "version"], capture_output=True, text=True,
                                 check=True).stdout.split("\n")
        print(f"{', '.join(filter(None, version))}; {platform.machine()}, "
              f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the beginning")
        print(f"{options.rows:,} transactions, the best of {options.rounds}")
        print(HEAD)
        for model in models(bench.program):
            bench.text(model)
            if any(line.startswith("Arrow ") for line in version):
                bench.columns(model)
        bench.duckdb()
        bench.tpchgen()
        bench.faker()
        print(f"load {os.getloadavg()[0]:.1f} at the end")
    pathlib.Path(options.json).write_text(json.dumps(
        [dataclasses.asdict(figure) for figure in bench.figures], indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
