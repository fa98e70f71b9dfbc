#!/usr/bin/env python3
"""Stands in for sbatch, squeue, sacct, scancel and scontrol, by the name that it is called by.

The folder FAKE_SLURM has what it knows: a file for each task of an array. Tasks run at once, in processes of their
own. Files there make it fail:

  down          no command reaches the controller
  refuse        sbatch prints this and takes nothing
  lose-answer   sbatch takes the array, and says that it timed out; once
  hold          tasks stay pending
  forget        ended tasks are not listed
  lose-node     tasks are lost with their nodes before they start, as often as there are bytes in it
  out-of-memory tasks end out of memory, as many as there are bytes in it
  end-task      the task that sees it first ends at its time limit
  calls         what was called is appended to it
"""

import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

STATE = pathlib.Path(os.environ["FAKE_SLURM"])
TASKS = STATE / "tasks"
ALIVE = ("PENDING", "RUNNING")


def fail(message: str) -> None:
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: error: {message}")


def write(path: pathlib.Path, task: dict) -> None:
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(task))
    part.rename(path)


def tasks() -> list[tuple[pathlib.Path, dict]]:
    return [(path, json.loads(path.read_text())) for path in sorted(TASKS.glob("*.json"))]


def set_state(path: pathlib.Path, state: str) -> None:
    """Changes the state of a task that is alive."""
    with open(STATE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        task = json.loads(path.read_text())
        if task["state"] in ALIVE:
            write(path, {**task, "state": state})


def take_byte(name: str) -> bool:
    path = STATE / name
    if not path.exists() or not path.stat().st_size:
        return False
    path.write_bytes(path.read_bytes()[1:])
    return True


def run_task(path: pathlib.Path) -> None:
    """Runs a task as slurmstepd does."""
    task = json.loads(path.read_text())
    while (STATE / "hold").exists():
        time.sleep(0.02)
        if json.loads(path.read_text())["state"] != "PENDING":
            return
    if take_byte("lose-node"):
        return set_state(path, "NODE_FAIL")
    with open(task["log"], "a", encoding="utf-8") as log:
        script = subprocess.Popen([task["script"]], stdout=log, stderr=log, start_new_session=True,
                                  env={**os.environ, "FAKE_SLURM_TASK": str(path),
                                       "SLURM_ARRAY_TASK_ID": str(task["task"])})
    write(path, {**task, "state": "RUNNING", "pid": script.pid})
    ended = False
    while not ended:
        ended = script.poll() is not None
        if (STATE / "end-task").exists():
            (STATE / "end-task").unlink()
            set_state(path, "TIMEOUT")
            kill_task(path)
        time.sleep(0.02)
    status = script.wait()
    state = "COMPLETED" if status == 0 else "FAILED"
    set_state(path, "OUT_OF_MEMORY" if take_byte("out-of-memory") else state)


def sbatch(words: list[str]) -> None:
    if (STATE / "refuse").exists():
        fail((STATE / "refuse").read_text())
    options = dict(re.fullmatch(r"--([^=]+)=?(.*)", word).groups() for word in words[:-1])
    number = len(list(TASKS.glob("*.json"))) + 1
    first, last = map(int, options["array"].split("-"))
    for index in range(first, last + 1):
        path = TASKS / f"{number:06}-{index}.json"
        write(path, {"name": options["job-name"], "id": number, "task": index, "state": "PENDING", "options": options,
                     "script": words[-1], "log": options["output"].replace("%a", str(index))})
        subprocess.Popen([sys.executable, __file__, "run", str(path)], start_new_session=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if (STATE / "lose-answer").exists():
        (STATE / "lose-answer").unlink()
        fail("Batch job submission failed: Socket timed out on send/recv operation")
    print(number)


def squeue(_: list[str]) -> None:
    for _, task in tasks():
        if task["state"] in ALIVE or not (STATE / "forget").exists():
            print(task["name"], task["task"], task["state"], task["options"].get("mem", "0"), "Resources", sep="|")


def sacct(words: list[str]) -> None:
    name = next(word.removeprefix("--name=") for word in words if word.startswith("--name="))
    for _, task in tasks():
        if task["name"] == name:
            print(task["name"], f"{task['id']}_{task['task']}", task["state"], sep="|")


def scancel(words: list[str]) -> None:
    name = next(word.removeprefix("--name=") for word in words if word.startswith("--name="))
    for path, task in tasks():
        if task["name"] != name or task["state"] not in ALIVE:
            continue
        if f"--state={task['state']}" not in words and any(word.startswith("--state=") for word in words):
            continue
        if "--signal=INT" in words:
            os.kill(task["pid"], signal.SIGINT)
            continue
        set_state(path, "CANCELLED")
        kill_task(path)


def kill_task(path: pathlib.Path) -> None:
    """Kills what a task has started, as the end of its control group does."""
    mark = f"FAKE_SLURM_TASK={path}".encode()
    for _ in range(3):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass


def main() -> None:
    command, words = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
    if words[:1] == ["run"]:
        return run_task(pathlib.Path(words[1]))
    if words == ["--version"]:
        return print("slurm 0")
    with open(STATE / "calls", "a", encoding="utf-8") as calls:
        calls.write(f"{command} {' '.join(words)}\n")
    if (STATE / "down").exists():
        fail("Unable to contact slurm controller (connect failure)")
    if command == "scontrol":
        return print("MaxArraySize            = 9")
    return {"sbatch": sbatch, "squeue": squeue, "sacct": sacct, "scancel": scancel}[command](words)


main()
