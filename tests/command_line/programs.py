"""The built programs, and a place where they have a job and a running program."""

import pathlib
import subprocess
import tempfile
import unittest

# Holds a context on the first card until it is killed.
HOLD_A_CONTEXT = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
print("ready", flush=True)
time.sleep(600)
"""


class ProgramsTest(unittest.TestCase):
    build: pathlib.Path  # set by the script

    @classmethod
    def setUpClass(cls):
        for program in ("reveza", "revezad", "fraudgen", "phi"):
            if not (cls.build / "bin" / program).exists():
                raise unittest.SkipTest(f"{program} is not built")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.environment = {
            "PATH": f"{cls.build}/bin:/usr/bin:/bin", "HOME": folder.name, "TERM": "dumb",
            "LC_ALL": "C.UTF-8", "REVEZA_STATE": f"{folder.name}/state",
            "REVEZA_SOCKET": f"{folder.name}/d.sock", "REVEZA_USAGE_FILE": "off",
            "LD_LIBRARY_PATH": f"{cls.build}/lib/fakecuda"}

    @classmethod
    def run_program(cls, *words: str, **environment: str) -> str:
        """Runs a program that must succeed. Returns what it prints."""
        done = subprocess.run(words, env={**cls.environment, **environment}, cwd=cls.folder,
                              capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    @classmethod
    def make_job(cls):
        cls.run_program("reveza", "jobs", "run", "--name", "sweep", "--quiet", "--shell", "--", "true",
                        "{seed}", ":::", "seed", "1..3")
        cls.run_program("reveza", "jobs", "run", "--name", "grid", "--quiet", "--shell", "--", "true",
                        "{seed}{rate}", ":::", "seed", "7", ":::", "rate", "0.5")

    @classmethod
    def start_program(cls) -> bool:
        """Starts a program under Reveza. Returns false in sanitized builds, which have no library."""
        if not (cls.build / "lib/libreveza.so").exists():
            return False
        client = subprocess.Popen(
            ["reveza", "run", "--name", "train", "--", "python3", "-c", HOLD_A_CONTEXT],
            env=cls.environment, stdout=subprocess.PIPE, text=True)

        def end():
            client.kill()
            client.wait()
            client.stdout.close()
            subprocess.run(["reveza", "stop", "--force"], env=cls.environment, check=False,
                           capture_output=True, timeout=60)

        cls.addClassCleanup(end)
        assert client.stdout is not None and client.stdout.readline() == "ready\n"
        return True

