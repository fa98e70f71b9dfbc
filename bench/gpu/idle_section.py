"""The section on programs that have been idle for long."""

import dataclasses
import math
import subprocess
import time

import workloads
from harness import Reveza
from sections import check_results, log_handover


def _used_mib():
    """Returns what all processes use of the card, according to the driver."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
            capture_output=True, text=True, timeout=30, check=True)
        return int(done.stdout.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return math.nan


def _jobs(harness):
    if harness.fake:
        # As on a card, to scale: contexts of a quarter of the memory.
        return [dataclasses.replace(
            workloads.client(harness, f"server_{i}", "server", "--bytes", "20MiB", "--steps", 3,
                             "--pause-ms", 2500, "--seed", i + 1),
            env={"FAKECUDA_CONTEXT": "5MiB"}) for i in range(8)]
    notebooks = [workloads.python(f"notebook_{i}", "notebook_torch.py", "--gib", 2, "--steps", 4,
                                  "--seed", i + 1) for i in range(5)]
    polling = workloads.python("polling", "notebook_torch.py", "--gib", 2, "--steps", 4, "--poll")
    servers = [workloads.client(harness, f"server_{i}", "server", "--bytes", "2GiB", "--steps", 4,
                                "--pause-ms", 10_000, "--seed", i + 1) for i in range(2)]
    return [*notebooks, polling, *servers]


def idle(harness, report):
    """Programs that compute for a moment and then nothing for long, on a card without room for the
    contexts of all. One of the notebooks asks for the state of an event all the time."""
    jobs = _jobs(harness)
    native = {outcome.name: outcome for outcome in harness.together(jobs)}
    settings = {"REVEZA_RELEASE_CONTEXTS_AFTER": "500ms" if harness.fake else "2s"}
    resident, used, contexts = [], [], []
    with Reveza(harness, "50MiB" if harness.fake else "5GiB", settings=settings,
                every=5) as reveza:
        empty = math.nan if harness.fake else _used_mib()
        processes = [reveza.start(job) for job in jobs]
        waits = {}
        while harness.remaining_seconds() > 5 and not all([one.poll() for one in processes]):
            status = reveza.status() or {}
            clients = status.get("clients", [])
            waits.update({client["name"]: client["wait_ms"] for client in clients})
            if len(clients) == len(jobs):
                resident.append(sum(gpu["resident"] for gpu in status["gpus"]))
                contexts.append(sum(client["contexts_swapped"] for client in clients))
                if not harness.fake:
                    used.append(_used_mib())
            time.sleep(0.1)
        outcomes = harness.wait(processes, 60)
        log_handover(harness, report, reveza)
    check_results(report, "idle programs", outcomes, native)
    least = len(jobs) // 2
    report.check("programs without a context on the card, the most at once", max(contexts, default=0),
                 max(contexts, default=0) >= least, f">= {least} of {len(jobs)}")
    report.note("memory of all on the card, from most to least (MiB)",
                f"{max(resident, default=0) >> 20} to {min(resident, default=0) >> 20}")
    if used:
        report.note("the same by the driver (MiB), before any", f"{max(used)} to {min(used)}, {empty}")
    report.note("waits for the GPU, the longest of each program (ms)",
                ", ".join(f"{name} {round(waits[name]['p99'])}" for name in sorted(waits)))
