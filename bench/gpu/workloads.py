"""Jobs of the sections: frameworks on a real GPU, test clients on fakecuda."""

import os
import sys

from harness import Job

HERE = os.path.dirname(os.path.abspath(__file__))


def python(name, script, *arguments):
    return Job(name, [sys.executable, os.path.join(HERE, script), "--name", name,
                      *[str(a) for a in arguments]])


def client(harness, name, program, *arguments):
    return Job(name, [harness.client(program), "--json", "--name", name,
                      *[str(a) for a in arguments]])


def training(harness, name, gib, steps, *arguments):
    """Returns the default training program; on fakecuda a worker of `gib` MiB."""
    if harness.fake:
        return client(harness, name, "worker", "--bytes", f"{gib}MiB", "--steps",
                      harness.steps(steps), "--step-ms", 20, "--small", 20, *arguments)
    return python(name, "train_torch.py", "--gib", gib, "--steps", harness.steps(steps),
                  *arguments)


def same_result(harness):
    """Returns (job, GiB) for all programs whose results must be the same with and without Reveza."""
    if harness.fake:
        return _same_result_fake(harness)
    steps = harness.steps
    jax_pool = ("train_jax.py", "--gib", 12, "--steps", steps(150))
    return [
        (python("torch_adam", "train_torch.py", "--gib", 12, "--steps", steps(120)), 15),
        (python("torch_expandable", "train_torch.py", "--gib", 12, "--steps", steps(120),
                "--expandable-segments"), 15),
        (python("torch_async", "train_torch.py", "--gib", 12, "--steps", steps(120),
                "--async-allocator"), 15),
        (python("torch_graph", "train_torch.py", "--gib", 12, "--steps", steps(120), "--graph"),
         16),
        (python("torch_compile", "train_torch.py", "--gib", 8, "--steps", steps(150),
                "--compile-reduce-overhead"), 12),
        (python("torch_dataloader", "train_torch.py", "--gib", 12, "--steps", steps(100),
                "--dataloader"), 15),
        (python("jax_default_pool", *jax_pool), 200),
        (python("jax_growing_pool", *jax_pool, "--no-preallocate"), 18),
        (python("cupy", "train_cupy.py", "--gib", 12, "--steps", steps(120)), 15),
        # Startup times differ, so the programs run long enough to overlap.
        (python("cupy_run_ahead", "train_cupy.py", "--gib", 12, "--steps", steps(300),
                "--run-ahead"), 15),
        (python("ipc_events", "ipc_events.py", "--gib", 12, "--steps", steps(4000)), 15),
        (client(harness, "static_cudart", "static_cudart", "--bytes", "12GiB", "--steps",
                steps(300), "--step-ms", 100), 13),
        (client(harness, "worker_direct", "worker_direct", "--bytes", "12GiB", "--steps",
                steps(240), "--step-ms", 100), 13),
        (client(harness, "vmm", "vmm", "--bytes", "12GiB", "--steps", steps(240), "--step-ms", 100,
                "--export", 0), 13),
        (client(harness, "pools", "pools", "--bytes", "12GiB", "--steps", steps(240), "--step-ms",
                100), 13),
    ]


def _same_result_fake(harness):
    size, steps = "120MiB", harness.steps(20)
    common = ("--bytes", size, "--steps", steps, "--step-ms", 10)
    # Three at a time, of which two have memory that moves.
    programs = ["worker", "worker_direct", "pools", "threads", "graph", "ipc_pair", "vmm",
                "alloc_loop", "run_ahead"]
    jobs = []
    for program in programs:
        if os.path.exists(harness.client(program)):
            more = ("--export", 0) if program == "vmm" else ()
            share = ("--bytes", "60MiB") if program in ("ipc_pair", "pools") else ()
            jobs.append((client(harness, program, program, *common, *more, *share), 0.13))
    return jobs


def addition(harness, name, busy, steps, *arguments):
    """Returns the add workload, busy or half idle; on fakecuda the worker of the demo."""
    if harness.fake:
        pause = () if busy else ("--load-every", 1, "--load-ms", 10)
        return Job(name, [os.path.join(harness.build, "bin", "reveza-demo-worker"), "--json",
                          "--name", name, "--bytes", "24MiB", "--step-ms", "10", "--steps",
                          *[str(a) for a in (harness.steps(steps / 50), *pause, *arguments)]])
    pause = () if busy else ("--pause-ms", 45)
    return python(name, "add_torch.py", "--steps", harness.steps(steps), *pause, *arguments)
