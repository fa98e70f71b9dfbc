#!/usr/bin/env python3
"""Stands in for kubectl and the cluster behind it: Jobs of batch/v1, whose pods are processes of this machine.

The folder FAKE_KUBERNETES has what it knows: a file for each Job, and one for each pod. Files there make it fail:

  down          the API server does not answer
  refuse        `create` prints this and takes nothing
  lose-answer   `create` takes the Job, and says that it timed out; once
  hold          pods stay pending: they fit on no node
  quota         a quota does not let the pods of Jobs be made
  forget        nothing is known
  lose-node     pods are lost with their nodes before they start, as often as there are bytes in it
  late-node     the first pod that sees it is lost too, but starts when the file `late` has gone
  out-of-memory pods end out of memory, as many as there are bytes in it
  end-task      the pod that sees it first ends at its deadline
  kill-pod      the first pod that sees it is killed, and ends as it says: OOMKilled, Evicted, NodeLost, Deleted, Error
  calls         what was called is appended to it, and for `create` what each container asks for
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import uuid

STATE = pathlib.Path(os.environ["FAKE_KUBERNETES"])
INDEX = "batch.kubernetes.io/job-completion-index"
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LOST = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}


def fail(message: str) -> None:
    sys.exit(message)


@contextlib.contextmanager
def change(path: pathlib.Path):
    """Yields an object, which is written when the block ends; None if it is not there."""
    with open(STATE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thing = json.loads(path.read_text()) if path.exists() else None
        yield thing
        if thing is not None:
            write(path, thing)


def write(path: pathlib.Path, thing: dict) -> None:
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(thing))
    part.rename(path)


def read(folder: str) -> list[dict]:
    found = []
    for path in sorted((STATE / folder).glob("*.json")):
        with contextlib.suppress(FileNotFoundError):
            found.append(json.loads(path.read_text()))
    return found


def path_of(thing: dict) -> pathlib.Path:
    return STATE / ("jobs" if thing["kind"] == "Job" else "pods") / f"{thing['metadata']['name']}.json"


def take_byte(name: str) -> bool:
    with open(STATE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = STATE / name
        if not path.exists() or not path.stat().st_size:
            return False
        path.write_bytes(path.read_bytes()[1:])
    return True


def take(name: str) -> str:
    """Returns the text of a file, which is removed; "" if there is none."""
    with contextlib.suppress(FileNotFoundError):
        text = (STATE / name).read_text().strip() or name
        (STATE / name).unlink()
        return text
    return ""


def fail_index(job: str, index: int) -> None:
    with change(STATE / "jobs" / f"{job}.json") as thing:
        if thing is not None:
            thing["failed"] = sorted({*thing.get("failed", []), index})


def delete(pod: dict) -> None:
    path_of(pod).unlink(missing_ok=True)
    fail_index(pod["metadata"]["labels"]["job-name"], int(pod["metadata"]["annotations"][INDEX]))


def kill_pod(name: str) -> None:
    """Kills all processes of a pod, as the end of its namespace does."""
    mark = f"FAKE_KUBERNETES_POD={name}".encode()
    for _ in range(3):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)


def end_pod(path: pathlib.Path, how: str, status: int) -> None:
    """Lets kubelet, or whoever has given up on it, say how a pod has ended."""
    with change(path) as pod:
        if pod is None:
            return
        state = pod["status"]
        reason = how if how in ("OOMKilled", "Completed") else "Error"
        ended = [{"name": pod["spec"]["containers"][0]["name"],
                  "state": {"terminated": {"exitCode": status, "reason": reason}}}]
        if how == "NodeLost":
            state["conditions"] = [LOST]
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            return
        state["containerStatuses"] = ended
        state["phase"] = "Succeeded" if status == 0 and how == "Completed" else "Failed"
        if how == "Evicted":
            state.update(reason="Evicted", message="The node was low on resource: memory. Threshold quantity: 100Mi")
        if how == "DeadlineExceeded":
            state["reason"] = how


def run_pod(job_file: str, index: str) -> None:
    """Makes a pod, and runs it as the controller of Jobs, the scheduler and kubelet do."""
    job = json.loads(pathlib.Path(job_file).read_text())
    name = job["metadata"]["name"]
    while (STATE / "quota").exists():
        time.sleep(0.02)
        if not pathlib.Path(job_file).exists():
            return
    template = job["spec"]["template"]
    pod = {"kind": "Pod", "spec": template["spec"], "status": {"phase": "Pending"}, "metadata": {
        "name": f"{name}-{index}-{uuid.uuid4().hex[:5]}", "uid": str(uuid.uuid4()), "annotations": {INDEX: index},
        "labels": {**template["metadata"]["labels"], "job-name": name}}}
    if (STATE / "hold").exists():
        pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                                        "message": "0/1 nodes are available: 1 Insufficient memory."}]
    path = path_of(pod)
    write(path, pod)
    while (STATE / "hold").exists():
        time.sleep(0.02)
        if not path.exists():
            return
    if take_byte("lose-node"):
        fail_index(name, int(index))
        return end_pod(path, "NodeLost", 0)
    if take("late-node"):
        (STATE / "late").touch()
        fail_index(name, int(index))
        end_pod(path, "NodeLost", 0)
        while (STATE / "late").exists():
            time.sleep(0.02)
        if not STATE.exists():
            return
    container = pod["spec"]["containers"][0]
    environment = {**os.environ, "FAKE_KUBERNETES_POD": pod["metadata"]["name"], "JOB_COMPLETION_INDEX": index}
    for variable in container["env"]:
        environment[variable["name"]] = variable.get("value", pod["metadata"]["uid"])
    process = subprocess.Popen(container["command"], start_new_session=True, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with change(path) as thing:
        if thing is not None and "deletionTimestamp" not in thing["metadata"]:
            thing["status"] = {"phase": "Running", "pid": process.pid, "containerStatuses": [
                {"name": container["name"], "state": {"running": {}}}]}
    how = ""
    while process.poll() is None:
        time.sleep(0.02)
        how = how or ("DeadlineExceeded" if take("end-task") else take("kill-pod"))
        if how:
            kill_pod(pod["metadata"]["name"])
    status = process.wait()
    if take_byte("out-of-memory"):
        how = "OOMKilled"
    how = how or ("Completed" if status == 0 else "Error")
    if how != "Completed":
        fail_index(name, int(index))
    if how == "Deleted" or not pathlib.Path(job_file).exists():
        return path.unlink(missing_ok=True)
    end_pod(path, how, 128 - status if status < 0 else status)


def create(words: dict[str, str]) -> None:
    job = json.loads(pathlib.Path(words["filename"]).read_text())
    if (STATE / "refuse").exists():
        fail((STATE / "refuse").read_text())
    name = job["metadata"]["name"]
    path = path_of(job)
    if path.exists():
        fail(f'Error from server (AlreadyExists): error when creating "job.json": jobs.batch "{name}" already exists')
    # As the API server does for the host names of pods.
    if not LABEL.fullmatch(name) or len(f"{name}-{job['spec']['completions'] - 1}") > 63:
        fail(f'The Job "{name}" is invalid: metadata.name: Invalid value')
    (STATE / "jobs").mkdir(exist_ok=True)
    (STATE / "pods").mkdir(exist_ok=True)
    write(path, job)
    with open(STATE / "calls", "a", encoding="utf-8") as calls:
        calls.write(f"container {job['spec']['completions']} {json.dumps(job['spec']['template']['spec'])}\n")
    for index in range(job["spec"]["completions"]):
        subprocess.Popen([sys.executable, "-B", __file__, "run", str(path), str(index)], start_new_session=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if take("lose-answer"):
        fail("Unable to connect to the server: context deadline exceeded")
    print(f"job.batch/{name}")


def describe(job: dict, pods: list[dict]) -> dict:
    """Returns a Job with its status."""
    done = [int(pod["metadata"]["annotations"][INDEX]) for pod in pods if pod["status"]["phase"] == "Succeeded"
            and pod["metadata"]["labels"]["job-name"] == job["metadata"]["name"]]
    return {**job, "status": {"completedIndexes": ",".join(map(str, done)),
                              "failedIndexes": ",".join(map(str, job.get("failed", [])))}}


def get(words: dict[str, str]) -> None:
    items = []
    if "events" in words["what"]:
        for job in read("jobs") if (STATE / "quota").exists() else []:
            items.append({"involvedObject": {"kind": "Job", "name": job["metadata"]["name"]}, "reason": "FailedCreate",
                          "message": "pods is forbidden: exceeded quota: small"})
    elif not (STATE / "forget").exists():
        names = re.search(r"\((.*)\)", words["selector"]).group(1).split(",")
        pods = [pod for pod in read("pods") if pod["metadata"]["labels"]["reveza.io/array"] in names]
        items = [describe(job, pods) for job in read("jobs") if job["metadata"]["name"] in names] + pods
    print(json.dumps({"kind": "List", "items": items}))


def remove(words: dict[str, str]) -> None:
    if "pods" in words["what"]:
        for pod in read("pods"):
            if words["selector"] == f"reveza.io/array={pod['metadata']['labels']['job-name']}" and \
                    pod["status"]["phase"] == "Pending":
                delete(pod)
        return
    name = words["what"].split()[-1]
    (STATE / "jobs" / f"{name}.json").unlink(missing_ok=True)
    for pod in read("pods"):
        if pod["metadata"]["labels"]["job-name"] != name:
            continue
        with contextlib.suppress(KeyError, ProcessLookupError):
            os.kill(pod["status"]["pid"], signal.SIGTERM)
            continue
        path_of(pod).unlink(missing_ok=True)


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--request-timeout")]
    if words[:1] == ["run"]:
        return run_pod(*words[1:])
    if words == ["version", "--client"]:
        return print("Client Version: v0")
    options = dict(re.fullmatch(r"--([^=]+)=?(.*)", word).groups() for word in words if word.startswith("--"))
    options["what"] = " ".join(word for word in words[1:] if not word.startswith("--"))
    if words[0] == "patch":
        try:
            return print(json.dumps(json.loads(pathlib.Path(options["filename"]).read_text())))
        except (OSError, ValueError):
            fail(f"error: error parsing {options['filename']}")
    with open(STATE / "calls", "a", encoding="utf-8") as calls:
        calls.write(f"{' '.join(words)}\n")
    if (STATE / "down").exists():
        fail("The connection to the server 192.0.2.1:6443 was refused - did you specify the right host or port?")
    {"create": create, "get": get, "delete": remove}[words[0]](options)


main()
