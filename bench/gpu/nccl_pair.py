#!/usr/bin/env python3
"""Two processes, two GPUs: work and an all-reduce in every step. Prints one hash for both ranks."""

import os
import random
import tempfile
import time

from workload import Loop, combine, parser

OPTIONS = parser(__doc__)
OPTIONS.add_argument("--ranks", type=int, default=2)
OPTIONS.add_argument("--wait-every", type=int, default=0, help="steps between waits, 0 never to wait")
OPTIONS.add_argument("--graph", action="store_true", help="replay the steps as a CUDA graph")
OPTIONS.add_argument("--register", action="store_true", help="register all buffers with NCCL")
OPTIONS.add_argument("--jitter-ms", type=int, default=0, help="longest pause of the last rank a step")


def _captured(compute, block):
    """Returns a graph of one step, after one that is not captured, as NCCL and cuBLAS need."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        compute(block)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        compute(block)
    return graph


def rank_main(rank, arguments, rendezvous, answers):
    # NVLink multicast may disturb other users of the host, so it must stay disabled.
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if arguments.register:
        os.environ["TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"] = "1"
    import torch
    import torch.distributed as distributed

    from torch_tools import digest_of, set_deterministic

    set_deterministic(arguments.seed + rank)
    torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl", init_method=f"file://{rendezvous}", rank=rank, world_size=arguments.ranks
    )
    side = 8192
    count = max(1, round(arguments.gib * 2**30 / (4 * side * side)))
    held = [torch.randn((side, side), device="cuda") for _ in range(count)]
    small = torch.randn((side, 256), device="cuda")

    def compute(block):
        small.copy_(torch.tanh(block @ small * 0.01))
        distributed.all_reduce(small)
        block.add_(small.mean(), alpha=1e-3)

    distributed.all_reduce(small)
    graphs = [_captured(compute, block) for block in held] if arguments.graph else []
    torch.cuda.synchronize()
    pauses = random.Random(arguments.seed)
    loop = Loop()
    for step in range(1, arguments.steps + 1):
        if graphs:
            graphs[step % count].replay()
        else:
            compute(held[step % count])
        if rank == arguments.ranks - 1 and arguments.jitter_ms:
            time.sleep(pauses.random() * arguments.jitter_ms / 1e3)
        if arguments.wait_every and step % arguments.wait_every == 0:
            torch.cuda.synchronize()
            loop.mark(arguments.wait_every)
    torch.cuda.synchronize()
    digest = digest_of([*held, small])
    answers.put((rank, digest, loop.begin, loop.marks))
    graphs.clear()  # or NCCL waits for them for ever
    distributed.destroy_process_group()


def main():
    import torch.multiprocessing as multiprocessing

    arguments = OPTIONS.parse_args()
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = os.path.join(folder, "rendezvous")
        ranks = multiprocessing.spawn(
            rank_main, (arguments, rendezvous, answers), nprocs=arguments.ranks, join=False
        )
        # Ends the other ranks when one has died, as launchers of training jobs do.
        while answers.empty():
            ranks.join(timeout=0.1)
        got = sorted(answers.get() for _ in range(arguments.ranks))
        while not ranks.join():
            pass
    digest = 0
    for _, one, _, _ in got:
        digest = combine(digest, one)
    loop = Loop()
    loop.begin, loop.marks = got[0][2], got[0][3]
    loop.report(arguments, digest, ranks=arguments.ranks)


if __name__ == "__main__":
    main()
