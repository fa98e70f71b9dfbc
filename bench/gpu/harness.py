"""Runs programs sequentially or concurrently, natively, under MPS or under Reveza.

Standard library only. Everything has a time limit, and no child process outlives the harness.
"""

import contextlib
import dataclasses
import fcntl
import json
import math
import os
import signal
import subprocess
import threading
import time


@dataclasses.dataclass
class Job:
    name: str
    argv: list
    env: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Outcome:
    name: str
    status: int | None  # exit status, negative for a signal, None on timeout
    begin: float
    end: float
    result: dict  # the last JSON object on stdout, or {}
    error_output: str  # the end of its stderr

    @property
    def wall(self):
        return self.end - self.begin

    @property
    def hash(self):
        return self.result.get("hash") if self.status == 0 else None


class Process:
    """A running job in its own session, so that it can be killed with all its children."""

    def __init__(self, job, folder, environment):
        self.job = job
        stem = os.path.join(folder, f"{job.name}-{time.monotonic_ns()}")
        self._paths = (stem + ".out", stem + ".err")
        with open(self._paths[0], "wb") as out, open(self._paths[1], "wb") as err:
            self.begin = time.time()
            self.child = subprocess.Popen(
                job.argv, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                env={**environment, **job.env}, start_new_session=True,
            )
        self.end = None

    def poll(self):
        if self.end is None and self.child.poll() is not None:
            self.end = time.time()
        return self.end is not None

    def kill(self):
        """Kills the job's session with SIGKILL; does nothing if it has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.poll()

    def output(self):
        """Returns what the job has printed so far."""
        with open(self._paths[0], encoding="utf-8", errors="replace") as out:
            return out.read()

    def outcome(self, in_time=True):
        lines = self.output().strip().splitlines()
        with open(self._paths[1], encoding="utf-8", errors="replace") as err:
            error_output = err.read()[-1500:]
        result = {}
        for line in reversed(lines):
            with contextlib.suppress(ValueError):
                parsed = json.loads(line)
                if isinstance(parsed, dict):
                    result = parsed
                    break
        status = self.child.returncode if in_time else None
        return Outcome(self.job.name, status, self.begin, self.end or time.time(), result,
                       error_output)


class StartGate:
    """Holds programs at the end of their start-up until all of them have reached it.

    A program creates $BENCH_READY and takes a shared lock of $BENCH_GATE (workload.py and the C++
    clients do); releasing the exclusive lock wakes all of them at once."""

    def __init__(self, folder):
        self._stem = os.path.join(folder, f"start-{time.monotonic_ns()}")
        self._gate = open(f"{self._stem}.gate", "w", encoding="utf-8")
        fcntl.flock(self._gate, fcntl.LOCK_EX)

    def hold(self, job):
        return dataclasses.replace(job, env={
            **job.env, "BENCH_GATE": f"{self._stem}.gate",
            "BENCH_READY": f"{self._stem}.{job.name}.ready"})

    def reached_by(self, job):
        return os.path.exists(job.env["BENCH_READY"])

    def open(self):
        self._gate.close()


class Harness:
    """Holds paths, environment, the deadline of the run and the log of the current section."""

    def __init__(self, build, work, fake, deadline, scale):
        self.build, self.work, self.fake = build, work, fake
        self.deadline, self.scale = deadline, scale
        self.rounds, self.only, self.seed = 1, "", 1
        self.environment = dict(os.environ)
        self.environment["PYTHONUNBUFFERED"] = "1"
        self.log_file = None
        self._running = []

    def client(self, name):
        return os.path.join(self.build, "tests", "clients", name)

    def limit_program(self, name):
        return os.path.join(self.build, "tests", "bench", name)

    def reveza_program(self):
        return os.path.join(self.build, "bin", "reveza")

    def log(self, text):
        line = f"[{time.strftime('%H:%M:%S')}] {text}"
        print(line, flush=True)
        if self.log_file:
            self.log_file.write(line + "\n")
            self.log_file.flush()

    def remaining_seconds(self):
        return max(0.0, self.deadline - time.time())

    def chosen(self, case):
        return self.only in case

    def steps(self, count):
        return max(1, round(count * self.scale))

    def start(self, job, environment=None):
        process = Process(job, self.work, environment or self.environment)
        self._running.append(process)
        return process

    def wait(self, processes, limit, log=True):
        """Returns the outcomes in the order of `processes`; kills those that exceed the limit."""
        limit = min(limit, self.remaining_seconds())
        until = time.time() + limit
        while time.time() < until and not all([p.poll() for p in processes]):
            time.sleep(0.01)
        outcomes = []
        for process in processes:
            in_time = process.poll()
            process.kill()
            self._running.remove(process)
            outcomes.append(process.outcome(in_time))
            if log:
                self.log_outcome(outcomes[-1])
        return outcomes

    def together(self, jobs, limit=240, environment=None):
        return self.wait([self.start(job, environment) for job in jobs], limit)

    def aligned(self, jobs, limit=240, environment=None, start=None):
        """Runs jobs together whose loops begin at the same moment, when all have started up.

        `start` starts one job, by default natively."""
        start = start or (lambda job: self.start(job, environment))
        gate = StartGate(self.work)
        until = time.time() + min(limit, self.remaining_seconds())
        processes = [start(gate.hold(job)) for job in jobs]
        while time.time() < until and not all(
                [gate.reached_by(p.job) or p.poll() for p in processes]):
            time.sleep(0.005)
        gate.open()
        return self.wait(processes, until - time.time())

    def in_turn(self, jobs, limit=240):
        """Runs jobs natively one after another, after a start that warms caches and is not counted.

        Returns the outcomes by name."""
        self.log("  natively, one after another")
        self._warm_up(jobs[0], limit)
        return {job.name: self.alone(job, limit) for job in jobs}

    def _warm_up(self, job, limit):
        """Runs a job until it is ready for its loop, and ends it."""
        gate = StartGate(self.work)
        process = self.start(gate.hold(job))
        until = time.time() + min(limit, self.remaining_seconds())
        while time.time() < until and not gate.reached_by(process.job) and not process.poll():
            time.sleep(0.005)
        self.wait([process], 0, log=False)
        gate.open()

    def alone(self, job, limit=240, environment=None):
        return self.together([job], limit, environment)[0]

    def command(self, argv, limit=30, environment=None):
        """Runs a short command. Returns (status, stdout); status is None on timeout."""
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, timeout=limit, check=False,
                stdin=subprocess.DEVNULL, env=environment or self.environment,
            )
            return done.returncode, done.stdout
        except (subprocess.TimeoutExpired, OSError) as error:
            return None, str(error)

    def log_outcome(self, outcome):
        self.log(f"  {outcome.name}: status {outcome.status}, {outcome.wall:.2f} s, "
                 f"{json.dumps(outcome.result)}")
        lines = outcome.error_output.strip().splitlines()
        if outcome.status == 0:
            lines = [line for line in lines if line.startswith("reveza:")]
        for line in lines[-12:]:
            self.log(f"    | {line}")

    def used_mib(self):
        """Returns what all processes use of the cards, according to the driver; NaN if it says nothing."""
        status, text = self.command(["nvidia-smi", "--query-gpu=memory.used",
                                     "--format=csv,noheader,nounits"])
        return sum(map(int, text.split())) if status == 0 else math.nan

    def close(self):
        for process in self._running:
            process.kill()
        self._running.clear()


class Mps:
    """A private MPS daemon on its own pipe directory; always stopped at the end."""

    def __init__(self, harness):
        self.harness = harness
        self.pipes = os.path.join(harness.work, "mps")
        self.environment = {
            **harness.environment,
            "CUDA_MPS_PIPE_DIRECTORY": self.pipes,
            "CUDA_MPS_LOG_DIRECTORY": os.path.join(harness.work, "mps-log"),
        }

    def __enter__(self):
        os.makedirs(self.pipes, exist_ok=True)
        os.makedirs(self.environment["CUDA_MPS_LOG_DIRECTORY"], exist_ok=True)
        status, text = self.harness.command(["nvidia-cuda-mps-control", "-d"],
                                            environment=self.environment)
        if status != 0:
            raise RuntimeError(f"MPS does not start: {text.strip()}")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, timeout=30,
                           check=False, capture_output=True, env=self.environment)


class Reveza:
    """A private daemon on its own socket, started by the first job and stopped at the end.

    `budget` is the memory of an emulated smaller GPU, None for the whole GPU. A thread collects the
    status every `every` seconds in `samples`.
    """

    def __init__(self, harness, budget, environment=None, settings=None, every=0.3):
        self.harness, self.budget, self.every = harness, budget, every
        folder = os.path.join(harness.work, f"reveza-{time.monotonic_ns()}")
        os.makedirs(folder, mode=0o700)
        self.environment = {
            **(environment or harness.environment),
            **(settings or {}),
            "REVEZA_SOCKET": os.path.join(folder, "revezad.sock"),
        }
        self.samples = []
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._watcher.join()
        status, text = self.command("stop", "--force")
        if status != 0:
            self.harness.log(f"  reveza stop: status {status} {text.strip()}")

    def command(self, *arguments, limit=15):
        return self.harness.command([self.harness.reveza_program(), *arguments], limit,
                                    self.environment)

    def wrap(self, job, *options):
        budget = ["--gpu-budget", self.budget] if self.budget else []
        return dataclasses.replace(job, argv=[
            self.harness.reveza_program(), "run", *budget, "--name", job.name, *options, "--",
            *job.argv])

    def start(self, job, *options):
        """Starts a job with options of `reveza run`."""
        return self.harness.start(self.wrap(job, *options), self.environment)

    def together(self, jobs, limit=300):
        return self.harness.wait([self.start(job) for job in jobs], limit)

    def aligned(self, jobs, limit=300, options=()):
        return self.harness.aligned(jobs, limit, start=lambda job: self.start(job, *options))

    def trace(self):
        """Returns the daemon's trace, which also holds programs that have exited; {} without one."""
        path = os.path.join(self.harness.work, f"trace-{time.monotonic_ns()}.json")
        if self.command("trace", path)[0] != 0:
            return {}
        with open(path, encoding="utf-8") as trace:
            return json.load(trace)

    def status(self):
        """Returns the daemon's status, or None if there is no daemon."""
        code, text = self.command("status", "--json")
        if code != 0:
            return None
        try:
            answer = json.loads(text)
        except ValueError:
            return None
        return answer if isinstance(answer, dict) else None

    def daemon_log(self):
        """Returns the lines that the daemon has logged."""
        path = os.path.join(os.path.dirname(self.environment["REVEZA_SOCKET"]), "revezad.log")
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as log:
            return log.read().splitlines()
        return []

    def handover(self):
        """Returns the handover statistics of the first GPU, or {} before the first handover."""
        found = {}
        for sample in [*self.samples, self.status() or {}]:
            for gpu in sample.get("gpus", [])[:1]:
                answer = gpu.get("handover") or {}
                if answer.get("count", 0) >= found.get("count", 0):
                    found = answer
        return found

    def _watch(self):
        while not self._stop.wait(self.every):
            answer = self.status()
            if answer is not None:
                self.samples.append(answer)
                del self.samples[:-400]
