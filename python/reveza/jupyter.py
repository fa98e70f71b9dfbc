"""Kernels of Jupyter that share a GPU: `python -m reveza.jupyter install`.

Installs a copy of a kernel's specification whose kernels start under `reveza run`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Optional, Sequence

from reveza._control import Error, program_path

if TYPE_CHECKING:
    from jupyter_client.kernelspec import KernelSpecManager

_PROVISIONER = "reveza"
_DEFAULT_OPTIONS = ["--interactive"]


def _provisioner(metadata: dict[str, Any]) -> dict[str, Any]:
    found = metadata.get("kernel_provisioner", {})
    return found if isinstance(found, dict) else {}


def _is_ours(metadata: dict[str, Any]) -> bool:
    return _provisioner(metadata).get("provisioner_name") == _PROVISIONER


def _check_options(options: Sequence[str]) -> None:
    """Parses options of `reveza run`, without a daemon. Error names what is wrong."""
    done = subprocess.run(
        [program_path(), "run", *options, "--", "true"],
        env={**os.environ, "REVEZA_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Error(done.stderr.strip().removeprefix("reveza: "), done.returncode)


def _install(manager: KernelSpecManager, arguments: argparse.Namespace) -> None:
    from jupyter_client.kernelspec import NoSuchKernel  # pylint: disable=import-outside-toplevel

    options = arguments.options or _DEFAULT_OPTIONS
    _check_options(options)
    try:
        spec = manager.get_kernel_spec(arguments.kernel)
    except NoSuchKernel as error:
        known = ", ".join(sorted(manager.find_kernel_specs())) or "none"
        raise Error(f"no kernel '{arguments.kernel}'; installed are: {known}", 2) from error
    if _is_ours(spec.metadata):
        raise Error(f"'{arguments.kernel}' is a kernel of Reveza already", 2)
    other = _provisioner(spec.metadata).get("provisioner_name", "local-provisioner")
    if other != "local-provisioner":
        raise Error(f"'{arguments.kernel}' has a provisioner of its own, {other}", 2)
    name = arguments.name or f"reveza-{arguments.kernel}"
    known_specs = manager.get_all_specs()
    if name in known_specs and not _is_ours(known_specs[name]["spec"].get("metadata", {})):
        raise Error(f"'{name}' is another kernel; choose a --name", 2)
    content = spec.to_dict()
    content["display_name"] = arguments.display_name or f"{spec.display_name} (Reveza)"
    content["metadata"] = {
        **spec.metadata,
        "kernel_provisioner": {
            "provisioner_name": _PROVISIONER,
            "config": {"options": options},
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, name)
        shutil.copytree(spec.resource_dir, copy)
        with open(os.path.join(copy, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        prefix = sys.prefix if arguments.sys_prefix else arguments.prefix
        print(manager.install_kernel_spec(copy, name, user=prefix is None, prefix=prefix))


def _uninstall(manager: KernelSpecManager, arguments: argparse.Namespace) -> None:
    spec = manager.get_all_specs().get(arguments.name)
    if spec is None or not _is_ours(spec["spec"].get("metadata", {})):
        raise Error(f"'{arguments.name}' is not a kernel of Reveza; `list` shows them", 2)
    print(manager.remove_kernel_spec(arguments.name))


def _list(manager: KernelSpecManager, _arguments: argparse.Namespace) -> None:
    for name, one in sorted(manager.get_all_specs().items()):
        metadata = one["spec"].get("metadata", {})
        if _is_ours(metadata):
            config = _provisioner(metadata).get("config", {})
            options = " ".join(config.get("options", _DEFAULT_OPTIONS))
            print(f"{name}\t{one['resource_dir']}\t{options}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reveza.jupyter",
        description="Installs kernels of Jupyter that run under `reveza run`, each as a job of its own.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    install = commands.add_parser(
        "install",
        help="copy a kernel's specification",
        epilog="Options of `reveza run` follow after --, "
        "e.g. install -- --interactive --memory 2GiB:8GiB (default: --interactive).",
    )
    install.add_argument("--kernel", default="python3", help="which kernel (default: python3)")
    install.add_argument("--name", help="name of the copy (default: reveza-KERNEL)")
    install.add_argument("--display-name", help="what Jupyter shows (default: that of the kernel)")
    where = install.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user (the default)")
    where.add_argument("--sys-prefix", action="store_true", help="for this Python environment")
    where.add_argument("--prefix", help="below this folder, in share/jupyter/kernels")
    install.set_defaults(run=_install)
    uninstall = commands.add_parser("uninstall", help="remove a copy")
    uninstall.add_argument("name", nargs="?", default="reveza-python3", help="(default: %(default)s)")
    uninstall.set_defaults(run=_uninstall)
    shown = commands.add_parser("list", help="list the copies: name, folder, options of reveza run")
    shown.set_defaults(run=_list)
    return parser


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs a command line. Returns the exit status."""
    given = list(sys.argv[1:] if words is None else words)
    options: list[str] = []
    if "--" in given:
        split = given.index("--")
        given, options = given[:split], given[split + 1 :]
    parser = _parser()
    arguments = parser.parse_args(given)
    if options and arguments.run is not _install:
        parser.error("only `install` takes options of `reveza run`")
    arguments.options = options
    try:
        from jupyter_client.kernelspec import (  # pylint: disable=import-outside-toplevel
            KernelSpecManager,
        )
    except ImportError:
        print("reveza: Jupyter is not installed here; pip install jupyter_client", file=sys.stderr)
        return 1
    try:
        arguments.run(KernelSpecManager(), arguments)
    except Error as error:
        print(f"reveza: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"reveza: {error}", file=sys.stderr)
        return 12
    return 0


if __name__ == "__main__":
    sys.exit(main())
