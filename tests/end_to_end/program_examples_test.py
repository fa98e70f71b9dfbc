"""The scripts of examples/programs that need no framework, on a card of fakecuda with room for one program.

  program_examples_test.py BUILD
"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "examples/programs"
WORKER = [str(BUILD / "bin/reveza-demo-worker"), "--bytes", "40MiB", "--steps", "20", "--step-ms", "20", "--name", "x"]


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="reveza-examples-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "card").mkdir()
        self.environment = {
            **os.environ, "REVEZA_SOCKET": str(self.folder / "d.sock"), "XDG_CONFIG_HOME": folder.name,
            "XDG_STATE_HOME": folder.name, "REVEZA_USAGE_FILE": "off", "REVEZA_CONTEXT_ESTIMATE": "4MiB",
            "REVEZA_SLICE_CEILING": "1s", "LD_LIBRARY_PATH": str(BUILD / "lib/fakecuda"),
            "FAKECUDA_DIR": str(self.folder / "card"), "FAKECUDA_MEMORY": "64MiB", "FAKECUDA_CONTEXT": "4MiB"}
        self.addCleanup(self.reveza, "stop", "--force")

    def reveza(self, *words):
        return subprocess.run([str(BUILD / "bin/reveza"), *words], env=self.environment, capture_output=True, text=True,
                              timeout=120, check=False)

    def twice(self, *words):
        return subprocess.run([sys.executable, str(SCRIPTS / "twice.py"), "--reveza", str(BUILD / "bin/reveza"), *words],
                              env=self.environment, capture_output=True, text=True, timeout=240, check=False)

    def test_twice_compares_with_a_run_alone(self):
        done = self.twice("--", *WORKER)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(": the same as alone"), 2, done.stdout)

    def test_twice_notices_a_difference(self):
        counter = shlex.quote(str(self.folder / "count"))
        done = self.twice("--", "sh", "-c", f"echo x >> {counter}; echo result; test -n \"$LD_PRELOAD\" && echo other; true")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("NOT the same as alone"), 2, done.stdout)
        self.assertEqual((self.folder / "count").read_text(), "x\n" * 3)

    def test_twice_reports_a_program_that_fails_or_says_nothing(self):
        self.assertEqual(self.twice("--", "sh", "-c", "exit 3").returncode, 3)
        silent = self.twice("--", "true")
        self.assertEqual(silent.returncode, 1)
        self.assertIn("prints nothing to compare", silent.stderr)

    def test_ranks_of_two_jobs_take_turns(self):
        ranks = " ".join(f"OMPI_COMM_WORLD_RANK={rank} {shlex.quote(sys.executable)} {shlex.quote(str(SCRIPTS / 'ranks.py'))} &"
                         for rank in (0, 1))
        done = self.twice("--", "sh", "-c", f"{ranks} wait")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(": the same as alone"), 2, done.stdout)

    def test_ranks_check_their_memory(self):
        self.environment["RANK"] = "1"
        done = subprocess.run([sys.executable, str(SCRIPTS / "ranks.py"), "8"], env=self.environment, capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertEqual(done.stdout, f"rank 1: {(1 << 16) + 200}, 0 words wrong\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
