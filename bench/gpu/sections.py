"""Sections of the GPU bench, one function each. A section adds rows to a Report; a row with a limit
is a check."""

import dataclasses
import os
import statistics

import workloads
from harness import Job, Mps, Reveza

CARD = "24GiB"        # memory of the emulated GPU
FAKE_CARD = "160MiB"  # the same on fakecuda
# Shortest possible slices, so that a short run is swapped many times.
MANY_TURNS = {"REVEZA_HANDOVER_SHARE": "0.4", "REVEZA_SLICE_FLOOR": "200ms"}


@dataclasses.dataclass
class Report:
    """Rows of one section: (what, value, limit or None, ok or None)."""

    name: str
    rows: list = dataclasses.field(default_factory=list)
    data: dict = dataclasses.field(default_factory=dict)

    def note(self, what, value):
        self.rows.append((what, value, None, None))

    def check(self, what, value, ok, limit):
        self.rows.append((what, value, limit, bool(ok)))

    def at_most(self, what, value, limit):
        self.check(what, value, value is not None and value <= limit, f"<= {limit}")

    def measure(self, harness, what, value, limit):
        """Checks a limit on a real GPU; figures of fakecuda are only noted."""
        if harness.fake or value is None:
            self.note(what, value)
        else:
            self.at_most(what, value, limit)


def card(harness):
    return FAKE_CARD if harness.fake else CARD


def groups_that_fit(jobs, room):
    """Splits (job, gib) into groups that fit in `room` GiB together."""
    group, used = [], 0
    for job, gib in jobs:
        if group and used + gib > room:
            yield group
            group, used = [], 0
        group.append(job)
        used += gib
    if group:
        yield group


def threes(jobs):
    """Splits jobs into groups of up to three jobs that are far apart in the list.

    Neighbours are similar, and a group of only short jobs would end before any handover."""
    count = -(-len(jobs) // 3)
    return [jobs[i::count] for i in range(count)]


def brief(handover):
    """Formats the statistics of handovers."""
    return ", ".join(f"{key} {round(value, 3) if isinstance(value, float) else value}"
                     for key, value in handover.items() if not isinstance(value, (dict, list)))


def log_handover(harness, report, reveza):
    handover = reveza.handover()
    report.data.setdefault("handovers", []).append(handover)
    harness.log(f"  handovers: {handover}")
    return handover


def correctness(harness, report):
    jobs = workloads.same_result(harness)
    native = {}
    room = 0.2 if harness.fake else harness.gpu_gib * 0.85
    harness.log("natively")
    for group in groups_that_fit(jobs, room):
        for outcome in harness.together(group):
            native[outcome.name] = outcome
    harness.log("under Reveza, three at a time on a GPU with room for one")
    for group in threes([job for job, _ in jobs]):
        with Reveza(harness, card(harness), settings=MANY_TURNS) as reveza:
            outcomes = reveza.together(group)
            moved = log_handover(harness, report, reveza).get("bytes_out", 0)
        report.check(f"{'+'.join(job.name for job in group)}: bytes moved out", moved,
                     moved > 0 or len(group) < 2, "> 0")
        for outcome in outcomes:
            alone = native[outcome.name].hash
            same = alone is not None and outcome.hash == alone
            report.check(f"{outcome.name}: same result", "yes" if same else
                         f"no ({alone} / {outcome.hash}, status {outcome.status})", same, "yes")


def _paired(harness, make, rounds, value):
    """Returns the medians natively and under Reveza, from interleaved runs."""
    plain, shared = [], []
    with Reveza(harness, _whole_card(harness), every=5) as reveza:
        for i in range(rounds):
            for with_reveza in ((False, True) if i % 2 == 0 else (True, False)):
                outcome = (reveza.together([make()])[0] if with_reveza
                           else harness.alone(make()))
                if outcome.status == 0:
                    (shared if with_reveza else plain).append(value(outcome.result))
    if not plain or not shared:
        return None, None
    return statistics.median(plain), statistics.median(shared)


def _whole_card(harness):
    return "240MiB" if harness.fake else f"{int(harness.gpu_gib * 0.9)}GiB"


def overhead(harness, report):
    rounds = 3
    if harness.fake:
        loops = [("worker step", lambda: workloads.training(harness, "solo", 60, 20),
                  lambda r: r["seconds"] * 1e3 / r["steps"])]
    else:
        loops = [
            ("training step", lambda: workloads.training(harness, "solo_train", 4, 200),
             lambda r: r["step_ms_median"]),
            ("element-wise loop", lambda: workloads.addition(harness, "solo_add", True, 2500),
             lambda r: r["step_ms_median"]),
        ]
    for what, make, value in loops:
        plain, shared = _paired(harness, make, rounds, value)
        if plain is None:
            report.check(f"{what}: overhead", "failed", False, "<= 1 %")
            continue
        report.note(f"{what}, natively (ms)", round(plain, 4))
        report.note(f"{what}, under Reveza (ms)", round(shared, 4))
        report.measure(harness, f"{what}: overhead (%)", round((shared / plain - 1) * 100, 2), 1.0)
    _launch_cost(harness, report)


def _launch_cost(harness, report):
    """Compares launches through and past the library, interleaved in one process."""
    job = Job("launch_cost", [harness.limit_program("launch_cost"), "--steps",
                              str(20 if harness.fake else 1000)])
    with Reveza(harness, _whole_card(harness), every=5) as reveza:
        shared = reveza.together([job])[0].result
    natively = harness.alone(job).result
    if not shared.get("gated") or natively.get("gated") is not False:
        report.check("launch: added", "failed", False, "<= 20 ns")
        return
    report.note("launch, natively (ns)", natively["median_ns"])
    report.note("launch, natively: against itself (ns)", natively["added_ns"])
    report.note("launch, under Reveza (ns)", shared["median_ns"])
    report.measure(harness, "launch: added (ns)", shared["added_ns"], 20)


def _loop_span(outcomes):
    begins = [o.result.get("loop_begin", o.begin) for o in outcomes]
    ends = [o.result.get("loop_end", o.end) for o in outcomes]
    return max(ends) - min(begins)


def _share_card(harness, report, what, jobs, alone, environment=None, limit=1.15):
    """Runs jobs concurrently on the emulated GPU and compares with serial execution."""
    with Reveza(harness, card(harness), environment) as reveza:
        outcomes = reveza.together(jobs, 400)
        handover = log_handover(harness, report, reveza)
    right = all(o.hash is not None and o.hash == alone[o.name].hash for o in outcomes)
    report.check(f"{what}: same results", "yes" if right else "no", right, "yes")
    if not all(o.status == 0 for o in outcomes):
        report.check(f"{what}: makespan / serial", "failed", False, f"<= {limit}")
        return
    makespan = max(o.end for o in outcomes) - min(o.begin for o in outcomes)
    serial = sum(alone[job.name].wall for job in jobs)
    loops = sum(alone[job.name].result.get("seconds_loop", alone[job.name].wall) for job in jobs)
    report.data[what] = {"makespan": makespan, "serial": serial,
                         "loop_span": _loop_span(outcomes), "loops_serial": loops,
                         "handover": handover}
    report.note(f"{what}: serial / together (s)", f"{serial:.1f} / {makespan:.1f}")
    report.at_most(f"{what}: makespan / serial", round(makespan / serial, 3), limit)
    report.note(f"{what}: loops only, together / serial", round(_loop_span(outcomes) / loops, 3))
    report.note(f"{what}: handovers", brief(handover))


def _copies(job, count):
    return [dataclasses.replace(job, name=f"{job.name}_{i}") for i in range(count)]


def _alone_for(harness, job, count):
    """Runs the job natively once for all copies, which do the same work."""
    outcome = harness.alone(job)
    return {f"{job.name}_{i}": outcome for i in range(count)}


def oversubscribe(harness, report):
    plan = ((2, 100, 30), (3, 120, 30), (4, 120, 30)) if harness.fake else (
        (2, 21, 230), (3, 21, 230), (4, 17, 280))
    made = {}
    for count, gib, steps in plan:
        job = workloads.training(harness, f"train_{gib}", gib, steps)
        if gib not in made:
            made[gib] = (job, _alone_for(harness, job, 4))
        job, alone = made[gib]
        _share_card(harness, report, f"{count} programs of {gib}", _copies(job, count), alone)
    small = 40 if harness.fake else 5
    job = workloads.training(harness, f"fits_{small}", small, 100)
    natively = harness.together(_copies(job, 3))
    with Reveza(harness, card(harness)) as reveza:
        outcomes = reveza.together(_copies(job, 3))
        moved = log_handover(harness, report, reveza).get("count", 0)
    if all(o.status == 0 for o in [*natively, *outcomes]):
        spans = [max(o.end for o in one) - min(o.begin for o in one)
                 for one in (natively, outcomes)]
        report.note("3 that fit: natively / under Reveza (s)", f"{spans[0]:.1f} / {spans[1]:.1f}")
        report.measure(harness, "3 that fit: ratio", round(spans[1] / spans[0], 3), 1.05)
    else:
        report.check("3 that fit", "failed", False, "finish")
    report.check("3 that fit: handovers", moved, moved == 0, "0")
    if not harness.fake:
        _oversubscribe_mps(harness, report, made)


def _oversubscribe_mps(harness, report, made):
    try:
        with Mps(harness) as mps:
            for count, gib in ((3, 21), (2, 21), (4, 17)):
                job, alone = made[gib]
                longest = 3 * count * alone[f"{job.name}_0"].wall
                if harness.remaining_seconds() < longest:
                    report.note(f"MPS, {count} programs of {gib}", "no time left")
                    continue
                _share_card(harness, report, f"MPS, {count} programs of {gib}",
                            _copies(job, count), alone, mps.environment)
    except RuntimeError as error:
        report.note("MPS", str(error))


def handover(harness, report):
    """Hands over between two programs of 12 GiB on a GPU with room for one; compares plain loops."""
    size, piece = ("96MiB", "8MiB") if harness.fake else ("12GiB", "64MiB")
    link = harness.alone(Job("link_speed", [
        harness.limit_program("link_speed"), "--bytes", "32MiB" if harness.fake else "4GiB",
        "--steps", "3"]))
    report.data["link"] = link.result
    for key in ("to_gpu_gb_s", "from_gpu_gb_s", "both_gb_s"):
        report.note(f"link: {key}", link.result.get(key, "failed"))
    plain = harness.alone(Job("handover_limit", [
        harness.limit_program("handover_limit"), "--bytes", size, "--piece", piece, "--leave",
        piece if harness.fake else "400MiB"]))
    report.data["plain"] = plain.result
    report.note("plain loops: out / in done (s)",
                f"{plain.result.get('out_s')} / {plain.result.get('in_s')}")
    jobs = [workloads.client(harness, f"hold_{i}", "worker", "--bytes", size, "--steps",
                             harness.steps(60 if harness.fake else 150), "--step-ms", 60,
                             "--seed", i + 1) for i in range(2)]
    alone = {job.name: harness.alone(job) for job in jobs}
    budget = "128MiB" if harness.fake else "14GiB"
    with Reveza(harness, budget, settings=MANY_TURNS) as reveza:
        outcomes = reveza.together(jobs)
        measured = log_handover(harness, report, reveza)
        trace = os.path.join(harness.work, "handover-trace.json")
        # The jobs have exited, but the daemon still runs and holds their events.
        code, text = reveza.command("trace", trace)
        wrote = code == 0 and os.path.exists(trace) and os.path.getsize(trace) > 0
        report.check("trace written", os.path.getsize(trace) if wrote else text.strip(), wrote,
                     "yes")
    right = all(o.hash is not None and o.hash == alone[o.name].hash for o in outcomes)
    report.check("both results as alone", "yes" if right else "no", right, "yes")
    report.note("handovers", brief(measured))
    report.measure(harness, "gate closed to last byte in, mean (ms)", measured.get("mean_ms"), 320)
