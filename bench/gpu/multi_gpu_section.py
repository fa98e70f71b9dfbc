"""The section on two GPUs: jobs of several processes and cards that take turns."""

import dataclasses
import math
import os
import signal
import time

import figures
import workloads
from handover_section import note_parts
from harness import Job, Reveza
from sections import MANY_TURNS, brief, card, check_results


# States of a program whose memory is on its way.
MOVING = ("leaving", "entering")


def _clients(status):
    return (status or {}).get("clients", [])


def _of(status, name):
    return [client for client in _clients(status) if client["name"] == name]


def _on(device, job):
    return dataclasses.replace(job, env={**job.env, "CUDA_VISIBLE_DEVICES": str(device)})


def _pair(harness, name, seed, *more, steps=120):
    """Returns a job of two ranks, one on each GPU; on fakecuda of one process on both."""
    if harness.fake:
        return workloads.client(harness, name, "multi_gpu", "--bytes", "100MiB", "--steps",
                                harness.steps(steps / 2), "--step-ms", 20, "--seed", seed)
    return workloads.python(name, "nccl_pair.py", "--gib", 14, "--steps", harness.steps(50 * steps),
                            "--seed", seed, *more)


def _single(harness, name, device, seed, steps=200):
    """Returns a job on one GPU; on fakecuda, which shows all devices to all, on the first."""
    size = "60MiB" if harness.fake else "14GiB"
    job = workloads.client(harness, name, "worker", "--bytes", size, "--steps",
                           harness.steps(steps), "--step-ms", 20, "--seed", seed)
    return job if harness.fake else _on(device, job)


def _counts(harness, report, what, reveza, names):
    """Shows how drains went, by the last status in which each job was seen."""
    last = {}
    for sample in reveza.samples:
        for client in _clients(sample):
            last[client["name"]] = client
    for name in names:
        client = last.get(name, {})
        report.note(f"{what}: {name}: turns, aligned drains, failed drains", ", ".join(
            str(client.get(key)) for key in ("turns", "aligned_drains", "failed_drains")))


def _in_turns(harness, report, what, jobs, settings=None):
    # As long as there is time, which --limit and --scale say.
    alone = {job.name: harness.alone(job, math.inf) for job in jobs}
    with Reveza(harness, card(harness), settings=settings or MANY_TURNS) as reveza:
        outcomes = reveza.aligned(jobs, math.inf)
        turns = reveza.handover()
        _counts(harness, report, what, reveza, [job.name for job in jobs])
    check_results(report, what, outcomes, alone)
    report.check(f"{what}: handovers", brief(turns), turns.get("count", 0) > 0, "> 0")


def _pairs(harness, report):
    """Two jobs of two ranks each, in turns: ranks run ahead of each other, and in graphs."""
    _in_turns(harness, report, "ranks that run ahead, graphs",
              [_pair(harness, "ahead", 1), _pair(harness, "graph", 11, "--graph")])


def _registered(harness, report):
    """As above, with registered buffers, and with one rank slowed down, by 10 ms in a step of about 1.5."""
    if not harness.fake:
        _in_turns(harness, report, "registered buffers, jitter",
                  [_pair(harness, "registered", 21, "--register", steps=840),
                   _pair(harness, "jitter", 31, "--jitter-ms", 20)])


def _freed(harness, report):
    """Memory freed by programs on both GPUs: by an allocator that empties its caches, and of one device
    while the other is current."""
    freed = workloads.python("freed_elsewhere", "free_elsewhere.py", "--gib",
                             0.06 if harness.fake else 14, "--steps",
                             harness.steps(60 if harness.fake else 2000))
    if harness.fake:
        other = _pair(harness, "other", 61)
    else:
        other = workloads.python("emptying", "empty_cache_torch.py", "--gib", 14, "--steps",
                                 harness.steps(20000))
        peers = workloads.client(harness, "peer_copies", "multi_gpu", "--bytes", "14GiB", "--steps",
                                 harness.steps(240), "--step-ms", 60)
        _in_turns(harness, report, "peer copies, caches emptied", [peers, other])
    _in_turns(harness, report, "memory freed while the other device is current", [freed, other])


def _large_beside_small(harness, report):
    """A job on both GPUs with twice the weight beside one on each, paused and resumed meanwhile."""
    large = _pair(harness, "large", 41)
    jobs = [large, _single(harness, "left", 0, 5), _single(harness, "right", 1, 6)]
    alone = {job.name: harness.alone(job) for job in jobs}
    with Reveza(harness, card(harness), settings=MANY_TURNS) as reveza:
        processes = [reveza.start(large, "--weight", "2"), *map(reveza.start, jobs[1:])]
        until = time.time() + 60
        while time.time() < until and not _turns_of(reveza.status(), "large") > 1:
            time.sleep(0.05)
        reveza.command("pause", "large")
        while time.time() < until and _resident_of(reveza.status(), "large") > 0:
            time.sleep(0.05)
        held = _resident_of(reveza.status(), "large")
        time.sleep(1)
        reveza.command("resume", "large")
        outcomes = harness.wait(processes, 240)
    report.check("both GPUs, paused: its memory on the cards", held, held == 0, "0")
    check_results(report, "a job on both GPUs beside one on each", outcomes, alone)


def _turns_of(status, name):
    return max([client["turns"] for client in _of(status, name)], default=0)


def _resident_of(status, name):
    return sum(client["footprint"]["resident"] for client in _of(status, name))


def _killed_rank(harness, report):
    """SIGKILL of one rank while its job is handed over; the others compute what they do alone."""
    victim = _pair(harness, "victim", 51, steps=1200)
    jobs = [_single(harness, "left", 0, 7, 600), _single(harness, "right", 1, 8, 600)]
    alone = {outcome.name: outcome for outcome in harness.together(jobs)}
    with Reveza(harness, card(harness), settings=MANY_TURNS) as reveza:
        until = time.time() + min(120, harness.remaining_seconds() / 2)
        ended = reveza.start(victim)
        while time.time() < until and _turns_of(reveza.status(), "victim") < 1:
            time.sleep(0.05)
        others = [reveza.start(job) for job in jobs]
        pid = None
        while time.time() < until and pid is None:
            moving = [client["pid"] for client in _of(reveza.status(), "victim")
                      if client["state"] in MOVING]
            pid = moving[-1] if moving and all(not one.poll() for one in others) else None
        if pid:
            os.kill(pid, signal.SIGKILL)
        outcomes = harness.wait(others, 120)
        # Its other rank waits for it in a collective, for ever.
        ended = harness.wait([ended], 1)
    report.check("a rank killed in mid-handover", f"pid {pid}", pid, "one")
    report.note("its job ended with", ended[0].status)
    check_results(report, "beside a job with a killed rank", outcomes, alone)


def _handovers(harness, report):
    """Two jobs that each hold most of both GPUs, against two on one GPU only."""
    size, budget = ("64MiB", "110MiB") if harness.fake else ("24GiB", "27GiB")
    least = 0.85 * ((64 << 20) if harness.fake else (24 << 30))  # a little stays
    steps = harness.steps(60 if harness.fake else 150)
    # The first handovers allocate the host's memory; slices must not become as long as they.
    settings = {**MANY_TURNS, "REVEZA_SLICE_CEILING": "2s"}
    for what, program, count in (("one GPU", "worker", 1), ("both GPUs", "multi_gpu", 2)):
        jobs = [Job(f"{program}_{i}", [
            harness.client(program), "--json", "--bytes", size, "--steps", str(steps), "--step-ms",
            "20", "--seed", str(i + 1)]) for i in range(2)]
        if not harness.fake and count == 1:
            jobs = [_on(0, job) for job in jobs]
        # Both fit on a real card.
        groups = [[job] for job in jobs] if harness.fake else [jobs]
        alone = {one.name: one for group in groups for one in harness.together(group)}
        with Reveza(harness, budget, settings=settings) as reveza:
            outcomes = reveza.aligned(jobs)
            best = {}
            for sample in reveza.samples:
                for gpu in sample.get("gpus", []):
                    if gpu["handover"] and gpu["handover"]["count"] > 0:
                        best[gpu["index"]] = gpu["handover"]
            moved = figures.handovers(reveza.trace())
        check_results(report, f"handover of {size} on {what}", outcomes, alone)
        report.check(f"handover of {size} on {what}: GPUs with handovers", len(best),
                     len(best) == count, str(count))
        for index, handover in sorted(best.items()):
            report.note(f"handover of {size} on {what}: GPU {index}", brief(handover))
        for handover in moved:
            harness.log(f"  handover: {handover.text()}")
        full = [one for one in moved if min(one.bytes_out, one.bytes_in) > count * least]
        report.note(f"handover of {size} on {what}: that moved it out and in", len(full))
        note_parts(report, f"handover of {size} on {what}", full)


def multi_gpu(harness, report):
    if harness.gpus < 2:
        report.note("two GPUs", "this machine has one")
        return
    for case, run in (("handover", _handovers), ("ranks: pairs of graphs", _pairs),
                      ("ranks: registered", _registered), ("ranks: large", _large_beside_small),
                      ("ranks: killed", _killed_rank), ("freed", _freed)):
        if harness.chosen(case) and harness.remaining_seconds() > 30:
            run(harness, report)
