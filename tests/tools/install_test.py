"""`cmake --install` of a built tree: what lies where, and that the installed programs start.

  install_test.py BUILD
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else pathlib.Path()
PREFIX = "/opt/reveza"


SHELL_FOLDERS = {"bash": "bash-completion/completions/{}", "zsh": "zsh/site-functions/_{}",
                 "fish": "fish/vendor_completions.d/{}.fish"}


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

    def test_installs_man_pages_and_completion(self):
        for program in ("reveza", "revezad", "fraudgen", "phi"):
            if not (BUILD / "bin" / program).exists():
                continue
            section = 8 if program == "revezad" else 1
            page = (self.root / f"share/man/man{section}/{program}.{section}").read_text()
            self.assertIn(f".TH {program.upper()} {section} ", page)
            for shell, place in SHELL_FOLDERS.items():
                file = self.root / "share" / place.format(program)
                self.assertEqual(file.exists(), program != "revezad", file)
                if file.exists():
                    done = subprocess.run([str(BUILD / "bin" / program), "completion", shell],
                                          capture_output=True, text=True, check=True)
                    self.assertEqual(file.read_text(), done.stdout)

    def test_uninstall_leaves_nothing_but_files_of_others(self):
        tool = pathlib.Path(__file__).parents[2] / "tools/uninstall.sh"
        other = self.root / "share/man/man1/other.1"
        other.write_text("not ours")
        for package in (self.root / "lib/reveza/python").glob("*/__init__.py"):
            cache = package.parent / "__pycache__"
            cache.mkdir()
            (cache / "step.pyc").write_text("")
        # Tests that run beside this one write the manifest too; all have the same files.
        done = subprocess.run([str(tool), str(self.build_with_manifest())], capture_output=True,
                              env={**os.environ, "DESTDIR": str(self.destination)}, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        left = {path for path in self.destination.rglob("*")} - {*other.parents}
        self.assertEqual(left, {other})
        other.unlink()
        self.assertEqual([path.name for path in other.parent.iterdir()], [])
        again = subprocess.run([str(tool), str(self.destination)], capture_output=True, text=True,
                               check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("run make install first", again.stderr)

    def build_with_manifest(self):
        folder = self.destination.parent / f"{self.destination.name}-manifest"
        folder.mkdir()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        files = [f"/{path.relative_to(self.destination)}" for path in self.destination.rglob("*")
                 if not path.is_dir() and path.name not in ("other.1", "step.pyc")]
        recorded = (BUILD / "install_manifest.txt").read_text().split("\n")
        self.assertEqual(sorted(recorded), sorted(files))
        (folder / "install_manifest.txt").write_text("\n".join(recorded))
        return folder

    def test_units_contain_the_installed_path(self):
        for kind in ("system", "user"):
            unit = (self.root / f"lib/systemd/{kind}/revezad.service").read_text()
            self.assertIn(f"\nExecStart={PREFIX}/bin/revezad\n", unit)
            self.assertNotIn("@", unit)

    def test_installed_python_packages_are_complete(self):
        packages = self.root / "lib/reveza/python"
        run = {**os.environ, "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"}
        version = subprocess.run([sys.executable, "-m", "reveza", "--version"], env=run, capture_output=True, text=True,
                                 check=False)
        self.assertEqual(version.returncode, 0, version.stderr)
        self.assertIn("reveza ", version.stdout)
        found = subprocess.run(
            [sys.executable, "-c", "from importlib import metadata\n"
             "print([one.value for one in metadata.distribution('reveza').entry_points])"],
            env=run, capture_output=True, text=True, check=False)
        self.assertEqual(found.stdout, "['reveza._provisioner:RevezaProvisioner']\n", found.stderr)
        for package in ("phi", "fraudgen"):
            modules = {path.name for path in (BUILD / "lib/python" / package).glob("_native.*.so")}
            if not modules:
                continue
            there = {path.name for path in (packages / package).iterdir()}
            self.assertLessEqual({"__init__.py", "py.typed", "_native.pyi"} | modules, there)
            for module in modules:
                missing = subprocess.run(["ldd", str(packages / package / module)], capture_output=True, text=True,
                                         check=True).stdout
                self.assertNotIn("not found", missing, module)

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
