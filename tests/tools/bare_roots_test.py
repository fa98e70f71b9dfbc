"""The wheels in build/dist on bare Debian and Ubuntu systems, as an ordinary user without a compiler: install, run
the demos and a program of the user's own, uninstall.

  bare_roots_test.py DIST ROOTS

debootstrap makes the systems in the folder ROOTS and keeps them. They are entered in a mount namespace,
with files in memory where the user writes, so they stay as they were. What the user saw, with the time of each
command, is in ROOTS/SUITE.log afterwards.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOTS = pathlib.Path(sys.argv.pop()).absolute()
DIST = pathlib.Path(sys.argv.pop()).absolute()
ENTER = """
set -e
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mkdir "$1/tmp/dist"
cp "$2"/*.whl "$5"/libarrow.so.*00 "$5"/libparquet.so.*00 "$5"/libarrow_s3.so.*00 "$1/tmp/dist"
cp -r "$4" "$1/tmp/examples"
exec chroot --userspec=65534:65534 --groups=65534 "$1" /usr/bin/env -i HOME=/tmp/home TERM=dumb \\
  PATH=/tmp/home/venv/bin:/usr/bin:/bin LANG=C.UTF-8 PS4='$(date +%T) $ ' sh -exc "$3"
"""
USE = """
mkdir /tmp/home
cd /tmp/home
python3 -m venv venv
find venv -type f ! -path '*__pycache__*' | sort > before
pip install --quiet --no-index /tmp/dist/*.whl
reveza demo
python -m reveza version
python -c 'import reveza; reveza.step(1, loss=2)'
fraudgen demo --output report.html
python -c 'import fraudgen; print("tables", *fraudgen.schema())' || python -V
phi run --cycles 5 --runs 2 -o run
mkdir card
export FAKECUDA_DIR=/tmp/home/card FAKECUDA_MEMORY=64MiB FAKECUDA_CONTEXT=4MiB REVEZA_CONTEXT_ESTIMATE=4MiB
export LD_LIBRARY_PATH=/tmp/home/venv/lib/reveza/fakecuda
RANK=0 python /tmp/examples/programs/twice.py -- python /tmp/examples/programs/ranks.py 40
reveza stop
unset LD_LIBRARY_PATH
timeout 3 reveza web > page || true
grep '^reveza: open http://127.0.0.1:' page
# What of pyarrow, whose wheels are from Python 3.10 on, the program uses.
site=$(python -c 'import site; print(site.getsitepackages()[0])')
mkdir "$site/pyarrow"
ln -s /tmp/dist/lib*.so.* "$site/pyarrow"
case $site in
  */python3.9/*) fraudgen version | grep 'built without Arrow' ;;
  *)
    fraudgen --rows 1000 --format parquet --output parquet
    fraudgen check parquet | grep 'transactions: values are those of the settings'
    ;;
esac
rm -r "$site/pyarrow"
pip uninstall --quiet -y reveza fraudgen reveza-phi
find venv -type f ! -path '*__pycache__*' | sort > after
cmp before after
"""


class BareRoots(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make and enter a root")
        if shutil.which("debootstrap") is None:
            self.skipTest("no debootstrap")
        self.assertTrue(list(DIST.glob("*.whl")), "no wheels")

    def root(self, suite, mirror=()):
        root = ROOTS / suite
        if root.exists():
            return root
        partial = ROOTS / f"{suite}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", "--components=main,universe" if mirror else
                               "--components=main", "--include=python3-venv", suite, str(partial), *mirror],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"debootstrap {suite}: {done.stdout[-300:]}{done.stderr[-300:]}")
        partial.rename(root)
        return root

    def check(self, suite, mirror=()):
        root = self.root(suite, mirror)
        (pyarrow,) = (ROOT / "build/python/lib").glob("python3.*/site-packages/pyarrow")
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER, "sh",
                               str(root), str(DIST), USE, str(ROOT / "examples"), str(pyarrow)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
        (ROOTS / f"{suite}.log").write_text(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        self.assertIn("reveza step 1 loss=2.0", done.stdout)
        self.assertEqual(done.stdout.count(": the same as alone"), 2, done.stdout[-3000:])

    def has_module(self, tag):
        """Whether the wheels were built with such a Python, too."""
        (wheel,) = DIST.glob("fraudgen-*.whl")
        with zipfile.ZipFile(wheel) as files:
            return any(f"_native.{tag}" in name for name in files.namelist())

    def test_debian_11(self):
        self.check("bullseye")

    def test_debian_12(self):
        self.check("bookworm")

    def test_debian_13(self):
        self.check("trixie")
        if self.has_module("abi3"):
            self.assertIn("\ntables customers", (ROOTS / "trixie.log").read_text())

    def test_ubuntu_22_04(self):
        self.check("jammy", ["http://archive.ubuntu.com/ubuntu"])
        if self.has_module("cpython-310"):
            self.assertIn("\ntables customers", (ROOTS / "jammy.log").read_text())


if __name__ == "__main__":
    unittest.main()
