#!/usr/bin/env python3
"""Allocates and frees tensors of changing sizes on all GPUs, copies between them, and empties PyTorch's
caches every few steps, while other programs may take the cards."""

from workload import Loop, parser

OPTIONS = parser(__doc__)
ARGUMENTS = OPTIONS.parse_args()

import torch  # noqa: E402

from torch_tools import digest_of  # noqa: E402


def main():
    devices = range(torch.cuda.device_count())
    side = 4096
    count = max(1, round(ARGUMENTS.gib * 2**30 / (4 * side * side)))
    generators = [torch.Generator(device=f"cuda:{i}").manual_seed(ARGUMENTS.seed + i)
                  for i in devices]
    held = [[torch.rand((side, side), generator=generators[i], device=f"cuda:{i}")
             for _ in range(count)] for i in devices]
    loop = Loop()
    for step in range(ARGUMENTS.steps):
        for i in devices:
            block = held[i][step % count]
            part = block[: 256 + 64 * (step % 13)].clone()
            other = part.to(f"cuda:{(i + 1) % len(devices)}")
            held[(i + 1) % len(devices)][(step + 1) % count][: len(other)] += other * 0.5
            held[i][step % count] = torch.tanh(block)
        if step % 5 == 4:
            for i in devices:  # natively, memory may be freed while the other device uses it
                torch.cuda.synchronize(i)
            torch.cuda.empty_cache()
    for i in devices:
        torch.cuda.synchronize(i)
    loop.report(ARGUMENTS, digest_of([block for blocks in held for block in blocks]))


if __name__ == "__main__":
    main()
