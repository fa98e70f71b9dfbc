"""Runs the jobs of a Snakemake workflow as steps of a job of `reveza jobs`.

::

    snakemake --executor reveza --jobs 100

Steps start by measured memory and cores, here or, with `--reveza-on`, on the nodes of a cluster. They go on if
Snakemake is killed: the next one in the same folder awaits them.
"""

import csv
import dataclasses
import hashlib
import io
import os
import pathlib
import subprocess
import uuid
from collections.abc import AsyncGenerator
from typing import Optional

from snakemake_interface_common.exceptions import WorkflowError  # type: ignore[import-not-found]
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo  # type: ignore[import-not-found]
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor  # type: ignore[import-not-found]
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface  # type: ignore[import-not-found]
from snakemake_interface_executor_plugins.settings import (  # type: ignore[import-not-found]
    CommonSettings, ExecutorSettingsBase)

from reveza._control import program_path

_SCRIPTS = pathlib.Path(".snakemake/reveza")
_BUSY_JOB = 21  # docs/errors.md
_LOST = ("lost", "")  # the job was deleted
_FAILED = ("failed", "unknown", "lost")
_ENDED = ("done", *_FAILED)

common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=True,
    auto_deploy_default_storage_provider=False,
)


def _option(text: str) -> dict[str, object]:
    return {"help": text, "env_var": False, "required": False}


@dataclasses.dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc]
    """Options of the command line (Snakemake reads these annotations), with `--reveza-` before their names."""

    name: Optional[str] = dataclasses.field(
        default=None, metadata=_option("Name of the job (default: made from the working folder)"))
    workers: Optional[int] = dataclasses.field(
        default=None, metadata=_option("How many steps run at once (default: tuned)"))
    on: Optional[str] = dataclasses.field(
        default=None, metadata=_option("Engine that runs the steps, as of `reveza jobs run --on`"))
    shared: Optional[str] = dataclasses.field(
        default=None, metadata=_option("Folder that all nodes can write, for --reveza-on"))


def _claims(job: JobExecutorInterface) -> list[str]:
    """Returns the options for what a job asks for; nothing for what is to be measured."""
    words = ["--cpus", str(job.threads)]
    for resource, option, unit in (("mem_mb", "--memory", "MB"), ("runtime", "--time-limit", "m"),
                                   ("gpu_mem_mb", "--gpu-memory", "MB")):
        value = job.resources.get(resource)
        if isinstance(value, int) and value > 0:
            words += [option, f"{value}{unit}"]
    return words


class Executor(RemoteExecutor):  # type: ignore[misc]
    """One job of `reveza jobs`, to which each job of the workflow is added as a step."""

    def __post_init__(self) -> None:
        settings = self.workflow.executor_settings
        if (settings.on is None) != (settings.shared is None):
            raise WorkflowError("--reveza-on and --reveza-shared go together")
        folder = hashlib.blake2b(os.getcwd().encode(), digest_size=4).hexdigest()
        self._name = settings.name or f"snakemake-{folder}"
        self._options = ["--name", self._name, "--detach", "--retries", "0"]
        if settings.workers is not None:
            self._options += ["--workers", str(settings.workers)]
        if settings.on is not None:
            self._options += ["--on", settings.on, "--shared", os.path.abspath(settings.shared)]
        _SCRIPTS.mkdir(parents=True, exist_ok=True)
        self._start()

    def _jobs(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of `reveza jobs`."""
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        return subprocess.run([program_path(), "jobs", *words], capture_output=True, text=True, check=False,
                              env=environment)

    def _start(self) -> None:
        """Makes the job run, unless it does. The list has one step that does nothing; all others are added."""
        done = self._jobs("run", *self._options, "--", "true", "{start}", ":::", "start", "1")
        if done.returncode not in (0, _BUSY_JOB):
            raise WorkflowError(f"reveza jobs run: {done.stderr.strip()}")

    def run_job(self, job: JobExecutorInterface) -> None:
        note = self._note(job)
        known = note.read_text() if note.exists() else ""
        if known and self._states().get(known, _LOST)[0] not in _ENDED:
            self.report_job_submission(SubmittedJobInfo(job, external_jobid=known))
            return
        key = uuid.uuid4().hex
        note.write_text(key)
        self.write_jobscript(job, _SCRIPTS / f"{key}.sh")
        # The name of the rule makes a command of it, whose memory is learned.
        step = [*_claims(job), "--", "sh", str(_SCRIPTS / "{key}.sh"), job.name, ":::", "key", key]
        added = self._jobs("add", self._name, *step)
        if added.returncode != 0:
            raise WorkflowError(f"reveza jobs add: {added.stderr.strip()}")
        self.report_job_submission(SubmittedJobInfo(job, external_jobid=key))

    @staticmethod
    def _note(job: JobExecutorInterface) -> pathlib.Path:
        """Returns the file with the key of the job's last step. What Snakemake notes is lost when the step begins."""
        what = "\n".join([job.name, *sorted(map(str, job.output))])
        if not job.output:
            what += str(job.get_target_spec())
        return _SCRIPTS / hashlib.blake2b(what.encode(), digest_size=16).hexdigest()

    def _states(self) -> dict[str, tuple[str, str]]:
        """Returns the state and the number of each step."""
        table = self._jobs("table", self._name, "--csv")
        if table.returncode != 0:
            return {}
        return {row["key"]: (row["state"], row["step"]) for row in csv.DictReader(io.StringIO(table.stdout))}

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        if not active_jobs:
            return
        states = self._states()
        waits = False
        for one in active_jobs:
            state, step = states.get(one.external_jobid, _LOST)
            if state == "done":
                self.report_job_success(one)
            elif state in _FAILED:
                self.report_job_error(one, msg=f"Step {step} of {self._name} is {state}; "
                                      f"`reveza jobs logs {self._name} {step}` shows its output. ")
            else:
                waits = True
                yield one
        if waits:  # the runner may have ended before a step was added
            self._start()

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        self._jobs("cancel", self._name)
        self._jobs("wait", self._name)
