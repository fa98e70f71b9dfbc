"""Sections of the GPU bench, one function each. A section adds rows to a Report; a row with a limit
is a check."""

import dataclasses
import statistics

import figures
import workloads
from harness import Job, Reveza

CARD = "24GiB"        # memory of the emulated GPU
FAKE_CARD = "160MiB"  # the same on fakecuda
# Shortest possible slices, so that a short run is swapped many times.
MANY_TURNS = {"REVEZA_HANDOVER_SHARE": "0.4", "REVEZA_SLICE_FLOOR": "200ms"}


@dataclasses.dataclass
class Report:
    """Rows of one section: (what, value, limit or None, ok or None).

    A row that is measured several times shows every run."""

    name: str
    rows: list = dataclasses.field(default_factory=list)
    data: dict = dataclasses.field(default_factory=dict)
    runs: dict = dataclasses.field(default_factory=dict)  # what -> (row, values)

    def note(self, what, value):
        self.rows.append((what, value, None, None))

    def check(self, what, value, ok, limit):
        self.rows.append((what, value, limit, bool(ok)))

    def at_most(self, what, value, limit):
        self.check(what, value, value is not None and value <= limit, f"<= {limit}")

    def every(self, what, value, limit=None):
        """Adds one run to a row; all must be within the limit. Text is a run that failed."""
        ok = None if limit is None else not isinstance(value, str) and value <= limit
        self._add(what, value, None if limit is None else f"<= {limit}", ok)

    def same_results(self, what, right, wrong):
        """Adds one run to a row: the number of programs with the right result, those without."""
        text = f"{right} of {right + len(wrong)}" + (f", not {', '.join(wrong)}" if wrong else "")
        self._add(f"{what}: same results as natively", text, "all", right > 0 and not wrong)

    def _add(self, what, value, wanted, ok):
        row, values = self.runs.setdefault(what, (len(self.rows), []))
        values.append((value, ok))
        every_ok = None if ok is None else all(one for _, one in values)
        self.rows[row:row + 1] = [
            (what, ", ".join(str(one) for one, _ in values), wanted, every_ok)]

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


def check_results(report, what, outcomes, native):
    """Compares the result of every program with its own when it ran natively."""
    wrong = [f"{one.name} ({native[one.name].hash} / {one.hash}, status {one.status})"
             for one in outcomes if one.hash is None or one.hash != native[one.name].hash]
    report.same_results(what, len(outcomes) - len(wrong), wrong)


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
        check_results(report, "+".join(job.name for job in group), outcomes, native)


def _paired(harness, report, what, make, value):
    """Returns the values natively and under Reveza, from interleaved runs with the same results."""
    plain, shared, outcomes = [], [], []
    with Reveza(harness, whole_card(harness), every=5) as reveza:
        for i in range(3 * harness.rounds):
            for with_reveza in ((False, True) if i % 2 == 0 else (True, False)):
                outcome = (reveza.together([make()])[0] if with_reveza
                           else harness.alone(make()))
                outcomes.append(outcome)
                if outcome.status == 0:
                    (shared if with_reveza else plain).append(value(outcome.result))
                else:
                    report.check(what, figures.failures([outcome]), False, "finish")
    check_results(report, what, outcomes, {one.name: one for one in outcomes[:1]})
    return plain, shared


def whole_card(harness):
    return "240MiB" if harness.fake else f"{int(harness.gpu_gib * 0.9)}GiB"


def overhead(harness, report):
    if harness.fake:
        loops = [("worker step", lambda: workloads.training(harness, "solo", 20, 20),
                  lambda r: r["seconds"] * 1e3 / r["steps"])]
    else:
        loops = [
            ("training step", lambda: workloads.training(harness, "solo_train", 4, 200),
             lambda r: r["step_ms_median"]),
            ("element-wise loop", lambda: workloads.addition(harness, "solo_add", True, 2500),
             lambda r: r["step_ms_median"]),
        ]
    for what, make, value in loops:
        plain, shared = _paired(harness, report, what, make, value)
        report.note(f"{what}, natively (ms)", figures.spread(plain, 4))
        report.note(f"{what}, under Reveza (ms)", figures.spread(shared, 4))
        if plain and shared:
            added = statistics.median(shared) / statistics.median(plain) - 1
            report.measure(harness, f"{what}: overhead of the medians (%)", round(added * 100, 2),
                           1.0)
    _launch_cost(harness, report)


def _launch_cost(harness, report):
    """Compares launches through and past the library, interleaved in one process; beside it, the
    driver's function with itself in the same rounds."""
    job = Job("launch_cost", [harness.limit_program("launch_cost"), "--steps",
                              str(50 if harness.fake else harness.steps(10000))])
    with Reveza(harness, whole_card(harness), every=5) as reveza:
        for _ in range(harness.rounds):
            for way, one, gated in (("natively", harness.alone(job), False),
                                    ("under Reveza", reveza.together([job])[0], True)):
                result = one.result
                if one.status != 0 or result.get("gated") is not gated:
                    report.check(f"launch, {way}", f"failed ({figures.failures([one])})", False,
                                 "measured")
                    continue
                report.every(f"launch, {way} (ns)", result["median_ns"])
                for what, key in (("added", "added"), ("driver's function to itself", "itself")):
                    report.every(f"launch, {way}: {what} (ns)",
                                 f"{result[f'{key}_ns']} ({result[f'{key}_low_ns']} to "
                                 f"{result[f'{key}_high_ns']})")
                width = round((result["itself_high_ns"] - result["itself_low_ns"]) / 2, 2)
                report.every(f"launch, {way}: can resolve (ns)", width,
                             None if harness.fake else 2)
                if gated:
                    report.every("launch: added by Reveza (ns)", result["added_ns"],
                                 None if harness.fake else 20)


def share_card(harness, report, what, jobs, native, budget=None, limit=1.15, options=()):
    """Runs jobs together on the emulated GPU, with options of `reveza run`, and compares with running
    them one after another."""
    with Reveza(harness, budget or card(harness)) as reveza:
        outcomes = reveza.aligned(jobs, 400, options)
        log_handover(harness, report, reveza)
        trace = reveza.trace()
        for line in [one for one in reveza.daemon_log() if " info " not in one][-20:]:
            harness.log(f"    | {line}")
    moved = figures.handovers(trace)
    log_long_moves(harness, trace)
    check_results(report, what, outcomes, native)
    in_turn = [native[job.name] for job in jobs]
    wanted = None if harness.fake else limit
    failed = figures.failures([*outcomes, *in_turn])
    if failed:
        report.every(f"{what}: wall, together / in turn", f"failed ({failed})", limit)
        return
    one, other = figures.spans_together(outcomes), figures.spans_in_turn(in_turn)
    report.data.setdefault(what, []).append({
        "together": dataclasses.asdict(one), "in_turn": dataclasses.asdict(other),
        "handovers": [dataclasses.asdict(handover) for handover in moved]})
    report.every(f"{what}: wall, together (s)", round(one.wall, 2))
    report.every(f"{what}: wall, together / in turn", round(one.wall / other.wall, 3), wanted)
    report.every(f"{what}: start-up, together / in turn", round(one.start_up / other.start_up, 3))
    report.every(f"{what}: loops, together / in turn", round(one.loops / other.loops, 3))
    note_handovers(harness, report, what, moved)


def log_long_moves(harness, trace):
    """Shows copies and waits of more than a second, also those before the first handover."""
    spans = figures.spans_of(trace)
    first = min((one[0] for found in spans.values() for one in found), default=0)
    for name in ("wait for memory", "drain", "copy out", "copy in"):
        for begin, end, job, count in spans.get(name, []):
            if end - begin > 1000:
                harness.log(f"  {name}: {end - begin:.0f} ms from {begin - first:.0f} ms on, job {job}, "
                            f"{count / 1e9:.2f} GB")


def note_handovers(harness, report, what, moved):
    """Shows how long handovers took, and what the longest waited for."""
    for handover in moved:
        harness.log(f"  handover: {handover.text()}")
    report.every(f"{what}: handovers (ms)", figures.spread([h.total for h in moved]))
    if moved:
        report.every(f"{what}: longest handover", max(moved, key=lambda h: h.total).text())


def copies(make, count):
    """Returns jobs that differ in name and seed, so that each has a result of its own."""
    return [make(i, "--seed", i + 1) for i in range(count)]


def oversubscribe(harness, report):
    plan = ((2, 100, 30), (3, 120, 30), (4, 120, 30)) if harness.fake else (
        (2, 21, 230), (3, 21, 230), (4, 17, 280))
    plan = [one for one in plan if harness.chosen(_under_mps(*one[:2]))]
    for _ in range(harness.rounds):
        natives = {}
        for gib in dict.fromkeys(one[1] for one in plan):
            count = max(one[0] for one in plan if one[1] == gib)
            natives[gib] = harness.in_turn(_trainings(harness, gib, plan)[:count])
        for count, gib, _ in plan:
            if harness.chosen(f"{count} programs of {gib}"):
                share_card(harness, report, f"{count} programs of {gib}",
                           _trainings(harness, gib, plan)[:count], natives[gib])
        if harness.chosen("3 that fit"):
            _programs_that_fit(harness, report)
        if not harness.fake:
            _oversubscribe_mps(harness, report, plan, natives)


def _trainings(harness, gib, plan):
    steps = next(one[2] for one in plan if one[1] == gib)
    return copies(lambda i, *more: workloads.training(harness, f"train_{gib}_{i}", gib, steps,
                                                      *more), 4)


def _programs_that_fit(harness, report):
    """Compares programs that fit together under Reveza with themselves natively, both together."""
    gib = 40 if harness.fake else 5
    jobs = copies(lambda i, *more: workloads.training(harness, f"fits_{i}", gib, 100, *more), 3)
    harness.alone(jobs[0])  # warms up
    natively = harness.aligned(jobs)
    with Reveza(harness, card(harness)) as reveza:
        outcomes = reveza.aligned(jobs)
        moved = log_handover(harness, report, reveza).get("count", 0)
    check_results(report, "3 that fit", outcomes, {o.name: o for o in natively})
    compare_together(harness, report, "3 that fit", natively, outcomes, 1.05)
    report.check("3 that fit: handovers", moved, moved == 0, "0")


def compare_together(harness, report, what, natively, outcomes, limit=None):
    """Compares two ways to run the same programs together, by wall time and by their loops."""
    failed = figures.failures([*natively, *outcomes])
    if failed:
        report.every(f"{what}: wall, to native", f"failed ({failed})", limit)
        return
    one, other = figures.spans_together(outcomes), figures.spans_together(natively)
    report.every(f"{what}: wall, native (s)", round(other.wall, 2))
    report.every(f"{what}: wall, to native", round(one.wall / other.wall, 3),
                 None if harness.fake else limit)
    report.every(f"{what}: start-up, to native", round(one.start_up / other.start_up, 3))
    report.every(f"{what}: loops, to native", round(one.loops / other.loops, 3))


def _under_mps(count, gib):
    return f"MPS, {count} programs of {gib}"


def _oversubscribe_mps(harness, report, plan, natives):
    """The same under MPS, which the daemon starts."""
    for count, gib, _ in plan:
        jobs = _trainings(harness, gib, plan)[:count]
        longest = 3 * sum(natives[gib][job.name].wall for job in jobs)
        if harness.remaining_seconds() < longest:
            report.every(_under_mps(count, gib), "no time left")
            continue
        share_card(harness, report, _under_mps(count, gib), jobs, natives[gib], options=("--mps",))


def state_of(harness, job):
    """Returns the bytes that a program moves, and those that it keeps on the GPU (its context)."""
    with Reveza(harness, None, every=0.05) as reveza:
        reveza.together([job])
        footprints = [client["footprint"] for sample in reveza.samples
                      for client in sample.get("clients", [])]
    state = max((one["resident"] for one in footprints), default=0)
    # The last, because the size of a context is an estimate until it has been measured.
    kept = [one["context"] + one["pinned"] for one in footprints if one["resident"] == state]
    return state, kept[-1] if kept else 0
