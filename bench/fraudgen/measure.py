"""Measures rows per second and memory of fraudgen, its upper bounds (the writers alone, the disk,
an S3 server) and other generators.

  measure.py --build BUILD --json FILE [--rows N] [--folder DIR] [--rounds N] [--minutes N] [--only NAMES]

Each figure is the best of the rounds, because disturbances only make a run slower. After half of
the time limit each measurement has one round; after all of it the remaining sections are skipped.
CPU time is printed beside wall time; if they differ, other processes used the machine.
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
import signal
import subprocess
import sys
import tempfile
import time

from bucket import Bucket, server_of

MEGABYTE = 1_000_000
MAX_MEMORY = 200 * MEGABYTE  # with two threads
ONE_BLOCK = 1 << 21  # rows


@dataclasses.dataclass
class Figure:
    what: str
    rows: int
    bytes: int
    seconds: float
    processor_seconds: float
    memory: int  # peak of one process, in bytes
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
    """Returns wall seconds until all have exited, their CPU seconds, and the largest peak memory.

    Until exec, the memory of this process counts as that of its children, so it has to stay small.
    """
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
    return sum(file.stat().st_size for file in folder.glob("*/*")
               if file.parent.name != "_fraudgen")


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.program = str(pathlib.Path(options.build, "bin/fraudgen"))
        self.rows = options.rows
        self.rounds = options.rounds
        self.folder = pathlib.Path(options.folder)
        self.build = options.build
        self.end_at = time.monotonic() + options.minutes * 60
        self.hurry_at = self.end_at - options.minutes * 60 / 2
        self.limits: dict[str, Figure] = {}
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
        tries = [once()]
        while len(tries) < self.rounds and time.monotonic() < self.hurry_at:
            tries.append(once())
        return min((Figure(what, *each) for each in tries), key=lambda figure: figure.seconds)

    def arguments(self, *more: str) -> list[str]:
        return [self.program, "--quiet", "--rows", str(self.rows), *more]

    def writers_alone(self) -> None:
        """Measures each writer on prepared columns: the upper bound of generating and writing.

        Uses CPU seconds.
        """
        program = pathlib.Path(self.build, "bench/writers_benchmark")
        if not program.exists():
            print("skipping the writers alone: writers_benchmark is missing (ninja reveza_benchmarks)")
            return
        names = {"Ready/parquet": "classic parquet", "Coherent/parquet": "coherent parquet",
                 "Constant/jsonl": "jsonl", "Constant/csv": "csv"}
        said = subprocess.run(
            [program, f"--benchmark_filter=^({'|'.join(names)})$", "--benchmark_format=json",
             f"--benchmark_repetitions={self.rounds}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        for line in json.loads(said)["benchmarks"]:
            if line["run_type"] != "iteration" or "error_occurred" in line:
                continue
            name = names[line["run_name"]]
            ready = "the same rows" if name in ("jsonl", "csv") else "ready columns"
            rate = line["items_per_second"]
            if name not in self.limits or rate > self.limits[name].rows:
                self.limits[name] = Figure(f"{name} writer alone, {ready}", int(rate),
                                           int(line["bytes_per_second"]), 1, 1, 0)
        for figure in self.limits.values():
            self.keep(figure)

    def to_null(self, what: str, *more: str) -> Figure:
        def once():
            command = self.arguments("--output", "-", *more)
            return self.rows, 0, *run_all([command], None)
        return self.best(what, once)

    def stream(self, model: str, limit: Figure) -> None:
        """Streams the same rows as a timeline on one processor."""
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
        """Writes and syncs the same number of bytes with dd."""
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
            figure = self.keep(self.to_null(f"{model} {name}, one thread, to null", *form),
                               self.limits.get(name))
            if name == "jsonl":
                self.stream(model, figure)
        many = ["--model", model, "--format", "jsonl", "--threads", "2"]
        written = self.to_disk(f"{model} jsonl, two threads, to disk", [many])
        disk = self.keep(self.disk(written.bytes))
        self.keep(written, disk, "bytes")

    def columns(self, model: str) -> None:
        form = ["--model", model, "--format", "parquet"]
        null = self.to_null(f"{model} parquet, one thread, to null", *form, "--threads", "1")
        self.limits[f"{model} null"] = self.keep(null, self.limits.get(f"{model} parquet"))
        one = self.keep(self.to_disk(f"{model} parquet, one thread, to disk",
                                     [[*form, "--threads", "1"]]))
        halves = [[*form, "--threads", "1", "--shard", f"{half}/2"] for half in (1, 2)]
        pair = self.keep(self.to_disk(f"{model} parquet, two processes, to disk", halves), one)
        threads = self.to_disk(f"{model} parquet, two threads, to disk",
                               [[*form, "--threads", "2"]])
        self.keep(threads, pair)

    def memory(self) -> None:
        """Measures memory with two threads: a complete data set, and the start of a large one."""
        seconds = 20

        def keep(what: str, figure: Figure) -> None:
            figure.limit, figure.share_of_limit = what, figure.memory / MAX_MEMORY
            self.keep(figure)
        for form in ("parquet", "jsonl"):
            target = self.folder / "data"
            flags = ["--quiet", "--format", form, "--threads", "2", "--output", str(target)]
            used = run_all([[self.program, *flags, "--size", "1GB"]], None)
            keep("200 MB", Figure(f"1 GB of {form}, two threads", 0, size_of(target), *used))
            shutil.rmtree(target)
            begin = time.monotonic()
            child = subprocess.Popen([self.program, *flags, "--size", "100GB"])
            time.sleep(seconds)
            child.send_signal(signal.SIGINT)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            keep("200 MB", Figure(f"100 GB of {form}, ended after {seconds} s", 0, size_of(target),
                                  time.monotonic() - begin, usage.ru_utime + usage.ru_stime,
                                  usage.ru_maxrss * 1024))
            shutil.rmtree(target)

    def bucket(self) -> None:
        """Writes to a local S3 server, which shares processors and disk."""
        server = server_of(self.build)
        if server is None or importlib.util.find_spec("pyarrow") is None:
            print("skipping S3: no server or no pyarrow (tools/setup.sh test)")
            return
        rows = min(self.rows, ONE_BLOCK)
        with Bucket(server, self.folder / "s3") as bucket:
            def put(size: int):
                used = run_all([bucket.put(size)], None)
                bucket.empty()
                return 0, size, *used

            def make(form: str):
                command = [self.program, "--quiet", "--rows", str(rows), "--format", form,
                           "--threads", "1", *bucket.flags(), "--output", f"s3://{bucket.NAME}/data"]
                seconds, processor, memory = run_all([command], None)
                size = sum(file.stat().st_size for file in (bucket.folder / "buckets").rglob("*.*"))
                bucket.empty()
                return rows, size, seconds, processor, memory
            text = self.best("coherent jsonl, one thread, to S3", lambda: make("jsonl"))
            limit = self.keep(self.best("S3 server, one object of as many bytes",
                                        lambda: put(text.bytes)))
            self.keep(text, limit, "bytes")
            self.keep(self.best("coherent parquet, one thread, to S3", lambda: make("parquet")),
                      self.limits.get("coherent null"))

    def duckdb(self) -> None:
        """Runs last, because DuckDB increases the memory of this process."""
        if importlib.util.find_spec("duckdb") is None:
            print("skipping DuckDB: its wheel is missing (tools/setup.sh demo)")
            return
        import duckdb
        source = self.folder / "source"
        run_all([self.arguments("--output", str(source), "--model", "classic",
                                "--format", "parquet")], None)
        target = self.folder / "duckdb.parquet"
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        connection.execute(
            f"CREATE TABLE rows AS SELECT * FROM '{source}/transactions/*.parquet'")

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
        """Generates the 16 columns of TPC-H's largest table."""
        program = pathlib.Path(sys.executable).with_name("tpchgen-cli")
        if not program.exists():
            print("skipping tpchgen-cli: not installed (tools/setup.sh bench)")
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
            print("skipping Faker: not installed (tools/setup.sh bench)")
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
    """Returns the models of the program, which lists them for an unknown one."""
    said = subprocess.run([program, "--model", "?"], capture_output=True, text=True, check=False)
    return [name for name in ("classic", "coherent") if name in said.stderr]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--json", required=True)
    parser.add_argument("--rows", type=int, default=2 << 21)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--folder")
    parser.add_argument("--only", help="comma-separated sections, such as 'classic text,memory'")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder or options.build) as folder:
        options.folder = folder
        bench = Bench(options)
        version = subprocess.run([bench.program, "version"], capture_output=True, text=True,
                                 check=True).stdout.split("\n")
        print(f"{', '.join(filter(None, version))}; {platform.machine()}, "
              f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the beginning")
        print(f"{options.rows:,} transactions, best of {options.rounds}")
        print(HEAD)
        sections = [("the writers alone", bench.writers_alone)]
        for model in models(bench.program):
            sections.append((f"{model} text", lambda model=model: bench.text(model)))
            if any(line.startswith("Arrow ") for line in version):
                sections.append((f"{model} parquet", lambda model=model: bench.columns(model)))
        sections += [("S3", bench.bucket), ("memory", bench.memory), ("tpchgen-cli", bench.tpchgen),
                     ("Faker", bench.faker), ("DuckDB", bench.duckdb)]
        names = [name for name, _ in sections]
        chosen = options.only.split(",") if options.only else names
        if unknown := set(chosen) - set(names):
            sys.exit(f"unknown section {', '.join(sorted(unknown))}; known are {', '.join(names)}")
        for name, section in sections:
            if name not in chosen:
                continue
            if time.monotonic() < bench.end_at:
                section()
            else:
                print(f"skipping {name}: the time limit of {options.minutes:g} minutes is reached")
        print(f"load {os.getloadavg()[0]:.1f} at the end")
    pathlib.Path(options.json).write_text(json.dumps(
        [dataclasses.asdict(figure) for figure in bench.figures], indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
