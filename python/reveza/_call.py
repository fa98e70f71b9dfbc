"""Runs one call of reveza.Executor: python -m reveza._call FOLDER KEY."""

from __future__ import annotations

import contextlib
import io
import multiprocessing.spawn
import pathlib
import pickle
import sys
import traceback

from reveza import _executor


def main() -> int:
    """Returns the exit status of the step."""
    if len(sys.argv) != 3:
        print("usage: python -m reveza._call FOLDER KEY", file=sys.stderr)
        return 2
    folder, key = pathlib.Path(sys.argv[1]), sys.argv[2]
    started, failure = folder / "started" / key, folder / "failures" / key
    with contextlib.suppress(OSError):
        started.touch()
    try:
        return _run(folder, key, failure)
    finally:
        with contextlib.suppress(OSError):
            started.unlink()


def _run(folder: pathlib.Path, key: str, failure: pathlib.Path) -> int:
    try:
        file = io.BytesIO((folder / "calls" / key).read_bytes())
        path, directory, script = pickle.load(file)
        preparation = {"sys_path": path, "dir": directory}
        if script is not None:
            preparation["init_main_from_path"] = script
        # As processes of multiprocessing find the functions of __main__.
        _executor.importing_main = True
        multiprocessing.spawn.prepare(preparation)
        _executor.importing_main = False
        function, arguments, keywords = pickle.load(file)
        result = pickle.dumps(function(*arguments, **keywords), protocol=4)
    except Exception as error:  # pylint: disable=broad-exception-caught  # it goes to the caller
        traceback.print_exc()
        try:
            text = pickle.dumps(error, protocol=4)
            pickle.loads(text)
        except Exception:  # pylint: disable=broad-exception-caught  # of the user's class
            text = pickle.dumps(RuntimeError(traceback.format_exc()), protocol=4)
        _executor.write(failure, text)
        return 1
    _executor.write(folder / "results" / key, result)
    failure.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
