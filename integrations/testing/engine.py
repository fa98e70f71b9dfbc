"""An engine on this machine, for jobs of `reveza jobs run --on ENGINE`."""

import json
import pathlib
import subprocess
import time


class Engine:
    """`program` is `reveza`, `folder` has the folder `out` in which it runs, `environment` is that of home."""

    patience = 90.0  # seconds
    identity: dict = {}  # of who is at home, as arguments of Popen

    def __init__(self, folder: pathlib.Path, program: pathlib.Path) -> None:
        self.folder = folder
        self.program = program

    def home(self) -> dict[str, str]:
        """Returns the environment at home."""
        raise NotImplementedError

    def is_idle(self) -> bool:
        """Returns whether all nodes wait for a job, and first does what mend() does."""
        raise NotImplementedError

    def mend(self) -> None:
        """Does what operators do about what has ended, or was taken out of service."""
        raise NotImplementedError

    def logs(self) -> str:
        return "".join(f"--- {file.name}\n{file.read_text()[-20000:]}" for file in self.folder.glob("*.out"))

    def wait(self, condition, what: str, seconds: float | None = None) -> None:
        end = time.monotonic() + (seconds or self.patience)
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"no {what} within {seconds or self.patience} s\n{self.logs()}")
            time.sleep(0.2)

    def jobs(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([str(self.program), "jobs", *words], capture_output=True, text=True, check=False,
                              timeout=120, cwd=self.folder / "out", env=self.home(), **self.identity)

    def start_job(self, *words: str, **environment: str) -> subprocess.Popen:
        """Starts the runner at home."""
        with open(self.folder / "out/runner.log", "a", encoding="utf-8") as log:
            return subprocess.Popen([str(self.program), "jobs", *words], stdout=log, stderr=log,
                                    cwd=self.folder / "out", env={**self.home(), **environment}, **self.identity)

    def table(self, job: str) -> list[dict]:
        return json.loads(self.jobs("table", job, "--json").stdout)
