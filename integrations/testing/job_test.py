"""What tests of `reveza jobs run --on ENGINE` on a real engine have in common. Import this module, not its classes, of
which unittest would run the tests."""

import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import time
import unittest

import processes


class JobTest(unittest.TestCase):
    """`cluster` is an Engine; `out` is where jobs write."""

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


class EngineTest(JobTest):
    """What holds on all engines. `slots` steps run at once with the options `limit`."""

    slots = 0
    limit: tuple[str, ...] = ()
    place = ""  # prints where a step runs

    def expect_places(self, places):
        """Fails if steps did not run where they should have."""
        raise NotImplementedError

    def test_steps_run_on_all_nodes(self):
        count = 2 * self.slots
        words = self.words(f"echo $({self.place}) >> LINES; sleep 1; echo out {{n}}", f"1..{count}", *self.limit)
        self.finish(self.cluster.start_job(*words))
        self.expect_places(self.written())
        self.assertEqual(len(self.written()), count)
        self.assertEqual(self.cluster.jobs("logs", self.name, "n=7").stdout, "out 7\n")
        self.assertEqual({row["state"] for row in self.cluster.table(self.name)}, {"done"})
        self.finish(self.cluster.start_job(*words))
        self.assertEqual(len(self.written()), count)
        self.assertEqual(self.arrays(), 1)

    def test_a_killed_runner_at_home_loses_nothing(self):
        count = 2 * self.slots
        words = self.words("echo {n} >> LINES; sleep 3", f"1..{count}", *self.limit)
        runner = self.cluster.start_job(*words)
        self.await_lines(2)
        runner.kill()
        runner.wait()
        self.finish(self.cluster.start_job(*words))
        self.assertEqual(sorted(map(int, self.written())), list(range(1, count + 1)))
        self.assertEqual(self.arrays(), 1)

    def test_cancel_ends_all_steps(self):
        words = self.words("echo {n} >> LINES; [ -e LINES.go ] || sleep 600", f"1..{self.slots * 3 // 2}", *self.limit)
        runner = self.cluster.start_job(*words)
        self.await_lines(self.slots)
        self.assertEqual(self.cluster.jobs("cancel", self.name).returncode, 0)
        self.finish(runner, 130)
        self.assertEqual(processes.with_words("run-task"), [])
        (self.out / f"{self.name}.go").touch()
        self.finish(self.cluster.start_job(*words))

    def test_stop_lets_running_steps_finish(self):
        # Engines' workers block and ignore signals that steps do not.
        line = "grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\n\\t' >> LINES; echo >> LINES; sleep 5"
        count = self.slots * 3 // 2
        runner = self.cluster.start_job(*self.words(line, f"1..{count}", *self.limit))
        self.await_lines(self.slots)
        self.assertEqual(self.cluster.jobs("stop", self.name).returncode, 0)
        self.finish(runner, 130)
        done = [row["state"] for row in self.cluster.table(self.name)].count("done")
        self.assertEqual(done, len(self.written()))
        self.assertLess(done, count)
        for blocked, ignored in (re.findall("[0-9a-f]{16}", text) for text in self.written()):
            self.assertEqual((int(blocked, 16), int(ignored, 16) & 0x7FFFFFFF), (0, 0))


class NodesTest(EngineTest):
    """What holds on engines of two nodes, of which `cluster.lose()` ends one."""

    nodes: tuple[str, ...] = ()

    def expect_places(self, places):
        self.assertEqual(set(places), set(self.nodes))

    def test_steps_of_a_lost_node_run_on_another(self):
        words = self.words("echo start {n} >> LINES; sleep 6; echo end {n} >> LINES", f"1..{self.slots}", *self.limit)
        runner = self.cluster.start_job(*words)
        self.await_lines(self.slots)
        self.cluster.lose(self.nodes[0])
        self.finish(runner, seconds=240)
        ends = [line for line in self.written() if line.startswith("end")]
        self.assertEqual(sorted(ends), [f"end {n}" for n in range(1, self.slots + 1)])
        self.assertEqual(self.arrays(), 2)


class StormTest(JobTest):
    """REVEZA_STORM_ROUNDS rounds, in each of which one of the targets is killed while a job runs; by default as many
    as there are targets, each once, in the order of REVEZA_STORM_SEED."""

    targets: list[str] = []
    seconds = 300  # for what is left after the last round

    def strike(self, what, choose):
        """Kills one of `targets` that is the engine's."""
        raise NotImplementedError

    def strike_any(self, what, choose, runner):
        if what == "home":
            runner.kill()
            runner.wait()
        elif what == "runner":  # in a task, alone
            self.kill_one(choose, processes.with_words("run-task"))
        elif what == "step":  # a supervisor with its step
            found = processes.with_words("reveza-supervisor")
            if found:
                processes.kill_tree(choose.choice(found))
        else:
            self.strike(what, choose)

    @staticmethod
    def kill_one(choose, found):
        if found:
            os.kill(choose.choice(found), signal.SIGKILL)

    def test_storm(self):
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
            self.strike_any(what, choose, runner)
            self.cluster.mend()
            if runner.poll() is not None:
                if runner.returncode == 0:
                    break
                runner = self.cluster.start_job(*words)
        if runner.poll() == -signal.SIGKILL:
            runner = self.cluster.start_job(*words)
        end = time.monotonic() + self.seconds
        while runner.poll() is None and time.monotonic() < end:
            self.cluster.mend()
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
