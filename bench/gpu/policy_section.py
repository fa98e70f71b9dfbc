"""The section on policies: shares by weight, waking an interactive program, pausing, limits."""

import re
import time

import workloads
from harness import Reveza
from sections import card, check_results

# Slices so short that a minute has many.
SHORT_SLICES = {"REVEZA_SLICE_FLOOR": "100ms", "REVEZA_HANDOVER_SHARE": "0.4"}


def _until(limit, condition):
    """Polls `condition` until it returns a true value; returns None after `limit` seconds."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    return None


def _clients(reveza):
    return {client["name"]: client for client in (reveza.status() or {}).get("clients", [])}


def _sizes(harness, *gib):
    """Returns sizes in GiB, or to scale for the small card of fakecuda."""
    return [f"{round(one * 6)}MiB" if harness.fake else f"{one}GiB" for one in gib]


def _endless(harness, name, size, *more):
    return workloads.client(harness, name, "worker", "--bytes", size, "--steps", 10**7, "--small", 1,
                            "--reallocate-every", 0, "--step-ms", 4, *more)


def _shares(harness, report, what, sizes, seconds):
    """Three programs that never fit in pairs, with weights 1, 2 and 4."""
    weights = (1, 2, 4)
    with Reveza(harness, card(harness), settings=SHORT_SLICES) as reveza:
        processes = [reveza.start(_endless(harness, f"weight_{weight}", size),
                                  "--weight", str(weight))
                     for weight, size in zip(weights, sizes, strict=True)]
        names = [process.job.name for process in processes]
        # Their first handovers allocate host memory; the slices after those are longer.
        ready = _until(100, lambda: all(_clients(reveza).get(name, {}).get("turns", 0) > 3
                                        for name in names))
        before = _clients(reveza)
        time.sleep(min(seconds, harness.remaining_seconds() / 2))
        after = _clients(reveza)
        for process in processes:
            process.kill()
        harness.wait(processes, 5)
    if not ready or set(names) - set(before) or set(names) - set(after):
        report.check(f"weights 1:2:4, {what}", "programs did not take turns", False, "turns")
        return
    ran = [after[name]["ran_s"] - before[name]["ran_s"] for name in names]
    turns = [after[name]["turns"] - before[name]["turns"] for name in names]
    got = [one / sum(ran) for one in ran]
    worst = max(abs(share - weight / sum(weights))
                for share, weight in zip(got, weights, strict=True))
    report.note(f"weights 1:2:4, {what}: share of the GPU time (exact 0.143, 0.286, 0.571)",
                ", ".join(f"{share:.3f}" for share in got))
    report.note(f"weights 1:2:4, {what}: turns", ", ".join(map(str, turns)))
    report.measure(harness, f"weights 1:2:4, {what}: largest difference from exact",
                   round(worst, 3), 0.03)


def _wake(harness, report, what, size, trainings, kept):
    """A program that computes for a moment every second, beside two trainings that take turns."""
    steps = harness.steps(90)
    notebook = workloads.client(harness, "notebook", "idle", "--bytes", size, "--steps", steps,
                                "--burst", 3, "--pause-ms", 1000, "--step-ms", 5)
    alone = {notebook.name: harness.alone(notebook)}
    with Reveza(harness, card(harness), settings=SHORT_SLICES) as reveza:
        others = [reveza.start(_endless(harness, f"train_{i}", one), "--priority", "low")
                     for i, one in enumerate(_sizes(harness, *trainings))]
        _until(60, lambda: all(one["turns"] > 0 for one in _clients(reveza).values())
               and len(_clients(reveza)) == 2)
        policy = ["--interactive", *(["--memory", size] if kept else [])]
        process = reveza.start(notebook, *policy)
        waits = {}
        while not process.poll() and harness.remaining_seconds() > 5:
            waits = _clients(reveza).get("notebook", {}).get("wait_ms", waits)
            time.sleep(0.2)
        outcome = harness.wait([process], 5)
        for training in others:
            training.kill()
        harness.wait(others, 5)
    check_results(report, f"wake, {what}", outcome, alone)
    report.note(f"wake, {what}: waits", waits.get("count", 0))
    for percentile in ("p50", "p95", "p99"):
        value = waits.get(percentile)
        name = f"wake, {what}: {percentile} (ms)"
        if kept and percentile == "p95":
            report.measure(harness, name, value and round(value, 1), 50)
        else:
            report.note(name, value and round(value, 1))


def _pause(harness, report):
    """Pauses and resumes a program that fills most of the card."""
    size = "120MiB" if harness.fake else "40GiB"
    with Reveza(harness, None) as reveza:
        process = reveza.start(_endless(harness, "large", size))

        def large():
            return _clients(reveza).get("large", {})

        def resident():
            return large().get("footprint", {}).get("resident")

        running = _until(60, lambda: large().get("ran_s", 0) > 1)
        for attempt in ("first", "second"):
            held = resident()
            began = time.monotonic()
            reveza.command("pause", "large")
            gone = _until(60, lambda: resident() == 0)
            paused = time.monotonic() - began
            turns = large().get("turns", 0)
            began = time.monotonic()
            reveza.command("resume", "large")
            back = _until(60, lambda: large().get("turns", 0) > turns
                          and large()["footprint"]["swapped"] == 0)
            resumed = time.monotonic() - began
            report.check(f"pause and resume of {size}, {attempt}: all memory left and came back",
                         f"{running} {gone} {back}", running and gone and back, "True True True")
            report.note(f"pause of {size}, {attempt}: until nothing was on the card (s)",
                        f"{paused:.2f}, {(held or 0) / paused / 1e9:.1f} GB/s")
            report.note(f"resume, {attempt}: until it computed again (s)",
                        f"{resumed:.2f}, {(held or 0) / resumed / 1e9:.1f} GB/s")
            time.sleep(1)
        process.kill()
        harness.wait([process], 5)


def _limit(harness, report):
    """A program that exceeds its limit is told so; its neighbour never notices."""
    small, half, large = _sizes(harness, 4, 6, 12)
    neighbour = workloads.client(harness, "neighbour", "worker", "--bytes", half, "--steps",
                                 harness.steps(40), "--step-ms", 20)
    alone = {neighbour.name: harness.alone(neighbour)}
    with Reveza(harness, card(harness)) as reveza:
        processes = [reveza.start(neighbour),
                     reveza.start(_endless(harness, "greedy", large),
                                  "--memory", f"{small}:{half}")]
        outcomes = harness.wait(processes, 60)
    check_results(report, "limit: neighbour", outcomes[:1], alone)
    greedy = outcomes[1]
    said = re.search(r"out of memory|OUT_OF_MEMORY", greedy.error_output)
    report.check("limit: a program that exceeds it", f"status {greedy.status}, "
                 f"{said.group(0) if said else greedy.error_output.strip()[-80:]}",
                 greedy.status not in (0, None) and said, "out of memory")


def policy(harness, report):
    seconds = 20 if harness.fake else 60 * harness.scale
    if harness.chosen("shares, equal"):
        _shares(harness, report, "equal sizes", _sizes(harness, 14, 14, 14), seconds)
    if harness.chosen("shares, unequal"):
        _shares(harness, report, "unequal sizes", _sizes(harness, 20, 16, 12), seconds)
    if harness.chosen("wake, kept"):
        _wake(harness, report, "memory kept on the card", _sizes(harness, 2)[0], (14, 12), True)
    if harness.chosen("wake, evicted"):
        _wake(harness, report, "memory evicted", _sizes(harness, 8)[0], (20, 18), False)
    if harness.chosen("pause"):
        _pause(harness, report)
    if harness.chosen("limit"):
        _limit(harness, report)
