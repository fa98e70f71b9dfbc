#!/usr/bin/env python3
"""Stands in for the job server of a Ray: takes jobs, runs them on this machine, and tells their states.

The folder FAKE_RAY has its port, once it listens, and `calls`: what it was asked. The module `ray` beside this file is
what jobs import. Files in the folder make it fail; those without a comment here are for that module:

  down          no request is answered
  refuse        submissions are refused with this text
  lose-answer   a job is taken, and its submission is not answered; once
  forget        no job is known, as after a restart of the head
  stop          jobs are stopped, as by `ray job stop`; once
  hold, lose-node, kill-worker

Ends when the folder is gone.
"""

import contextlib
import http.server
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

STATE = pathlib.Path(os.environ["FAKE_RAY"])
JOBS: dict[str, dict] = {}


def take(name: str) -> bool:
    """Returns whether a file is there, and removes it."""
    try:
        (STATE / name).unlink()
        return True
    except FileNotFoundError:
        return False


def start(name: str, entrypoint: str) -> None:
    log = STATE / f"{name}.log"
    path = f"{pathlib.Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}"
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(["sh", "-c", entrypoint], stdout=file, stderr=file, stdin=subprocess.DEVNULL,
                                   start_new_session=True, env={**os.environ, "PYTHONPATH": path})
    JOBS[name] = {"process": process, "log": log}


def end(job: dict) -> None:
    """Kills a job with its workers."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job["process"].pid, signal.SIGKILL)


def describe(job: dict) -> dict:
    if take("stop"):
        end(job)
        job["process"].wait()
        job["stopped"] = True
    status = job["process"].poll()
    said = job["log"].read_text("utf-8").splitlines()[-1:]
    return {"status": "RUNNING" if status is None else "STOPPED" if job.get("stopped") else
            "FAILED" if status else "SUCCEEDED", "message": "".join(said)}


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def note(self, text: str) -> bool:
        with open(STATE / "calls", "a", encoding="utf-8") as calls:
            calls.write(f"{text}\n")
        return not (STATE / "down").exists()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = body["submission_id"]
        if not self.note(f"submit {name} {body['entrypoint']}"):
            return
        if (STATE / "refuse").exists():
            return self.answer(400, (STATE / "refuse").read_text("utf-8"))
        if name in JOBS:
            return self.answer(500, f"ValueError: Job with submission_id {name} already exists.\n.")
        start(name, body["entrypoint"])
        if not take("lose-answer"):
            self.answer(200, json.dumps({"submission_id": name}))

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        if not self.note(f"status {name} {self.headers.get('Authorization', '')}"):
            return
        if name not in JOBS or (STATE / "forget").exists():
            return self.answer(404, f"Job {name} does not exist")
        self.answer(200, json.dumps(describe(JOBS[name])))

    def log_message(self, format: str, *words: object) -> None:  # pylint: disable=redefined-builtin
        pass


def main() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    part = STATE / ".port"
    part.write_text(str(server.server_port), "utf-8")
    part.rename(STATE / "port")
    while STATE.exists():
        time.sleep(0.1)
    for job in JOBS.values():
        end(job)


main()
