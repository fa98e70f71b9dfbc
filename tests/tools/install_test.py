"""`cmake --install` of a built tree: what lies where, and that the installed programs start.

  install_test.py BUILD
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else pathlib.Path()
PREFIX = "/opt/reveza"


class Install(unittest.TestCase):
    def setUp(self):
        for program in ("bin/reveza", "bin/revezad", "lib/libreveza.so", "lib/libreveza_calls.so"):
            if not (BUILD / program).exists():
                self.skipTest(f"{program} is not built")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        done = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", PREFIX],
                              env={**os.environ, "DESTDIR": folder.name},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.destination = pathlib.Path(folder.name)
        self.root = self.destination / PREFIX.lstrip("/")

    def test_installs_all_files(self):
        self.assertEqual([path.name for path in self.destination.iterdir()], ["opt"])
        for file in ("bin/reveza", "bin/revezad", "bin/reveza-demo-worker",
                     "lib/reveza/libreveza.so", "lib/reveza/libreveza_calls.so",
                     "lib/reveza/fakecuda/libcuda.so.1",
                     "share/doc/reveza/LICENSE", "share/doc/reveza/docs/dependencies.md"):
            self.assertTrue((self.root / file).exists(), file)

    def test_units_contain_the_installed_path(self):
        for kind in ("system", "user"):
            unit = (self.root / f"lib/systemd/{kind}/revezad.service").read_text()
            self.assertIn(f"\nExecStart={PREFIX}/bin/revezad\n", unit)
            self.assertNotIn("@", unit)

    def test_installed_programs_start(self):
        for program in ("reveza", "revezad"):
            done = subprocess.run([str(self.root / "bin" / program), "--help"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Usage", done.stdout + done.stderr)

    def test_installed_fraudgen_finds_arrow(self):
        fraudgen = self.root / "bin/fraudgen"
        if not fraudgen.exists():
            self.skipTest("fraudgen is not built")
        done = subprocess.run([str(fraudgen), "--help"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = self.root / "lib/reveza/arrow"
        if not folder.exists():
            self.skipTest("built without Arrow")
        self.assertTrue((folder / "LICENSE.txt").exists())
        needed = subprocess.run(["ldd", str(fraudgen)], capture_output=True, text=True,
                                check=True).stdout
        for library in ("libarrow", "libparquet", "libarrow_s3"):
            self.assertRegex(needed, rf"{library}\.so\S* => {self.root}/\S*lib/reveza/arrow/")

    def test_installed_reveza_finds_its_library(self):
        environment = {**os.environ, "REVEZA_SOCKET": str(self.destination / "run/d.sock"),
                       "REVEZA_LINGER": "100ms"}
        reveza = str(self.root / "bin/reveza")
        done = subprocess.run([reveza, "run", "--", "sh", "-c", "cat /proc/self/maps"],
                              env=environment, capture_output=True, text=True, check=False,
                              timeout=60)
        subprocess.run([reveza, "stop"], env=environment, capture_output=True, check=False,
                       timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{self.root}/lib/reveza/libreveza.so", done.stdout)


if __name__ == "__main__":
    unittest.main()
