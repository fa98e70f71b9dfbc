"""Snakemake workflows by the executor `reveza`.

  snakemake_test.py FOLDER_OF_PROGRAMS
"""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
PACKAGES = pathlib.Path(__file__).resolve().parent
SKIPPED = 77

PARTS = 4
WORKFLOW = f"""
rule sum:
    input: expand("part-{{n}}", n=range({PARTS}))
    output: "sum"
    shell: "cat {{input}} | wc -l > {{output}}"
rule part:
    output: "part-{{n}}"
    shell: "echo {{wildcards.n}} >> ran; while [ -e wait ]; do sleep 0.1; done; echo x > {{output}}"
"""
FAILS = 'rule fails:\n    output: "late"\n    shell: "echo no; [ -e go ] || exit 3; touch {output}"\n'


class Workflows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "workflow"
        self.folder.mkdir()
        self.environment = {**os.environ, "XDG_STATE_HOME": str(self.folder.parent / "state"),
                            "XDG_CACHE_HOME": str(self.folder.parent / "cache"), "PYTHONPATH": str(PACKAGES),
                            "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        self.write(WORKFLOW)

    def write(self, workflow):
        (self.folder / "Snakefile").write_text(workflow)

    def words(self, *more):
        return [sys.executable, "-m", "snakemake", "--executor", "reveza", "--jobs", "10",
                "--seconds-between-status-checks", "1", "--default-resources", "tmpdir=system_tmpdir",
                "--reveza-name", "workflow", *more]

    def snakemake(self, *more):
        return subprocess.run(self.words(*more), cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=240, check=False)

    def begin(self, *more):
        """Starts Snakemake with parts that wait, and returns when one runs."""
        (self.folder / "wait").touch()
        with (self.folder / "said").open("w") as said:
            started = subprocess.Popen(self.words(*more), cwd=self.folder, env=self.environment,
                                       start_new_session=True, stdout=said, stderr=said)
        while not (self.folder / "ran").exists():
            self.assertIsNone(started.poll())
            time.sleep(0.1)
        return started

    def ran(self):
        return sorted((self.folder / "ran").read_text().split())

    def reveza(self, *words):
        return subprocess.run([PROGRAMS / "reveza", "jobs", *words], env=self.environment, capture_output=True,
                              text=True, timeout=60, check=False)

    def test_runs_each_job_once(self):
        done = self.snakemake()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ran(), [str(n) for n in range(PARTS)])
        self.assertEqual((self.folder / "sum").read_text().strip(), str(PARTS))
        self.assertEqual(self.snakemake().returncode, 0)
        self.assertEqual(len(self.ran()), PARTS)

    def test_runs_again_what_was_removed(self):
        self.assertEqual(self.snakemake().returncode, 0)
        for name in ("part-2", "sum"):
            (self.folder / name).unlink()
        self.assertEqual(self.snakemake().returncode, 0)
        self.assertEqual(self.ran(), ["0", "1", "2", "2", "3"])

    def test_says_where_the_output_of_a_failure_is(self):
        self.write(FAILS)
        done = self.snakemake()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("`reveza jobs logs workflow 2` shows its output", done.stderr)
        self.assertIn("no\n", self.reveza("logs", "workflow", "2").stdout)
        (self.folder / "go").touch()
        self.assertEqual(self.snakemake().returncode, 0)

    def test_runs_again_what_was_killed_too(self):
        self.write("rule part:\n    output: 'part'\n    shell: 'echo 1 >> ran; while [ -e wait ]; do sleep 0.1; done; "
                   "[ -e go ] && touch {output} || kill -9 $PPID'\n")
        first = self.begin()
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        (self.folder / "wait").unlink()
        self.reveza("wait", "workflow")
        self.assertIn('"failed": 1', self.reveza("show", "workflow", "--json").stdout)
        (self.folder / "go").touch()
        self.assertEqual(self.snakemake("--unlock").returncode, 0)
        self.assertEqual(self.snakemake().returncode, 0)
        self.assertEqual(self.ran(), ["1", "1"])

    def test_awaits_steps_that_outlived_it(self):
        first = self.begin()
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        self.assertEqual(self.snakemake("--unlock").returncode, 0)
        again = self.begin("--rerun-incomplete")
        while (self.folder / "said").read_text().count("rule part:") < PARTS:
            self.assertIsNone(again.poll())
            time.sleep(0.1)
        time.sleep(1)  # until the last is handed over, or, wrongly, added again
        (self.folder / "wait").unlink()
        self.assertEqual(again.wait(240), 0)
        self.assertEqual(self.ran(), [str(n) for n in range(PARTS)])
        self.assertIn(f'"all": {PARTS + 2}', self.reveza("show", "workflow", "--json").stdout)

    def test_ends_its_steps_when_interrupted(self):
        started = self.begin()
        os.kill(started.pid, signal.SIGINT)
        self.assertNotEqual(started.wait(240), 0)
        (self.folder / "wait").unlink()
        self.assertIn('"running": false', self.reveza("show", "workflow", "--json").stdout)
        self.assertFalse(list(self.folder.glob("part-*")))

    def test_refuses_an_engine_without_a_folder(self):
        done = self.snakemake("--reveza-on", "slurm")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--reveza-on and --reveza-shared go together", done.stderr)


class Claims(unittest.TestCase):
    def test_are_what_a_rule_asks_for(self):
        import snakemake_executor_plugin_reveza as plugin  # pylint: disable=import-outside-toplevel

        def claims(threads, **resources):
            return plugin._claims(types.SimpleNamespace(threads=threads, resources=resources))

        self.assertEqual(claims(1), ["--cpus", "1"])
        self.assertEqual(claims(2, mem_mb=500, runtime=3, gpu_mem_mb=4000, tmpdir="/tmp"),
                         ["--cpus", "2", "--memory", "500MB", "--time-limit", "3m", "--gpu-memory", "4000MB"])
        self.assertEqual(claims(1, mem_mb="<TBD>", runtime=0), ["--cpus", "1"])


if __name__ == "__main__":
    if importlib.util.find_spec("snakemake") is None:
        print("skipped: there is no Snakemake (tools/setup.sh engines installs it)")
        sys.exit(SKIPPED)
    sys.path.insert(0, str(PACKAGES))
    unittest.main(verbosity=2)
