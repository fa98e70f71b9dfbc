// Products of a constant matrix with many vectors. A block computes a tile of runs by outputs; each
// thread accumulates its sums in registers over all inputs in order, so that every output is the
// same chain as on the CPU (arithmetic/matrix_product.h).
#pragma once

#include "phi/gpu/kernel_arguments.h"

namespace reveza::phi {

template <int kRunsOfTile, int kOutputsOfTile>
struct ProductTile {
  static constexpr int kRuns = kRunsOfTile;
  static constexpr int kOutputs = kOutputsOfTile;
  // Inputs per step, so that 256 threads load 4 floats each of the longer side.
  static constexpr int kDepth = 1024 / (kRuns < kOutputs ? kOutputs : kRuns);
  // Groups of 4 runs per thread; each thread has 4 outputs.
  static constexpr int kRunParts = kRuns / 64;
  static constexpr int kOutputParts = kOutputs / 64;
  static constexpr int kRow = kRuns + 4;  // padded against bank conflicts

  float x[2][kDepth][kRow];
  float w[2][kDepth][kOutputs];
};

template <class Tile>
class ProductBlock {
 public:
  static constexpr int kDepth = Tile::kDepth;
  static constexpr int kRunParts = Tile::kRunParts;
  static constexpr int kOutputParts = Tile::kOutputParts;

  __device__ ProductBlock(Tile& tile, const GpuProduct& product, int runs, int first_run,
                          int first_output)
      : tile_(tile),
        product_(product),
        runs_(runs),
        first_run_(first_run),
        first_output_(first_output) {
    const int run = first_run + LoadedRun();
    if (LoadsRuns() && run < runs) {
      next_x_ = product.x + run * product.x_stride + LoadedInput();
    }
    next_w_ = product.weights + std::int64_t{LoadedDepth()} * product.weights_stride +
              first_output + LoadedOutput();
  }

  __device__ void Run() {
    Fetch(0);
    Put(0);
    __syncthreads();
    int buffer = 0;
    for (int done = 0; done < product_.inputs; done += kDepth) {
      const int left = product_.inputs - done;
      if (left > kDepth) Fetch(done + kDepth);
      if (left >= kDepth) {
#pragma unroll
        for (int k = 0; k < kDepth; ++k) Accumulate(buffer, k);
      } else {
        for (int k = 0; k < left; ++k) Accumulate(buffer, k);
      }
      if (left > kDepth) {
        Put(buffer ^ 1);
        __syncthreads();
        buffer ^= 1;
      }
    }
    Store();
  }

 private:
  __device__ static int Thread() { return static_cast<int>(threadIdx.x); }
  // Load position: four inputs of one run, four outputs of one input. The shorter side occupies
  // only some of the threads.
  __device__ static int LoadedRun() { return Thread() / (kDepth / 4); }
  __device__ static int LoadedInput() { return Thread() % (kDepth / 4) * 4; }
  __device__ static int LoadedDepth() { return Thread() / (Tile::kOutputs / 4); }
  __device__ static int LoadedOutput() { return Thread() % (Tile::kOutputs / 4) * 4; }
  __device__ static bool LoadsRuns() { return LoadedRun() < Tile::kRuns; }
  __device__ static bool LoadsOutputs() { return LoadedDepth() < kDepth; }
  // Position of the sums.
  __device__ static int RunPlace() { return Thread() / 16 * 4; }
  __device__ static int OutputPlace() { return Thread() % 16 * 4; }

  __device__ void Fetch(int input) {
    // Vectors are readable up to a multiple of 64, which kDepth divides.
    if (next_x_ != nullptr) {
      x_ = *reinterpret_cast<const float4*>(next_x_);
      next_x_ += kDepth;
    }
    if (LoadsOutputs() && input + LoadedDepth() < product_.inputs) {
      w_ = *reinterpret_cast<const float4*>(next_w_);
      next_w_ += std::int64_t{kDepth} * product_.weights_stride;
    }
  }

  __device__ void Put(int buffer) {
    if (LoadsRuns()) {
      tile_.x[buffer][LoadedInput()][LoadedRun()] = x_.x;
      tile_.x[buffer][LoadedInput() + 1][LoadedRun()] = x_.y;
      tile_.x[buffer][LoadedInput() + 2][LoadedRun()] = x_.z;
      tile_.x[buffer][LoadedInput() + 3][LoadedRun()] = x_.w;
    }
    if (LoadsOutputs()) {
      *reinterpret_cast<float4*>(&tile_.w[buffer][LoadedDepth()][LoadedOutput()]) = w_;
    }
  }

  __device__ void Accumulate(int buffer, int k) {
    float x[kRunParts][4];
    float w[kOutputParts][4];
#pragma unroll
    for (int part = 0; part < kRunParts; ++part) {
      *reinterpret_cast<float4*>(x[part]) =
          *reinterpret_cast<const float4*>(&tile_.x[buffer][k][part * 64 + RunPlace()]);
    }
#pragma unroll
    for (int part = 0; part < kOutputParts; ++part) {
      *reinterpret_cast<float4*>(w[part]) =
          *reinterpret_cast<const float4*>(&tile_.w[buffer][k][part * 64 + OutputPlace()]);
    }
#pragma unroll
    for (int r = 0; r < 4 * kRunParts; ++r) {
#pragma unroll
      for (int o = 0; o < 4 * kOutputParts; ++o) {
        sum_[r][o] = Fma(w[o / 4][o % 4], x[r / 4][r % 4], sum_[r][o]);
      }
    }
  }

  __device__ float Finished(float sum, int output) const {
    if (product_.factors != nullptr) sum = sum * product_.factors[output];
    if (product_.offsets == nullptr) return sum;
    const float shifted = sum + product_.offsets[output];
    return product_.rectified != 0 && shifted < 0.0F ? 0.0F : shifted;
  }

  __device__ void Store() const {
#pragma unroll
    for (int r = 0; r < 4 * kRunParts; ++r) {
      const int run = first_run_ + r / 4 * 64 + RunPlace() + r % 4;
      if (run >= runs_) continue;
#pragma unroll
      for (int part = 0; part < kOutputParts; ++part) {
        const int output = first_output_ + part * 64 + OutputPlace();
        if (output >= product_.outputs) continue;
        const float* sum = &sum_[r][part * 4];
        *reinterpret_cast<float4*>(product_.y + run * product_.y_stride + output) =
            make_float4(Finished(sum[0], output), Finished(sum[1], output + 1),
                        Finished(sum[2], output + 2), Finished(sum[3], output + 3));
      }
    }
  }

  Tile& tile_;
  const GpuProduct& product_;
  int runs_;
  int first_run_;
  int first_output_;
  const float* next_x_ = nullptr;  // null if this thread loads no run
  const float* next_w_;
  float4 x_ = {};
  float4 w_ = {};
  float sum_[4 * kRunParts][4 * kOutputParts] = {};
};

// blockIdx.x enumerates the output tiles of all products in turn, blockIdx.y the tiles of runs.
template <int kRuns, int kOutputs>
__device__ void MultiplyTile(const GpuProducts& products) {
  using Tile = ProductTile<kRuns, kOutputs>;
  __shared__ Tile tile;
  int column = static_cast<int>(blockIdx.x);
  int index = 0;
  while (index + 1 < products.count) {
    const int columns = (products.product[index].outputs + kOutputs - 1) / kOutputs;
    if (column < columns) break;
    column -= columns;
    ++index;
  }
  ProductBlock<Tile>(tile, products.product[index], products.runs,
                     static_cast<int>(blockIdx.y) * kRuns, column * kOutputs)
      .Run();
}

}  // namespace reveza::phi
