#!/usr/bin/env python3
"""Makes a Debian package of a built tree, for the release of Debian or Ubuntu that it was built on.

  make_deb.py BUILD OUTPUT

Its contents are those of `cmake --install` to /usr, in the places and formats that Debian wants; the
rest is in packaging/debian/. DEBFULLNAME and DEBEMAIL name the maintainer, as for Debian's own tools.
"""

import email.utils
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
DEBIAN = SOURCE / "packaging/debian"
# Packages whose code is compiled into the programs.
COMPILED_IN = ("libfmt-dev", "libspdlog-dev", "libcli11-dev", "libtomlplusplus-dev", "nlohmann-json3-dev",
               "libxxhash-dev", "libsqlite3-dev", "libstdc++6")
# Programs that `reveza` starts, which its man page describes.
INNER_PROGRAMS = ("reveza-metrics", "reveza-web", "reveza-demo-worker")
STATIC = ("reveza-supervisor",)
PYTHON_PACKAGES = ("reveza", "phi", "fraudgen")


def output_of(*words: str | os.PathLike[str], folder: pathlib.Path = SOURCE) -> str:
    return subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def version() -> str:
    found = re.search(r"project\(reveza VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())
    assert found, "no version in CMakeLists.txt"
    return found[1]


def maintainer() -> str:
    """Returns who makes the package; by default at a domain that is reserved, so that no mail reaches a stranger."""
    name = os.environ.get("DEBFULLNAME", "Reveza maintainers")
    return f"{name} <{os.environ.get('DEBEMAIL', 'maintainers@reveza.example')}>"


def date() -> float:
    """The time of the commit, so that the same tree gives the same package."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return float(given)
    try:
        return float(output_of("git", "log", "-1", "--format=%ct"))
    except (OSError, ValueError, subprocess.CalledProcessError):
        return time.time()


def write_compressed(path: pathlib.Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, 9, mtime=0))


def install(build: pathlib.Path, root: pathlib.Path) -> None:
    subprocess.run(["cmake", "--install", build, "--prefix", "/usr", "--strip"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": str(root)})
    for program in ("reveza", "revezad", "fraudgen", "phi"):
        if not (root / "usr/bin" / program).exists():
            raise SystemExit(f"make_deb: {program} is not built in {build}; run make first")


def arrange(root: pathlib.Path) -> None:
    """Moves files to where Debian wants them, in the formats that it wants."""
    share = root / "usr/share"
    (share / "doc/reveza/docs/images").rmdir()
    for library in (root / "usr/lib/reveza/arrow").glob("*.so.*"):
        subprocess.run(["strip", "--strip-unneeded", library], check=True)
    (share / "zsh/site-functions").rename(share / "zsh/vendor-completions")
    for page in list((share / "man").glob("man*/*")):
        write_compressed(page.with_name(f"{page.name}.gz"), page.read_bytes())
        page.unlink()
    for program in INNER_PROGRAMS:
        if (root / "usr/bin" / program).exists():
            write_compressed(share / f"man/man1/{program}.1.gz", b".so man1/reveza.1\n")
    place = root / "usr/lib/systemd/system/revezad.service.d/group.conf"
    place.parent.mkdir()
    shutil.copy(DEBIAN / "group.conf", place)
    link_python_packages(root)
    overrides = share / "lintian/overrides/reveza"
    overrides.parent.mkdir(parents=True)
    shutil.copy(DEBIAN / "lintian-overrides", overrides)


def link_python_packages(root: pathlib.Path) -> None:
    """Puts the packages where the release's Python looks for them."""
    folder = root / "usr/lib/python3/dist-packages"
    folder.mkdir(parents=True)
    packages = root / "usr/lib/reveza/python"
    for path in packages.iterdir():
        (folder / path.name).symlink_to(os.path.relpath(path, folder))
    for name in PYTHON_PACKAGES:
        if not (packages / name / "__init__.py").exists():
            raise SystemExit(f"make_deb: the Python package {name} is not built; run tools/setup.sh and make first")


def document(root: pathlib.Path) -> None:
    """Adds the copyright of all parts, and the package's changelog."""
    folder = root / "usr/share/doc/reveza"
    (folder / "LICENSE").unlink()
    shutil.copy(DEBIAN / "copyright", folder / "copyright")
    libraries = folder / "libraries"
    libraries.mkdir()
    for package in COMPILED_IN:
        text = pathlib.Path("/usr/share/doc") / package / "copyright"
        if text.exists():
            shutil.copy(text, libraries / f"{package}.txt")
    for text in (root / "usr/lib/reveza/arrow").glob("*.txt"):
        write_compressed(libraries / f"arrow-{text.stem.lower()}.txt.gz", text.read_bytes())
        text.unlink()
    write_compressed(folder / "changelog.gz", (
        f"reveza ({version()}) unstable; urgency=medium\n\n"
        "  * See /usr/share/doc/reveza/CHANGELOG.md.\n\n"
        f" -- {maintainer()}  {email.utils.formatdate(date())}\n").encode())


def dependencies(root: pathlib.Path, scratch: pathlib.Path) -> str:
    """The packages that have the libraries of the programs."""
    (scratch / "debian").mkdir(parents=True)
    (scratch / "debian/control").write_text("Source: reveza\n\nPackage: reveza\nArchitecture: any\n")
    (root / "DEBIAN").mkdir()
    files = [path for path in (root / "usr").rglob("*") if path.is_file() and not path.is_symlink()
             and path.read_bytes()[:4] == b"\x7fELF" and path.name not in STATIC]
    done = subprocess.run(["dpkg-shlibdeps", "-O", f"-S{root}", f"-l{root}/usr/lib/reveza/arrow",
                           "--ignore-missing-info", *files],
                          cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.startswith("shlibs:Depends="):
        raise SystemExit(f"make_deb: {done.stderr}")
    return done.stdout.strip().removeprefix("shlibs:Depends=")


def control(root: pathlib.Path, scratch: pathlib.Path, architecture: str) -> None:
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    text = (DEBIAN / "control.in").read_text()
    for key, value in (("VERSION", version()), ("ARCHITECTURE", architecture),
                       ("INSTALLED_SIZE", str(size // 1024)), ("MAINTAINER", maintainer()),
                       ("DEPENDS", dependencies(root, scratch))):
        text = text.replace(f"@{key}@", value)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    folder = root / "DEBIAN"
    (folder / "control").write_text(text)
    (folder / "md5sums").write_text(output_of(
        "md5sum", *(path.relative_to(root) for path in files), folder=root) + "\n")
    for script in ("postinst", "prerm", "postrm"):
        shutil.copy(DEBIAN / script, folder / script)


def set_modes(root: pathlib.Path, at: float) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            is_program = path.is_dir() or path.parent.name == "bin" or path.name in (
                "reveza-supervisor", "postinst", "prerm", "postrm")
            path.chmod(0o755 if is_program else 0o644)
            os.utime(path, (at, at))


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    build, output = map(pathlib.Path, sys.argv[1:])
    os.umask(0o022)
    architecture = output_of("dpkg", "--print-architecture")
    with tempfile.TemporaryDirectory() as folder:
        root, scratch = pathlib.Path(folder, "root"), pathlib.Path(folder, "scratch")
        root.mkdir()
        install(build, root)
        arrange(root)
        document(root)
        control(root, scratch, architecture)
        set_modes(root, date())
        output.mkdir(parents=True, exist_ok=True)
        file = output / f"reveza_{version()}_{architecture}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, file], check=True,
                       stdout=subprocess.DEVNULL,
                       env={**os.environ, "SOURCE_DATE_EPOCH": str(int(date()))})
    print(f"{file} {file.stat().st_size / 1e6:.1f} MB")


main()
