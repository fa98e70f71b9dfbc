"""The section on random programs: what they print natively and while all their memory leaves and comes
back, again and again."""

import dataclasses
import difflib
import os
import random
import threading

import figures
from harness import Job, Reveza

TOGETHER, OPERATIONS = 4, 300
NATIVE_LIMIT, SHARED_LIMIT = 12, 40  # seconds
HEADER = 4                           # lines of a program before its operations


@dataclasses.dataclass
class Tally:
    """What the programs did, by name, and the operations that are left out of programs."""

    same: list = dataclasses.field(default_factory=list)
    differing: list = dataclasses.field(default_factory=list)
    undefined: list = dataclasses.field(default_factory=list)  # natively not the same twice
    failing: list = dataclasses.field(default_factory=list)    # natively
    # Free memory of a card depends on its other programs; the fourth bad call releases a handle that
    # never was, and ends in the driver.
    left_out: set = dataclasses.field(default_factory=lambda: {("memory_info",), ("bad_call", 4)})


def _operation(line):
    """Returns what is left out with an operation: its name, for bad calls also which of them it is."""
    _, name, *arguments = line.split()
    return (name, int(arguments[0]) % 8) if name == "bad_call" else (name,)


def _program_of(harness, seed, left_out):
    """Returns the lines of the program of a seed, without the operations that are left out."""
    status, text = harness.command([
        os.path.join(harness.build, "tests", "try_random_programs"), "--print", "--seed",
        str(seed), "--devices", str(min(2, harness.gpus)), "--operations", str(OPERATIONS)])
    if status != 0:
        raise RuntimeError(f"try_random_programs --print --seed {seed}: status {status}")
    lines = text.splitlines()
    if "mode parallel" in lines:
        # A thread that frees memory waits for a held stream with the driver's lock, and the thread that
        # would release it for the lock.
        left_out = {*left_out, ("hold",)}
    return lines[:HEADER] + [line for line in lines[HEADER:] if _operation(line) not in left_out]


def _job(harness, name, lines):
    path = os.path.join(harness.work, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
    return Job(name, [harness.client("random_program"), path])


def _run(harness, jobs, start, limit):
    """Returns of each job its status and what it printed."""
    processes = [start(job) for job in jobs]
    outcomes = harness.wait(processes, limit, log=False)
    return [(outcome.status, process.output()) for outcome, process in zip(outcomes, processes)]


def _first_failure(harness, name, lines):
    """Returns the number of lines of the shortest beginning of a program that fails natively."""
    least, most = HEADER, len(lines)  # the one succeeds, the other fails
    while most - least > 1:
        step = -(-(most - least) // 8)
        ends = list(range(least + step, most, step))
        jobs = [_job(harness, f"{name}_{end}", lines[:end]) for end in ends]
        for end, (status, _) in zip(ends, _run(harness, jobs, harness.start, NATIVE_LIMIT)):
            if status != 0:
                most = end
                break
            least = end
    return most


def _leave_out(harness, tally, name, lines, status):
    """Leaves out of all further programs the operation with which one failed natively."""
    tally.failing.append(name)
    if any(_operation(line) in tally.left_out for line in lines[HEADER:]):
        return  # another program of the same round has told
    at = _first_failure(harness, name, lines)
    operation = _operation(lines[at - 1])
    if status is None and ("hold",) not in tally.left_out:
        operation = ("hold",)  # which others wait for
    harness.log(f"  {name}: natively status {status} at operation {at - HEADER}, "
                f"'{lines[at - 1]}'; programs are run without {operation}")
    tally.left_out.add(operation)


def _pause_and_resume(reveza, name, ended):
    pauses = random.Random(name)
    while not ended.is_set():
        reveza.command("pause", name)
        ended.wait(pauses.uniform(0, 0.05))
        reveza.command("resume", name)
        ended.wait(pauses.uniform(0, 0.03))


def _run_moving(harness, reveza, jobs):
    """Runs jobs under Reveza, each paused and resumed until all have ended."""
    ended = threading.Event()
    movers = [threading.Thread(target=_pause_and_resume, args=(reveza, job.name, ended))
              for job in jobs]
    for mover in movers:
        mover.start()
    try:
        return _run(harness, jobs, reveza.start, SHARED_LIMIT)
    finally:
        ended.set()
        for mover in movers:
            mover.join()


def _compare(harness, reveza, tally, jobs, native):
    shared = _run_moving(harness, reveza, jobs)
    for job, one, other in zip(jobs, native, shared):
        if one == other:
            tally.same.append(job.name)
            continue
        again = _run(harness, [job], harness.start, NATIVE_LIMIT)[0]
        (tally.differing if again == one else tally.undefined).append(job.name)
        _log_difference(harness, f"{job.name} natively again", one, again)
        _log_difference(harness, f"{job.name} under Reveza", one, other)
        if other[0] is None:
            harness.log(f"  status: {reveza.samples[-1:]}")
        for line in [one for one in reveza.daemon_log() if "changes job" not in one][-20:]:
            harness.log(f"    | {line}")


def _log_difference(harness, what, native, other):
    harness.log(f"  {what}: status {native[0]} and {other[0]}")
    lines = difflib.unified_diff(native[1].splitlines(), other[1].splitlines(), lineterm="")
    for line in list(lines)[2:80]:
        harness.log(f"    | {line}")


def random_programs(harness, report):
    tally = Tally()
    seconds = 8 if harness.fake else 0.8 * harness.remaining_seconds()
    until = harness.remaining_seconds() - seconds
    seed = harness.seed
    with Reveza(harness, None, settings={"REVEZA_VERIFY": "1", "REVEZA_LINGER": "10min"},
                every=2) as reveza:
        while harness.remaining_seconds() > until:
            names = [(f"random_{one}", _program_of(harness, one, tally.left_out))
                     for one in range(seed, seed + TOGETHER)]
            jobs = [_job(harness, name, lines) for name, lines in names]
            tried = _run(harness, jobs, harness.start, NATIVE_LIMIT)
            if seed == harness.seed:
                harness.log(f"  {jobs[0].name}, natively:")
                for line in tried[0][1].splitlines():
                    harness.log(f"    | {line}")
            seed += TOGETHER
            for (name, lines), (status, _) in zip(names, tried):
                if status != 0:
                    _leave_out(harness, tally, name, lines, status)
            right = [i for i, (status, _) in enumerate(tried) if status == 0]
            _compare(harness, reveza, tally, [jobs[i] for i in right], [tried[i] for i in right])
        spans = figures.spans_of(reveza.trace())
        harness.log("  " + ", ".join(f"{name}: {len(found)}" for name, found in spans.items()))
        moves = sum(1 for *_, count in spans.get("copy out", []) if count)
    report.same_results("random programs", len(tally.same), tally.differing)
    report.check("random programs: times memory left", moves, moves > 0, "> 0")
    report.note("random programs: natively not the same twice", ", ".join(tally.undefined) or "none")
    report.note("random programs: fail natively", ", ".join(tally.failing) or "none")
    report.note("random programs: left out", ", ".join(
        sorted(" ".join(map(str, one)) for one in tally.left_out)))
