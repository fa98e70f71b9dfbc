"""tools/setup.sh on a synthetic machine: which packages it finds, asks for and installs."""

import hashlib
import os
import re
import shutil
import subprocess
import unittest

from tree import ROOT, TreeTest

NOBODY = 65534
# Answers for the packages in installed.txt, as the real one does for those that it knows.
DPKG_QUERY = """#!/bin/bash
folder=$(dirname "$0")
shift 3
for name in "$@"; do
  if grep -qx "$name" "$folder/installed.txt"; then echo "$name ii  4:12.2.0-3+b1"; fi
done
[[ $# -eq $(wc -l <"$folder/installed.txt") ]]
"""
APT_GET = """#!/bin/bash
folder=$(dirname "$0")
echo "apt-get $*" >>"$folder/apt.log"
if [[ $1 == download && ! -e $folder/apt-fails ]]; then touch "$2_2.42_amd64.deb"; fi
[[ $1 == install ]] || exit 0
if [[ -e $folder/apt-fails ]]; then echo 'E: no such package'; exit 100; fi
for word in "$@"; do
  case $word in install | --*) ;; *) echo "$word" >>"$folder/installed.txt" ;; esac
done
"""
# The contents of a package.
DPKG_DEB = """#!/bin/bash
[[ $1 == --fsys-tarfile && -e $2 ]] || exit 1
folder=$(mktemp -d)
mkdir -p "$folder/usr/bin"
echo checker >"$folder/usr/bin/promtool"
echo server >"$folder/usr/bin/prometheus"
chmod +x "$folder"/usr/bin/*
tar -c -C "$folder" ./usr
rm -r "$folder"
"""
# Builds what it is told to, and has modules, unless the network is gone.
GO = """#!/bin/bash
folder=$(dirname "$0")
if [[ $1 == -C ]]; then
  if [[ $3 == list ]]; then [[ ! -e $folder/no-modules ]]; exit; fi
  echo "go $*" >>"$folder/modules.log"
  [[ ! -e $folder/go-fails ]]
  exit
fi
if [[ -e $folder/go-fails ]]; then echo 'dial tcp: no such host'; exit 1; fi
echo "go $*" >>"$folder/go.log"
program=${!#}
program=${program##*/}
echo program >"$GOBIN/${program%@*}"
chmod +x "$GOBIN/${program%@*}"
"""
# Packs the files and the licence of any package.
NPM = """#!/bin/bash
folder=$(dirname "$0")
echo "npm $*" >>"$folder/npm.log"
if [[ -e $folder/npm-fails ]]; then echo 'npm: no such host' >&2; exit 1; fi
mkdir -p package/dist
echo "draw()" >package/dist/draw.min.js
echo "pen()" >package/dist/pen.js
echo "pen{}" >package/dist/pen.css
echo "as you like" >package/LICENSE
tar -czf draw.tgz package
rm -r package
"""
CHART = "@somebody/draw 2.1.0 dist/draw.min.js " + hashlib.sha256(b"draw()\n").hexdigest()
# A package of which two files are needed.
PEN = "".join(f"pen 1.0.0 dist/{file} {hashlib.sha256(text).hexdigest()}\n"
              for file, text in (("pen.js", b"pen()\n"), ("pen.css", b"pen{}\n")))
CHARTS = "requirements-charts.txt"
PAGE = "requirements-page.txt"
BROWSER = "requirements-browser.txt"
DIAGRAMS = "requirements-diagrams.txt"
REQUIREMENTS = ("requirements.txt", "requirements-arrow.txt", "requirements-bindings.txt",
                "requirements-demo.txt", "requirements-test.txt", "requirements-ml.txt",
                "requirements-pyphi.txt", "requirements-docs.txt")
BENCH = "requirements-bench.txt"
HEADERS = "requirements-headers.txt"
SERVERS = "requirements-go.txt"
SITE = "build/python/lib/python3.11/site-packages"


class Setup(TreeTest):
    def setUp(self):
        super().setUp()
        self.tree.chmod(0o755)
        (self.tree / "tools").mkdir()
        for name in ("setup.sh", "find_toolkit.sh", *REQUIREMENTS, BENCH, HEADERS, SERVERS):
            shutil.copy(ROOT / "tools" / name, self.tree / "tools" / name)
        shutil.copytree(ROOT / "cuda", self.tree / "cuda")
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET), ("go", GO),
                           ("npm", NPM), ("dpkg-deb", DPKG_DEB)):
            self.write(f"bin/{name}", text).chmod(0o755)
        for file in ("bin/nvcc", "include/cuda.h", "include/nvml.h"):
            self.write(f"toolkit/{file}").chmod(0o755)
        self.toolkit_version(13000)
        for name, version in self.wheels(HEADERS):
            (self.tree / f"build/headers/{name}-{version}").mkdir(parents=True)
        groups = re.findall(r"^(\w+)_packages=\(([^)]*)\)",
                            (ROOT / "tools/setup.sh").read_text(), re.MULTILINE)
        self.packages = {group: names.split() for group, names in groups}
        self.install(*self.packages["build"], *self.packages["browser"], *self.packages["kernel"],
                     *self.packages["distribution"], *self.packages["aarch64"])
        self.make_wheels(*REQUIREMENTS[1:])
        for program in ("promtool", "prometheus"):
            self.write(f"build/promtool/{program}").chmod(0o755)
        self.write(f"tools/{CHARTS}", f"# charts\n{CHART}\n")
        self.write("build/charts/draw-2.1.0/draw.min.js", "draw()\n")
        self.write("build/charts/draw-2.1.0/LICENSE", "as you like\n")
        self.write(f"tools/{PAGE}", PEN)
        self.write(f"tools/{BROWSER}", PEN)
        self.write(f"tools/{DIAGRAMS}", PEN)
        self.write("build/charts/pen-1.0.0/pen.js", "pen()\n")
        self.write("build/charts/pen-1.0.0/pen.css", "pen{}\n")
        self.write("build/charts/pen-1.0.0/LICENSE", "as you like\n")

    def install(self, *names: str):
        self.write("bin/installed.txt", "".join(f"{name}\n" for name in names))

    def wheels(self, file: str):
        return [line.split("==") for line in (self.tree / "tools" / file).read_text().splitlines()
                if not line.startswith("#")]

    def toolkit_version(self, version: int):
        self.write("toolkit/include/cuda.h", f"#define CUDA_VERSION {version}\n")

    def run_setup(self, *arguments: str, user: int | None = None, toolkit: bool = True):
        environment = {"PATH": f"{self.tree}/bin:/usr/bin:/bin"}
        if toolkit:
            environment["CUDA_HOME"] = str(self.tree / "toolkit")
        done = subprocess.run(["bash", str(self.tree / "tools/setup.sh"), *arguments],
                              env=environment, user=user, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_prints_one_line_per_installed_dependency(self):
        status, lines, errors = self.run_setup()
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(lines[0], "ok  g++ 12.2.0")
        self.assertEqual(len(lines), len(self.packages["build"]) + 5)
        self.assertEqual(lines[-5], f"ok  CUDA toolkit in {self.tree}/toolkit")
        self.assertRegex(lines[-4], r"^ok  Arrow: pyarrow \d+\.\d+\.\d+$")
        self.assertRegex(lines[-3], r"^ok  nanobind: nanobind \d+\.\d+\.\d+$")
        self.assertEqual(lines[-2:], ["ok  from npm: @somebody/draw 2.1.0", "ok  from npm: pen 1.0.0"])
        self.assertFalse((self.tree / "bin/apt.log").exists())

    def test_quiet_prints_nothing_if_complete(self):
        self.assertEqual(self.run_setup("--quiet"), (0, [], ""))

    def test_prints_the_command_without_root(self):
        self.install(*(name for name in self.packages["build"] if name not in ("mold", "cmake")))
        status, _, errors = self.run_setup(user=NOBODY if os.geteuid() == 0 else None)
        self.assertEqual(status, 1)
        self.assertIn("  apt-get update && apt-get install --yes --no-install-recommends "
                      "cmake mold\n", errors)
        self.assertFalse((self.tree / "bin/apt.log").exists())

    def test_root_installs_only_missing_packages(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.install(*(name for name in self.packages["build"] if name != "mold"))
        status, lines, errors = self.run_setup()
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("installing mold", lines)
        self.assertIn("ok  mold 12.2.0", lines)
        self.assertEqual((self.tree / "bin/apt.log").read_text().splitlines(),
                         ["apt-get update", "apt-get install --yes --no-install-recommends mold"])

    def test_prints_output_of_failed_apt(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.install()
        self.write("bin/apt-fails")
        status, _, errors = self.run_setup()
        self.assertEqual(status, 1)
        self.assertIn("E: no such package", errors)

    def test_checks_requested_groups(self):
        self.install(*self.packages["build"], *self.packages["check"])
        status, lines, _ = self.run_setup("check")
        self.assertEqual((status, len(lines)), (0, len(self.packages["check"])))

    def make_wheels(self, *requirements: str):
        for file in requirements:
            for name, version in self.wheels(file):
                self.write(f"{SITE}/{name.replace('-', '_')}-{version}.dist-info/METADATA")

    def make_cuda_wheels(self):
        self.make_wheels("requirements.txt")
        for file in ("bin/nvcc", "include/cuda.h", "include/nvml.h", "lib/libcudart_static.a"):
            self.write(f"{SITE}/nvidia/cu13/{file}")
        return self.tree / SITE

    def break_python(self):
        self.write("bin/python3", "#!/bin/sh\necho no network >&2\nexit 1\n").chmod(0o755)

    def test_checks_test_wheels_if_requested(self):
        self.install(*self.packages["browser"], *self.packages["kernel"],
                     *self.packages["distribution"], *self.packages["aarch64"])
        status, lines, errors = self.run_setup("test")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("duckdb", lines[0])
        self.assertIn("sphinx", lines[1])
        self.assertIn("polars", lines[3])
        self.assertEqual(lines[-2], "ok  user-mode-linux 12.2.0")
        self.assertRegex(lines[-3], r"^ok  versitygw v\d+\.\d+\.\d+ in build/servers$")
        self.assertEqual(lines[-1], "ok  chromium 12.2.0")

    def test_demo_needs_only_duckdb(self):
        self.install()
        status, lines, errors = self.run_setup("demo")
        self.assertEqual((status, errors, len(lines)), (0, "", 1))
        self.assertIn("duckdb", lines[0])
        self.break_python()
        shutil.rmtree(self.tree / "build")
        status, _, errors = self.run_setup("demo")
        self.assertEqual(status, 0)
        self.assertIn("could not install tools/requirements-demo.txt; without it ", errors)

    def test_docs_need_only_sphinx_and_diagrams(self):
        self.install()
        status, lines, errors = self.run_setup("docs")
        self.assertEqual((status, errors, len(lines)), (0, "", 2))
        self.assertRegex(lines[0], "^ok  Sphinx: sphinx .*, furo ")
        self.assertEqual(lines[1], "ok  from npm: pen 1.0.0")

    def test_checks_bench_wheels_only_if_requested(self):
        self.install(*sum(self.packages.values(), []))
        status, lines, errors = self.run_setup("all")
        self.assertEqual((status, errors), (0, ""))
        self.assertNotIn("generators", "".join(lines))
        self.make_wheels(BENCH)
        status, lines, errors = self.run_setup("bench")
        self.assertEqual((status, errors, len(lines)), (0, "", 1))
        self.assertRegex(lines[0], "^ok  Other generators: tpchgen-cli .*, faker ")

    def test_builds_servers_once_per_version(self):
        for _ in range(2):
            self.assertEqual(self.run_setup("test")[0], 0)
        log = self.tree / "bin/go.log"
        self.assertRegex(log.read_text(), r"^go install .*/versitygw@v[\d.]+\n$")
        requirements = self.tree / "tools" / SERVERS
        requirements.write_text(requirements.read_text().replace("@v", "@v9."))
        self.assertIn("ok  versitygw v9.", self.run_setup("test")[1][-3])
        self.assertEqual(len(log.read_text().splitlines()), 2)

    def test_prints_consequence_of_a_missing_server(self):
        self.write("bin/go-fails")
        status, lines, errors = self.run_setup("test")
        self.assertEqual(status, 0)
        self.assertIn("building versitygw", lines[-3])
        self.assertIn("dial tcp: no such host\nsetup: could not build versitygw; without it the "
                      "tests that write to buckets are skipped\n", errors)
        self.assertEqual(list((self.tree / "build/servers").iterdir()), [])

    @unittest.skipIf(shutil.which("prometheus", path="/usr/bin:/bin"), "it is installed")
    def test_takes_prometheus_out_of_its_package(self):
        promtool, prometheus = (self.tree / "build/promtool" / name for name in ("promtool", "prometheus"))
        prometheus.unlink()
        status, lines, errors = self.run_setup("test")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("ok  Prometheus", lines)
        self.assertEqual((promtool.read_text(), prometheus.read_text()), ("checker\n", "server\n"))
        prometheus.unlink()
        self.write("bin/apt-fails")
        status, _, errors = self.run_setup("test")
        self.assertEqual(status, 0)
        self.assertIn("setup: could not fetch Prometheus; without it the metrics are not checked and scraped by it\n",
                      errors)
        self.assertFalse(prometheus.exists())

    def test_fetches_missing_modules(self):
        self.write("bin/no-modules")
        status, lines, _ = self.run_setup("test")
        self.assertEqual(status, 0)
        self.assertEqual((self.tree / "bin/modules.log").read_text(),
                         "go -C integrations/kubernetes mod download\n"
                         "go -C integrations/kubernetes/tests/chart mod download\n")
        self.write("bin/go-fails")
        status, _, errors = self.run_setup("test")
        self.assertEqual(status, 0)
        self.assertIn("setup: could not fetch the Go modules of integrations/kubernetes; without them its "
                      "tests are skipped\n", errors)

    def test_missing_optional_wheels_are_not_an_error(self):
        self.break_python()
        shutil.rmtree(self.tree / "build")
        status, lines, errors = self.run_setup("build", "test")
        self.assertEqual(status, 0)
        self.assertIn("installing Arrow into build/python", lines)
        self.assertIn("could not install tools/requirements-arrow.txt; without it fraudgen ", errors)
        self.assertIn("could not install tools/requirements-test.txt; without it some tests are "
                      "skipped\n", errors)

    def test_fetches_missing_or_corrupt_charts(self):
        script = self.tree / "build/charts/draw-2.1.0/draw.min.js"
        log = self.tree / "bin/npm.log"
        self.assertEqual(self.run_setup()[0], 0)
        self.assertFalse(log.exists())
        script.write_text("mine()\n")
        status, lines, errors = self.run_setup()
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(lines[-3:], ["fetching the packages of tools/requirements-charts.txt into build/charts",
                                      "ok  from npm: @somebody/draw 2.1.0", "ok  from npm: pen 1.0.0"])
        self.assertEqual(script.read_text(), "draw()\n")
        self.assertEqual(log.read_text(), "npm pack --silent --fetch-retries=1 @somebody/draw@2.1.0\n")

    def test_fetches_several_files_of_a_package(self):
        folder = self.tree / "build/charts/pen-1.0.0"
        shutil.rmtree(folder)
        self.assertEqual(self.run_setup()[0], 0)
        self.assertEqual(sorted(file.name for file in folder.iterdir()), ["LICENSE", "pen.css", "pen.js"])

    def test_prints_consequence_of_missing_charts(self):
        for what, wrong in (("no such host", lambda: self.write("bin/npm-fails")),
                            ("expected that of tools/requirements-charts.txt", lambda: self.write(
                                f"tools/{CHARTS}", CHART.replace("2.1.0", "2.2.0")[:-1] + "x\n"))):
            with self.subTest(what=what):
                shutil.rmtree(self.tree / "build/charts", ignore_errors=True)
                (self.tree / "bin/npm-fails").unlink(missing_ok=True)
                wrong()
                status, _, errors = self.run_setup()
                self.assertEqual(status, 0)
                self.assertIn(what, errors)
                self.assertIn("without it fraudgen report is unavailable\n", errors)
                self.assertEqual(list((self.tree / "build/charts").glob("draw*")), [])

    def test_only_root_installs_the_browser(self):
        self.install()
        if os.geteuid() == 0:
            status, lines, _ = self.run_setup("test")
            self.assertEqual((status, lines[-1]), (0, "ok  chromium 12.2.0"))
            self.install()
            os.chown(self.tree / "build", NOBODY, NOBODY)
        status, _, errors = self.run_setup("test", user=NOBODY if os.geteuid() == 0 else None)
        self.assertEqual(status, 0)
        self.assertIn("chromium is missing", errors)
        self.assertIn("user-mode-linux is missing", errors)
        self.assertEqual(self.run_setup("browser", user=NOBODY if os.geteuid() == 0 else None)[0], 1)

    @unittest.skipIf(os.geteuid() != 0, "only root installs packages")
    def test_unavailable_kernel_is_not_an_error(self):
        self.install(*self.packages["browser"])
        self.write("bin/apt-fails", "")
        status, lines, errors = self.run_setup("test")
        self.assertEqual((status, lines[-1]), (0, "ok  chromium 12.2.0"))
        self.assertIn("user-mode-linux is missing", errors)

    def test_detects_an_older_arrow(self):
        self.break_python()
        for folder in (self.tree / SITE).glob("pyarrow-*"):
            folder.rename(folder.with_name("pyarrow-1.0.0.dist-info"))
        _, lines, _ = self.run_setup()
        self.assertEqual(lines[-4], "installing Arrow into build/python")

    def test_keeps_complete_wheels(self):
        if os.path.exists("/usr/local/cuda/bin/nvcc"):
            self.skipTest("this machine has a toolkit")
        self.make_cuda_wheels()
        status, lines, errors = self.run_setup(toolkit=False)
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("wheels in build/python", lines[-5])

    def test_ignores_toolkits_that_do_not_work(self):
        if os.path.exists("/usr/local/cuda/bin/nvcc"):
            self.skipTest("this machine has a toolkit")
        self.make_cuda_wheels()
        for version, used in ((11080, False), (12040, True), (13050, True), (14000, False)):
            with self.subTest(version=version):
                self.toolkit_version(version)
                status, lines, errors = self.run_setup()
                self.assertEqual((status, "CUDA toolkit" in lines[-5]), (0, used))
                self.assertEqual("whose headers are not supported" in errors, not used)
        self.toolkit_version(12040)
        self.write("toolkit/bin/nvcc", "#!/bin/sh\nexit 1\n")
        status, lines, errors = self.run_setup()
        self.assertIn("wheels in build/python", lines[-5])
        self.assertIn("whose nvcc does not work with ", errors)

    def test_missing_headers_are_not_an_error(self):
        shutil.rmtree(self.tree / "build/headers")
        self.write("build/python/bin/python3", "#!/bin/sh\nexit 1\n").chmod(0o755)
        status, lines, errors = self.run_setup("headers")
        self.assertEqual(status, 0)
        self.assertIn("could not install nvidia-cuda-runtime-cu11==11.8.89; without it ", errors)
        self.assertFalse(list((self.tree / "build").glob("headers/*")))

    def test_detects_removed_and_older_wheels(self):
        if os.path.exists("/usr/local/cuda/bin/nvcc"):
            self.skipTest("this machine has a toolkit")
        self.break_python()
        for lost in ("nvidia/cu13/include/nvml.h", "nvidia_nvvm-13.0.88.dist-info"):
            with self.subTest(lost=lost):
                path = self.make_cuda_wheels() / lost
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                status, lines, errors = self.run_setup(toolkit=False)
                self.assertEqual(status, 1)
                self.assertIn("installing NVIDIA's compiler", lines[-1])
                self.assertIn("could not create a Python environment", errors)

    def test_unknown_argument(self):
        status, _, errors = self.run_setup("everything")
        self.assertEqual(status, 1)
        self.assertIn("unknown argument 'everything'", errors)


if __name__ == "__main__":
    unittest.main()
