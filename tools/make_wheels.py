"""Makes wheels of a built tree: reveza, fraudgen and phi.

  make_wheels.py BUILD OUTPUT PLATFORM [NAME...]

BUILD-arrow is the tree of their variants that need the libraries of pyarrow, if there are any. PLATFORM is a tag such as manylinux_2_28_x86_64. Programs go where pip puts scripts, everything else
where it puts data: in every environment these are bin/ and lib/ of one prefix, so that programs find
their libraries as after `cmake --install`.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SUMMARIES = {
    "reveza": "Programs take turns on one GPU, in about the time of one after another",
    "fraudgen": "Synthetic Brazilian bank data with labelled fraud",
    "phi": "Integration cycles of coupled modules, and measures of integrated information",
}
READMES = {"reveza": "README.md", "fraudgen": "fraudgen/README.md", "phi": "phi/README.md"}
# `phi` is a name of another project on PyPI.
DISTRIBUTIONS = {"reveza": "reveza", "fraudgen": "fraudgen", "phi": "reveza-phi"}
SNAKEMAKE_PLUGIN = "snakemake_executor_plugin_reveza"  # the name by which Snakemake finds it
# With which programs write and read Parquet.
PYARROW = re.search(r"^pyarrow==\S+", (SOURCE / "tools/requirements-arrow.txt").read_text(), re.MULTILINE)[0]
# What parts of the Python packages need beside the programs, by the name of the extra.
EXTRAS = {
    "reveza": {"jupyter": ("jupyter_client>=8",), "snakemake": ("snakemake>=9",)},
    "fraudgen": {"parquet": (PYARROW,), "arrow": ("pyarrow>=15",), "spark": ("pyspark>=4.2", "pyarrow>=18"),
                 "ray": ("ray[data]>=2.60", "pyarrow>=15"),
                 "torch": ("torch", "torch_geometric>=2.5", "pyarrow>=15", "numpy"),
                 "bench": ("duckdb>=2", "lightgbm>=4.5", "numpy>=1.24", "scikit-learn>=1.4",
                           "tomli>=2; python_version < '3.11'")},
    "phi": {"parquet": (PYARROW,), "numpy": ("numpy>=1.24",)},
}


def version() -> str:
    text = (SOURCE / "CMakeLists.txt").read_text()
    found = re.search(r"project\(reveza VERSION ([0-9.]+)", text)
    assert found, "no version in CMakeLists.txt"
    return found[1]


def licences(has_module: bool, has_page: bool) -> dict[str, tuple[str, pathlib.Path]]:
    """Returns the licences of others' code in a wheel, by file name."""
    found = {}
    if has_module:
        site = "python3*/site-packages/nanobind-*.dist-info/licenses/LICENSE"
        found["nanobind.txt"] = ("BSD-3-Clause", next((SOURCE / "build/python/lib").glob(site)))
    if has_page:
        found["cpp-httplib.txt"] = ("MIT", SOURCE / "build/httplib/LICENSE")
    return found


def requirement(package: str, extra: str) -> str:
    named, _, condition = package.partition("; ")
    return f"Requires-Dist: {named}; {condition + ' and ' if condition else ''}extra == '{extra}'\n"


def metadata(name: str, others: dict[str, tuple[str, pathlib.Path]]) -> str:
    extras = "".join(f"Provides-Extra: {extra}\n" + "".join(requirement(each, extra) for each in packages)
                     for extra, packages in EXTRAS[name].items())
    licence = " AND ".join(["Apache-2.0", *(identifier for identifier, _ in others.values())])
    licence += "".join(f"\nLicense-File: {file}" for file in ["LICENSE", *others])
    return (f"Metadata-Version: 2.4\nName: {DISTRIBUTIONS[name]}\nVersion: {version()}\n"
            f"Summary: {SUMMARIES[name]}\nLicense-Expression: {licence}\n"
            "Requires-Python: >=3.9\nClassifier: Operating System :: POSIX :: Linux\n"
            f"{extras}Description-Content-Type: text/markdown\n\n" + (SOURCE / READMES[name]).read_text())


def copy_package(name: str, build: pathlib.Path, to: pathlib.Path) -> bool:
    """Copies the Python package with its modules, which differ in the Python that they are for. Returns whether it
    has any, without which only `reveza` is a package."""
    modules = sorted((build / "lib/python" / name).glob("_native.*.so"))
    if not modules and name != "reveza":
        return False
    shutil.copytree(SOURCE / "python" / name, to, ignore=shutil.ignore_patterns("*_test.py", "__pycache__"))
    if name == "reveza":
        shutil.copytree(SOURCE / "python" / SNAKEMAKE_PLUGIN, to.parent / SNAKEMAKE_PLUGIN,
                        ignore=shutil.ignore_patterns("__pycache__"))
    for module in modules:
        subprocess.run(["strip", "--strip-unneeded", "-o", to / module.name, module], check=True)
    return bool(modules)


def install(build: pathlib.Path, name: str, prefix: pathlib.Path) -> None:
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", name, "--strip"],
                   check=True, stdout=subprocess.DEVNULL)


def make(name: str, build: pathlib.Path, output: pathlib.Path, platform: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        stem = f"{DISTRIBUTIONS[name].replace('-', '_')}-{version()}"
        data = root / f"{stem}.data/data"
        install(build, name, data)
        with_arrow = build.with_name(f"{build.name}-arrow")
        if (with_arrow / "bin" / f"{name}-arrow").exists():
            install(with_arrow, name, data)
        if not (data / "bin").is_dir():
            raise SystemExit(f"make_wheels: {name} is not built in {build}")
        (data / "bin").rename(data.parent / "scripts")
        has_module = copy_package(name, build, root / name)
        if not any(data.iterdir()):
            data.rmdir()
        info = root / f"{stem}.dist-info"
        (info / "licenses").mkdir(parents=True)
        shutil.copy(SOURCE / "LICENSE", info / "licenses")
        others = licences(has_module, (data.parent / "scripts/reveza-web").exists())
        for file, (_, text) in others.items():
            shutil.copy(text, info / "licenses" / file)
        (info / "METADATA").write_text(metadata(name, others))
        if name == "reveza":
            shutil.copy(SOURCE / "python/entry_points.txt", info)
        (info / "WHEEL").write_text(
            "Wheel-Version: 1.0\nGenerator: reveza make_wheels\nRoot-Is-Purelib: false\n"
            f"Tag: py3-none-{platform}\n")
        output.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "wheel", "pack", root, "--dest-dir", output], check=True,
                       stdout=subprocess.DEVNULL)
        file = output / f"{stem}-py3-none-{platform}.whl"
        print(f"{file} {file.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    if len(sys.argv) < 4 or not set(sys.argv[4:]) <= set(SUMMARIES):
        raise SystemExit(__doc__)
    for name in sys.argv[4:] or SUMMARIES:
        make(name, pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3])


main()
