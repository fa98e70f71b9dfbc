"""Stands in for Ray where a job of testing_ray/server.py imports it: tasks are processes of this machine.

Files in the folder FAKE_RAY make it fail:

  hold          tasks stay queued
  lose-node     tasks are lost before they start, as often as there are bytes in it
  kill-worker   the first task that sees it has its worker killed, and ends as it says: OutOfMemoryError,
                NodeDiedError, or WorkerCrashedError after its children, as Ray kills those of a worker that it ends
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import types

STATE = pathlib.Path(os.environ["FAKE_RAY"])
NODE = {"Alive": True, "Resources": {"CPU": 4.0, "memory": 4e9}}
LOCK = threading.Lock()


class RayError(Exception):
    pass


exceptions = types.SimpleNamespace(RayError=RayError)
for name in ("OutOfMemoryError", "NodeDiedError", "WorkerCrashedError", "TaskCancelledError"):
    setattr(exceptions, name, type(name, (RayError,), {}))


def take_byte(name: str) -> bool:
    path = STATE / name
    with LOCK:
        if not path.exists() or not path.stat().st_size:
            return False
        path.write_bytes(path.read_bytes()[1:])
    return True


class Reference:
    def __init__(self, function, options: dict, arguments: tuple) -> None:
        self.result, self.error = None, None
        self.cancelled, self.worker = False, None
        self.options = options
        self.code = (f"import runpy; print(runpy.run_path({sys.argv[0]!r})[{function.__name__!r}](*{arguments!r}))")
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def is_infeasible(self) -> bool:
        return self.options["num_cpus"] > NODE["Resources"]["CPU"] or self.options.get("memory", 0) > 4e9

    def run(self) -> None:
        while (STATE / "hold").exists() or self.is_infeasible():
            if self.cancelled or not STATE.exists():
                self.error = exceptions.TaskCancelledError()
                return
            time.sleep(0.02)
        if take_byte("lose-node"):
            self.error = exceptions.NodeDiedError()
            return
        self.worker = subprocess.Popen([sys.executable, "-B", "-c", self.code], stdout=subprocess.PIPE, text=True)
        while self.worker.poll() is None:
            time.sleep(0.02)
            try:
                with LOCK:
                    said = (STATE / "kill-worker").read_text("utf-8").strip()
                    (STATE / "kill-worker").unlink()
            except FileNotFoundError:
                continue
            if said == "WorkerCrashedError":
                pid = self.worker.pid
                for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split():
                    os.kill(int(child), signal.SIGKILL)
            self.worker.kill()
            self.error = getattr(exceptions, said)("told to\nby a test")
        self.result = self.worker.stdout.read().strip()
        if self.worker.wait() != 0 and self.error is None:
            self.error = RayError("the task failed")


class RemoteFunction:
    def __init__(self, function, options: dict) -> None:
        self.function, self.given = function, options

    def options(self, **more) -> "RemoteFunction":
        return RemoteFunction(self.function, {**self.given, **more})

    def remote(self, *arguments) -> Reference:
        with open(STATE / "calls", "a", encoding="utf-8") as calls:
            calls.write(f"task {json.dumps(self.given)}\n")
        return Reference(self.function, self.given, arguments)


def init(**_) -> None:
    pass


def remote(**options):
    if not isinstance(options["num_cpus"], (int, float)):
        raise ValueError("num_cpus must be a number")
    return lambda function: RemoteFunction(function, options)


def nodes() -> list[dict]:
    return [NODE]


def wait(references: list[Reference], num_returns: int, timeout: float) -> tuple[list[Reference], list[Reference]]:
    end = time.monotonic() + timeout
    while True:
        done = [one for one in references if not one.thread.is_alive()]
        if len(done) >= min(num_returns, 1) or time.monotonic() > end:
            return done, [one for one in references if one not in done]
        time.sleep(0.02)


def get(reference: Reference):
    if reference.error is not None:
        raise reference.error
    return reference.result


def cancel(reference: Reference) -> None:
    reference.cancelled = True
    if reference.worker is not None and reference.worker.poll() is None:
        reference.worker.send_signal(signal.SIGINT)
