"""Shared by the tests: runs the program in a temporary folder."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else "build/bin/fraudgen"
# Leak reports would change the exit status of killed programs.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}


def start(folder: pathlib.Path, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen([PROGRAM, "--output", folder, "--quiet", *map(str, arguments)],
                            env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)


def output_of(*arguments: object) -> str:
    done = subprocess.run([PROGRAM, *map(str, arguments)], env=ENVIRONMENT, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.returncode}: {done.stderr}")
    return done.stdout


def hashes(folder: pathlib.Path) -> dict[str, str]:
    """Hashes of all files by their path in the folder, including hidden ones."""
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in folder.rglob("*") if file.is_file()}


def writes_parquet() -> bool:
    return any(line.startswith("Arrow ") for line in output_of("version").splitlines())


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def make(self, name: str, *arguments: object) -> pathlib.Path:
        process = start(self.place / name, *arguments)
        errors = process.communicate()[1]
        self.assertEqual(process.returncode, 0, errors)
        return self.place / name
