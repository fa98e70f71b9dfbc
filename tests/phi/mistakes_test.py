#!/usr/bin/env python3
"""Invalid input to phi iit, phi te and phi plot: one line of error and the exit status.

  mistakes_test.py PHI
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PHI = ""


class Mistakes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="phi-mistakes-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return name

    def refused(self, status: int, fact: str, *arguments: str):
        done = subprocess.run([PHI, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=100, check=False)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, r"^phi: [^\n]+\n$")
        self.assertIn(fact, done.stderr)

    def test_iit(self):
        known = ("iit", "--network", "or-copy-xor")
        self.refused(2, "--network", "iit")
        self.refused(2, "--state", *known)
        self.refused(2, "'1,0' is not a state of 3 nodes", *known, "--state", "1,0")
        self.refused(2, "cannot be reached", *known, "--state", "0,1,0")
        self.refused(2, "no node 'D'", *known, "--state", "1,0,0", "--subsystem", "A,D")
        self.refused(2, "did you mean 'xor'", "iit", "--network", "xr", "--state", "1,0,0")
        self.refused(12, "cannot read none.csv", "iit", "none.csv", "--state", "1")
        self.refused(2, "rows.csv: row 2, column 1", "iit", self.write("rows.csv", "0\n2\n"),
                     "--state", "1")
        pair = self.write("pair.csv", "0,1\n1,0\n0,0\n0,1\n")
        self.refused(2, "pair.csv: the network has no state", "iit", pair)
        self.refused(2, "pair.csv: '1,0,1' is not a state", "iit", pair, "--state", "1,0,1")
        self.refused(2, "pair.csv: no node 'C'", "iit", pair, "--state", "1,0", "--subsystem", "C")
        for theory in ("3.0", "4.0"):
            self.refused(2, "pair.csv: the state cannot be reached", "iit", pair, "--state", "1,1",
                         "--theory", theory)
        nine = self.write("nine.csv", "\n".join(",".join(["0.5"] * 9) for _ in range(2 ** 9)))
        self.refused(2, "about 8 hours", "iit", nine, "--state", "0" * 9)

    def trials(self) -> str:
        """A NumPy file of two trials of 30 rows and two variables."""
        head = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 30, 2), }"
        head = head.ljust(117) + "\n"
        values = [float(i * i % 17 + i % 5) for i in range(120)]
        (self.folder / "trials.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
            struct.pack("<120d", *values))
        return "trials.npy"

    def test_trials(self):
        file = self.trials()
        self.refused(2, "has 2 trials", "plot", file)
        self.assertFalse((self.folder / "phi.html").exists())
        done = subprocess.run([PHI, "measure", file, "-m", "mi"], cwd=self.folder,
                              capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_te(self):
        self.refused(2, "one column", "te", self.write("one.csv", "a\n1\n2\n3\n"))
        series = "a,b\n" + "\n".join(f"{i},{1 if i != 7 else 'nan'}" for i in range(30)) + "\n"
        self.refused(2, "nan.csv line 9: 'b' is nan", "te", self.write("nan.csv", series))
        constant = "a,b\n" + "\n".join(f"{i},1" for i in range(30)) + "\n"
        self.refused(2, "'b': all values are equal", "te", self.write("flat.csv", constant))
        short = "a,b\n" + "\n".join(f"{i},{i * i % 7}" for i in range(9)) + "\n"
        self.refused(2, "9 rows are too few", "te", self.write("short.csv", short))

    def test_plot(self):
        series = self.write("s.csv", "a,b\n" + "\n".join(f"{i % 7},{i % 5}" for i in range(60)))
        self.refused(2, ".html or .svg", "plot", series, "-o", "page.pdf")
        self.refused(12, "cannot read", "plot", "none.csv")
        self.refused(12, "neither rows.csv nor rows.parquet", "plot", ".")
        self.refused(2, "use a smaller --window", "plot", series, "--window", "61")
        self.refused(2, "nothing to draw", "plot", self.write("text.csv", "a\n1\n2\n"))
        done = subprocess.run([PHI, "plot", series, "-o", "no/such/page.html"], cwd=self.folder,
                              capture_output=True, text=True, timeout=100, check=False)
        self.assertIn(done.returncode, (5, 12), done.stderr)


if __name__ == "__main__":
    PHI = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
