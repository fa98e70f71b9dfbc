"""The section on programs larger than the card."""

import dataclasses

import workloads
from harness import Reveza
from sections import check_results

# Of the card that the budget emulates, and of the program.
CASES = [(1.3, 50), (1.3, 100), (2.0, 50), (2.0, 100)]
# The names of CASES in --only, and of the case that only reads, and of the one in turns.
READS, TURNS = "reads", "turns"


def _program(harness, name, size, hot, steps, *more):
    budget, block = (48, "2MiB") if harness.fake else (8192, "64MiB")
    return workloads.client(harness, name, "larger", "--bytes", f"{int(budget * size)}MiB", "--block",
                            block, "--hot", hot, "--steps", harness.steps(steps), *more)


def _steps(harness, hot, size):
    if harness.fake:
        return 600 if hot < 100 else 150
    if hot == 100:
        return 60
    return 2000 if size < 2 else 400


def _watch(reveza, job):
    """Runs a job; returns its outcome and what status said of its memory on the host, in order."""
    process = reveza.start(job, "--larger-than-card")
    seen = []
    while not process.poll():
        for client in (reveza.status() or {}).get("clients", []):
            if client.get("on_host"):
                seen.append(client["on_host"])
    # At its end the program frees its memory.
    most = max((one["bytes"] for one in seen), default=0)
    return reveza.harness.wait([process], 60), [one for one in seen if one["bytes"] == most]


def _note(harness, report, what, outcome, native, seen):
    def step(one, which):
        return one.result.get(f"{which}_step_us", 0) / 1000

    last = seen[-1] if seen else {}
    report.check(f"{what}: GB on the host", round(last.get("bytes", 0) / 1e9, 3),
                 last.get("bytes", 0) > 0, "> 0")
    report.note(f"{what}: of it hot at the end; all promoted, demoted (GB)", ", ".join(
        str(round(last.get(key, 0) / 1e9, 3)) for key in ("hot", "promoted", "demoted")))
    report.note(f"{what}: fits; one pass over the link (ms)",
                f"{last.get('fits')}; {round(last.get('pass_ms', 0), 1)}")
    report.note(f"{what}: step (ms), native on the whole card", round(step(native, "last"), 2))
    report.note(f"{what}: step (ms), first and last tenth",
                f"{step(outcome, 'first'):.2f}, {step(outcome, 'last'):.2f}")
    if step(native, "last") > 0:
        report.note(f"{what}: last tenth / native",
                    round(step(outcome, "last") / step(native, "last"), 2))
    harness.log(f"  {what}: {last}")
    return last


def _alone(harness, report, what, job, check):
    native = harness.alone(job)
    with Reveza(harness, "48MiB" if harness.fake else "8GiB") as reveza:
        outcomes, seen = _watch(reveza, job)
    check_results(report, what, outcomes, {job.name: native})
    check(what, _note(harness, report, what, outcomes[0], native, seen))


def larger(harness, report):
    """Programs of 1.3 and 2 times a card, which Reveza's budget emulates, that change half or all of
    their memory in each step; one that only reads half of it; and one beside another program."""
    def fits(what, last):
        report.check(f"{what}: all that is hot is on the card at the end", last.get("hot"),
                     last.get("hot") == 0, "0")

    def does_not_fit(what, last):
        report.check(f"{what}: said to fit", last.get("fits"), last.get("fits") is False, "False")
        report.check(f"{what}: bytes moved", last.get("promoted"), last.get("promoted") == 0, "0")

    def any_way(_what, _last):
        pass

    for size, hot in CASES:
        case = f"{size}_{hot}"
        if not harness.chosen(case):
            continue
        check = does_not_fit if hot == 100 else fits if size < 1.5 else any_way
        _alone(harness, report, f"{size} cards, {hot} % changes",
               _program(harness, f"larger_{case}", size, hot, _steps(harness, hot, size)), check)
    if harness.chosen(READS):
        steps = 300 if harness.fake else 2000
        _alone(harness, report, "1.3 cards, 50 % is read",
               _program(harness, "larger_reads", 1.3, 50, steps, "--read", 1), any_way)
    if harness.chosen(TURNS):
        _turns(harness, report)


def _turns(harness, report):
    """A program larger than the card and another one that takes half of it, in turns."""
    large = _program(harness, "large", 1.3, 50, 300 if harness.fake else 4000)
    other = _program(harness, "other", 0.5, 100, 300 if harness.fake else 12000)
    native = harness.in_turn([large, other])
    with Reveza(harness, "48MiB" if harness.fake else "8GiB") as reveza:
        outcomes = harness.wait([reveza.start(large, "--larger-than-card"), reveza.start(other)], 300)
        clients = {client["name"]: client for sample in reveza.samples
                   for client in sample.get("clients", [])}
    check_results(report, "in turns", outcomes, native)
    client = clients.get("large", {})
    turns = client.get("turns", 0)
    report.note("in turns: turns, GB copied out, GB on the host", ", ".join(str(one) for one in (
        turns, round(client.get("copied_out", 0) / 1e9, 2),
        round((client.get("on_host") or {}).get("bytes", 0) / 1e9, 2))))
    budget = (48 << 20) if harness.fake else (8 << 30)
    report.check("in turns: bytes copied out in a turn, at most",
                 client.get("copied_out", 0) // max(turns, 1),
                 client.get("copied_out", 0) <= max(turns, 1) * budget, "what the card holds")
