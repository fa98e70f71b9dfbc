"""%reveza and %%reveza in IPython, in a program that shares a GPU of fakecuda."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PACKAGE = pathlib.Path(__file__).resolve().parent

# Makes a context, so that the process is a client of the daemon.
PROGRAM = '''
import ctypes
import os
from IPython.core.interactiveshell import InteractiveShell

cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(8 << 20)) == 0
assert cuda.cuMemsetD8_v2(memory, 1, ctypes.c_size_t(8 << 20)) == 0
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "reveza")
for line in ("", "interactive", "", "pause no-such-program", "sleep"):
    print("---", line)
    shell.run_line_magic("reveza", line)
print("--- cell")
shell.run_cell_magic("reveza", "", "print('ran', 6 * 7)")
print(shell.user_ns.get("reveza"))
'''


# Each has more than half of the card, so they take turns. A cell ends when it has waited.
WAITS = PROGRAM[:PROGRAM.index("for line in")].replace("8 << 20", "40 << 20") + '''
shell.user_ns.update(cuda=cuda, memory=memory, ctypes=ctypes)
shell.run_cell_magic("reveza", "", """
import reveza, os
own = lambda: next(one for one in reveza.status().programs if one.pid == os.getpid())
first = own().waited_seconds
while own().waited_seconds - first < 1.5:
    assert cuda.cuMemsetD8_v2(memory, 2, ctypes.c_size_t(40 << 20)) == 0
    assert cuda.cuCtxSynchronize() == 0
""")
'''


class Magic(unittest.TestCase):
    def run_programs(self, program, other=None):
        """Runs a notebook's program under Reveza, maybe beside another. Returns what it prints."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            environment = {
                **os.environ,
                "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": str(PACKAGE),
                "LD_LIBRARY_PATH": str(BUILD / "lib/fakecuda"),
                "FAKECUDA_DIR": str(folder / "cards"),
                "FAKECUDA_MEMORY": "64MiB",
                "REVEZA_SOCKET": str(folder / "daemon.sock"),
                "REVEZA_USAGE_FILE": "off",
                "IPYTHONDIR": str(folder / "ipython"),
                "HOME": name,
            }
            beside = other and subprocess.Popen(
                [BUILD / "bin/reveza", "run", "--name", "other", "--", *other], env=environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            done = subprocess.run(
                [BUILD / "bin/reveza", "run", "--name", "notebook", "--", sys.executable, "-B", "-c",
                 program], env=environment, capture_output=True, text=True, timeout=60, check=False)
            if beside:
                beside.terminate()
                beside.wait()
            subprocess.run([BUILD / "bin/reveza", "stop", "--force"], env=environment,
                           capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_says_who_has_the_gpu_and_what_a_cell_waited_for(self):
        parts = self.run_programs(PROGRAM).split("--- ")
        self.assertRegex(parts[1], r"GPU 0: [\d.]+ MiB of [\d.]+ MiB used, 0 B swapped out\n"
                                   r"\* notebook +running, \d+ MiB on the GPU\n")
        self.assertEqual(parts[2], "interactive\n")
        self.assertIn("reveza: ", parts[4])
        self.assertIn("no-such-program", parts[4])
        self.assertIn("usage: %reveza [pause NAME", parts[5])
        self.assertRegex(parts[6], r"ran 42\n[\d.e-]+ s, of which [\d.e-]+ s waiting for the GPU, in 0 turns\n\w")

    def test_says_why_a_cell_waited(self):
        worker = [BUILD / "bin/reveza-demo-worker", "--bytes", "40MiB", "--step-ms", "20", "--seconds", "100"]
        printed = self.run_programs(WAITS, worker)
        self.assertRegex(printed, r"s, of which [\d.]+ s waiting for the GPU, in [1-9]\d* turns\n")
        self.assertRegex(printed, r"\n  waiting for its turn: other \(pid \d+\) has the GPU \(\d+ of \d+ samples")


if __name__ == "__main__":
    if importlib.util.find_spec("IPython") is None:
        print("skipped: no IPython")
        sys.exit(77)
    unittest.main()
