#!/usr/bin/env python3
"""Adds matrices repeatedly (z = x + y) with about 10 GB of GPU memory; half idle with
--pause-ms."""

import time

from workload import Loop, parser

OPTIONS = parser(__doc__)
OPTIONS.add_argument("--side", type=int, default=28000, help="x and y are side x side floats")
OPTIONS.add_argument("--pause-ms", type=float, default=0, help="milliseconds that the host pauses")
OPTIONS.add_argument("--pause-every", type=int, default=20, help="additions between pauses")
ARGUMENTS = OPTIONS.parse_args()

import torch  # noqa: E402

from torch_tools import digest_of  # noqa: E402


def main():
    side = ARGUMENTS.side
    generator = torch.Generator(device="cuda").manual_seed(ARGUMENTS.seed)
    x = torch.rand((side, side), generator=generator, device="cuda")
    y = torch.rand((side, side), generator=generator, device="cuda")
    torch.cuda.synchronize()
    loop = Loop()
    z = x
    for step in range(1, ARGUMENTS.steps + 1):
        z = torch.add(x, y)
        if step % ARGUMENTS.pause_every == 0 and ARGUMENTS.pause_ms > 0:
            torch.cuda.synchronize()
            time.sleep(ARGUMENTS.pause_ms / 1e3)
        elif step % 100 == 0 and ARGUMENTS.pause_ms == 0:
            torch.cuda.synchronize()
            loop.mark(100)
    torch.cuda.synchronize()
    loop.report(ARGUMENTS, digest_of([x, y, z]),
                gib_peak=round(torch.cuda.max_memory_reserved() / 2**30, 2))


if __name__ == "__main__":
    main()
