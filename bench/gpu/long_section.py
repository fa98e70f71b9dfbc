"""The section on a long run: what grows while eight programs take turns until the time is up, and what
the daemon and the agents cost."""

import contextlib
import os
import time

import workloads
from harness import Reveza
from sections import MANY_TURNS, brief, card

AGENT = "reveza-agent"  # the name of the thread
TICK = os.sysconf("SC_CLK_TCK")
EVERY = 3  # seconds between two samples


def _jobs(harness):
    """Returns programs without an end."""
    endless = ("--steps", 10**7)
    if harness.fake:
        return [workloads.client(harness, f"worker_{i}", "worker", "--bytes", "40MiB", *endless,
                                 "--step-ms", 5, "--seed", i + 1) for i in range(8)]
    steps = (*endless, "--step-ms", 40)
    return [
        workloads.python("torch", "train_torch.py", "--gib", 6, *endless),
        workloads.python("torch_graph", "train_torch.py", "--gib", 6, *endless, "--graph"),
        workloads.python("jax", "train_jax.py", "--gib", 4, *endless, "--no-preallocate"),
        workloads.python("cupy", "train_cupy.py", "--gib", 6, *endless),
        workloads.client(harness, "worker", "worker", "--bytes", "6GiB", *steps),
        workloads.client(harness, "pools", "pools", "--bytes", "4GiB", *steps),
        workloads.client(harness, "vmm", "vmm", "--bytes", "4GiB", *steps, "--export", 0),
        workloads.client(harness, "server", "server", "--bytes", "6GiB", *steps),
    ]


def _seconds_of(path):
    """Returns the CPU time of a process or thread."""
    with open(os.path.join(path, "stat"), encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def _seconds_of_agent(pid):
    spent = 0.0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/comm",
                                                encoding="utf-8") as comm:
            if comm.read().strip() == AGENT:
                spent += _seconds_of(f"/proc/{pid}/task/{thread}")
    return spent


def _mib_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next((int(line.split()[1]) / 1024 for line in status
                     if line.startswith("VmRSS:")), 0.0)


def _sample(reveza, used):
    """Returns what all use now, or None if a program has ended meanwhile."""
    status = reveza.status() or {}
    clients = [client["pid"] for client in status.get("clients", [])]
    try:
        return {
            "time": time.time(),
            "programs": len(clients),
            "memory of the daemon (MiB)": _mib_of(status["pid"]),
            "memory of the programs (MiB)": sum(map(_mib_of, clients)),
            "descriptors of the daemon": len(os.listdir(f"/proc/{status['pid']}/fd")),
            "descriptors of the programs": sum(len(os.listdir(f"/proc/{pid}/fd"))
                                               for pid in clients),
            "GPU memory (MiB)": used(),
            "daemon_s": _seconds_of(f"/proc/{status['pid']}"),
            "agents_s": sum(map(_seconds_of_agent, clients)),
        }
    except (OSError, KeyError):
        return None


def long(harness, report):
    jobs = _jobs(harness)
    seconds = 12 if harness.fake else harness.remaining_seconds() - 20
    samples = []
    # Not as all other sections: what asking for the status costs the daemon counts here.
    with Reveza(harness, card(harness), settings=MANY_TURNS, every=60) as reveza:
        processes = [reveza.start(job) for job in jobs]
        used = harness.used_mib if not harness.fake else lambda: _resident_mib(reveza)
        until = time.time() + seconds
        while time.time() < until and not any([one.poll() for one in processes]):
            sample = _sample(reveza, used)
            if sample and sample["programs"] == len(jobs):
                samples.append(sample)
            time.sleep(min(EVERY, seconds / 40))
        ended = [one.job.name for one in processes if one.poll()]
        turns = reveza.handover()
        clients = (reveza.status() or {}).get("clients", [])
        for process in processes:
            process.kill()
        harness.wait(processes, 5, log=bool(ended))
    report.check("eight programs: that ended", ", ".join(ended) or "none", not ended, "none")
    report.check("eight programs: handovers", brief(turns), turns.get("count", 0) > 0, "> 0")
    report.note("eight programs: turns of each", ", ".join(
        f"{one['name']} {one['turns']}" for one in clients))
    report.data["samples"] = samples
    if len(samples) < 8:
        report.check("eight programs: samples", len(samples), False, ">= 8")
        return
    _note_growth(harness, report, samples)


def _note_growth(harness, report, samples):
    """Compares the most of the second and of the last quarter: in the first, programs start up and the
    host's memory is allocated."""
    begin, end = samples[0]["time"], samples[-1]["time"]
    quarters = [[], [], [], []]
    for sample in samples:
        quarters[min(3, int(4 * (sample["time"] - begin) / (end - begin)))].append(sample)
    report.note("eight programs: seconds in which all ran", round(end - begin))
    for what in samples[0]:
        if not what.endswith(("(MiB)", "daemon", "programs")) or what == "programs":
            continue
        most = [max((one[what] for one in quarter), default=0) for quarter in quarters]
        report.note(f"eight programs: {what}, the most of each quarter",
                    ", ".join(f"{one:.1f}" if "MiB" in what else str(one) for one in most))
        growth = round(100 * (most[3] / most[1] - 1), 2) if most[1] else None
        report.measure(harness, f"eight programs: {what}, growth (%)", growth, 1.0)
    # The agents' CPU time of the start-up is theirs, too, but not what a second costs later.
    first, last = quarters[1][0], samples[-1]
    spent = last["time"] - first["time"]
    for what, key in (("daemon", "daemon_s"), ("agents of all", "agents_s")):
        report.note(f"eight programs: CPU time of the {what} (% of a core)",
                    round(100 * (last[key] - first[key]) / spent, 2))


def _resident_mib(reveza):
    return sum(gpu["resident"] for gpu in (reveza.status() or {}).get("gpus", [])) >> 20
