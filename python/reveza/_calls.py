"""The folder in which calls of reveza.Executor and their results are kept: files named by their keys."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import pickle
import sys
import threading
from typing import Any, Callable, Iterator, Optional

from reveza._key import main_script

# Set while a step imports the script in which its function is.
importing_main = False


def dump(function: Callable[..., Any], arguments: object, keywords: object) -> bytes:
    """Returns a call as it is kept. Raises TypeError if it cannot be pickled."""
    try:
        return pickle.dumps((function, arguments, keywords), protocol=4)
    except Exception as error:  # pylint: disable=broad-exception-caught  # whatever an argument raises
        raise TypeError(
            f"cannot pickle this call of {getattr(function, '__qualname__', function)!s}: {error}; use a "
            "function at the top level of a module, and arguments that can be pickled"
        ) from error


@dataclasses.dataclass
class Outcome:
    """What became of a call."""

    value: Any  #: the result, or the exception that its future raises
    raised: bool  #: `value` is an exception: of the call, or of reading its result


class Folder:
    """A folder of calls. Several processes may use it."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        for part in ("calls", "started", "results", "failures"):
            (path / part).mkdir(parents=True, exist_ok=True)

    def put(self, key: str, call: bytes) -> None:
        """Keeps a call of this process."""
        script = main_script() if b"__main__" in call else None
        self._started(key).unlink(missing_ok=True)  # of one that was killed
        header = pickle.dumps((list(sys.path), os.getcwd(), script), protocol=4)
        _write(self.path / "calls" / key, header + call)

    def read(self, key: str) -> bytes:
        """Returns the pickles of search path, folder and script of the process, and of the call."""
        return (self.path / "calls" / key).read_bytes()

    @contextlib.contextmanager
    def running(self, key: str) -> Iterator[None]:
        """Marks a call as started meanwhile."""
        with contextlib.suppress(OSError):
            self._started(key).touch()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self._started(key).unlink()

    def has_started(self, key: str) -> bool:
        return self._started(key).exists()

    def put_result(self, key: str, result: bytes) -> None:
        _write(self.path / "results" / key, result)
        (self.path / "failures" / key).unlink(missing_ok=True)

    def put_failure(self, key: str, error: bytes) -> None:
        _write(self.path / "failures" / key, error)

    def outcome(self, key: str, failures: bool) -> Optional[Outcome]:
        """Returns what became of a call; None if it has not ended by itself, or only failed without `failures`."""
        for part in ("results", "failures") if failures else ("results",):
            path = self.path / part / key
            if not path.exists():
                continue
            try:
                return Outcome(pickle.loads(path.read_bytes()), part == "failures")
            except Exception as error:  # pylint: disable=broad-exception-caught  # of the user's class
                return Outcome(error, True)
        return None

    def _started(self, key: str) -> pathlib.Path:
        return self.path / "started" / key


def _write(path: pathlib.Path, data: bytes) -> None:
    """Writes a file that is there as a whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    part.write_bytes(data)
    part.replace(path)
