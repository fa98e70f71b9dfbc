"""The section on programs that have been idle for long."""

import dataclasses
import math
import time

import figures
import workloads
from harness import Reveza
from sections import check_results, log_handover


def _until(limit, condition):
    """Polls `condition` until it returns a true value; returns None after `limit` seconds."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    return None


def _fake_servers(harness):
    # As on a card, to scale: contexts of a quarter of the memory.
    return [dataclasses.replace(
        workloads.client(harness, f"server_{i}", "server", "--bytes", "20MiB", "--steps", 3,
                         "--pause-ms", 2500, "--seed", i + 1),
        env={"FAKECUDA_CONTEXT": "5MiB"}) for i in range(8)]


def _of_jax_and_cupy(harness):
    if harness.fake:
        return _fake_servers(harness)
    common = ("--gib", 1, "--steps", 40, "--rest", 10)
    ways = (("jax", "train_jax.py", "--no-preallocate"), ("jax_ahead", "train_jax.py",
            "--no-preallocate", "--wait-every", 0), ("cupy", "train_cupy.py"),
            ("cupy_async", "train_cupy.py", "--async-pool"))
    return [workloads.python(f"{name}_{i}", script, *common, "--seed", i + 1, *more)
            for i in range(2) for name, script, *more in ways]


def _jobs(harness):
    if harness.fake:
        return _fake_servers(harness)
    notebooks = [workloads.python(f"notebook_{i}", "notebook_torch.py", "--gib", 2, "--steps", 4,
                                  "--seed", i + 1) for i in range(5)]
    polling = workloads.python("polling", "notebook_torch.py", "--gib", 2, "--steps", 4, "--poll")
    servers = [workloads.client(harness, f"server_{i}", "server", "--bytes", "2GiB", "--steps", 4,
                                "--pause-ms", 10_000, "--seed", i + 1) for i in range(2)]
    return [*notebooks, polling, *servers]


def _note_moves(report, what, trace):
    """Shows how long contexts took to leave and to come back."""
    spans = figures.spans_of(trace)
    for name in ("contexts out", "contexts in"):
        report.note(f"{what}: {name} (ms)", figures.spread(
            [end - begin for begin, end, _, _ in spans.get(name, [])]))


def _many(harness, report, count):
    """Shows what idle notebooks take of the card after a program that filled it, with contexts that stay
    and with contexts that leave."""
    def notebooks(pause):
        if harness.fake:
            return [dataclasses.replace(workloads.client(
                harness, f"notebook_{i}", "idle", "--bytes", "2MiB", "--steps", 2, "--burst", 1,
                "--pause-ms", 5000, "--seed", i + 1), env={"FAKECUDA_CONTEXT": "4MiB"})
                for i in range(count)]
        return [workloads.python(f"notebook_{i}", "notebook_torch.py", "--gib", 0.25, "--steps", 2,
                                 "--pause", pause, "--seed", i + 1) for i in range(count)]

    large = workloads.client(harness, "large", "idle", "--bytes", "58MiB" if harness.fake else "18.9GiB",
                             "--steps", 20, "--burst", 1, "--pause-ms", 100)
    first = harness.alone(notebooks(1)[0])
    for after in ("0s", "1s"):
        what = f"{count} idle programs, contexts " + ("stay" if after == "0s" else "leave")
        stay = after == "0s"
        jobs = notebooks(25 + count if stay else 60 + 2.5 * count)
        budget = None if stay else "64MiB" if harness.fake else "20GiB"
        with Reveza(harness, budget, settings={"REVEZA_RELEASE_CONTEXTS_AFTER": after},
                    every=1) as reveza:
            processes = [reveza.start(job) for job in jobs]
            resting = _until(60, lambda: _all_rest(reveza, count))
            fillers = [] if stay else [reveza.start(large)]
            used = []
            while harness.remaining_seconds() > 5 and not any([one.poll() for one in processes]):
                if all([one.poll() for one in fillers]) and _all_rest(reveza, count):
                    used.append(_used(harness, reveza))
                time.sleep(0.2)
            outcomes = harness.wait([*processes, *fillers], 60)
            if not stay:
                _note_moves(report, what, reveza.trace())
        check_results(report, what, outcomes[:1], {jobs[0].name: first})
        report.check(f"{what}: that succeeded", sum(one.status == 0 for one in outcomes[:count]),
                     resting and all(one.status == 0 for one in outcomes), str(count))
        least = min(used, default=math.nan)
        if stay:
            report.note(f"{what}: memory on the card (MiB)", least)
        else:
            report.check(f"{what}: memory on the card (MiB)", least, least == 0, "0")


def _all_rest(reveza, count):
    """Returns whether all notebooks have computed, and none is computing."""
    clients = [client for client in (reveza.status() or {}).get("clients", [])
               if client["name"].startswith("notebook")]
    return len(clients) == count and all(
        client["turns"] > 0 for client in clients)


def _used(harness, reveza):
    if not harness.fake:
        return harness.used_mib()
    clients = (reveza.status() or {}).get("clients", [])
    return sum(sum(client["footprint"][kind] for kind in ("resident", "pinned", "context"))
               for client in clients if not client["contexts_swapped"]) >> 20


def idle(harness, report):
    for what, jobs in (("crowded", _jobs), ("JAX and CuPy", _of_jax_and_cupy)):
        if harness.chosen(what):
            for _ in range(harness.rounds):
                _crowded(harness, report, what, jobs(harness))
    for count in (1, 8) if harness.fake else (1, 8, 32):
        if harness.chosen(f"{count} idle"):
            _many(harness, report, count)
    if harness.chosen("checkpoint"):
        _beside_checkpoint(harness, report)


def _beside_checkpoint(harness, report):
    """Takes a program off the card and back with its context, by the driver's checkpoint alone and by
    pause and resume, with the same bytes."""
    size = 96 << 20 if harness.fake else 12 << 30
    rounds = 3
    alone = harness.alone(workloads.python("alone", "checkpoint_alone.py", "--bytes", size,
                                           "--rounds", rounds))
    report.check("checkpoint alone: same bytes", alone.status, alone.status == 0, "0")
    what = {"down": "checkpoint alone, down (ms)", "up": "checkpoint alone, up (ms)"}
    for way, name in what.items():
        report.note(name, figures.spread(alone.result.get(f"{way}_ms", []), 1))
    job = workloads.client(harness, "paused", "worker", "--bytes", size, "--steps", 10**7,
                           "--step-ms", 5)
    down, up = [], []
    with Reveza(harness, None, settings={"REVEZA_RELEASE_CONTEXTS_AFTER": "600s"},
                every=60) as reveza:
        process = reveza.start(job)

        def paused():
            clients = (reveza.status() or {}).get("clients", [])
            return clients[0] if clients else {}

        def computed_since(turns):
            return paused().get("turns", 0) > turns and paused()["footprint"]["swapped"] == 0

        running = _until(60, lambda: paused().get("ran_s", 0) > 1)
        for _ in range(rounds if running else 0):
            turns = paused()["turns"]
            for order, done, spent in (("pause", lambda: paused().get("contexts_swapped"), down),
                                       ("resume", lambda: computed_since(turns), up)):
                began = time.monotonic()
                reveza.command(order, "paused")
                if not _until(60, done):
                    break
                spent.append(1e3 * (time.monotonic() - began))
            time.sleep(1)
        process.kill()
        harness.wait([process], 5)
    report.check("pause and resume with the context: rounds", len(up), len(up) == rounds, str(rounds))
    report.note("pause with the context, until it was off the card (ms)", figures.spread(down, 1))
    report.note("resume with the context, until it computed (ms)", figures.spread(up, 1))


def _crowded(harness, report, what, jobs):
    """Programs that compute for a moment and then nothing for long, on a card without room for the
    contexts of all. One of the notebooks asks for the state of an event all the time."""
    native = {outcome.name: outcome for outcome in harness.together(jobs)}
    settings = {"REVEZA_RELEASE_CONTEXTS_AFTER": "500ms" if harness.fake else "2s"}
    resident, used, contexts = [], [], []
    with Reveza(harness, "50MiB" if harness.fake else "5GiB", settings=settings,
                every=5) as reveza:
        empty = math.nan if harness.fake else harness.used_mib()
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
                    used.append(harness.used_mib())
            time.sleep(0.1)
        outcomes = harness.wait(processes, 60)
        log_handover(harness, report, reveza)
        _note_moves(report, what, reveza.trace())
    check_results(report, what, outcomes, native)
    least = len(jobs) // 2
    report.check(f"{what}: programs without a context on the card, the most at once", max(contexts, default=0),
                 max(contexts, default=0) >= least, f">= {least} of {len(jobs)}")
    report.note(f"{what}: memory of all on the card, from most to least (MiB)",
                f"{max(resident, default=0) >> 20} to {min(resident, default=0) >> 20}")
    if used:
        report.note(f"{what}: the same by the driver (MiB), before any", f"{max(used)} to {min(used)}, {empty}")
    report.note(f"{what}: waits for the GPU, the longest of each program (ms)",
                ", ".join(f"{name} {round(waits[name]['p99'])}" for name in sorted(waits)))
