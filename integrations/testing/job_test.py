"""Base classes of tests of `reveza jobs run --on ENGINE` on a real engine."""

import collections
import os
import pathlib
import random
import signal
import subprocess
import time
import unittest


class JobTest(unittest.TestCase):
    """`cluster` has `wait`, `is_idle`, `logs`, `start_job`, `jobs` and `table`; `out` is where jobs write."""

    cluster = None
    engine = ""
    out = pathlib.Path()

    def setUp(self):
        self.name = self.id().rpartition(".")[2].removeprefix("test_")[:40]
        self.cluster.wait(self.cluster.is_idle, "idle nodes")
        self.lines = self.out / self.name  # that steps write

    def words(self, line, values, *options):
        return ["run", "--name", self.name, "--on", self.engine, "--shared", str(self.out / "shared"), *options,
                "--shell", "--", line.replace("LINES", str(self.lines)), ":::", "n", values]

    def log(self):
        return (self.out / "runner.log").read_text()[-4000:] + "".join(
            f"--- {file}\n{file.read_text()[-2000:]}"
            for file in (self.out / "shared" / self.name).glob("array-*/log-*.txt"))

    def finish(self, runner, status=0, seconds=120):
        try:
            runner.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"still running\n{self.log()}{self.cluster.logs()}")
        self.assertEqual(runner.returncode, status, self.log() + self.cluster.logs())

    def written(self):
        return self.lines.read_text().splitlines() if self.lines.exists() else []

    def await_lines(self, count):
        self.cluster.wait(lambda: len(self.written()) >= count, f"{count} lines")

    def arrays(self):
        return len(list((self.out / "shared" / self.name).glob("array-*")))


class StormTest(JobTest):
    """REVEZA_STORM_ROUNDS rounds, in each of which one of the targets is killed while a job runs; by default as many
    as there are targets, each once, in the order of REVEZA_STORM_SEED."""

    targets: list[str] = []
    seconds = 300  # for what is left after the last round

    def strike(self, what, choose, runner):
        """Kills one of `targets`."""
        raise NotImplementedError

    def mend(self):
        """Does what an operator does with what an engine has taken out of service."""

    def run_storm(self):
        rounds = int(os.environ.get("REVEZA_STORM_ROUNDS", len(self.targets)))
        seed = int(os.environ.get("REVEZA_STORM_SEED", "1"))
        choose = random.Random(seed)
        victims = [victim for _ in range(0, rounds, len(self.targets))
                   for victim in choose.sample(self.targets, len(self.targets))]
        # A process that is killed writes nothing more.
        line = "exec python3 -c 'import sys, time; time.sleep(3); open(\"LINES\", \"a\").write(\"end %s\\n\" % sys.argv[1])' {n}"
        words = self.words(line, f"1..{4 * rounds}")
        runner = self.cluster.start_job(*words)
        killed = collections.Counter()
        for what in victims[:rounds]:
            time.sleep(choose.uniform(0.5, 4))
            killed[what] += 1
            self.strike(what, choose, runner)
            self.mend()
            if runner.poll() is not None:
                if runner.returncode == 0:
                    break
                runner = self.cluster.start_job(*words)
        if runner.poll() == -signal.SIGKILL:
            runner = self.cluster.start_job(*words)
        end = time.monotonic() + self.seconds
        while runner.poll() is None and time.monotonic() < end:
            self.mend()
            time.sleep(2)
        self.finish(runner, seconds=1)
        ends = collections.Counter(line for line in self.written() if line.startswith("end"))
        table = self.cluster.table(self.name)
        print(f"storm of seed {seed}: {sum(killed.values())} kills ({dict(killed)}), {len(table)} steps, "
              f"{sum(row['attempts'] for row in table)} attempts, {self.arrays()} arrays, "
              f"{sum(count - 1 for count in ends.values())} repeated", flush=True)
        self.assertEqual(len(ends), 4 * rounds)
        self.assertEqual({row["state"] for row in table}, {"done"})
        self.assertEqual(set(ends.values()), {1})
