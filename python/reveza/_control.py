"""What the program `reveza` answers, as dataclasses. Sizes are in bytes, times in seconds."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sysconfig
from typing import Any, Mapping, Optional


class Error(RuntimeError):
    """`reveza` failed. `exit_status` is one of those in docs/errors.md.

    >>> try:
    ...     reveza.pause("no-such-program")
    ... except reveza.Error as error:
    ...     print(error.exit_status)
    15
    """

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(message)
        self.exit_status = exit_status


@dataclasses.dataclass(frozen=True)
class Gpu:
    """A GPU that is shared.

    >>> [gpu.budget_bytes <= gpu.total_bytes for gpu in reveza.status().gpus]
    [True]
    """

    index: int
    uuid: str
    name: str
    total_bytes: int
    budget_bytes: int  #: for all programs together
    resident_bytes: int  #: of all programs
    swapped_bytes: int  #: in host memory


@dataclasses.dataclass(frozen=True)
class Program:
    """A process that shares GPUs.

    >>> [(program.name, program.priority) for program in reveza.status().programs]
    [('train', 'normal')]
    """

    pid: int
    name: str
    command: str
    job: str  #: processes with the same value take their turns together
    state: str  #: such as "running", "waiting" or "paused"
    why: str  #: what it waits for, or ""
    resident_bytes: int
    swapped_bytes: int
    fixed_bytes: int  #: contexts and pinned memory, which cannot be moved
    weight: float
    priority: str  #: "low", "normal" or "high"
    interactive: bool
    paused: bool
    share_wanted: float  #: of the GPU time of programs that compete, 0 to 1
    share_got: float
    ran_seconds: float
    waited_seconds: float
    turns: int


@dataclasses.dataclass(frozen=True)
class Status:
    """What the daemon manages at the moment.

    >>> status = reveza.status()
    >>> len(status.gpus), len(status.programs)
    (1, 1)
    """

    gpus: tuple[Gpu, ...]
    programs: tuple[Program, ...]


@dataclasses.dataclass(frozen=True)
class Usage:
    """What the programs of one job, or of one user, used.

    >>> hours = sum(row.gpu_seconds for row in reveza.usage(since="today")) / 3600
    """

    user: str
    job: Optional[str]  #: None: of all jobs of the user
    name: Optional[str]
    gpu_seconds: float
    turns: int
    bytes_out: int  #: to host memory
    bytes_in: int
    wait_seconds: Mapping[str, float]  #: by reason


def program_path(name: str = "reveza") -> str:
    """Returns the path of a program: of the environment of this package, else the one on the PATH.

    >>> import os
    >>> os.path.basename(reveza.program_path("revezad"))
    'revezad'
    """
    for scheme in (None, f"{os.name}_user"):
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    # `pip install --target` puts programs beside packages; `make install` puts packages into lib/reveza/python.
    packages = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for folder in (packages, os.path.normpath(os.path.join(packages, *[os.pardir] * 3))):
        path = os.path.join(folder, "bin", name)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found is None:
        raise Error(f"the program {name!r} is neither beside Python nor on the PATH", 127)
    return found


def _run(*arguments: str) -> str:
    import subprocess  # pylint: disable=import-outside-toplevel  # not needed to report steps

    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run(
        [program_path(), *arguments], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        raise Error(done.stderr.strip() or f"reveza {arguments[0]} failed", done.returncode)
    return done.stdout


def _json(*arguments: str) -> Any:
    import json  # pylint: disable=import-outside-toplevel

    return json.loads(_run(*arguments, "--json"))


def _program(client: dict[str, Any]) -> Program:
    footprint, policy = client["footprint"], client["policy"]
    return Program(
        pid=client["pid"],
        name=client["name"],
        command=client["command"],
        job=client["job"],
        state=client["state"],
        why=client["why"],
        resident_bytes=footprint["resident"],
        swapped_bytes=footprint["swapped"],
        fixed_bytes=footprint["pinned"] + footprint["context"],
        weight=policy["weight"],
        priority=policy["priority"],
        interactive=policy["interactive"],
        paused=policy["paused"],
        share_wanted=client["share_wanted"],
        share_got=client["share_got"],
        ran_seconds=client["ran_s"],
        waited_seconds=client["waited_s"],
        turns=client["turns"],
    )


def status() -> Status:
    """Returns the GPUs and the programs that share them. Error if no daemon runs.

    >>> reveza.status().programs[0].name
    'train'
    """
    answer = _json("status")
    return Status(
        gpus=tuple(
            Gpu(
                index=gpu["index"],
                uuid=gpu["uuid"],
                name=gpu["name"],
                total_bytes=gpu["total"],
                budget_bytes=gpu["budget"],
                resident_bytes=gpu["resident"],
                swapped_bytes=gpu["swapped"],
            )
            for gpu in answer["gpus"]
        ),
        programs=tuple(_program(client) for client in answer["clients"]),
    )


def usage(since: str = "30d", by: str = "job") -> tuple[Usage, ...]:
    """Returns what was used since a time ("today", "2026-11-20", "12h"), by "job" or "user".

    >>> import getpass
    >>> {row.user for row in reveza.usage(since="12h", by="user")} <= {getpass.getuser()}
    True
    """
    return tuple(
        Usage(
            user=entry["user"],
            job=entry.get("job"),
            name=entry.get("name"),
            gpu_seconds=entry["gpu_s"],
            turns=entry["turns"],
            bytes_out=entry["bytes_out"],
            bytes_in=entry["bytes_in"],
            wait_seconds={
                key[len("wait_") : -len("_s")]: seconds
                for key, seconds in entry.items()
                if key.startswith("wait_") and key.endswith("_s")
            },
        )
        for entry in _json("usage", "--since", since, "--by", by)
    )


def pause(program: str | int) -> None:
    """Stops the GPU work of a program, by name or pid, and moves its memory off the GPU.

    >>> reveza.pause("train")
    >>> reveza.status().programs[0].paused
    True
    """
    _run("pause", "--", str(program))


def resume(program: str | int) -> None:
    """Lets a paused program go on.

    >>> reveza.resume("train")
    >>> reveza.status().programs[0].paused
    False
    """
    _run("resume", "--", str(program))


def set(  # pylint: disable=redefined-builtin
    program: str | int,
    *,
    weight: Optional[float] = None,
    priority: Optional[str] = None,
    memory: Optional[str] = None,
    interactive: Optional[bool] = None,
) -> None:
    """Changes what a program is entitled to, as the options of `reveza set` do.

    `memory` is "REQUEST:LIMIT", e.g. "8GiB:12GiB"; None leaves a value as it is.

    >>> reveza.set("train", weight=3, priority="high")
    >>> reveza.status().programs[0].weight
    3.0
    """
    options = []
    if weight is not None:
        options.append(f"--weight={weight:g}")
    if priority is not None:
        options.append(f"--priority={priority}")
    if memory is not None:
        options.append(f"--memory={memory}")
    if interactive is not None:
        options.append("--interactive" if interactive else "--no-interactive")
    _run("set", *options, "--", str(program))
