"""A GPU workload of small kernels that is dominated by launch overhead: a cycle is eight kernels of
a few microseconds (four times a 768 x 768 matrix-vector product and tanh).

  small_kernels.py --begin T --seconds S [--threads N] [--graph K] [--batch B]
  small_kernels.py --cycles N [...]

Waits until T (Unix time), runs cycles for S seconds, and prints their number as JSON. --threads
runs N threads, each with its own stream; --graph puts K cycles into a CUDA graph; --batch computes
B independent runs in each kernel, so that a launch counts as B cycles.
"""

import argparse
import json
import threading
import time

import cupy

SIZE = 768
CODE = r"""
extern "C" __global__ void cycle(const float* matrix, const float* in, float* out, int size) {
  __shared__ float part[128];
  const int row = blockIdx.x, run = blockIdx.y, me = threadIdx.x;
  float sum = 0;
  for (int k = me; k < size; k += 128) sum += matrix[row * size + k] * in[run * size + k];
  part[me] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (me < half) part[me] += part[me + half];
    __syncthreads();
  }
  if (me == 0) out[run * size + row] = part[0];
}
extern "C" __global__ void squash(float* state, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) state[i] = tanhf(state[i] + 0.01f);
}
"""


class Runs:
    """`batch` independent runs on one stream."""

    def __init__(self, batch, graph):
        self.module = cupy.RawModule(code=CODE)
        self.cycle_kernel = self.module.get_function("cycle")
        self.squash_kernel = self.module.get_function("squash")
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.batch = batch
        with self.stream:
            self.matrix = (cupy.arange(SIZE * SIZE, dtype=cupy.float32) % 7 - 3) / 100
            self.one = cupy.full(batch * SIZE, 0.5, dtype=cupy.float32)
            self.other = cupy.zeros(batch * SIZE, dtype=cupy.float32)
            self._cycle()
        self.stream.synchronize()
        self.graph = None
        self.each = 1
        if graph:
            with self.stream:
                self.stream.begin_capture()
                for _ in range(graph):
                    self._cycle()
                self.graph = self.stream.end_capture()
            self.each = graph

    def _cycle(self):
        count = self.batch * SIZE
        for _ in range(2):
            for source, target in ((self.one, self.other), (self.other, self.one)):
                self.cycle_kernel((SIZE, self.batch), (128,),
                                  (self.matrix, source, target, cupy.int32(SIZE)))
                self.squash_kernel(((count + 127) // 128,), (128,), (target, cupy.int32(count)))

    def step(self):
        """Launches cycles without waiting. Returns their number."""
        with self.stream:
            if self.graph:
                self.graph.launch()
            else:
                self._cycle()
        return self.each * self.batch


def work(runs, end, max_cycles, counts, index):
    cycles_done = 0
    launched = 0
    while time.time() < end and cycles_done < max_cycles:
        cycles_done += runs.step()
        launched += 1
        # Bounds the number of queued launches.
        if launched % 32 == 0:
            runs.stream.synchronize()
    runs.stream.synchronize()
    counts[index] = cycles_done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--begin", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--cycles", type=int, default=1 << 62)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--graph", type=int, default=0)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    runs = [Runs(options.batch, options.graph) for _ in range(options.threads)]
    ready = time.time()
    time.sleep(max(0.0, options.begin - ready))
    begin = time.time()
    counts = [0] * options.threads
    threads = [threading.Thread(target=work, args=(one, begin + options.seconds, options.cycles,
                                                   counts, i)) for i, one in enumerate(runs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.time() - begin
    print(json.dumps({"cycles": sum(counts), "seconds": seconds,
                      "late": max(0.0, begin - options.begin) if options.begin else 0}))


if __name__ == "__main__":
    main()
