"""A Slurm of one node in the namespaces of this process: files, daemons, users."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from engine import Engine

USERS = {"ana": 60001, "bia": 60002, "eva": 60003}
GROUP = 60010  # of ana and bia, who may use the daemon; eva may not

ADDRESS = "192.0.2.1"  # of those for documentation

SLURM_CONF = """
ClusterName=reveza
SlurmctldHost=node
SlurmUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
GresTypes=gpu,shard
PlugStackConfig={folder}/plugstack.conf
PrologFlags=Alloc
KillWait=2
SlurmdParameters=config_overrides
ReturnToService=2
MaxArraySize=100
NodeName=node CPUs=16 Gres=gpu:1,shard:8 State=UNKNOWN
PartitionName=all Nodes=node Default=YES OverSubscribe=YES MaxTime=INFINITE State=UP
"""
GRES_CONF = """
Name=gpu File={folder}/dev/card
Name=shard Count=8 File={folder}/dev/card
"""


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


class Node(Engine):
    def __init__(self, build: pathlib.Path, folder: pathlib.Path) -> None:
        super().__init__(folder, folder / "reveza-build/bin/reveza")
        self.build = build
        self.socket = folder / "reveza/revezad.sock"
        self.card = {"FAKECUDA_DIR": str(folder / "card"), "FAKECUDA_MEMORY": "64MiB",
                     "LD_LIBRARY_PATH": str(folder / "reveza-build/lib/fakecuda")}
        self.daemons: list[subprocess.Popen] = []

    @staticmethod
    def name_host() -> None:
        subprocess.run(["hostname", "node"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # Names are only resolved where there is an address beside 127.0.0.1.
        subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
        mount("--make-rprivate", "/")

    def start(self) -> None:
        self.name_host()
        for name in ("state", "spool", "dev", "reveza", "card", "out", "munge"):
            (self.folder / name).mkdir()
        for name in ("card", "out"):
            (self.folder / name).chmod(0o1777)
        self._copy_build()
        self._make_users()
        os.mknod(self.folder / "dev/card", 0o666 | 0o020000, os.makedev(1, 3))
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(folder=self.folder))
        (self.folder / "gres.conf").write_text(GRES_CONF.format(folder=self.folder))
        # The environment of a prolog has neither a home nor the card.
        start = self.folder / "start_revezad"
        variables = {**self.card, "REVEZA_USAGE_FILE": str(self.folder / "reveza/state/usage.db")}
        start.write_text("#!/bin/sh\n" + "".join(f"export {name}={value}\n" for name, value in variables.items())
                         + f'exec {self.folder}/reveza-build/bin/revezad "$@"\n')
        start.chmod(0o755)
        self.plugin()
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self.environment = {"PATH": os.environ["PATH"], "SLURM_CONF": os.environ["SLURM_CONF"], **self.card}
        self._start_munge()
        self._spawn("slurmctld", "-D")
        self._spawn("slurmd", "-D", "-N", "node")
        self.wait(self.is_idle, "idle node")

    def _copy_build(self) -> None:
        """Copies the programs to where all users can read them."""
        to = self.folder / "reveza-build"
        for name in ("bin/reveza", "bin/revezad", "lib/libreveza.so", "tests/clients/worker"):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.build / name, to / name)
        shutil.copytree(self.build / "lib/fakecuda", to / "lib/fakecuda", symlinks=True)

    def _make_users(self) -> None:
        passwd = pathlib.Path("/etc/passwd").read_text()
        group = pathlib.Path("/etc/group").read_text() + f"cards:x:{GROUP}:ana,bia\n"
        for name, number in USERS.items():
            passwd += f"{name}:x:{number}:{number}::/tmp:/bin/sh\n"
            group += f"{name}:x:{number}:\n"
        for name, text in (("passwd", passwd), ("group", group), ("hosts", f"127.0.0.1 localhost\n{ADDRESS} node\n")):
            file = self.folder / name
            file.write_text(text)
            file.chmod(0o644)
            mount("--bind", str(file), f"/etc/{name}")

    def _start_munge(self) -> None:
        munge = self.folder / "munge"
        key = munge / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        socket = pathlib.Path("/run/munge")
        socket.mkdir(exist_ok=True)
        mount("-t", "tmpfs", "tmpfs", str(socket), "-o", "mode=755")
        self._spawn("munged", "--foreground", "--force", f"--key-file={key}", f"--log-file={munge}/log",
                    f"--pid-file={munge}/pid", f"--seed-file={munge}/seed")
        self.wait(lambda: (socket / "munge.socket.2").exists(), "munged")

    def _spawn(self, *command: str) -> None:
        with open(self.folder / f"{command[0]}.out", "w") as file:
            self.daemons.append(subprocess.Popen(command, stdout=file, stderr=file))

    def plugin(self, **changed: str | None) -> None:
        """Writes plugstack.conf, with arguments changed or (None) left out."""
        words = {"reveza": self.folder / "reveza-build/bin/reveza", "socket": self.socket,
                 "start": self.folder / "start_revezad", "group": GROUP, "card": "64MiB",
                 "shard": "7MiB", **changed}
        arguments = " ".join(f"{name}={value}" for name, value in words.items() if value is not None)
        (self.folder / "plugstack.conf").write_text(f"required {self.folder}/spank_reveza.so {arguments}\n")

    def logs(self) -> str:
        return super().logs() + "".join(f"--- {file.name}\n{file.read_text()[-20000:]}"
                                        for file in self.folder.glob("reveza/*.log"))

    def run(self, *command: str, user: str | None = None, **environment: str) -> subprocess.CompletedProcess:
        identity = {} if user is None else {
            "user": USERS[user], "group": USERS[user], "extra_groups": [GROUP] if user != "eva" else []}
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd="/tmp",
                              env={**self.environment, **environment}, **identity)

    def is_idle(self) -> bool:
        return self.run("sinfo", "-h", "-o", "%T").stdout.strip() == "idle"

    @staticmethod
    def ended(process: int) -> bool:
        """Also of a process that nobody has waited for."""
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    @staticmethod
    def user_of(process: int) -> int | None:
        try:
            return os.stat(f"/proc/{process}").st_uid
        except FileNotFoundError:
            return None

    def reveza(self, *words: str) -> subprocess.CompletedProcess:
        return self.run(str(self.program), *words, REVEZA_SOCKET=str(self.socket))

    def programs(self) -> dict[str, dict]:
        """Returns the programs that use the card, by name."""
        done = self.reveza("status", "--json")
        return {one["name"]: one for one in json.loads(done.stdout)["clients"]} if done.returncode == 0 else {}

    def job(self, number: str) -> dict[str, str]:
        """Returns what Slurm knows of a job."""
        shown = self.run("scontrol", "show", "job", "--oneliner", number).stdout
        fields = dict(re.findall(r"(\w+)=(\S*)", shown))
        comment = re.search(r"AdminComment=(reveza: .*?) +[A-Z]\w+=", shown)
        return {**fields, "AdminComment": comment[1] if comment else ""}

    def stop(self) -> None:
        for daemon in reversed(self.daemons):
            daemon.kill()
