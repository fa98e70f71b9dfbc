"""phi under `reveza jobs`: the examples of examples/phi, with processes killed.

  jobs_test.py PHI REVEZA
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PHI = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "phi").absolute()
REVEZA = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "reveza").absolute()
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/phi"
TIMEOUT = 120  # seconds
RUN = ("run", "--cycles", "400", "--runs", "6", "-d", "200", "--quiet")


def rows_of(folder: pathlib.Path) -> bytes:
    return (folder / "rows.csv").read_bytes()


class Jobs(unittest.TestCase):
    def setUp(self) -> None:
        # A short path, because of the length limit of socket addresses.
        self.place = tempfile.TemporaryDirectory(prefix="phi-jobs-")
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)
        path = f"{PHI.parent}:{REVEZA.parent}:{os.environ['PATH']}"
        self.environment = os.environ | {"REVEZA_STATE": str(self.folder / "state"),
                                         "XDG_RUNTIME_DIR": str(self.folder), "PATH": path}

    def command(self) -> list[str]:
        return [str(REVEZA), "jobs", "run", "--name", "cycles", "--cycles", "400", "--retries", "9",
                "--", str(PHI), *RUN, "--output", str(self.folder / "out"),
                "--checkpoint-every", "2", "--steps", "--from", "{from}"]

    def start(self) -> subprocess.Popen:
        process = subprocess.Popen(self.command(), cwd=self.folder, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def checkpoint(self) -> int:
        """The inode of the checkpoint, new with each one; 0 before the first."""
        try:
            return (self.folder / "out/checkpoint").stat().st_ino
        except FileNotFoundError:
            return 0

    def await_checkpoint(self) -> None:
        before = self.checkpoint()
        end = time.monotonic() + TIMEOUT
        while self.checkpoint() == before:
            self.assertLess(time.monotonic(), end, "no checkpoint came")
            time.sleep(0.001)

    def phi_process(self) -> int:
        """The process that writes to our folder; 0 if there is none."""
        wanted = [os.fsencode(PHI), b"run"]
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == wanted and os.fsencode(self.folder / "out") in words:
                return int(entry.name)
        return 0

    def test_killed_runs_resume_to_identical_rows(self) -> None:
        subprocess.run([PHI, *RUN, "--output", self.folder / "right"], check=True)
        runner = self.start()
        killed = 0
        for _ in range(3):
            self.await_checkpoint()
            process = self.phi_process()
            if process:
                os.kill(process, signal.SIGKILL)
                killed += 1
        self.await_checkpoint()
        runner.kill()
        runner.wait()
        done = subprocess.run(self.command(), cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, check=False, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(rows_of(self.folder / "out"), rows_of(self.folder / "right"))
        self.assertGreater(killed, 0)
        shown = subprocess.run([REVEZA, "jobs", "show", "cycles"], env=self.environment,
                               capture_output=True, text=True, check=True)
        self.assertIn("1 of 1 steps done", shown.stdout)

    def test_sweep(self) -> None:
        text = (EXAMPLES / "sweep.toml").read_text("utf-8")
        self.assertIn("--cycles 500", text)
        job = self.folder / "sweep.toml"
        job.write_text(text.replace("--cycles 500", "--cycles 60 -d 40"), "utf-8")
        done = subprocess.run([REVEZA, "jobs", "run", "--job", job, "--workers", "2", "--quiet"],
                              cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              check=False, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        summaries = sorted(self.folder.glob("runs/*/summary.json"))
        self.assertEqual(len(summaries), 16)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
