"""A daemon, programs on a card of fakecuda, and `reveza web`, in a temporary folder."""

import os
import pathlib
import signal
import subprocess
import tempfile

from testing_chromium import expect

CONTEXT = 4 << 20  # bytes


class World:
    def __init__(self, build: pathlib.Path):
        self._build = build
        self._folder = tempfile.TemporaryDirectory(prefix="reveza-web-", ignore_cleanup_errors=True)
        self.folder = pathlib.Path(self._folder.name)
        (self.folder / "fakecuda").mkdir()
        self.socket = self.folder / "revezad.sock"
        self.environment = {
            **os.environ, "XDG_RUNTIME_DIR": self._folder.name, "XDG_CONFIG_HOME": self._folder.name,
            "XDG_STATE_HOME": self._folder.name, "REVEZA_SOCKET": str(self.socket),
            "LD_LIBRARY_PATH": str(build / "lib" / "fakecuda"),
            "FAKECUDA_DIR": str(self.folder / "fakecuda"), "FAKECUDA_MEMORY": "96MiB",
            "FAKECUDA_LINK": "4e9", "LANG": "C.UTF-8"}
        self._processes: list[subprocess.Popen] = []
        self.daemon: subprocess.Popen | None = None

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            self.end(process)
        self._folder.cleanup()

    def program(self, name: str) -> str:
        return str(self._build / "bin" / name)

    def start(self, *words: str, **more: object) -> subprocess.Popen:
        process = subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=self.folder, start_new_session=True,
                                   **({"stdout": subprocess.DEVNULL} | more))
        self._processes.append(process)
        return process

    def end(self, process: subprocess.Popen, how: int = signal.SIGTERM) -> None:
        if process.poll() is None:
            os.killpg(process.pid, how)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.stdout:
            process.stdout.close()

    def start_daemon(self) -> None:
        self.daemon = self.start(
            self.program("revezad"), "--socket", str(self.socket), "--context-estimate", f"{CONTEXT}B",
            "--slice-ceiling", "1s", "--usage-file", str(self.folder / "usage.db"))

    def start_worker(self, name: str, mebibytes: int = 56, *options: str, load_ms: int = 300) -> subprocess.Popen:
        return self.start(
            self.program("reveza"), "run", "--name", name, *options, "--quiet", "--",
            self.program("reveza-demo-worker"), "--bytes", str(mebibytes << 20), "--steps", "1000000",
            "--step-ms", "60", "--load-every", "12", "--load-ms", str(load_ms), "--name", "worker",
            "--json")

    def start_web(self, *options: str) -> tuple[subprocess.Popen, str]:
        """Returns the server and its URL."""
        server = self.start(self.program("reveza"), "web", *(options or ("--listen", "127.0.0.1:0")),
                            stdout=subprocess.PIPE, text=True)
        line = server.stdout.readline()
        expect("/#token=" in line, f"reveza web printed {line!r}")
        return server, line.split()[-1]

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.program("reveza"), *words], env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False)
