// `phi bench --device gpu`: run-cycles a second on a GPU against the number of runs and the length
// of the graphs, beside what that GPU does at best.
#pragma once

#include <vector>

namespace reveza::phi {

struct GpuBench {
  int device = 0;
  int dimension = 768;
  std::vector<int> batches;
  std::vector<int> graphs;  // cycles of one graph; 0: none
  double seconds = 0.5;     // of each figure in each round
  int rounds = 5;
  bool json = false;
};

// The exit status.
int BenchGpu(const GpuBench& bench);

}  // namespace reveza::phi
