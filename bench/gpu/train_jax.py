#!/usr/bin/env python3
"""JAX training: residual layers, Adam written out, state donated. Prints a hash of the state.

By default JAX preallocates three quarters of the GPU's memory; with --no-preallocate its pool grows
on demand.
"""

import os

from workload import Loop, combine, parser, rest, shape_of

OPTIONS = parser(__doc__)
OPTIONS.add_argument("--batch", type=int, default=512)
OPTIONS.add_argument("--no-preallocate", action="store_true")
OPTIONS.add_argument("--wait-every", type=int, default=10, help="steps between waits, 0 never to wait")
ARGUMENTS = OPTIONS.parse_args()

if ARGUMENTS.no_preallocate:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
# Autotuning may choose kernels with different rounding in each run.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + " --xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0"
).strip()

from functools import partial  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


def forward(weights, x):
    for weight in weights:
        mean = jnp.mean(x, axis=-1, keepdims=True)
        normal = (x - mean) / jnp.sqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)
        x = x + 0.1 * jax.nn.gelu(normal @ weight)
    return x


def loss_of(weights, x):
    return jnp.mean((forward(weights, x) - jnp.roll(x, 1, axis=-1)) ** 2)


@partial(jax.jit, donate_argnums=(0, 1, 2))
def train_step(weights, means, squares, x, step):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x)
    beta1, beta2, rate = 0.9, 0.999, 1e-4
    new_weights, new_means, new_squares = [], [], []
    for w, m, v, g in zip(weights, means, squares, gradients):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        scaled = (m / (1 - beta1**step)) / (jnp.sqrt(v / (1 - beta2**step)) + 1e-8)
        new_weights.append(w - rate * scaled)
        new_means.append(m)
        new_squares.append(v)
    return new_weights, new_means, new_squares, loss


@jax.jit
def digest_of_one(array):
    words = jax.lax.bitcast_convert_type(array.reshape(-1), jnp.uint32)
    index = jnp.arange(words.size, dtype=jnp.uint32)
    mixed = (words ^ (index * jnp.uint32(2654435761))) * jnp.uint32(2246822519)
    other = (words ^ (mixed >> 15)) * jnp.uint32(3266489917)
    return jnp.sum(mixed, dtype=jnp.uint32), jnp.sum(other, dtype=jnp.uint32)


def main():
    width, layers = shape_of(ARGUMENTS.gib)
    keys = jax.random.split(jax.random.PRNGKey(ARGUMENTS.seed), layers + 1)
    make = jax.jit(lambda key: jax.random.normal(key, (width, width), jnp.float32) / width**0.5)
    weights = [make(key) for key in keys[:layers]]
    means = [jnp.zeros_like(weight) for weight in weights]
    squares = [jnp.zeros_like(weight) for weight in weights]
    x = jax.random.normal(keys[layers], (ARGUMENTS.batch, width), jnp.float32)
    loss = None
    jax.block_until_ready((weights, means, squares, x))
    loop = Loop()
    for step in range(1, ARGUMENTS.steps + 1):
        weights, means, squares, loss = train_step(
            weights, means, squares, x, jnp.float32(step)
        )
        if ARGUMENTS.wait_every and step % ARGUMENTS.wait_every == 0:
            loss.block_until_ready()
            loop.mark(ARGUMENTS.wait_every)
        rest(ARGUMENTS, step, loss.block_until_ready)
    jax.block_until_ready((weights, means, squares, loss))
    digest = 0
    for array in [*weights, *means, *squares]:
        first, second = digest_of_one(array)
        digest = combine(digest, int(first) << 32 | int(second))
    loop.report(ARGUMENTS, digest, loss=float(loss))


if __name__ == "__main__":
    main()
