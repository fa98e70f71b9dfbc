"""Twenty notebooks on one card: each has most of the card when it computes, and nothing when it does not.

  notebooks.py BUILD [--notebooks 20] [--log FILE]

Starts real kernels of Jupyter with the provisioner `reveza` on a card of fakecuda with 64 MiB. Each has an array
of 40 MiB and a context of 4 MiB. Prints what each cell found, writes what each held over time to --log as
lines of JSON (draw.py makes a picture of it), and exits with 1 if a result is wrong, two computed at a time,
or an idle notebook held memory.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "python"
ARRAY_MIB = 40
CARD = {"FAKECUDA_MEMORY": "64MiB", "FAKECUDA_CONTEXT": "4MiB", "FAKECUDA_LINK": "1GB/s"}
OPEN = f"from card import Array\narray = Array({ARRAY_MIB}, value={{number}} << 16)"
WORK = "import time\nbegan = time.time()\narray.add(5, spin_ms=20)\nended = time.time()"
RESULTS = {"wrong": "array.wrong_words()", "value": "array.value", "ended": "ended"}


def environment(build: pathlib.Path, folder: pathlib.Path) -> dict:
    """Returns an environment with a card, a daemon and a Jupyter of its own."""
    packages = folder / "packages"
    information = packages / "reveza-0.dist-info"
    information.mkdir(parents=True)
    # What the wheel has, by which Jupyter finds the provisioner.
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: reveza\nVersion: 0\n")
    (information / "entry_points.txt").write_text((PACKAGE / "entry_points.txt").read_text())
    (packages / "reveza").symlink_to(PACKAGE / "reveza")
    jupyter = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "RUNTIME", "DATA")}
    return {
        **os.environ, **CARD, **jupyter,
        "PATH": f"{build / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": f"{packages}:{HERE}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": str(build / "lib/fakecuda"),
        "FAKECUDA_DIR": str(folder / "card"),
        "IPYTHONDIR": str(folder / "ipython"),
        "REVEZA_SOCKET": str(folder / "daemon.sock"),
        "REVEZA_USAGE_FILE": "off",
        "REVEZA_RELEASE_CONTEXTS_AFTER": "200ms",
        "REVEZA_QUIET": "1",
    }


class Notebook:
    """A kernel, and what the page of a notebook does with it."""

    def __init__(self, number: int) -> None:
        from jupyter_client import KernelManager

        self.name = f"notebook-{number:02}"
        self.manager = KernelManager(kernel_name="reveza-python3")
        # Without the warnings: that connections on this machine are not encrypted.
        self.manager.start_kernel(env={**os.environ, "JPY_SESSION_NAME": f"{self.name}.ipynb"},
                                  extra_arguments=["--log-level=ERROR"])
        self.client = self.manager.client()
        self.client.start_channels()

    def send(self, code: str, results: dict | None = None) -> None:
        # A cell that fails does not cancel what is sent right after it.
        self._sent = self.client.execute(code, user_expressions=results or {}, stop_on_error=False)

    def receive(self) -> dict:
        """Returns the results of the cell."""
        message = self.client.get_shell_msg(timeout=120)
        while message["parent_header"].get("msg_id") != self._sent:
            message = self.client.get_shell_msg(timeout=120)
        content = message["content"]
        if content["status"] != "ok":
            raise RuntimeError(f"{self.name}: {content.get('ename')}: {content.get('evalue')}")
        return {name: float(one["data"]["text/plain"]) for name, one in content["user_expressions"].items()}

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Recorder(threading.Thread):
    """Asks the daemon ten times a second what each program holds."""

    def __init__(self, log) -> None:
        super().__init__(daemon=True)
        self._log = log
        self._done = threading.Event()
        self.began = time.time()

    def write(self, **row) -> None:
        print(json.dumps({"at": round(time.time() - self.began, 3), **row}), file=self._log, flush=True)

    def run(self) -> None:
        while not self._done.wait(0.1):
            status = reveza_status()
            if status is not None:
                self.write(held={name: size for name, size in held(status).items() if size}, swapped={
                    client["name"]: size for client in status["clients"]
                    if (size := client["footprint"]["swapped"])})

    def stop(self) -> None:
        self._done.set()
        self.join()


def reveza_status() -> dict | None:
    done = subprocess.run(["reveza", "status", "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def held(status: dict) -> dict[str, int]:
    """Returns what each program holds of the card, its context included."""
    return {client["name"]: sum(client["footprint"][part] for part in ("resident", "pinned", "context"))
            for client in status["clients"]}


def wrong_holders(last: str) -> dict[str, int]:
    """Returns what each holds if that is anything but the memory of the notebook that computed last.

    The daemon may still be moving what the last handover left: waits for at most 10 s.
    """
    for _ in range(100):
        found = {name: size for name, size in held(reveza_status()).items() if size}
        if list(found) == [last] and found[last] >= ARRAY_MIB << 20:
            return {}
        time.sleep(0.1)
    return found


def slices(trace: pathlib.Path) -> list[tuple[float, float, str]]:
    """Returns start, end (of the monotonic clock) and program of each slice, in order of their starts."""
    events = json.loads(trace.read_text())["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    return sorted((event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6, names[event["pid"]])
                  for event in events if event["ph"] == "X" and event["name"] == "slice")


class Demo:
    def __init__(self, count: int, recorder: Recorder) -> None:
        self.mistakes = 0
        self.recorder = recorder
        self.notebooks = [Notebook(number) for number in range(count)]
        for notebook in self.notebooks:
            notebook.client.wait_for_ready(timeout=120)
        print(f"{count} kernels of Jupyter run")

    def expect(self, right: bool, text: str) -> None:
        print(text if right else f"WRONG: {text}")
        self.mistakes += not right

    def check(self, phase: str, notebook: Notebook, number: int, additions: int) -> dict:
        found = notebook.receive()
        right = (found["wrong"], found["value"]) == (0, (number << 16) + additions)
        self.expect(right, f"{phase}: {notebook.name} has its data: {found['value']:.0f}, "
                           f"{found['wrong']:.0f} of {ARRAY_MIB << 18} words wrong")
        return found

    def open(self) -> None:
        """Runs the first cell of each, one after another."""
        for number, notebook in enumerate(self.notebooks):
            notebook.send(OPEN.format(number=number))
            notebook.receive()
        self.opened = time.monotonic()
        print(f"each has an array of {ARRAY_MIB} MiB")

    def one_by_one(self, phase: str, additions: int) -> None:
        """Wakes each in turn. All others are idle, and must have left the card to it."""
        self.recorder.write(phase=phase)
        for number, notebook in enumerate(self.notebooks):
            notebook.send(WORK, RESULTS)
            self.check(phase, notebook, number, additions)
            wrong = wrong_holders(notebook.name)
            self.expect(not wrong, f"{phase}: {notebook.name} holds the card, the {len(self.notebooks) - 1} "
                                   f"others 0 bytes of it {wrong or ''}".rstrip())

    def all_at_once(self, phase: str, additions: int) -> None:
        """Wakes all at the same time: they queue."""
        self.recorder.write(phase=phase)
        for notebook in self.notebooks:
            notebook.send(WORK, RESULTS)
        ended = {notebook.name: self.check(phase, notebook, number, additions)["ended"]
                 for number, notebook in enumerate(self.notebooks)}
        print(f"{phase}: done in the order", *(name[-2:] for name in sorted(ended, key=ended.get)))

    def close(self) -> None:
        for notebook in self.notebooks:
            notebook.close()


def check_slices(demo: Demo, trace: pathlib.Path) -> None:
    # A notebook that had no array yet may have had the card beside another one.
    found = [one for one in slices(trace) if one[0] > demo.opened]
    pairs = [(one, other) for one, other in zip(found, found[1:])
             if other[0] < one[1] - 1e-6 and other[2] != one[2]]
    demo.expect(bool(found) and not pairs,
                f"trace: {len(found)} slices of {len({name for _, _, name in found})} notebooks, "
                f"{len(pairs)} of them at the same time as another one")


def run(count: int, folder: pathlib.Path, log) -> int:
    subprocess.run([sys.executable, "-m", "reveza.jupyter", "install"], check=True, stdout=subprocess.DEVNULL)
    recorder = Recorder(log)
    demo = Demo(count, recorder)
    try:
        demo.open()
        recorder.start()
        demo.one_by_one("first round", 5)
        demo.all_at_once("all at once", 10)
        demo.one_by_one("last round", 15)
        recorder.stop()
        trace = folder / "trace.json"
        subprocess.run(["reveza", "trace", trace], check=True, stdout=subprocess.DEVNULL)
        check_slices(demo, trace)
    finally:
        demo.close()
        subprocess.run(["reveza", "stop", "--force"], check=False, stdout=subprocess.DEVNULL)
    print(f"{demo.mistakes} mistakes")
    return 1 if demo.mistakes else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--notebooks", type=int, default=20)
    parser.add_argument("--log", type=pathlib.Path, default=pathlib.Path(os.devnull))
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.notebooks < 2:
        parser.error("--notebooks: at least 2")
    if arguments.inside:
        with arguments.log.open("w") as log:
            return run(arguments.notebooks, arguments.inside, log)
    with tempfile.TemporaryDirectory() as name, contextlib.suppress(KeyboardInterrupt):
        folder = pathlib.Path(name)
        # Jupyter reads its environment when it is imported.
        return subprocess.run(
            [sys.executable, "-B", __file__, *sys.argv[1:], "--inside", name],
            env=environment(arguments.build.resolve(), folder), check=False).returncode
    return 130


if __name__ == "__main__":
    sys.exit(main())
