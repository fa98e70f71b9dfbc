"""A Slurm of two nodes in the namespaces of this process, for jobs of `reveza jobs run --on slurm`."""

import os
import pathlib
import shutil
import subprocess

import processes
from node import USERS, Node

NODES = ("n1", "n2")

SLURM_CONF = """
ClusterName=reveza
SlurmctldHost=node
SlurmUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdLogFile={folder}/slurmd.%n.log.out
SlurmctldLogFile={folder}/slurmctld.log.out
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0
KillWait=2
SlurmdTimeout=8
SlurmctldTimeout=10
MessageTimeout=5
SlurmdParameters=config_overrides
ReturnToService=2
MaxArraySize=100
NodeName=n[1-2] NodeHostname=node NodeAddr=node Port=[17001-17002] CPUs=3 RealMemory=3000 State=UNKNOWN
EnforcePartLimits=ALL
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
"""


class Cluster(Node):
    identity = {"user": USERS["ana"], "group": USERS["ana"], "extra_groups": []}

    def __init__(self, build: pathlib.Path, folder: pathlib.Path) -> None:
        super().__init__(build, folder)
        self.slurm: dict[str, subprocess.Popen] = {}  # daemons of Slurm, by name

    def start(self) -> None:
        self.name_host()
        for name in ("state", "spool", "out", "munge"):
            (self.folder / name).mkdir()
        (self.folder / "out").chmod(0o1777)
        for name in ("bin/reveza", "bin/reveza-supervisor"):
            (self.folder / "reveza-build" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.build / name, self.folder / "reveza-build" / name)
        self._make_users()
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(folder=self.folder))
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self.environment = {"PATH": os.environ["PATH"], "SLURM_CONF": os.environ["SLURM_CONF"]}
        self._start_munge()
        self.restart("slurmctld")
        for name in NODES:
            self.restart(name)
        self.wait(self.is_idle, "idle nodes")

    def restart(self, name: str) -> None:
        """Starts slurmctld, or the slurmd of a node."""
        command = ["slurmctld", "-D"] if name == "slurmctld" else ["slurmd", "-D", "-N", name]
        with open(self.folder / f"{name}.out", "a", encoding="utf-8") as file:
            self.slurm[name] = subprocess.Popen(command, stdout=file, stderr=file)

    def kill(self, name: str) -> None:
        self.slurm[name].kill()
        self.slurm[name].wait()

    def stop_controller(self) -> None:
        """Ends slurmctld so that it saves its state; one that is killed forgets jobs, and drains their nodes."""
        self.slurm["slurmctld"].terminate()
        self.slurm["slurmctld"].wait()

    def mend(self) -> None:
        for name, process in self.slurm.items():
            if process.poll() is not None:
                self.restart(name)
        for line in self.run("sinfo", "-h", "-N", "-o", "%N %T").stdout.splitlines():
            name, state = line.split()
            if state.startswith(("drain", "down")):
                self.run("scontrol", "update", f"nodename={name}", "state=resume")

    def is_idle(self) -> bool:
        self.mend()
        return self.run("sinfo", "-h", "-o", "%D %T").stdout.split("\n")[:-1] == ["2 idle"]

    def logs(self) -> str:
        return super().logs() + self.run("sinfo", "-R", "-N", "-o", "%N %T %E").stdout + self.run("squeue").stdout

    def home(self) -> dict[str, str]:
        return {**self.environment, "REVEZA_STATE": str(self.folder / "out/home"), "HOME": str(self.folder / "out")}

    def lose(self, name: str) -> None:
        """Ends all that runs on a node at once, as a loss of power does."""
        self.kill(name)
        processes.kill_at_once(processes.with_variable(f"SLURMD_NODENAME={name}"))

    def stop(self) -> None:
        for process in self.slurm.values():
            process.kill()
        super().stop()
