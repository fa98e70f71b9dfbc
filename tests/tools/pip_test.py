"""`pip wheel .` of a checkout: the files of the wheel `reveza` of `make wheels`, built for this machine.

  pip_test.py DIST PYTHON

PYTHON is that of build/wheel-tools, so nothing is fetched.
"""

import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = sys.argv.pop()
DIST = pathlib.Path(sys.argv.pop())


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def contents(wheel):
    """Returns the files as they lie in an environment, without the metadata; and the metadata, without the version of
    the format, the description, and licences: this wheel loads cpp-httplib from the system."""
    with zipfile.ZipFile(wheel) as file:
        names = {name.replace(".data/scripts/", ".data/data/bin/") for name in file.namelist() if not name.endswith("/")}
        (information,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        head = file.read(f"{information}/METADATA").decode().replace('"', "'").split("\n\n")[0].splitlines()
        points = file.read(f"{information}/entry_points.txt").decode().split()
        return ({name for name in names if ".dist-info/" not in name},
                {line for line in head if not line.startswith(("Metadata-Version", "Description-Content-Type", "License"))}, points)


class Checkout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        # The preset of the tests, so that ccache has the objects.
        run(PYTHON, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", cls.folder,
            "--config-settings=cmake.args=--preset=ci", ROOT)
        (cls.wheel,) = cls.folder.glob("*.whl")

    def test_has_what_the_wheel_of_make_wheels_has(self):
        (other,) = DIST.glob("reveza-*.whl")
        for ours, theirs in zip(contents(self.wheel), contents(other)):
            self.assertEqual(ours, theirs)

    def test_programs_and_package_run(self):
        run(sys.executable, "-m", "venv", self.folder / "venv")
        python = self.folder / "venv/bin/python"
        run(python, "-m", "pip", "install", "--no-index", self.wheel)
        environment = {"HOME": str(self.folder), "PATH": f"{python.parent}:/usr/bin:/bin",
                       "REVEZA_SOCKET": str(self.folder / "run/d.sock"), "REVEZA_LINGER": "1s"}
        self.assertIn("fakecuda", run(python.parent / "reveza", "demo", "--json", env=environment))
        self.assertIn("1 done", run("sh", "-c", "reveza jobs run -- true ::: n 1 2>&1", env=environment))
        self.assertEqual(run(python, "-m", "reveza", "--version", env=environment),
                         run(python.parent / "reveza", "--version", env=environment))


class Source(unittest.TestCase):
    def test_distribution_has_what_the_build_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            run(PYTHON, "-c", "import sys, scikit_build_core.build as build; build.build_sdist(sys.argv[1])", folder,
                cwd=ROOT)
            (file,) = pathlib.Path(folder).iterdir()
            with tarfile.open(file) as archive:
                names = {name.partition("/")[2] for name in archive.getnames()}
        tracked = run("git", "-C", ROOT, "ls-files").splitlines()
        missing = {name for name in tracked if name not in names and (ROOT / name).is_file()
                   and not name.startswith("bench/results/")}
        self.assertEqual(missing, set())
        self.assertEqual({name for name in names if name.startswith(("build/", "bench/results/"))}, set())


if __name__ == "__main__":
    unittest.main()
