"""Runs one call of reveza.Executor: python -m reveza._call FOLDER KEY."""

from __future__ import annotations

import io
import multiprocessing.spawn
import pathlib
import pickle
import sys
import traceback

from reveza import _calls


def main() -> int:
    """Returns the exit status of the step."""
    if len(sys.argv) != 3:
        print("usage: python -m reveza._call FOLDER KEY", file=sys.stderr)
        return 2
    calls, key = _calls.Folder(pathlib.Path(sys.argv[1])), sys.argv[2]
    with calls.running(key):
        return _run(calls, key)


def _run(calls: _calls.Folder, key: str) -> int:
    try:
        file = io.BytesIO(calls.read(key))
        path, directory, script = pickle.load(file)
        preparation = {"sys_path": path, "dir": directory}
        if script is not None:
            preparation["init_main_from_path"] = script
        # As processes of multiprocessing find the functions of __main__.
        _calls.importing_main = True
        multiprocessing.spawn.prepare(preparation)
        _calls.importing_main = False
        function, arguments, keywords = pickle.load(file)
        result = pickle.dumps(function(*arguments, **keywords), protocol=4)
    except Exception as error:  # pylint: disable=broad-exception-caught  # it goes to the caller
        traceback.print_exc()
        try:
            text = pickle.dumps(error, protocol=4)
            pickle.loads(text)
        except Exception:  # pylint: disable=broad-exception-caught  # of the user's class
            text = pickle.dumps(RuntimeError(traceback.format_exc()), protocol=4)
        calls.put_failure(key, text)
        return 1
    calls.put_result(key, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
