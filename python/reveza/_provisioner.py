"""Starts the kernels of Jupyter under `reveza run`, each as a job of its own."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from traitlets import List, Unicode

from reveza._control import program_path

_MAX_NAME = 48  # `reveza status` has room for it


def job_name(notebook: str, kernel: str, kernel_id: str) -> str:
    """Returns the name of a kernel's job: its notebook's, or that of the kernel and the start of its id."""
    base = os.path.basename(notebook)
    if base.endswith(".ipynb"):
        base = base[: -len(".ipynb")]
    name = re.sub(r"[^\w.-]+", "-", base, flags=re.ASCII).strip("-")
    return (name or f"{kernel}-{kernel_id[:8]}")[:_MAX_NAME]


class RevezaProvisioner(LocalProvisioner):
    """A local kernel under `reveza run`. The kernel is exec'ed, so it has the pid that Jupyter signals."""

    options = List(
        Unicode(),
        default_value=["--interactive"],
        help="Options of `reveza run`, for example ['--interactive', '--memory', '2GiB:8GiB'].",
    ).tag(config=True)

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Puts `reveza run` in front of the kernel's command.

        Runs nothing with the same options first: Jupyter shows an exception of this function to the user, but of
        a kernel that dies only that it did.
        """
        launch = await super().pre_launch(**kwargs)
        environment = launch["env"]
        kernel = getattr(self.parent, "kernel_name", "kernel")
        # Not as --name, which the options may contain.
        environment["REVEZA_NAME"] = job_name(
            environment.get("JPY_SESSION_NAME", ""), kernel, self.kernel_id
        )
        run = [program_path(), "run", *self.options, "--"]
        await self._try([*run, "true"], environment)
        launch["cmd"] = [*run, *launch["cmd"]]
        return launch

    async def _try(self, command: list[str], environment: dict[str, str]) -> None:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await process.communicate()
        if process.returncode != 0:
            text = errors.decode(errors="replace").strip()
            raise RuntimeError(
                f"the kernel was not started: {text or command} (exit status {process.returncode})"
            )
