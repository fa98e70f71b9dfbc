"""The wheels in build/dist: their tags and sizes; and what an ordinary user has after `pip install`.

  wheels_test.py DIST AUDITWHEEL
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
AUDITWHEEL = sys.argv.pop()
DIST = pathlib.Path(sys.argv.pop())
USER = 65534 if os.geteuid() == 0 else None
MAX_BYTES = 15_000_000
HOLDER = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
print("ready", flush=True)
sys.stdin.read()
"""
# Prints what a module needs of Python that is not in the stable ABI of 3.12.
UNSTABLE = """
import sys
from abi3info import DATAS, FUNCTIONS
from abi3info.models import PyVersion, Symbol
from elftools.elf.elffile import ELFFile
stable = {symbol: known.added for group in (DATAS, FUNCTIONS) for symbol, known in group.items()}
seen = 0
with open(sys.argv[1], "rb") as file:
    for symbol in ELFFile(file).get_section_by_name(".dynsym").iter_symbols():
        if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name.startswith(("Py", "_Py")):
            seen += 1
            added = stable.get(Symbol(symbol.name))
            if added is None or added > PyVersion(3, 12):
                print(symbol.name)
assert seen > 10, seen
"""
CONTROL = """
import reveza
before = reveza.status().programs[0]
assert (before.name, before.weight, before.paused) == ("ana", 1, False), before
reveza.set("ana", weight=2, priority="low", interactive=True)
changed = reveza.status().programs[0]
assert (changed.weight, changed.priority, changed.interactive) == (2, "low", True), changed
reveza.pause(changed.pid)
assert reveza.status().programs[0].paused
reveza.resume("ana")
assert not reveza.status().programs[0].paused
assert reveza.status().gpus[0].total_bytes == 96 << 20
try:
    reveza.pause("bia")
except reveza.Error as error:
    assert error.exit_status == 15, error.exit_status
else:
    raise AssertionError("paused a program that does not exist")
"""


def wheels():
    return sorted(DIST.glob("*.whl"))


class Wheels(unittest.TestCase):
    def test_there_are_three(self):
        names = [file.name.split("-")[0] for file in wheels()]
        self.assertEqual(names, ["fraudgen", "reveza", "reveza_phi"])

    def test_each_satisfies_its_tag(self):
        for file in wheels():
            shown = json.loads(subprocess.run([AUDITWHEEL, "show", "--json", str(file)], capture_output=True, text=True,
                                              check=True).stdout)
            tag = re.match(r"manylinux_2_(\d+)_", shown["sym_tag"])
            self.assertIsNotNone(tag, shown)
            self.assertLessEqual(int(tag[1]), 28, shown)
            self.assertIn("manylinux_2_28", file.name)
            others = {library.partition(".")[0] for library in shown["external_libs"]}
            of_pyarrow = set() if file.name.startswith("reveza-") else {"libarrow", "libarrow_s3", "libparquet"}
            self.assertLessEqual(others, of_pyarrow, file.name)

    def test_modules_for_several_versions_keep_to_the_stable_interface(self):
        found = 0
        for wheel in wheels():
            with zipfile.ZipFile(wheel) as files, tempfile.TemporaryDirectory() as folder:
                for name in files.namelist():
                    if not name.endswith(".abi3.so"):
                        continue
                    found += 1
                    python = pathlib.Path(AUDITWHEEL).parent / "python"
                    done = subprocess.run([python, "-c", UNSTABLE, files.extract(name, folder)], capture_output=True,
                                          text=True, check=False)
                    self.assertEqual((done.returncode, done.stdout), (0, ""), f"{name}: {done.stderr}")
        if found == 0:
            self.skipTest("the wheels were built without a Python of 3.12 or later")

    def test_each_is_small(self):
        for file in wheels():
            self.assertLess(file.stat().st_size, MAX_BYTES, file.name)


class Environment(unittest.TestCase):
    """A virtual environment of an ordinary user, with the wheels."""

    @classmethod
    def setUpClass(cls):
        home = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, home)
        cls.home = pathlib.Path(home)
        cls.bin = cls.home / "venv/bin"
        shutil.copytree(DIST, cls.home / "dist")
        if USER is not None:
            os.chown(home, USER, USER)
        cls.user_run("python3", "-m", "venv", str(cls.home / "venv"))
        cls.before = cls.files()
        cls.pip("install", "--no-index", *map(str, (cls.home / "dist").glob("*.whl")))

    @classmethod
    def environment(cls):
        return {"HOME": str(cls.home), "PATH": f"{cls.bin}:/usr/local/bin:/usr/bin:/bin",
                "TMPDIR": str(cls.home), "REVEZA_SOCKET": str(cls.home / "run/d.sock"),
                "REVEZA_LINGER": "1s", "PYTHONDONTWRITEBYTECODE": "1"}

    @classmethod
    def user_run(cls, *command):
        done = subprocess.run(command, env=cls.environment(), cwd=cls.home, user=USER, group=USER,
                              extra_groups=[] if USER else None, capture_output=True, text=True,
                              check=False, timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    @classmethod
    def pip(cls, *arguments):
        cls.user_run("python", "-m", "pip", "--disable-pip-version-check", *arguments)

    @classmethod
    def files(cls):
        return {str(path) for path in (cls.home / "venv").rglob("*")
                if "__pycache__" not in path.parts and path.is_file()}


class Installed(Environment):
    def test_programs_run(self):
        for program in ("reveza", "revezad", "fraudgen", "phi"):
            self.assertIn(program, self.user_run(program, "--version"))
        self.assertEqual(self.user_run("python", "-m", "reveza", "--version"),
                         self.user_run("reveza", "--version"))

    def test_demo_runs(self):
        self.assertIn("fakecuda", self.user_run("reveza", "demo", "--json"))

    def test_jobs_find_the_supervisor(self):
        self.assertIn("1 done", self.user_run("sh", "-c", "reveza jobs run -- true ::: n 1 2>&1"))

    def test_fraudgen_and_phi_write_rows(self):
        self.user_run("fraudgen", "--rows", "1000", "--format", "csv", "--output", "data")
        self.assertTrue(list((self.home / "data").rglob("*.csv")))
        self.user_run("phi", "run", "--cycles", "5", "--runs", "2", "-o", "run")
        self.assertTrue((self.home / "run").exists())

    def test_fraudgen_streams_rows(self):
        self.user_run("python", "-c", "import fraudgen\n"
                      "assert 'arrow_array_stream' in repr(fraudgen.stream(rows=100).__arrow_c_stream__())\n"
                      "assert fraudgen.schema()['transactions'].columns")

    def test_fraudgen_on_engines_says_what_it_needs(self):
        for name in ("spark", "ray"):
            text = self.user_run("python", "-c", f"try: import fraudgen.{name}\nexcept ImportError as error: print(error)")
            self.assertIn(f"pip install 'fraudgen[{name}]'", text)
        extras = self.user_run("python", "-c", "from importlib import metadata\n"
                               "print(metadata.metadata('fraudgen').get_all('Provides-Extra'))")
        self.assertEqual(extras, "['parquet', 'arrow', 'spark', 'ray', 'torch', 'bench']\n")

    def test_parquet_says_what_it_needs(self):
        text = self.user_run("sh", "-c", "fraudgen --rows 10 --format parquet --output none 2>&1 || echo $?")
        self.assertRegex(text, "use jsonl, json, csv or tsv, or pip install pyarrow==[0-9.]+\n[1-9]")
        self.assertFalse((self.home / "none").exists())

    def test_phi_measures_arrays(self):
        text = self.user_run("python", "-c", "try: import phi\nexcept ImportError as error: print(error)")
        self.assertIn("pip install numpy", text)
        version = self.user_run("python", "-c", "import sys; print('python%d.%d' % sys.version_info[:2])").strip()
        site = ROOT / "build/python/lib" / version / "site-packages"
        if not (site / "numpy").exists():
            self.skipTest(f"no NumPy for {version} in build/python")
        self.user_run("python", "-c", f"import sys; sys.path.append({str(site)!r})\nimport numpy, phi\n"
                      "series = numpy.random.default_rng(1).normal(size=(100, 3))\n"
                      "assert phi.mip(series).nats >= 0\n"
                      "assert next(phi.run(1, dimension=64)).cycle == 1")

    def test_package_reports_steps(self):
        text = self.user_run("python", "-c", "import reveza\nwith reveza.hold():\n"
                             "  reveza.step(3, loss=.5)\nreveza.yield_()")
        self.assertEqual(text, "reveza step 3 loss=0.5\n")

    def test_jupyter_finds_the_provisioner(self):
        found = self.user_run("python", "-c", "from importlib import metadata\n"
                              "for one in metadata.distribution('reveza').entry_points: print(one.group, one.value)")
        self.assertEqual(found, "jupyter_client.kernel_provisioners reveza._provisioner:RevezaProvisioner\n")

    def test_package_controls_programs(self):
        card = {"FAKECUDA_DIR": str(self.home / "card"), "FAKECUDA_MEMORY": "96MiB",
                "LD_LIBRARY_PATH": str(self.home / "venv/lib/reveza/fakecuda")}
        with subprocess.Popen(["reveza", "run", "--name", "ana", "--", "python", "-c", HOLDER],
                              env={**self.environment(), **card}, cwd=self.home, user=USER, group=USER,
                              executable=str(self.bin / "reveza"), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as program:
            try:
                self.assertEqual(program.stdout.readline(), "ready\n")
                self.user_run("python", "-c", CONTROL)
            finally:
                program.stdin.close()
        self.user_run("reveza", "stop", "--force")


    def test_page_is_served(self):
        with subprocess.Popen(["reveza", "web", "--listen", "127.0.0.1:0"], env=self.environment(), cwd=self.home,
                              user=USER, group=USER, executable=str(self.bin / "reveza"), stdout=subprocess.PIPE,
                              text=True) as server:
            try:
                page, _, token = server.stdout.readline().removeprefix("reveza: open ").strip().partition("#token=")
                with urllib.request.urlopen(page, timeout=20) as answer:
                    self.assertIn("uPlot", answer.read().decode() + str(answer.headers))
                request = urllib.request.Request(page + "api/jobs", headers={"Authorization": f"Bearer {token}"})
                with urllib.request.urlopen(request, timeout=20) as answer:
                    self.assertIsInstance(json.load(answer), (dict, list))
            finally:
                server.terminate()
        text = self.user_run("sh", "-c", "reveza web --certificate a --key b 2>&1 || true")
        self.assertIn("has no TLS", text)


class WithPyarrow(Environment):
    """The same environment with the libraries of pyarrow: with another version of Python than that of
    build/python, pip would have to fetch it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (site,) = (cls.home / "venv/lib").glob("python3.*/site-packages")
        (pyarrow,) = (ROOT / "build/python/lib").glob("python3.*/site-packages/pyarrow")
        cls.version = pathlib.Path(pyarrow, "include/arrow/util/config.h").read_text().split(
            'ARROW_VERSION_STRING "')[1].split('"')[0]
        cls.user_run("mkdir", site / "pyarrow")
        for library in ("libarrow", "libparquet", "libarrow_s3"):
            (file,) = pyarrow.glob(f"{library}.so.*00")
            cls.user_run("cp", file, site / "pyarrow")

    def test_fraudgen_writes_and_checks_parquet(self):
        self.assertIn(f"Arrow {self.version}", self.user_run("fraudgen", "version"))
        self.user_run("fraudgen", "--rows", "3000", "--format", "parquet", "--output", "parquet")
        self.assertIn("values are those of the settings", self.user_run("fraudgen", "check", "parquet"))
        self.assertEqual(self.user_run("python", "-c", "import fraudgen; print(fraudgen.check('parquet').findings)"), "0\n")
        self.user_run("sh", "-c", "truncate -s 5000 parquet/transactions/*00000.parquet")
        text = self.user_run("sh", "-c", "fraudgen check parquet 2>&1 || echo status $?")
        self.assertRegex(text, "not a parquet file(.|\n)*status [1-9]")  # an exception of Arrow's

    def test_phi_writes_and_reads_parquet(self):
        self.user_run("phi", "run", "--cycles", "60", "--runs", "1", "--format", "parquet", "-o", "phi")
        file = self.home / "phi/rows.parquet/part-000000.parquet"
        columns = "mean_qualia,mean_narrative"
        self.assertIn("mi", self.user_run("phi", "measure", str(file), "--columns", columns, "-m", "mi"))


class OtherInstallers(unittest.TestCase):
    """`uv tool install` and `pipx install`."""

    def check(self, program, install, uninstall):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            environment = {"HOME": folder, "PATH": f"{pathlib.Path(AUDITWHEEL).parent}:/usr/bin:/bin",
                           "REVEZA_SOCKET": str(home / "run/d.sock"), "REVEZA_LINGER": "1s"}
            for name in ("reveza", "fraudgen"):
                (wheel,) = DIST.glob(f"{name}-*.whl")
                subprocess.run([program, *install, wheel], env=environment, check=True, capture_output=True)
            programs = home / ".local/bin"
            for command in (["reveza", "demo", "--json"], ["fraudgen", "--rows", "10", "--format", "csv", "--output", "-"]):
                subprocess.run([programs / command[0], *command[1:]], env=environment, check=True, cwd=home,
                               capture_output=True)
            for name in ("reveza", "fraudgen"):
                subprocess.run([program, *uninstall, name], env=environment, check=True, capture_output=True)
            self.assertEqual(list(programs.iterdir()), [])

    def test_uv(self):
        self.check("uv", ["tool", "install", "--offline", "--no-index"], ["tool", "uninstall"])

    def test_pipx(self):
        self.check("pipx", ["install", "--pip-args=--no-index"], ["uninstall"])


class Uninstalled(Environment):
    def test_leaves_nothing(self):
        self.assertGreater(len(self.files()), len(self.before) + 10)
        self.pip("uninstall", "-y", "reveza", "fraudgen", "reveza-phi")
        self.assertEqual(self.files(), self.before)
        self.assertFalse((self.home / "venv/lib/reveza").exists())


if __name__ == "__main__":
    unittest.main()
