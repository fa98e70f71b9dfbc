"""The section on random programs: what they print natively and while all their memory leaves and comes
back, again and again."""

import os
import threading

import figures
from harness import Job, Reveza

TOGETHER = 4


def _write_program(harness, seed):
    """Writes the program of a seed to a file and returns its path."""
    status, text = harness.command([
        os.path.join(harness.build, "tests", "try_random_programs"), "--print", "--seed",
        str(seed), "--devices", str(min(2, harness.gpus))])
    if status != 0:
        raise RuntimeError(f"try_random_programs --print --seed {seed}: status {status}")
    path = os.path.join(harness.work, f"program-{seed}")
    with open(path, "w", encoding="utf-8") as file:
        # Free memory of a card depends on its other programs.
        file.writelines(line for line in text.splitlines(keepends=True)
                        if " memory_info " not in line)
    return path


def _move_until(reveza, jobs, ended):
    """Pauses one program after another and resumes it, until all have ended."""
    while not ended.is_set():
        for job in jobs:
            if not ended.is_set():
                reveza.command("pause", job.name)
                reveza.command("resume", job.name)


def _run(harness, jobs, start):
    """Returns what each job printed, and its status."""
    processes = [start(job) for job in jobs]
    outcomes = harness.wait(processes, 60, log=False)
    return [(outcome.status, process.output()) for outcome, process in zip(outcomes, processes)]


def random_programs(harness, report):
    programs, differing = 0, []
    seconds = 8 if harness.fake else 0.75 * harness.remaining_seconds()
    until = harness.remaining_seconds() - seconds
    seed = 1
    with Reveza(harness, None, settings={"REVEZA_VERIFY": "1"}, every=5) as reveza:
        while harness.remaining_seconds() > until:
            jobs = [Job(f"random_{one}", [harness.client("random_program"),
                                          _write_program(harness, one)])
                    for one in range(seed, seed + TOGETHER)]
            seed += TOGETHER
            native = _run(harness, jobs, harness.start)
            ended = threading.Event()
            mover = threading.Thread(target=_move_until, args=(reveza, jobs, ended))
            mover.start()
            try:
                shared = _run(harness, jobs, reveza.start)
            finally:
                ended.set()
                mover.join()
            programs += len(jobs)
            for job, one, other in zip(jobs, native, shared):
                if one != other or one[0] != 0:
                    differing.append(job.name)
                    harness.log(f"  {job.name}: natively {one}")
                    harness.log(f"  {job.name}: under Reveza {other}")
        spans = figures.spans_of(reveza.trace())
        harness.log("  " + ", ".join(f"{name}: {len(found)}" for name, found in spans.items()))
        moves = sum(1 for *_, count in spans.get("copy out", []) if count)
    report.same_results("random programs", programs - len(differing), differing)
    report.check("random programs: times memory left", moves, moves > 0, "> 0")
