// What the two halves of `phi bench` share: its arguments, and the benchmark of a GPU.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"

namespace reveza::phi {

struct BenchArguments {
  int dimension = 768;
  std::vector<int> batches = {1, 7, 64, 256};
  std::vector<int> threads;
  double seconds = 0.5;  // per figure and round
  int rounds = 5;
  std::string kernel = "auto";
  std::string device = "cpu";
  std::vector<int> graphs = {0, 16};  // cycles per CUDA graph; 0 launches kernels individually
  bool correlation = false;
  bool json = false;
};

// Returns the multiply-adds of the products of one run-cycle.
double MultiplyAddsOf(int dimension);

double Median(std::vector<double> values);

// Prints run-cycles per second on GPU number `device` by number of runs and CUDA graph length,
// compared with the limits that the same GPU reaches in microbenchmarks.
Status BenchGpu(const BenchArguments& arguments, int device);

}  // namespace reveza::phi
