"""An array of tasks on Ray. The runner at home writes this file into the folder of the array.

At home, where Ray need not be installed, it asks the cluster's job server:

  submit NAME FOLDER RESOURCES REVEZA   submits the array as a job of Ray, once
  tasks NAME FOLDER [NAME FOLDER]...    prints NAME|TASK|STATE|REASON for each task of arrays

In the cluster, as that job, it runs the array and tells in FOLDER/states what has become of tasks:

  run NAME FOLDER RESOURCES REVEZA OPTIONS
  task FOLDER TASK REVEZA               runs a task of it

RESOURCES and OPTIONS are arguments of ray.remote(), as JSON. Exit status 2: refused; 75: no answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

REFUSED = 2
NO_ANSWER = 75
SERVER = "http://127.0.0.1:8265"
ANSWER_SECONDS = 20
LOOK_SECONDS = 2  # between looks at the shared folder
WAITING_SECONDS = 10  # between looks at what tasks wait for
MAX_TRIES = 5  # of a runner that is killed
SET_PARENT_DEATH_SIGNAL = 1  # prctl()


def fail(status: int, message: str) -> None:
    print(f"ray: {message}", file=sys.stderr)
    sys.exit(status)


# ---- at home ----


def server() -> str:
    """Returns the address of the job server, which `ray job` would use."""
    for name in ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"):
        address = os.environ.get(name, "")
        if address.startswith(("http://", "https://")):
            return address.rstrip("/")
        if address:
            fail(REFUSED, f"{name}={address} is no address of a job server; write http://HEAD:8265")
    return SERVER


def headers() -> dict[str, str]:
    """Returns the headers with which Ray's own programs authenticate themselves."""
    found = {"Content-Type": "application/json"}
    if "RAY_JOB_HEADERS" in os.environ:
        try:
            found.update(json.loads(os.environ["RAY_JOB_HEADERS"]))
        except (ValueError, TypeError):
            fail(REFUSED, "RAY_JOB_HEADERS must be a JSON object")
    if os.environ.get("RAY_AUTH_MODE") == "token" and "Authorization" not in found:
        token = os.environ.get("RAY_AUTH_TOKEN", "")
        path = os.environ.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser("~/.ray/auth_token")
        if not token:
            with contextlib.suppress(OSError):
                token = pathlib.Path(path).read_text("utf-8")
        found["Authorization"] = f"Bearer {token.strip()}"
    return found


def ask(path: str, body: dict[str, object] | None = None) -> tuple[int, str]:
    """Returns the status and the text of an answer of the job server."""
    address = server()
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data=data, headers=headers())
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        if error.code in (401, 403):
            fail(REFUSED, f"{address} refuses: {text.strip() or error.reason}; set RAY_AUTH_TOKEN, or RAY_JOB_HEADERS")
        return error.code, text
    except (OSError, http.client.HTTPException) as error:
        fail(NO_ANSWER, f"no answer from {address}: {getattr(error, 'reason', error)}")
        raise


def submission(name: str, folder: pathlib.Path) -> str:
    """Returns the name that the array has as a job, which no other has had; "" if it was not submitted."""
    with contextlib.suppress(FileNotFoundError):
        return f"{name}-{(folder / 'ray-job').read_text('utf-8')}"
    return ""


def submit(name: str, folder: pathlib.Path, resources: str, reveza: str) -> None:
    options = os.environ.get("REVEZA_RAY_OPTIONS", "{}")
    try:
        if not isinstance(json.loads(options), dict):
            raise ValueError
    except ValueError:
        fail(REFUSED, "REVEZA_RAY_OPTIONS must be a JSON object of options of ray.remote()")
    if not submission(name, folder):
        part = folder / ".ray-job"
        part.write_text(secrets.token_hex(4), "utf-8")
        part.rename(folder / "ray-job")
    words = ["python3", "-B", str(folder / "reveza_ray.py"), "run", name, str(folder), resources, reveza, options]
    status, text = ask("/api/jobs/", {"submission_id": submission(name, folder), "entrypoint": shlex.join(words)})
    # An earlier answer was lost.
    if status == 200 or "already exists" in text:
        return
    said = text.strip().splitlines()[-1:] or [f"HTTP status {status}"]
    if status == 404:
        fail(REFUSED, f"{server()} is no job server of Ray: {said[0]}")
    fail(REFUSED if status == 400 else NO_ANSWER, said[0])


def read_states(folder: pathlib.Path) -> tuple[dict[int, str], bool, str]:
    """Returns how tasks have ended, whether the array has begun, and what tasks wait for."""
    ended, began, reason = {}, False, ""
    with contextlib.suppress(FileNotFoundError):
        for line in (folder / "states").read_text("utf-8", "replace").splitlines(keepends=True):
            task, state, text = (line.split("|") + ["", ""])[:3]
            if not line.endswith("\n") or not task.isdigit():
                continue
            if int(task):
                ended[int(task)] = state
            else:
                began, reason = True, text.strip()
    return ended, began, reason


def tasks(*words: str) -> None:
    for name, place in zip(words[::2], words[1::2]):
        folder = pathlib.Path(place)
        known = submission(name, folder)
        status, text = ask(f"/api/jobs/{known}") if known else (404, "")
        if status == 404:
            continue
        try:
            job = json.loads(text)
            is_over = job["status"] in ("SUCCEEDED", "FAILED", "STOPPED")
        except (ValueError, KeyError, TypeError):
            fail(NO_ANSWER, f"unexpected answer from {server()}: {text[:200]!r}")
        ended, began, reason = read_states(folder)
        # What was left when the job ended: stopped by a user, lost with its node, or never begun.
        left = "CANCELLED" if job["status"] == "STOPPED" else "LOST" if began else "ENDED"
        for task in range(1, len(list(folder.glob("task-*.json"))) + 1):
            log = folder / f"log-{task}.txt"
            state = ended.get(task) or (left if is_over else "RUNNING" if log.exists() else "PENDING")
            if is_over and not began and not log.exists():
                log.write_text(f"{job.get('message')}\n", "utf-8")
            print(name, task, state, reason, sep="|")


# ---- in the cluster: each task ----


def prepare_child(number: int) -> None:
    """Gets a child a signal when its parent dies. Undoes what workers of Ray block and ignore."""
    ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, number)
    for ignored in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def run_task(array: str, number: int, reveza: str) -> str:
    """Runs a task, in a worker of Ray. Returns its state.

    A worker that ends kills its children, or is killed itself. Either kills the keeper of the runner, so that the runner
    is told to end, and ends its step.
    """
    words = [sys.executable, "-B", f"{array}/reveza_ray.py", "task", array, str(number), reveza]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True,
                          preexec_fn=lambda: prepare_child(signal.SIGKILL)) as keeper:
        while True:
            try:
                keeper.wait()
                return keeper.stdout.read().strip() or "ENDED"
            except KeyboardInterrupt:  # it was about to start when ray.cancel() was called
                keeper.send_signal(signal.SIGINT)


def await_runner(runner: subprocess.Popen[bytes], cancel: pathlib.Path) -> tuple[int, bool]:
    """Returns the exit status, and whether the runner was asked to end."""
    word, said = "", ""
    while True:
        try:
            return runner.wait(LOOK_SECONDS), said != ""
        except subprocess.TimeoutExpired:
            with contextlib.suppress(FileNotFoundError):
                word = cancel.read_text("utf-8")
        except KeyboardInterrupt:
            word = "drain"
        if word not in ("", said):
            said = word
            runner.send_signal(signal.SIGINT if word == "drain" else signal.SIGTERM)


def keep(array: str, number: str, reveza: str) -> None:
    """Runs the steps of a task, by a runner that is started again if it is killed. Prints the state of the task."""
    folder = pathlib.Path(array)
    cancel = folder / "cancel"
    os.umask(0o077)
    if not os.access(os.environ.get("XDG_RUNTIME_DIR", ""), os.W_OK):
        os.environ.pop("XDG_RUNTIME_DIR", None)
    state = tempfile.mkdtemp(prefix="reveza.")
    words = [reveza, "jobs", "run-task", array, number, state]
    status, asked = -1, cancel.exists()
    with open(folder / f"log-{number}.txt", "ab") as log:
        for _ in range(MAX_TRIES):
            if status >= 0 or asked:
                break
            try:
                # In a session of its own, since Ray kills the process groups of workers.
                with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                      preexec_fn=lambda: prepare_child(signal.SIGTERM)) as runner:
                    status, asked = await_runner(runner, cancel)
            except OSError as error:
                log.write(f"reveza: cannot start {reveza}: {error.strerror}\n".encode())
                break
    shutil.rmtree(state, ignore_errors=True)
    print("CANCELLED" if asked else "ENDED")


# ---- in the cluster: the array ----


def why_waiting(resources: dict[str, float], nodes: list[dict]) -> str:
    """Returns what no node has, of what a task needs; "" if some node has all of it."""
    names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
    needs = {names[key]: amount for key, amount in resources.items() if key in names}
    for node in nodes:
        if node["Alive"] and all(node["Resources"].get(key, 0) >= amount for key, amount in needs.items()):
            return ""
    return "no node has " + ", ".join(f"{amount:.0f} {key}" for key, amount in needs.items())


def state_of(ray, reference, log: pathlib.Path) -> str:
    """Returns what has become of a task that has ended."""
    try:
        return ray.get(reference)
    except ray.exceptions.OutOfMemoryError:
        return "OUT_OF_MEMORY"
    except ray.exceptions.NodeDiedError:
        return "LOST"
    except ray.exceptions.TaskCancelledError:
        return "CANCELLED"
    except ray.exceptions.RayError as error:
        said = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"reveza: {said[0]}\n")
        return "ENDED"


def run(name: str, place: str, resources: str, reveza: str, options: str) -> None:
    import ray  # pylint: disable=import-outside-toplevel  # not at home

    ray.init(log_to_driver=False)
    folder = pathlib.Path(place)
    needs = {**json.loads(resources), **json.loads(options)}
    task = ray.remote(**{**needs, "max_retries": 0})(run_task)
    count = len(list(folder.glob("task-*.json")))
    waiting = {task.options(name=f"{name}.{number}").remote(place, number, reveza): number
               for number in range(1, count + 1)}
    with open(folder / "states", "a", encoding="utf-8", buffering=1) as states:
        states.write("0||\n")
        next_look, reason, cancelled = 0.0, "", False
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=LOOK_SECONDS)
            for reference in done:
                number = waiting.pop(reference)
                states.write(f"{number}|{state_of(ray, reference, folder / f'log-{number}.txt')}|\n")
            queued = [one for one, number in waiting.items() if not (folder / f"log-{number}.txt").exists()]
            if (folder / "cancel").exists() and not cancelled:
                cancelled = True
                for reference in queued:
                    ray.cancel(reference)
            if queued and time.monotonic() >= next_look:
                next_look = time.monotonic() + WAITING_SECONDS
                why = why_waiting(needs, ray.nodes())
                if why != reason:
                    reason = why
                    states.write(f"0||{why}\n")


def main() -> None:
    command, words = sys.argv[1], sys.argv[2:]
    if command == "submit":
        submit(words[0], pathlib.Path(words[1]), *words[2:])
    elif command == "tasks":
        tasks(*words)
    elif command == "task":
        keep(*words)
    else:
        run(*words)


if __name__ == "__main__":
    main()
