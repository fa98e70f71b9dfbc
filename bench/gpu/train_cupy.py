#!/usr/bin/env python3
"""CuPy training: layers with back-propagation and Adam written out. Prints a hash of the state.

With --run-ahead the loop never waits, so that seconds of work are queued. With --async-pool memory
is allocated in stream order.
"""

from workload import Loop, combine, parser, rest, shape_of

OPTIONS = parser(__doc__)
OPTIONS.add_argument("--batch", type=int, default=512)
OPTIONS.add_argument("--run-ahead", action="store_true")
OPTIONS.add_argument("--async-pool", action="store_true")
ARGUMENTS = OPTIONS.parse_args()

import cupy as cp  # noqa: E402

WAIT_EVERY = 10

ADAM = cp.ElementwiseKernel(
    "float32 gradient, float32 correct1, float32 correct2",
    "float32 weight, float32 mean, float32 square",
    """
    mean = 0.9f * mean + 0.1f * gradient;
    square = 0.999f * square + 0.001f * gradient * gradient;
    weight -= 1e-4f * (mean / correct1) / (sqrtf(square / correct2) + 1e-8f);
    """,
    "reveza_bench_adam",
)
START = cp.ElementwiseKernel(
    "uint32 seed, float32 scale",
    "float32 value",
    """
    unsigned mixed = ((unsigned)i ^ seed) * 2654435761u;
    mixed = (mixed ^ (mixed >> 15)) * 2246822519u;
    mixed = (mixed ^ (mixed >> 13)) * 3266489917u;
    value = ((mixed >> 8) * (1.0f / 16777216.0f) - 0.5f) * scale;
    """,
    "reveza_bench_start",
)
MIX = cp.ElementwiseKernel(
    "uint32 word",
    "uint64 mixed",
    """
    unsigned part = (word ^ ((unsigned)i * 2654435761u)) * 2246822519u;
    mixed = (unsigned long long)part * 0x9e3779b97f4a7c15ull;
    """,
    "reveza_bench_mix",
)


def digest_of(arrays):
    digest, chunk = 0, 1 << 24
    for array in arrays:
        words = array.reshape(-1).view(cp.uint32)
        for begin in range(0, words.size, chunk):
            digest = combine(digest, int(MIX(words[begin : begin + chunk]).sum()))
    return digest


def started(shape, seed, scale):
    value = cp.empty(shape, dtype=cp.float32)
    START(cp.uint32(seed), cp.float32(scale), value)
    return value


def train_step(weights, means, squares, x, target, step):
    inputs, hidden = [], x
    for weight in weights:
        inputs.append(hidden)
        hidden = cp.tanh(hidden @ weight)
    outputs = [*inputs[1:], hidden]
    gradient = (hidden - target) * cp.float32(2.0 / hidden.size)
    correct1, correct2 = cp.float32(1 - 0.9**step), cp.float32(1 - 0.999**step)
    for layer in reversed(range(len(weights))):
        gradient = gradient * (cp.float32(1) - outputs[layer] * outputs[layer])
        of_weight = inputs[layer].T @ gradient
        gradient = gradient @ weights[layer].T
        ADAM(of_weight, correct1, correct2, weights[layer], means[layer], squares[layer])


def main():
    if ARGUMENTS.async_pool:
        cp.cuda.set_allocator(cp.cuda.MemoryAsyncPool().malloc)
    width, layers = shape_of(ARGUMENTS.gib)
    shape = (width, width)
    scale = 3.4 / width**0.5
    weights = [started(shape, ARGUMENTS.seed * 1000 + i, scale) for i in range(layers)]
    means = [cp.zeros(shape, dtype=cp.float32) for _ in range(layers)]
    squares = [cp.zeros(shape, dtype=cp.float32) for _ in range(layers)]
    x = started((ARGUMENTS.batch, width), 17, 2.0)
    target = started((ARGUMENTS.batch, width), 19, 1.0)
    device = cp.cuda.Device()
    device.synchronize()
    loop = Loop()
    for step in range(1, ARGUMENTS.steps + 1):
        train_step(weights, means, squares, x, target, step)
        if not ARGUMENTS.run_ahead and step % WAIT_EVERY == 0:
            device.synchronize()
            loop.mark(WAIT_EVERY)
        rest(ARGUMENTS, step, device.synchronize)
    device.synchronize()
    digest = digest_of([*weights, *means, *squares])
    loop.report(ARGUMENTS, digest)


if __name__ == "__main__":
    main()
