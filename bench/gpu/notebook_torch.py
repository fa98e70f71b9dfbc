#!/usr/bin/env python3
"""Computes for a moment, like a cell of a notebook, and then leaves the GPU alone, several times. With
--poll a thread asks for the state of an event all the time."""

import threading
import time

from workload import Loop, parser

OPTIONS = parser(__doc__)
OPTIONS.add_argument("--pause", type=float, default=10, help="seconds between two cells")
OPTIONS.add_argument("--poll", action="store_true")
ARGUMENTS = OPTIONS.parse_args()

import torch  # noqa: E402

from torch_tools import digest_of  # noqa: E402


def poll(event, ended):
    while not ended.wait(0.01):
        event.query()
        torch.cuda.mem_get_info()


def main():
    side = int((ARGUMENTS.gib * 2**30 / 3 / 4) ** 0.5)
    generator = torch.Generator(device="cuda").manual_seed(ARGUMENTS.seed)
    x = torch.rand((side, side), generator=generator, device="cuda")
    y = torch.rand((side, side), generator=generator, device="cuda")
    z = torch.zeros((side, side), device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z.add_(x).mul_(0.5).add_(y)
    ended = threading.Event()
    event = torch.cuda.Event()
    event.record()
    torch.cuda.synchronize()
    poller = threading.Thread(target=poll, args=(event, ended))
    if ARGUMENTS.poll:
        poller.start()
    loop = Loop()
    cells = []
    for step in range(ARGUMENTS.steps):
        if step > 0:
            time.sleep(ARGUMENTS.pause)
        begin = time.time()
        graph.replay()
        z[0] += (x[:64] @ y)[0]
        torch.cuda.synchronize()
        cells.append(round((time.time() - begin) * 1e3, 1))
    ended.set()
    if ARGUMENTS.poll:
        poller.join()
    loop.report(ARGUMENTS, digest_of([x, y, z]), cells_ms=cells)


if __name__ == "__main__":
    main()
