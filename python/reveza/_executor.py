"""Calls of Python functions as steps of a job: resumable, with a tuned number of workers.

A call is a pickle in a folder (_calls.py), named by a hash of what its result depends on (_key.py). A step
of `reveza jobs` runs `python -m reveza._call FOLDER KEY`, which leaves the result there. So a call that has
succeeded is not run again, whoever asks for it.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
from typing import Any, Callable, Iterable, Optional, TypeVar

from reveza import _calls
from reveza._control import Error, program_path
from reveza._key import Keys, main_script

Result = TypeVar("Result")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_KEY = re.compile(r"[0-9a-f]{32}")
_BUSY_JOB = 21  # docs/errors.md
_GATHER_SECONDS = 0.05  # calls submitted within it become steps together


class CallError(Error):
    """A call ended without a result: it was killed, or ran out of time or memory.

    >>> import os
    >>> with reveza.Executor("ends") as executor:
    ...     future = executor.submit(os._exit, 3)
    >>> print(future.exception())
    call ...: failed, code 3
    """


def _begin(future: concurrent.futures.Future[Any]) -> bool:
    """Marks a future as running. Returns False if it was cancelled, after telling those who wait for it."""
    return future.running() or future.set_running_or_notify_cancel()


def default_name() -> str:
    """Returns the name of the job of a script: that of its file, or "calls"."""
    main = sys.modules["__main__"]
    path = pathlib.Path(main_script() or getattr(main, "__file__", None) or "calls")
    stem = path.parent.name if path.stem == "__main__" else path.stem  # python -m PACKAGE
    return re.sub(r"[^A-Za-z0-9_.-]", "-", stem).lstrip("_.-")[:64] or "calls"


def default_folder(name: str) -> pathlib.Path:
    """Returns the folder of the calls of a job."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return pathlib.Path(state) / "reveza" / "calls" / name


class Executor(concurrent.futures.Executor):
    """Runs calls as steps of the job `name`, as `concurrent.futures` does in processes.

    `name`: default: that of the script, without its ending; "calls" in a shell or notebook.
    `memory`, `gpu_memory`: what a call needs, such as "2GiB"; measured from the first ones if not
    given. `workers`: how many run at a time; None: tuned. `retries`: further attempts of a call that
    failed. `folder`: where calls and results are kept; default: `default_folder(name)`. Delete it to
    run everything again. `on`: "slurm", "ray" or "kubernetes" runs calls there, which needs `shared`, a
    folder that all nodes can write; calls and results are kept there then, unless `folder` says
    otherwise. On Kubernetes the variable REVEZA_POD_TEMPLATE names a pod's manifest with image and volumes.

    A result that is there already is returned at once. It is that of a call with an equal key, which covers

    - the arguments, and for functions of a script the path of that,
    - the code of the function, its default values and attributes, what its closure holds, and the
      function that it wraps (`functools.wraps`, `functools.partial`); of a callable object the state and
      the methods of its class,
    - the values of globals that the code names, also as `module.name`. Functions and classes among them
      count by their code and what that names; what is installed, and Python's own, by name only.

    It does not cover files, the environment, modules that a function imports itself, methods of objects
    that it makes otherwise, and versions of libraries. Functions and globals are read when the executor
    meets them first. What cannot be pickled is left out with a RuntimeWarning. An object stands for
    another value if its class has a method `__reveza_key__`, a function if it has an attribute of that
    name.

    >>> import math
    >>> with reveza.Executor("roots", memory="64MiB") as executor:
    ...     futures = [executor.submit(math.sqrt, number) for number in (16, 25)]
    >>> [future.result() for future in futures]
    [4.0, 5.0]
    """

    def __init__(
        self,
        name: Optional[str] = None,
        *,
        memory: Optional[str] = None,
        gpu_memory: Optional[str] = None,
        workers: Optional[int] = None,
        retries: int = 0,
        folder: Optional[str | os.PathLike[str]] = None,
        on: Optional[str] = None,
        shared: Optional[str | os.PathLike[str]] = None,
    ) -> None:
        if _calls.importing_main:
            raise RuntimeError(
                "a call imports the script that submits it: write `if __name__ == '__main__':` before"
                " what the script does, or move the function to a module"
            )
        if name is None:
            name = default_name()
        if not _NAME.match(name):
            raise ValueError(
                f"invalid name {name!r}: use letters, digits and '_.-', beginning with a letter or "
                "digit, at most 64 characters"
            )
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be at least 1: {workers}")
        if (on is None) != (shared is None):
            raise ValueError("on='slurm', 'ray' or 'kubernetes', and shared=FOLDER, go together")
        if folder is None and shared is not None:
            folder = pathlib.Path(shared) / name / "calls"
        self._name = name
        self._calls = _calls.Folder(pathlib.Path(folder) if folder is not None else default_folder(name))
        self._command = [sys.executable, "-m", "reveza._call", os.path.abspath(self._calls.path), "{line}"]
        self._options = ["--retry-failed", "--retries", str(retries), "--json"]
        claims = []
        if memory is not None:
            claims += ["--memory", memory]
        if gpu_memory is not None:
            claims += ["--gpu-memory", gpu_memory]
        self._claims = claims
        if workers is not None:
            self._options += ["--workers", str(workers)]
        if on is not None and shared is not None:
            self._options += ["--on", on, "--shared", os.path.abspath(shared)]
        self._keys = Keys()
        self._changed = threading.Condition()
        self._futures: dict[str, list[concurrent.futures.Future[Any]]] = {}  # not done
        self._new: list[str] = []  # keys that are not steps yet
        self._started: set[str] = set()  # keys of steps that have begun
        self._closed = False
        self._stopping = False  # no further calls are to start
        self._runner: Optional[subprocess.Popen[str]] = None
        self._runner_answers = False
        self._thread = threading.Thread(target=self._serve, name=f"reveza-{name}", daemon=True)
        self._thread.start()

    def submit(
        self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any
    ) -> concurrent.futures.Future[Result]:
        """Makes a call a step of the job. The future has its result, or raises its exception.

        >>> with reveza.Executor("roots") as executor:
        ...     executor.submit(pow, 2, 0.5).result()
        1.4142135623730951
        """
        call = _calls.dump(fn, args, kwargs)
        key = self._keys.of(fn, args, kwargs)
        future: concurrent.futures.Future[Result] = concurrent.futures.Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("cannot submit after shutdown")
            if self._settle(key, [future], failures=False):
                return future
            if key in self._started:
                _begin(future)
            is_new = key not in self._futures
            self._futures.setdefault(key, []).append(future)
            if is_new:
                self._calls.put(key, call)
                self._new.append(key)
                self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more calls, and waits for those that were submitted. `with` does so at its end.

        With `cancel_futures` calls that have not begun are cancelled. Running ones end, and their results
        are kept.

        >>> executor = reveza.Executor("roots")
        >>> executor.shutdown(cancel_futures=True)
        """
        with self._changed:
            self._closed = True
            if cancel_futures:
                self._stopping = True
                self._notice_started()
                for futures in self._futures.values():
                    for future in futures:
                        future.cancel()
                self._drop_cancelled()
            runner, answers = self._runner, self._runner_answers
            self._changed.notify()
        if cancel_futures and runner is not None:
            self._stop(runner, answers)
        if wait:
            self._thread.join()

    def _notice_started(self) -> None:
        """Marks calls as running that have begun on a cluster, whose runner does not tell so."""
        for key, futures in self._futures.items():
            if key not in self._started and self._calls.has_started(key):
                self._started.add(key)
                futures[:] = [future for future in futures if _begin(future)]

    def _drop_cancelled(self) -> None:
        """Forgets cancelled futures, and calls that nobody waits for."""
        for key, futures in list(self._futures.items()):
            futures[:] = [future for future in futures if not future.cancelled() or _begin(future)]
            if not futures and key not in self._started:
                del self._futures[key]
        self._new = [key for key in self._new if key in self._futures]

    def _stop(self, runner: subprocess.Popen[str], answers: bool) -> None:
        """Starts no further steps. Those that run end."""
        # By request where it can be: of two SIGINTs, one maybe by Ctrl-C, the second ends running steps.
        if not answers or self._ask("stop", self._name) != 0:
            runner.send_signal(signal.SIGINT)

    # ---- the thread that runs the job ----

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._new or self._closed)
                if not self._new and not self._futures:
                    return
            threading.Event().wait(_GATHER_SECONDS)
            try:
                self._run()
            except (OSError, Error) as error:
                self._fail_all(error)

    def _take_new(self) -> list[str]:
        with self._changed:
            self._drop_cancelled()
            keys, self._new = self._new, []
        return keys

    def _run(self) -> None:
        """Runs the job until all calls are settled, or it ends."""
        with self._changed:
            self._drop_cancelled()
            self._new.clear()  # all are on standard input
            keys = list(self._futures)
        if not keys:
            return
        arguments = ["jobs", "run", "--name", self._name, *self._options, *self._claims, "--stdin"]
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        with subprocess.Popen(
            [program_path(), *arguments, "--", *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        ) as runner:
            assert runner.stdin is not None and runner.stdout is not None
            assert runner.stderr is not None
            with self._changed:
                self._runner = runner
                is_late = self._stopping
            if is_late:
                self._stop(runner, False)
            errors: list[str] = []
            reader = threading.Thread(target=lambda: errors.extend(runner.stderr or []), daemon=True)
            reader.start()
            with contextlib.suppress(BrokenPipeError):  # it says why on standard error
                runner.stdin.write("\n".join(keys) + "\n")
                runner.stdin.close()
            untold = set(keys)
            for text in runner.stdout:
                self._runner_answers = True
                untold.discard(self._on_event(json.loads(text)))
                self._add()
            status = runner.wait()
            reader.join()
        with self._changed:
            self._runner, self._runner_answers = None, False
        if status == _BUSY_JOB:
            # The runner of an earlier script, which was killed, still runs it.
            self._ask("wait", self._name)
            untold.clear()
        self._settle_rest(untold, status, "".join(errors))

    @staticmethod
    def _ask(*arguments: str) -> int:
        """Runs a command of `reveza jobs`. Returns its exit status."""
        command = [program_path(), "jobs", *arguments]
        return subprocess.run(command, capture_output=True, check=False).returncode

    def _on_event(self, event: dict[str, Any]) -> str:
        """Returns the key of the call that has ended; "" if none has."""
        if event.get("event") not in ("start", "end") or event.get("again"):
            return ""
        found = _KEY.search(event.get("label") or "")
        if found is None:
            return ""
        key = found.group()
        with self._changed:
            futures = self._futures.get(key, [])
            if event["event"] == "start":
                self._started.add(key)
                futures[:] = [future for future in futures if _begin(future)]
                return ""
            self._started.discard(key)
            if self._settle(key, futures) or not futures:
                self._futures.pop(key, None)
            elif event.get("outcome") != "done":
                why = event.get("explanation") or f"{event['outcome']}, code {event['code']}"
                self._give(self._futures.pop(key), CallError(f"call {key}: {why}", 1))
        return key

    def _add(self) -> None:
        """Adds calls that were submitted meanwhile to the running job."""
        keys = self._take_new()
        if not keys:
            return
        words = ["--", *self._command, ":::", "line", *keys]
        if self._ask("add", self._name, *self._claims, *words) != 0:
            with self._changed:
                self._new += keys  # for the next run

    def _settle(
        self, key: str, futures: list[concurrent.futures.Future[Any]], failures: bool = True
    ) -> bool:
        """Gives the result of a call to its futures, if there is one."""
        outcome = self._calls.outcome(key, failures)
        if outcome is None:
            return False
        for future in futures:
            if not _begin(future):
                continue
            if outcome.raised:
                future.set_exception(outcome.value)
            else:
                future.set_result(outcome.value)
        return True

    @staticmethod
    def _give(futures: list[concurrent.futures.Future[Any]], error: BaseException) -> None:
        for future in futures:
            if _begin(future):
                future.set_exception(error)

    def _settle_rest(self, keys: Iterable[str], status: int, errors: str) -> None:
        """Settles the calls of which no event told."""
        with self._changed:
            self._started.clear()
            self._drop_cancelled()
            for key in keys:
                futures = self._futures.get(key)
                if futures is None:
                    continue
                del self._futures[key]
                if not self._settle(key, futures):
                    last = errors.strip().splitlines()[-1:] or [f"it ended with status {status}"]
                    self._give(futures, CallError(f"job {self._name}: {last[0]}", status))
            # Added when the job was about to end.
            self._new = list(self._futures)

    def _fail_all(self, error: BaseException) -> None:
        with self._changed:
            self._new.clear()
            while self._futures:
                self._give(self._futures.popitem()[1], error)


def map(  # pylint: disable=redefined-builtin
    function: Callable[..., Result],
    *iterables: Iterable[Any],
    name: Optional[str] = None,
    memory: Optional[str] = None,
    gpu_memory: Optional[str] = None,
    workers: Optional[int] = None,
    folder: Optional[str | os.PathLike[str]] = None,
    on: Optional[str] = None,
    shared: Optional[str | os.PathLike[str]] = None,
) -> list[Result]:
    """Returns [function(x) for x in iterable], each call as a step of a job. See Executor.

    `name`: of the job; default: that of the function.

    >>> import math
    >>> reveza.map(math.hypot, [3, 5], [4, 12], workers=2)
    [5.0, 13.0]
    """
    job = name if name is not None else function.__name__.strip("_<>") or "calls"
    with Executor(
        job, memory=memory, gpu_memory=gpu_memory, workers=workers, folder=folder, on=on, shared=shared
    ) as executor:
        return list(executor.map(function, *iterables))
