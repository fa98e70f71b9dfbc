"""The Debian package on a system that has only what it depends on: contents, lintian, install as root, the
demos as an ordinary user, removal, purge.

  deb_test.py PACKAGES ROOTS

debootstrap makes the system in the folder ROOTS and keeps it. It is entered in a mount namespace, below
files in memory, so it stays as it was.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOTS = pathlib.Path(sys.argv.pop()).absolute()
PACKAGES = pathlib.Path(sys.argv.pop()).absolute()
ENTER = """
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
mount -t proc proc /mnt/root/proc
mount --bind /dev /mnt/root/dev
mkdir -p /mnt/root/tmp/use
cp "$2" /mnt/root/tmp/reveza.deb
exec chroot /mnt/root /usr/bin/env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \\
  PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -exc "$3"
"""
# What dpkg itself writes is compared by what it says of the package.
AS_ROOT = """
list() { find / -xdev \\( -path /tmp -o -path /proc -o -path /dev -o -path /var/lib/dpkg \\
  -o -path /var/log -o -path /var/cache \\) -prune -o -print | sort; cat /etc/group; }
groupadd probe && groupdel probe
list > /tmp/before
dpkg -i /tmp/reveza.deb
getent group reveza
chown 65534:65534 /tmp/use
chroot --userspec=65534:65534 --groups=65534 / /usr/bin/env -i HOME=/tmp/use TERM=dumb PATH=/usr/bin:/bin \\
  LC_ALL=C.UTF-8 sh -exc 'cd /tmp/use
    reveza demo
    fraudgen demo --output report.html
    phi run --cycles 5 --runs 2 -o run
    reveza version
    python3 -m reveza version
    python3 -c "import reveza; reveza.step(1, loss=2)"
    python3 -c "import fraudgen; print(next(iter(fraudgen.schema().values())).columns[0].name)"
    python3 -c "import numpy, phi; print(phi.mip(numpy.random.default_rng(1).normal(size=(90, 3))).partition)"
    reveza-metrics --once | head -3
    reveza completion -- jobs sho'
# As root Python keeps what it compiles, in folders of folders too.
python3 -c "import reveza, phi, fraudgen, fraudgen.bench.report"
test -d /usr/lib/reveza/python/fraudgen/bench/__pycache__
mkdir -p /var/lib/reveza && touch /var/lib/reveza/usage.db
dpkg -i /tmp/reveza.deb
test -e /var/lib/reveza/usage.db
dpkg -r reveza
test ! -e /usr/bin/reveza && test ! -e /usr/lib/reveza && test -e /var/lib/reveza/usage.db
dpkg -P reveza
list > /tmp/after
diff /tmp/before /tmp/after
! dpkg -s reveza 2>/dev/null
echo purged
"""


def field(package: pathlib.Path, name: str) -> str:
    return subprocess.run(["dpkg-deb", "-f", str(package), name], capture_output=True, text=True,
                          check=True).stdout.strip()


class DebianPackage(unittest.TestCase):
    def setUp(self):
        if shutil.which("dpkg-deb") is None:
            self.skipTest("no dpkg-deb")
        packages = list(PACKAGES.glob("reveza_*.deb"))
        self.assertEqual(len(packages), 1, packages)
        self.package = packages[0]

    def test_lintian_finds_nothing(self):
        if shutil.which("lintian") is None:
            self.skipTest("no lintian")
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning",
                               str(self.package)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_maintainer_is_a_name_and_an_address(self):
        self.assertRegex(field(self.package, "Maintainer"), r"^[^<>@]+ <[\w.-]+@[\w.-]+\.[a-z]+>$")

    def test_files_are_where_debian_wants_them(self):
        listed = subprocess.run(["dpkg-deb", "-c", str(self.package)], capture_output=True, text=True,
                                check=True).stdout
        for file in ("bin/reveza", "bin/revezad", "bin/fraudgen", "bin/phi",
                     "lib/reveza/libreveza.so", "lib/systemd/system/revezad.service",
                     "lib/systemd/user/revezad.service", "share/man/man1/reveza.1.gz",
                     "share/man/man8/revezad.8.gz", "share/bash-completion/completions/phi",
                     "share/zsh/vendor-completions/_fraudgen",
                     "share/fish/vendor_completions.d/reveza.fish", "share/doc/reveza/copyright",
                     "share/doc/reveza/changelog.gz", "lib/reveza/python/phi/__init__.py",
                     "lib/reveza/python/fraudgen/py.typed"):
            self.assertRegex(listed, rf"(?m) root/root .* \./usr/{re.escape(file)}$")
        for name in ("reveza", "phi", "fraudgen"):
            self.assertRegex(listed, rf"dist-packages/{name} -> ../../reveza/python/{name}\n")
        for name in ("phi", "fraudgen"):
            self.assertRegex(listed, rf"reveza/python/{name}/_native\.[\w-]+\.so\n")
        self.assertNotRegex(listed, r"(?m)^-r[^ ]*s|^.......w", "set-uid or writable by all")

    def root(self):
        suite = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(),
                          re.MULTILINE)
        assert suite
        needed = sorted({re.split(r"[ |]", name.strip())[0]
                         for name in field(self.package, "Depends").split(",")} | {"python3", "python3-numpy"})
        key = hashlib.sha256(" ".join(needed).encode()).hexdigest()[:8]
        root = ROOTS / f"{suite[1]}-{key}"
        if root.exists():
            return root
        partial = ROOTS / f"{root.name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", f"--include={','.join(needed)}",
                               suite[1], str(partial)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"debootstrap {suite[1]}: {done.stdout[-300:]}{done.stderr[-300:]}")
        partial.rename(root)
        return root

    def test_installs_works_and_leaves_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make and enter a root")
        if shutil.which("debootstrap") is None:
            self.skipTest("no debootstrap")
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER, "sh",
                               str(self.root()), str(self.package), AS_ROOT],
                              capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        self.assertTrue(done.stdout.endswith("\npurged\n"), done.stdout[-500:])
        self.assertIn("\nshow\t", done.stdout)
        self.assertIn("reveza step 1 loss=2.0\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
