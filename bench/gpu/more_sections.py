"""Sections on faults, comparison with MPS, and a reported case."""

import contextlib
import os
import signal
import time

import workloads
from harness import Mps, Reveza
from sections import (MANY_TURNS, check_results, compare_together, copies, share_card, whole_card)


def _clients(status):
    return (status or {}).get("clients", [])


def _until(limit, condition):
    """Polls `condition` until it returns a true value; returns None after `limit` seconds."""
    until = time.time() + limit
    while time.time() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    return None


def _three_workers(harness):
    size = "90MiB" if harness.fake else "12GiB"
    steps = harness.steps(60 if harness.fake else 200)
    return [workloads.client(harness, f"fault_{i}", "worker", "--bytes", size, "--steps", steps,
                             "--step-ms", 50, "--seed", i + 1) for i in range(3)]


def _budget(harness):
    return "128MiB" if harness.fake else "14GiB"


def _moving_client(reveza):
    """Returns the pid of a client that is being swapped in or out."""
    for client in _clients(reveza.status()):
        if str(client.get("state", "")).lower() in ("leaving", "entering", "evicting"):
            return client.get("pid")
    return None


def _kill_in_handover(harness, report, jobs, alone):
    with Reveza(harness, _budget(harness), settings=MANY_TURNS) as reveza:
        processes = [reveza.start(job) for job in jobs]
        pid = _until(60, lambda: _moving_client(reveza))
        victim = next((p for p in processes if p.child.pid == pid), None)
        report.check("kill -9 in mid-handover: caught one", "yes" if victim else f"no (pid {pid})",
                     victim, "yes")
        victim = victim or processes[0]
        os.kill(victim.child.pid, signal.SIGKILL)
        outcomes = harness.wait(processes, 200)
    others = [o for o, p in zip(outcomes, processes) if p is not victim]
    check_results(report, "one killed", others, alone)


def _daemon_pid(reveza):
    return _until(20, lambda: (reveza.status() or {}).get("pid"))


def _kill_daemon(harness, report, jobs, alone):
    with Reveza(harness, _budget(harness), settings=MANY_TURNS) as reveza:
        processes = [reveza.start(job) for job in jobs]
        swapped = _until(60, lambda: reveza.handover().get("count", 0) > 0)
        pid = _daemon_pid(reveza)
        report.check("daemon to kill found, after a handover", f"pid {pid}", pid and swapped, "yes")
        if pid:
            os.kill(pid, signal.SIGKILL)
            time.sleep(2)
            # Any `reveza run` starts a new daemon, which adopts the running clients.
            new = reveza.start(workloads.client(harness, "newcomer", "never_cuda"))
            harness.wait([new], 30)
            back = _until(30, lambda: len(_clients(reveza.status())))
            report.note("clients of the new daemon", back)
        outcomes = harness.wait(processes, 200)
    check_results(report, "daemon killed and restarted", outcomes, alone)


def _outsider(harness, report):
    """Checks that a GPU process outside Reveza is counted and named.

    Uses the whole GPU: an emulated smaller GPU has room beside its budget.
    """
    size = 64 << 20 if harness.fake else 4 << 30
    job = workloads.client(harness, "outsider", "idle", "--bytes", size, "--seconds", 12)
    inside = workloads.client(harness, "insider", "idle", "--bytes", size, "--seconds", 8)
    outside = harness.start(job)
    time.sleep(3)
    with Reveza(harness, None) as reveza:
        process = reveza.start(inside)
        seen = _until(8, lambda: _external_of(reveza, outside.child.pid))
        harness.wait([process, outside], 60)
        harness.log(f"  last status: {reveza.samples[-1:]}")
    report.check("process outside Reveza is counted", seen, seen, "named")


def _external_of(reveza, pid):
    """Returns the status entry of a process outside Reveza, or None."""
    for gpu in (reveza.status() or {}).get("gpus", []):
        for process in gpu.get("outside", []):
            if process.get("pid") == pid and gpu.get("external"):
                return f"{process.get('bytes')} bytes, {process.get('command')}"
    return None


def faults(harness, report):
    jobs = _three_workers(harness)
    alone = {job.name: harness.alone(job) for job in jobs}
    _kill_in_handover(harness, report, jobs, alone)
    _kill_daemon(harness, report, jobs, alone)
    _outsider(harness, report)


WITH_MPS = "Reveza with --mps"


def compare(harness, report):
    """Compares the add workload natively, under MPS and under Reveza; all programs fit."""
    cases = [("busy x 1", True, 1, 2500), ("busy x 4", True, 4, 2500),
             ("half idle x 1", False, 1, 600), ("half idle x 4", False, 4, 600)]
    natives = {}

    def jobs_of(busy, count, steps):
        return copies(lambda i, *more: workloads.addition(harness, f"add_{i}", busy, steps, *more),
                      count)

    def row(what, way, outcomes):
        report.data.setdefault(f"{what}, {way}", []).append([o.result for o in outcomes])
        check_results(report, f"{what}, {way}", outcomes, {o.name: o for o in natives[what]})
        compare_together(harness, report, f"{what}, {way}", natives[what], outcomes)

    def under_reveza(what, way, case, options=()):
        with Reveza(harness, whole_card(harness)) as reveza:
            row(what, way, reveza.aligned(jobs_of(*case), options=options))

    harness.alone(jobs_of(True, 1, 600)[0])  # warms up
    for _ in range(harness.rounds):
        for what, *case in cases:
            several = case[1] > 1 and not harness.fake
            ways = [way for way in ("Reveza", *(("MPS", WITH_MPS) if several else ()))
                    if harness.chosen(f"{what}, {way}")]
            if not ways:
                continue
            natives[what] = harness.aligned(jobs_of(*case))
            if "Reveza" in ways:
                under_reveza(what, "Reveza", case)
            if "MPS" in ways:
                with contextlib.suppress(RuntimeError), Mps(harness) as mps:
                    row(what, "MPS", harness.aligned(jobs_of(*case), environment=mps.environment))
            if WITH_MPS in ways:
                under_reveza(what, WITH_MPS, case, ("--mps",))


def seed_case(harness, report):
    """Four programs of 12 GiB on 16 GiB, the case that motivated Reveza."""
    size, budget = ("100MiB", "136MiB") if harness.fake else ("12GiB", "16GiB")
    steps = harness.steps(40 if harness.fake else 780)
    jobs = copies(lambda i, *more: workloads.client(
        harness, f"seed_{i}", "worker", "--bytes", size, "--steps", steps, "--step-ms",
        25 if harness.fake else 40, *more), 4)
    native = harness.in_turn(jobs)
    for _ in range(harness.rounds):
        share_card(harness, report, "4 programs of 12", jobs, native, budget)
