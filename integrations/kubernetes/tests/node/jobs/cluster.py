"""A node of Kubernetes on this machine, for jobs of `reveza jobs run --on kubernetes`. The program that runs this has
started its components; they are started again here."""

import json
import os
import pathlib
import re
import subprocess

import processes
from engine import Engine

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
IMAGE = "reveza.local/steps:1"  # empty but for places where folders of the machine are mounted
FOLDERS = ("/bin", "/lib", "/lib64", "/usr")
# As many pods as a storm has, on a machine of any size.
TEMPLATE = {"apiVersion": "v1", "kind": "Pod", "spec": {
    "terminationGracePeriodSeconds": 20,
    "containers": [{"name": "step", "image": IMAGE, "resources": {"requests": {"cpu": "50m"}}}]}}


def read_process(process: int, file: str) -> str:
    """Returns a file of a process; "" if that has ended."""
    try:
        return pathlib.Path(f"/proc/{process}/{file}").read_bytes().decode(errors="replace")
    except OSError:
        return ""


class Cluster(Engine):
    patience = 120.0

    def __init__(self, build: pathlib.Path, folder: pathlib.Path) -> None:
        super().__init__(folder, build / "bin/reveza")
        self.logs_at = folder / "components.log"
        self.commands = {}  # of the components
        (folder / "out").mkdir()
        (folder / "pod.json").write_text(json.dumps(TEMPLATE))

    def start(self) -> None:
        for name in COMPONENTS:
            (process,) = self.processes_of(name)
            self.commands[name] = read_process(process, "cmdline").split("\0")[:-1]

    @staticmethod
    def processes_of(name: str) -> list[int]:
        return [process for process in processes.with_words(name)
                if read_process(process, "cmdline").split("\0")[0].endswith(f"/{name}")]

    def kill(self, name: str) -> None:
        """Kills a component, which mend() starts again."""
        for process in self.processes_of(name):
            os.kill(process, 9)

    def mend(self) -> None:
        for name, words in self.commands.items():
            if not self.processes_of(name):
                with open(self.logs_at, "a", encoding="utf-8") as log:
                    subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)

    @staticmethod
    def kubectl(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run(["kubectl", "--request-timeout=20s", *words], capture_output=True, text=True, check=False,
                              timeout=120)

    def pods(self) -> list[dict]:
        found = self.kubectl("get", "pods", "--selector=app.kubernetes.io/managed-by=reveza", "--output=json")
        return json.loads(found.stdout)["items"] if found.returncode == 0 else []

    def running(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.pods() if pod["status"]["phase"] == "Running"]

    def is_idle(self) -> bool:
        self.mend()
        ready = self.kubectl("get", "node", "node", "--output=jsonpath={.status.conditions[?(@.type=='Ready')].status}")
        return ready.stdout == "True" and self.kubectl("delete", "jobs,resourcequotas", "--all").returncode == 0 \
            and not self.pods()

    @staticmethod
    def containers() -> list[int]:
        """Returns the first process of each container that runs a task."""
        return [process for process in processes.with_words("/run.sh")
                if re.search(r"^NSpid:.*\s1$", read_process(process, "status"), re.MULTILINE)]

    def logs(self) -> str:
        return self.kubectl("get", "jobs,pods,events").stdout[-6000:]

    def home(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "KUBECONFIG": os.environ["KUBECONFIG"],
                "REVEZA_STATE": str(self.folder / "home"), "HOME": str(self.folder / "home"),
                "REVEZA_POD_TEMPLATE": str(self.folder / "pod.json")}

    def start_job(self, *words: str, **environment: str) -> subprocess.Popen:
        volumes = [word for folder in (*FOLDERS, self.folder, self.program.parent) for word in ("--volume", str(folder))]
        return super().start_job("run", *volumes, *words[1:], **environment)
