#!/usr/bin/env python3
"""Two processes of one job that wait for each other on the GPU through shared events."""

from workload import Loop, combine, parser

OPTIONS = parser(__doc__)


def player(arguments, pipe, leader):
    import os

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    from torch_tools import digest_of, set_deterministic

    set_deterministic(arguments.seed + (0 if leader else 1))
    side = 8192
    count = max(1, round(arguments.gib / 2 * 2**30 / (4 * side * side)))
    held = [torch.randn((side, side), device="cuda") for _ in range(count)]
    small = torch.randn((side, 256), device="cuda")
    mine = torch.cuda.Event(interprocess=True)
    mine.record()
    torch.cuda.synchronize()
    pipe.send(mine.ipc_handle())
    other = torch.cuda.Event.from_ipc_handle(torch.device("cuda:0"), pipe.recv())
    loop = Loop()
    for step in range(arguments.steps):
        if not leader or step > 0:
            pipe.recv()
            other.wait()
        block = held[step % count]
        small = torch.tanh(block @ small * 0.01)
        block.add_(small.mean(), alpha=1e-3)
        mine.record()
        pipe.send("recorded")
    if leader:
        pipe.recv()
    torch.cuda.synchronize()
    digest = digest_of([*held, small])
    # Keeps the events alive until both have waited for them.
    pipe.send(digest)
    return loop, combine(digest, pipe.recv()) if leader else pipe.recv()


def main():
    import multiprocessing

    arguments = OPTIONS.parse_args()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=player, args=(arguments, there, False))
    child.start()
    there.close()
    loop, digest = player(arguments, here, True)
    child.join()
    if child.exitcode != 0:
        raise SystemExit(f"the other process exited with {child.exitcode}")
    loop.report(arguments, digest, processes=2)


if __name__ == "__main__":
    main()
