"""Packages of the extra `bench`, imported when they are needed."""

import importlib
from typing import Any


class BenchError(Exception):
    """What the user can mend, with the exit status (docs/errors.md)."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


MISSING = 11


def load(name: str) -> Any:
    """Imports a package of the extra; BenchError says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BenchError(f"fraudgen bench needs the Python package {name.partition('.')[0]} ({error}); run: "
                         "pip install 'fraudgen[bench]'", MISSING) from error
