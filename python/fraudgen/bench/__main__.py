"""The command `fraudgen bench`, which the program `fraudgen` starts: python -m fraudgen.bench PLACE..."""

import argparse
import os
import pathlib
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NoReturn

from . import BenchError, Options, bench, report
from .mapping import NAMES

USAGE = 2
CANNOT_WRITE = 12
INTERRUPTED = 130
TERMINATED = 143


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BenchError(f"{message}; see fraudgen bench --help", USAGE)


def _arguments() -> argparse.Namespace:
    parser = _Parser(prog="fraudgen bench", description=__doc__)
    parser.add_argument("places", nargs="+", metavar="PLACE", help="folder or file; several are compared")
    parser.add_argument("--mapping", metavar="NAME|FILE", help=f"columns of the data: {', '.join(NAMES)}, or a file")
    parser.add_argument("--against", metavar="PLACE", help="other data, whose behaviour these shall have")
    parser.add_argument("--against-mapping", metavar="NAME|FILE", help="columns of the other data")
    parser.add_argument("-o", "--output", metavar="FILE", default="bench.html", help="page (default bench.html)")
    parser.add_argument("--sample", type=int, default=Options.rows, metavar="N", help="rows to learn from and to test")
    parser.add_argument("--seed", type=int, default=Options.seed, metavar="N", help="of samples, splits and models")
    parser.add_argument("--memory", default=Options.memory, metavar="SIZE", help="limit of DuckDB")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only, no progress")
    return parser.parse_args()


def _write(path: str, text: str) -> None:
    """Replaces a file at once, so that nobody sees half of it."""
    if path == "-":
        sys.stdout.write(text)
        return
    target = pathlib.Path(path)
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.chmod(file.name, 0o644)
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise BenchError(f"--output: cannot write {path}: {error.strerror}", CANNOT_WRITE) from error


def _check_output(path: str) -> None:
    """Says before minutes of work what could not be written after them."""
    if path == "-":
        return
    target = pathlib.Path(path)
    if target.is_dir():
        raise BenchError(f"--output: {path} is a folder; choose a file, such as {path}/bench.html")
    if target.exists() and not target.is_file():
        raise BenchError(f"--output: {path} is not a regular file; choose bench.html, or - for standard output")
    if not os.access(target.parent, os.W_OK):
        raise BenchError(f"--output: cannot write to {target.parent}; choose another file", CANNOT_WRITE)


def _quiet(step: str) -> None:
    """Reports nothing."""


def _report_from(start: float) -> Callable[[str], None]:
    """Returns a function that reports the begin of each step on standard error, with the seconds since `start`."""
    return lambda step: print(f"{time.monotonic() - start:5.0f} s  {step}", file=sys.stderr, flush=True)


def main() -> int:
    # What DuckDB has written is removed then too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        arguments = _arguments()
        _check_output(arguments.output)
        options = Options(arguments.sample, arguments.seed, arguments.memory, arguments.threads,
                          progress=_quiet if arguments.quiet else _report_from(time.monotonic()))
        results = [bench(place, arguments.mapping, arguments.against, arguments.against_mapping, options)
                   for place in arguments.places]
        _write(arguments.output, report.page(results))
        if arguments.output == "-" or (arguments.quiet and not arguments.json):
            return 0
        print(report.as_json(results) if arguments.json else report.text(results))
        if not arguments.json:
            print(f"wrote {arguments.output}; open it in a browser")
    except BenchError as error:
        print(f"fraudgen: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
