#!/usr/bin/env python3
"""PyTorch training: residual layers, Adam, deterministic. Prints a hash of all parameters.

--gib is the total memory of parameters, gradients and Adam's two states.
"""

import os

from workload import Loop, parser, shape_of

OPTIONS = parser(__doc__)
OPTIONS.add_argument("--batch", type=int, default=512)
OPTIONS.add_argument("--expandable-segments", action="store_true")
OPTIONS.add_argument("--async-allocator", action="store_true", help="backend:cudaMallocAsync")
OPTIONS.add_argument("--compile-reduce-overhead", action="store_true")
OPTIONS.add_argument("--graph", action="store_true", help="capture the step in a CUDA graph with copies and memsets")
OPTIONS.add_argument("--dataloader", action="store_true", help="load batches by two worker processes")
ARGUMENTS = OPTIONS.parse_args()

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
if ARGUMENTS.expandable_segments:
    os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
if ARGUMENTS.async_allocator:
    os.environ["PYTORCH_ALLOC_CONF"] = "backend:cudaMallocAsync"
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"

import ctypes  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402

from torch_tools import digest_of, set_deterministic  # noqa: E402

WAIT_EVERY = 10
WARM_UP = 3


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width, bias=False)

    def forward(self, x):
        normal = nn.functional.layer_norm(x, x.shape[-1:])
        return x + 0.1 * nn.functional.gelu(self.inner(normal))


class Examples(torch.utils.data.Dataset):
    """Batches that do not depend on the worker that creates them."""

    def __init__(self, count, batch, width):
        self.shape = (count, batch, width)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(1000 + index)
        return torch.randn(self.shape[1:], generator=generator)


def batches_from_memory(steps, batch, width):
    generator = torch.Generator(device="cuda").manual_seed(7)
    kept = [torch.randn((batch, width), generator=generator, device="cuda") for _ in range(4)]
    for step in range(steps):
        yield kept[step % len(kept)]


def batches_from_workers(steps, batch, width):
    loader = torch.utils.data.DataLoader(
        Examples(steps, batch, width), batch_size=None, num_workers=2, pin_memory=True
    )
    for host in loader:
        yield host.cuda(non_blocking=True)


def train_eager(model, optimizer, batches, loop=None):
    def loss_of(x):
        return nn.functional.mse_loss(model(x), torch.roll(x, 1, dims=-1))

    for step, x in enumerate(batches, 1):
        if ARGUMENTS.compile_reduce_overhead:
            torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x)
        loss.backward()
        optimizer.step()
        if loop and step % WAIT_EVERY == 0:
            loss.item()
            loop.mark(WAIT_EVERY)


def runtime_library():
    """Returns the CUDA runtime loaded by torch, for calls that torch does not expose."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            if "libcudart" in line:
                return ctypes.CDLL(line.split(maxsplit=5)[5].strip())
    raise RuntimeError("torch has not loaded a shared CUDA runtime")


def train_graph(model, optimizer, steps, batch, width, loop):
    """Trains with each step as one graph: host to device, memset, kernels, device to host."""
    runtime = runtime_library()
    host_in = torch.empty((batch, width), pin_memory=True)
    host_out = torch.empty((1024,), pin_memory=True)
    x = torch.zeros((batch, width), device="cuda")
    scratch = torch.ones((1 << 20,), device="cuda")
    generator = torch.Generator().manual_seed(7)
    host_in.copy_(torch.randn((batch, width), generator=generator))

    def one_step():
        x.copy_(host_in, non_blocking=True)
        status = runtime.cudaMemsetAsync(
            ctypes.c_void_p(scratch.data_ptr()),
            ctypes.c_int(0),
            ctypes.c_size_t(scratch.numel() * 4),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        if status != 0:
            raise RuntimeError(f"cudaMemsetAsync failed with {status}")
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.mse_loss(model(x), torch.roll(x, 1, dims=-1))
        loss.backward()
        optimizer.step()
        scratch.add_(loss.detach())
        host_out.copy_(scratch[:1024], non_blocking=True)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            one_step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        one_step()
    for step in range(1, steps + 1):
        graph.replay()
        if step % WAIT_EVERY == 0:
            torch.cuda.synchronize()
            loop.mark(WAIT_EVERY)
    torch.cuda.synchronize()
    return [scratch, host_out.cuda()]


def main():
    set_deterministic(ARGUMENTS.seed)
    width, layers = shape_of(ARGUMENTS.gib)
    with torch.device("cuda"):
        model = nn.Sequential(*[Residual(width) for _ in range(layers)])
    optimizer = torch.optim.Adam(
        model.parameters(), lr=1e-4, fused=True, capturable=ARGUMENTS.graph
    )
    trained = model
    if ARGUMENTS.compile_reduce_overhead:
        trained = torch.compile(model, mode="reduce-overhead")
    # The first steps allocate gradients and the optimizer's states, three quarters of the memory, and
    # compile; they belong to the start-up, or a short loop would consist of little else.
    if not ARGUMENTS.graph:  # which warms up before it captures
        train_eager(trained, optimizer, batches_from_memory(WARM_UP, ARGUMENTS.batch, width))
    torch.cuda.synchronize()
    loop = Loop()
    more = []
    if ARGUMENTS.graph:
        more = train_graph(trained, optimizer, ARGUMENTS.steps, ARGUMENTS.batch, width, loop)
    else:
        source = batches_from_workers if ARGUMENTS.dataloader else batches_from_memory
        train_eager(trained, optimizer, source(ARGUMENTS.steps, ARGUMENTS.batch, width), loop)
    torch.cuda.synchronize()
    states = [optimizer.state[p][key] for p in model.parameters() for key in
              ("exp_avg", "exp_avg_sq")]
    digest = digest_of([*model.parameters(), *states, *more])
    loop.report(ARGUMENTS, digest, gib_peak=round(torch.cuda.max_memory_reserved() / 2**30, 2))


if __name__ == "__main__":
    main()
