"""Finding and killing the processes of an engine on this machine."""

import os
import pathlib
import signal


def with_words(*words: str) -> list[int]:
    """Returns the processes whose command line has all the words, each as a whole or the end of one."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if all(any(part.endswith(word) for part in line) for word in words):
            found.append(int(process.name))
    return found


def with_variable(mark: str) -> list[int]:
    """Returns the processes that have NAME=VALUE in their environment."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            pass
    return found


def children_of(process: int) -> list[int]:
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def parent_of(process: int) -> int:
    """Returns 0 for a process that has ended."""
    try:
        return int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def kill_at_once(processes: list[int]) -> None:
    """Kills processes so that none of them sees the end of another."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass


def kill_tree(process: int) -> None:
    tree = [process]
    for one in tree:
        tree += children_of(one)
    kill_at_once(tree)
