"""A Ray of a head and two nodes in the namespaces of this process, for jobs of `reveza jobs run --on ray`."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.request

import processes
from engine import Engine

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "python"
ADDRESS = "192.0.2.1"  # of those for documentation
PORT = 6379
SERVER = f"http://{ADDRESS}:8265"
NODES = ("n1", "n2")
CPUS = 3
MARK = "REVEZA_TEST_NODE"  # in the environment of all processes of a node


class Cluster(Engine):
    def __init__(self, build: pathlib.Path, ray: pathlib.Path, folder: pathlib.Path) -> None:
        super().__init__(folder, folder / "bin/reveza")
        self.ray = ray
        self.nodes: dict[str, subprocess.Popen] = {}  # `ray start`, by name
        self.environment = {
            "PATH": f"{ray.parent}:{os.environ['PATH']}", "HOME": str(folder / "out"), "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": str(PACKAGE),  # as installed on nodes
            "RAY_TMPDIR": str(folder / "t"), "TMPDIR": str(folder / "t"),
            # Raylets that have lost their head would wait for a minute.
            "RAY_gcs_rpc_server_reconnect_timeout_s": "10", "RAY_health_check_failure_threshold": "3",
            "RAY_health_check_period_ms": "1000", "RAY_memory_usage_threshold": "0.99"}
        (folder / "bin").mkdir()
        for name in ("reveza", "reveza-supervisor"):
            shutil.copy(build / "bin" / name, folder / "bin" / name)

    def start(self) -> None:
        for command in (["hostname", "node"], ["ip", "link", "set", "lo", "up"],
                        ["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"]):
            subprocess.run(command, check=True)
        for name in ("out", "t"):
            (self.folder / name).mkdir()
        for name in ("head", *NODES):
            self.restart(name)
        self.wait(self.is_idle, "nodes")

    def restart(self, name: str, **environment: str) -> None:
        """Starts the head, or a node, and waits until it runs."""
        command = [str(self.ray), "start", "--block", f"--node-ip-address={ADDRESS}", "--object-store-memory=80000000",
                   "--disable-usage-stats"]
        if name == "head":
            command += ["--head", f"--port={PORT}", "--num-cpus=0", f"--dashboard-host={ADDRESS}"]
        else:
            command += [f"--address={ADDRESS}:{PORT}", f"--num-cpus={CPUS}", "--memory=8000000000"]
        for _ in range(10):
            if name != "head" and self.nodes["head"].poll() is not None:  # as on a slow machine soon after its start
                self.restart("head")
            log = self.folder / f"{name}.out"
            at = log.stat().st_size if log.exists() else 0
            with open(log, "a", encoding="utf-8") as file:
                self.nodes[name] = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True,
                                                    env={**self.environment, MARK: name, **environment})
            while self.nodes[name].poll() is None:
                if "block forever" in log.read_bytes()[at:].decode(errors="replace"):
                    return
                time.sleep(0.2)
            self.lose(name)
            # Ray takes nodes that still look for their head for one that runs, since all are on one machine.
            time.sleep(2)
        raise RuntimeError(f"{name} does not start\n{self.logs()}")

    def lose(self, name: str) -> None:
        """Ends all that runs on a node at once, as a loss of power does."""
        processes.kill_at_once(processes.with_variable(f"{MARK}={name}"))
        self.nodes[name].wait()

    def kill_raylet(self, name: str) -> None:
        """Kills what makes a machine a node. What ran there may go on."""
        marked = set(processes.with_variable(f"{MARK}={name}"))
        for process in processes.with_words("raylet/raylet"):
            if process in marked:
                os.kill(process, signal.SIGKILL)

    def mend(self) -> None:
        """Starts again what has ended, as whoever supervises nodes does."""
        for name in ("head", *NODES):
            if self.nodes[name].poll() is not None:
                self.restart(name)

    @staticmethod
    def ask(path: str, method: str = "GET"):
        request = urllib.request.Request(SERVER + path, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def job(self, array: pathlib.Path) -> dict:
        """Returns what the job server knows of an array."""
        name = (array / "ray-job").read_text()
        return next(job for job in self.ask("/api/jobs/") if (job["submission_id"] or "").endswith(name))

    def alive(self) -> int:
        """Returns how many nodes with processors the head knows."""
        try:
            found = self.ask("/nodes?view=summary")["data"]["summary"]
        except (OSError, ValueError, KeyError):
            return 0
        return sum(node["raylet"].get("state") == "ALIVE"
                   and node["raylet"].get("resourcesTotal", {}).get("CPU", 0) > 0 for node in found)

    def is_idle(self) -> bool:
        self.mend()
        return self.alive() == len(NODES)

    def home(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "REVEZA_STATE": str(self.folder / "out/home"),
                "HOME": str(self.folder / "out"), "RAY_API_SERVER_ADDRESS": SERVER}

    def stop(self) -> None:
        for name in self.nodes:
            self.lose(name)
