"""The section on handovers."""

import dataclasses
import math
import statistics

import figures
import workloads
from harness import Job, Reveza
from sections import MANY_TURNS, check_results, copies, log_handover, state_of


def handover(harness, report):
    """Hands over between two programs of 12 GiB on a GPU with room for one; compares plain loops
    that move the same bytes. Workers change all their memory in each step: handed over without
    and with a look at what has changed. Servers change almost nothing."""
    size, piece = ("128MiB", "8MiB") if harness.fake else ("12GiB", "64MiB")
    # On a card, kernels short enough for a short drain.
    steps, pause = (harness.steps(60), 60) if harness.fake else (harness.steps(700), 4)
    link = harness.alone(Job("link_speed", [
        harness.limit_program("link_speed"), "--bytes", "32MiB" if harness.fake else "4GiB",
        "--steps", "3"]))
    report.data["link"] = link.result
    for key in ("to_gpu_gb_s", "from_gpu_gb_s", "both_gb_s"):
        report.note(f"link: {key}", link.result.get(key, "failed"))

    def holder(name, steps, *more):
        # Its memory never changes. One small block, so that the slab which the end of a worker
        # needs is there from the beginning.
        job = workloads.client(harness, name, "worker", "--bytes", size, "--small", 1,
                               "--reallocate-every", 0, "--steps", steps, "--step-ms", pause, *more)
        # On fakecuda, contexts as large beside the programs as those of a real GPU.
        return dataclasses.replace(job, env={"FAKECUDA_CONTEXT": "8MiB"}) if harness.fake else job

    state, kept = state_of(harness, holder("probe", 10))
    jobs = copies(lambda i, *more: holder(f"hold_{i}", steps, *more), 2)
    native = harness.in_turn(jobs)
    report.check("bytes of a program: moved, kept", f"{state}, {kept}", state and kept, "known")
    # Room for one program and the context of the other, so that all of it moves; the daemon keeps
    # a 32nd of the budget for contexts of others, which a program cannot use.
    budget = f"{-(-max(state + 2 * kept, (state + kept) * 32 // 31) // 2**20)}MiB"
    plain = _plain_handovers(harness, report, state, piece)
    copying = [dataclasses.replace(job, env={**job.env, "REVEZA_FINGERPRINTS": "0"}) for job in jobs]
    servers = copies(lambda i, *more: dataclasses.replace(
        workloads.client(harness, f"serve_{i}", "server", "--bytes", size, "--steps", steps,
                         "--step-ms", pause, *more), env=jobs[0].env), 2)
    served = harness.in_turn(servers)
    for programs, alone, note in ((copying, native, "all copied"), (jobs, native, "all changed"),
                                  (servers, served, "unchanged")):
        for _ in range(harness.rounds):
            with Reveza(harness, budget, settings=MANY_TURNS) as reveza:
                outcomes = reveza.aligned(programs)
                log_handover(harness, report, reveza)
                moved = figures.handovers(reveza.trace())
            check_results(report, f"handover, {note}", outcomes, alone)
            if programs is servers:
                _note_unchanged(harness, report, moved, state, plain)
            else:
                _note_exact(harness, report, moved, state, plain, note)


def _plain_handovers(harness, report, size, piece):
    """Returns the milliseconds of handovers with plain loops."""
    seconds = []
    for _ in range(2 if harness.fake else 5):
        one = harness.alone(Job("handover_limit", [
            harness.limit_program("handover_limit"), "--bytes", str(size), "--piece", piece,
            "--leave", piece if harness.fake else "400MiB"]))
        if one.status != 0 or one.result.get("bytes") != size:
            report.check("plain loops", f"failed ({figures.failures([one])})", False, "same bytes")
            continue
        seconds.append((one.result["out_s"], one.result["in_s"]))
    for what, values in (("last byte out", [out for out, _ in seconds]),
                         ("tail", [last - out for out, last in seconds]),
                         ("last byte in", [last for _, last in seconds])):
        report.note(f"plain loops, {size} bytes each way: {what} (ms)",
                    figures.spread([value * 1e3 for value in values]))
    copies_alone = harness.alone(Job("handover_copies", [
        harness.limit_program("handover_limit"), "--bytes", str(size), "--piece", piece,
        "--made", "1"]))
    report.note("the same copies alone, nothing made or released: last byte in (ms)",
                copies_alone.result.get("in_s", math.nan) * 1e3)
    return [last * 1e3 for _, last in seconds]


def note_parts(report, note, handovers):
    for what, part in (("drain", lambda one: one.drain), ("out", lambda one: one.out),
                       ("in", lambda one: one.bring_in), ("tail", lambda one: one.tail),
                       ("gate closed to gate opened", lambda one: one.total)):
        report.note(f"{note}: {what} (ms)", figures.spread([part(one) for one in handovers]))


def _note_exact(harness, report, moved, size, plain, note):
    """Shows the parts of the handovers that moved `size` bytes each way, and names the others."""
    for one in moved:
        harness.log(f"  handover: {one.text()}")
    exact = [one for one in moved if one.bytes_out == size and one.bytes_in == size]
    least = 1 if harness.fake else 3
    report.check(f"{note}: handovers that moved {size} bytes each way", len(exact), len(exact) >= least,
                 f">= {least}")
    report.note(f"{note}: other handovers, GB out / in", ", ".join(
        f"{one.bytes_out / 1e9:.2f} / {one.bytes_in / 1e9:.2f}" for one in moved
        if one not in exact) or "none")
    note_parts(report, note, exact)
    report.data.setdefault("exact", []).append([dataclasses.asdict(one) for one in exact])
    if exact and plain:
        moving = statistics.median([one.total - one.drain for one in exact])
        report.measure(harness, f"{note}: drained to gate opened / plain loops, medians",
                       round(moving / statistics.median(plain), 3), 1.15)


def _note_unchanged(harness, report, moved, size, plain):
    """Shows the handovers whose leaving program had next to nothing to copy."""
    for one in moved:
        harness.log(f"  handover: {one.text()}")
    unchanged = [one for one in moved
                 if one.bytes_out < size / 10 and one.bytes_in > size * 9 // 10]
    least = 1 if harness.fake else 3
    report.check("unchanged: handovers that moved all in and next to nothing out", len(unchanged),
                 len(unchanged) >= least, f">= {least}")
    report.note("unchanged: bytes out, all handovers",
                figures.spread([one.bytes_out for one in moved]))
    note_parts(report, "unchanged", unchanged)
    report.data.setdefault("unchanged", []).append([dataclasses.asdict(one) for one in unchanged])
    if unchanged and plain:
        moving = statistics.median([one.total - one.drain for one in unchanged])
        report.measure(harness, "unchanged: drained to gate opened / plain loops that copy both ways",
                       round(moving / statistics.median(plain), 3), 1.0)
