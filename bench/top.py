"""Measures the CPU time of `reveza top`. Called by bench/top.sh.

  top.py REVEZA PROCESSES SECONDS
"""

import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def serve_job(path: pathlib.Path, pids: list[int]) -> None:
    """Serves the status of a fake job runner whose steps are `pids`."""
    running = [{"step": i, "label": f"n={i}", "pid": pid, "state": "running"}
               for i, pid in enumerate(pids)]
    answer = json.dumps({"version": 1, "id": "sleepers", "name": "sleepers", "pid": os.getpid(),
                         "state": "running", "steps": {"all": len(pids), "running": len(pids)},
                         "running": running}).encode() + b"\n"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(16)

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()


def run_top(program: str, seconds: int, folder: str, *options: str) -> tuple[float, dict]:
    """Returns the share of a core used, including startup, and the last snapshot."""
    environment = os.environ | {"XDG_RUNTIME_DIR": folder,
                                "REVEZA_SOCKET": os.path.join(folder, "none.sock")}
    before = cpu_of_children()
    output = subprocess.run([program, "top", "--loop", "--count", str(seconds), *options],
                            check=True, env=environment, stdout=subprocess.PIPE).stdout
    share = (cpu_of_children() - before) / seconds
    return share, {} if "--csv" in options else json.loads(output.splitlines()[-1])


def files_of(snapshot: dict) -> str:
    return (f"{snapshot['process_files_read']} files read, "
            f"{snapshot['process_files_opened']} of them opened")


def read_alone(files: list[str], pids: list[str]) -> float:
    """Returns the CPU seconds of opening and reading these files of these processes once."""
    begin = time.process_time()
    for pid in pids:
        for name in files:
            try:
                fd = os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
            except OSError:
                continue
            try:
                os.read(fd, 8192)
            except OSError:
                pass
            os.close(fd)
    return time.process_time() - begin


def main() -> int:
    program, count, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sleepers = [subprocess.Popen(["sleep", "600"]) for _ in range(count)]
    try:
        time.sleep(1)
        pids = [entry for entry in os.listdir("/proc") if entry.isdigit()]
        stat = min(read_alone(["stat"], pids) for _ in range(5))
        own = [str(sleeper.pid) for sleeper in sleepers]
        memory = min(read_alone(["smaps_rollup", "status"], own) for _ in range(3))
        print(f"{len(pids)} processes; from Python, reading stat of all takes {stat * 1e3:.1f} ms, "
              f"smaps_rollup and status of the {count} takes {memory * 1e3:.1f} ms")
        with tempfile.TemporaryDirectory() as folder:
            share, snapshot = run_top(program, seconds, folder)
            print(f"not part of a job: {share:.2%} of a core "
                  f"({files_of(snapshot)} in the last sample); "
                  f"only reading stat: {stat:.2%}")
            jobs = pathlib.Path(folder, "reveza", "jobs")
            jobs.mkdir(parents=True)
            serve_job(jobs / "sleepers.sock", [sleeper.pid for sleeper in sleepers])
            share, snapshot = run_top(program, seconds, folder)
            known = sum(step["use"]["proportional"] is not None
                        for step in snapshot["jobs"][0]["running"])
            alone = stat + memory / 60  # read once a minute for sleeping processes
            print(f"steps of a job: {share:.2%} of a core ({known} with PSS, "
                  f"{files_of(snapshot)} in the last sample); "
                  f"only reading the same files as often: {alone:.2%}")
            as_rows, _ = run_top(program, seconds, folder, "--csv")
            print(f"the same with --csv: {as_rows:.2%} of a core")
    finally:
        for sleeper in sleepers:
            sleeper.kill()
        for sleeper in sleepers:
            sleeper.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
