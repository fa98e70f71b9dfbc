"""One card, four kinds of work: two trainings, a notebook and an inference server that together need
more than the card, first as equals, then with the policies that docs/policy.md recommends.

  bench/gpu/policy_scene.py [--gib 1.0] [--seconds 60] [--budget 24GiB] [--log FILE]

REVEZA_BUILD is the build tree (default build). --gib scales the sizes (14, 10, 8 and 4 GiB).
Prints how long each program waited for the GPU each time that it asked for it, its share, and whether the
notebook computed what it does alone. Runs on fakecuda too: LD_LIBRARY_PATH=$PWD/build/lib/fakecuda.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("REVEZA_BUILD", "build")
REVEZA = os.path.join(BUILD, "bin", "reveza")
POLICIES = {
    "train": ["--priority", "low", "--weight", "2"],
    "night": ["--priority", "low"],
    "notebook": ["--interactive"],
    "server": ["--interactive", "--memory"],  # and its size
}


def size(gib):
    return f"{int(gib * 1024)}MiB"


def programs(scale):
    """Returns the command of each program."""
    def client(name, *arguments):
        return [os.path.join(BUILD, "tests", "clients", name), *map(str, arguments), "--json"]

    return {
        "train": client("worker", "--bytes", size(14 * scale), "--seconds", 100_000, "--step-ms", 20),
        "night": client("worker", "--bytes", size(10 * scale), "--seconds", 100_000, "--step-ms", 20),
        "notebook": client("idle", "--bytes", size(8 * scale), "--steps", 45, "--burst", 3,
                           "--pause-ms", 3000, "--step-ms", 10),
        "server": client("idle", "--bytes", size(4 * scale), "--steps", 1_000_000, "--burst", 1,
                         "--pause-ms", 500, "--step-ms", 10),
    }


def clients(environment):
    status = subprocess.run([REVEZA, "status", "--json"], env=environment, capture_output=True,
                            text=True, check=False)
    if status.returncode != 0:
        return {}
    return {client["name"]: client for client in json.loads(status.stdout)["clients"]}


def scene(label, policies, args, log):
    """Runs the four programs until the notebook has ended, and prints a row for each."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "REVEZA_SOCKET": os.path.join(folder, "revezad.sock")}
        children = {}
        for name, command in programs(args.gib).items():
            policy = list(policies.get(name, []))
            if policy and policy[-1] == "--memory":
                policy.append(size(5 * args.gib))
            run = [REVEZA, "run", "--name", name, "--gpu-budget", args.budget, "--quiet", *policy,
                   "--", *command]
            print(f"$ {shlex.join(run)}", file=log)
            children[name] = subprocess.Popen(run, env=environment, stdout=subprocess.PIPE,
                                              stderr=log, text=True)
            time.sleep(1)
        begun = time.monotonic()
        last = {}
        while children["notebook"].poll() is None and time.monotonic() < begun + args.seconds:
            last.update(clients(environment))
            time.sleep(1)
        print(f"{label:<8} {time.monotonic() - begun:.0f} s", file=log)
        ended = children["notebook"].poll()
        for child in children.values():
            if child.poll() is None:
                child.terminate()
        results = {name: child.communicate()[0] for name, child in children.items()}
        subprocess.run([REVEZA, "stop", "--force"], env=environment, check=False,
                       capture_output=True)
    for name, client in last.items():
        waits = client["wait_ms"]
        print(f"{label:<8} {name:<9} {waits['count']:>6} {waits['p50']:>9.1f} {waits['p95']:>9.1f} "
              f"{waits['p99']:>9.1f} {client['ran_s']:>7.0f} {client['turns']:>6}",
              file=log)
    return None if ended is None else results["notebook"]


def hash_of(output):
    return json.loads(output.strip().splitlines()[-1])["hash"] if output else None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--budget", default="24GiB")
    parser.add_argument("--log", type=argparse.FileType("w"), default=sys.stdout)
    args = parser.parse_args()
    print(f"$ bench/gpu/policy_scene.py --gib {args.gib} --seconds {args.seconds:.0f} "
          f"--budget {args.budget}", file=args.log)
    print(subprocess.run([REVEZA, "--version"], capture_output=True, text=True, check=True).stdout,
          file=args.log)
    alone = subprocess.run(programs(args.gib)["notebook"], capture_output=True, text=True,
                           check=True).stdout
    print(f"{'':<8} {'program':<9} {'waits':>6} {'p50 ms':>9} {'p95 ms':>9} {'p99 ms':>9} {'gate open s':>7} "
          f"{'turns':>6}", file=args.log, flush=True)
    failed = False
    for label, policies in (("equals", {}), ("policies", POLICIES)):
        shared = scene(label, policies, args, args.log)
        if shared is None:
            text = f"has not finished within {args.seconds:.0f} s"
        elif hash_of(shared) == hash_of(alone):
            text = "has computed what it does alone"
        else:
            text = "has computed something ELSE than alone"
            failed = True
        print(f"{label:<8} the notebook {text}", file=args.log, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
