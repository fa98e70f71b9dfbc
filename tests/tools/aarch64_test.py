"""What tools/build_aarch64.sh has built, under QEMU: the tests of aarch64_tests.txt, and the programs.

  aarch64_test.py BUILD ROOT

ROOT is a root of Debian for arm64, in which all programs are of arm64, as the tests expect of a machine. A user
namespace has a binfmt_misc of its own, which starts programs of arm64 in QEMU; nothing of the machine changes.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop()).absolute()
BUILD = pathlib.Path(sys.argv.pop()).absolute()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_name("aarch64_tests.txt")
QEMU = "/usr/bin/qemu-aarch64-static"
MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
# $1: root, $2: source, $3: folder, then the command.
ENTER = f"""
set -e
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf '%s' ':aarch64:M::{MAGIC}:{MASK}:{QEMU}:PF' > /proc/sys/fs/binfmt_misc/register
mount --rbind "$1" "$1"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mkdir -p "$1$2"
mount --rbind "$2" "$1$2"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
cd "$1"
root=$1 folder=$3
shift 3
exec chroot "$root" /usr/bin/env --chdir="$folder" "$@"
"""


def listed():
    for line in LIST.read_text().splitlines():
        words = line.partition("#")[0].split()
        if words:
            yield words[0], dict(word.split("=", 1) for word in words[1:])


class Aarch64(unittest.TestCase):
    def run_there(self, *command, environment=None, timeout=900):
        settings = {"HOME": "/tmp", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "REVEZA_USAGE_FILE": "off",
                    "XDG_RUNTIME_DIR": "/tmp", **(environment or {})}
        words = ["-i", *[f"{key}={value}" for key, value in settings.items()], *command]
        return subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c",
             ENTER, "sh", str(ROOT), str(SOURCE), str(BUILD), *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, timeout=timeout)

    def test_programs_are_of_aarch64(self):
        done = self.run_there("bin/reveza", "--version")
        self.assertEqual(done.returncode, 0, done.stdout)
        machine = subprocess.run(["readelf", "-h", str(BUILD / "lib/libreveza.so")], capture_output=True, text=True, check=True)
        self.assertIn("AArch64", machine.stdout)

    def test_wheel_satisfies_its_tag(self):
        (wheel,) = (SOURCE / "build/dist-aarch64").glob("*.whl")
        self.assertIn("manylinux_2_28_aarch64", wheel.name)
        self.assertLess(wheel.stat().st_size, 15_000_000)
        shown = subprocess.run([SOURCE / "build/wheel-tools/bin/auditwheel", "show", wheel], capture_output=True, text=True,
                               check=True).stdout
        self.assertRegex(shown.replace("\n", " "), r'platform tag:\s*"manylinux_2_28_aarch64"')

    def cases(self, name, environment):
        """Returns the cases of a test program, without those that GTEST_FILTER excludes."""
        done = self.run_there(f"tests/{name}", "--gtest_list_tests", environment=environment)
        self.assertEqual(done.returncode, 0, done.stdout)
        suite, found = "", []
        for line in done.stdout.splitlines():
            words = line.partition("#")[0].rstrip()
            if words.startswith("  "):
                found.append(suite + words.strip())
            elif words.endswith("."):
                suite = words
        return found

    def test_tests_pass(self):
        for name, environment in listed():
            # Each case in a process of its own, as ctest runs them.
            cases = self.cases(name, environment)
            self.assertTrue(cases, name)
            run = [f"timeout -k 5 120 tests/{name} --gtest_brief=1 --gtest_filter={shlex.quote(case)} >/tmp/said 2>&1 || "
                   f"{{ echo FAILED {shlex.quote(case)}; tail -n 12 /tmp/said; }}" for case in cases]
            done = self.run_there("sh", "-c", "\n".join(run), environment=environment)
            with self.subTest(name):
                self.assertEqual(done.stdout, "", f"{name}: {done.stdout[-6000:]}")
            print(f"{name}: {len(cases)} cases", flush=True)

    def test_a_program_computes_the_same_with_daemon_and_library(self):
        # Not the demo: emulated programs are so slow that they are sometimes taken for unresponsive.
        worker = "bin/reveza-demo-worker --bytes 24MiB --steps 5 --step-ms 5 --name x"
        done = self.run_there("sh", "-c", f"mkdir /tmp/card; {worker}; bin/reveza run --quiet -- {worker}; bin/reveza stop",
                              environment={"FAKECUDA_DIR": "/tmp/card", "FAKECUDA_MEMORY": "96MiB",
                                           "LD_LIBRARY_PATH": "lib/fakecuda"})
        hashes = re.findall(r"^x: hash (\w+),", done.stdout, re.MULTILINE)
        self.assertEqual(len(hashes), 2, done.stdout[-4000:])
        self.assertEqual(hashes[0], hashes[1])


if __name__ == "__main__":
    if not (pathlib.Path(QEMU).exists() and ROOT.is_dir() and BUILD.is_dir() and shutil.which("unshare")):
        print("skipped: no QEMU, or tools/build_aarch64.sh tests has built nothing (tools/setup.sh test)")
        sys.exit(77)
    os.chdir(BUILD)
    unittest.main()
