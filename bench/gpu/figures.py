"""Figures of runs: how long programs took together or one after another, and what the handovers of
a trace consisted of. Standard library only."""

import dataclasses


@dataclasses.dataclass
class Spans:
    """Seconds that programs took. Start-up ends where a program is ready for its loop."""

    start_up: float
    loops: float
    wall: float


def failures(outcomes):
    """Returns "name: status" of the programs that failed, or ""."""
    return ", ".join(f"{o.name}: status {o.status}" for o in outcomes if o.status != 0)


def spans_together(outcomes):
    """From the first begin to the last end, of programs that ran together from an aligned start."""
    results = [o.result for o in outcomes]
    begin = min(o.begin for o in outcomes)
    return Spans(
        max(r["ready"] for r in results) - begin,
        max(r["loop_end"] for r in results) - min(r["loop_begin"] for r in results),
        max(o.end for o in outcomes) - begin)


def spans_in_turn(outcomes):
    """The sums over programs that ran one after another."""
    return Spans(
        sum(o.result["ready"] - o.begin for o in outcomes),
        sum(o.result["loop_end"] - o.result["loop_begin"] for o in outcomes),
        sum(o.wall for o in outcomes))


@dataclasses.dataclass
class Handover:
    """One handover between jobs, from a gate that closed to the next one that opened. All times in
    milliseconds. `out` lasts from the end of the drain to the last byte out, `bring_in` from the
    first to the last byte in, which overlap; `tail` from the last byte out to the opened gate."""

    total: float
    drain: float
    out: float
    bring_in: float
    tail: float
    bytes_out: int
    bytes_in: int
    waits: dict  # other waits during the handover: "memory", "context", "nobody asked"

    def text(self):
        parts = [f"{self.total:.0f} ms", f"drain {self.drain:.0f}"]
        if self.bytes_out:
            parts.append(f"out {self.out:.0f} ({self.bytes_out / 1e9:.2f} GB)")
        if self.bytes_in:
            parts.append(f"in {self.bring_in:.0f} ({self.bytes_in / 1e9:.2f} GB)")
        parts.append(f"tail {self.tail:.0f}")
        parts += [f"{name} {milliseconds:.0f}" for name, milliseconds in self.waits.items()
                  if milliseconds >= 0.5]
        return ", ".join(parts)


def _overlap(spans, begin, end):
    """Returns the length of the union of `spans` within [begin, end]."""
    covered, reached = 0.0, begin
    for first, last in sorted(spans):
        first, last = max(first, reached), min(last, end)
        if last > first:
            covered += last - first
            reached = last
    return covered


def spans_of(trace):
    """Returns {name: [(begin, end, job, bytes)]} of a trace, in milliseconds."""
    found = {}
    for event in trace.get("traceEvents", []):
        if event.get("ph") == "X":
            begin = event["ts"] / 1e3
            found.setdefault(event["name"], []).append(
                (begin, begin + event["dur"] / 1e3, event["pid"],
                 event.get("args", {}).get("bytes", 0)))
    return found


def handovers(trace):
    """Returns the handovers of a trace of `reveza trace`, as the daemon counts them: a gate closed,
    and the next gate to open is one of another job. For traces of one GPU."""
    spans = spans_of(trace)
    slices = sorted(spans.get("slice", []))
    found = []
    for begin, closed, job, _ in slices:
        if any(first < closed < last for first, last, _, _ in slices):
            continue  # another program's gate is open
        after = [one for one in slices if one[0] >= closed]
        if not after or after[0][2] == job or begin == after[0][0]:
            continue
        found.append(_handover(spans, closed, after[0][0], job, after[0][2]))
    return found


def _handover(spans, closed, opened, leaving, entering):
    def during(name, job=None):
        # The daemon takes the time of an event after that of its cause.
        return [one for one in spans.get(name, []) if one[0] < opened and one[1] > closed
                and one[1] <= opened + 0.5 and job in (None, one[2])]

    def lasted(name):
        return _overlap([one[:2] for one in during(name)], closed, opened)

    drains = during("drain", leaving) + during("drain failed", leaving)
    drained = max([one[1] for one in drains], default=closed)
    out, bring_in = during("copy out"), during("copy in", entering)
    last_out = max([drained, *(one[1] for one in out if one[3])])
    asked = [one[0] for one in spans.get("wait for its turn", [])
             if one[2] == entering and one[0] < opened <= one[1] + 0.5]
    return Handover(
        total=opened - closed, drain=drained - closed, out=last_out - drained,
        bring_in=(max(one[1] for one in bring_in) - max(closed, min(one[0] for one in bring_in))
                  if bring_in else 0.0),
        tail=opened - last_out, bytes_out=sum(one[3] for one in out),
        bytes_in=sum(one[3] for one in bring_in),
        waits={"memory": lasted("wait for memory"), "context": lasted("wait for a context"),
               "nobody asked": max(0.0, min(asked) - closed) if asked else 0.0})


def spread(values, digits=0):
    """Formats all values: "12, 14, 13", or for many the range, the median and the number."""
    if not values:
        return "none"
    rounded = [f"{value:.{digits}f}" for value in values]
    if len(values) <= 6:
        return ", ".join(rounded)
    ordered = sorted(values)
    return (f"{ordered[0]:.{digits}f} to {ordered[-1]:.{digits}f}, median "
            f"{ordered[len(ordered) // 2]:.{digits}f} of {len(values)}")
