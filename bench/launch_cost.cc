// Nanoseconds that a launch takes the calling thread. Run once with libreveza.so and once without;
// the difference is what the gate costs. Batches are small enough for the driver's queue never to
// be full, and the GPU is waited for outside the measured time.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "client.h"

namespace reveza::bench {
namespace {

using clients::Options;
using clients::SecondsNow;
using clients::Session;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

int Main(const Options& options) {
  const Session session(options);
  const std::uint64_t batch = options.Extra("batch");
  std::vector<double> nanoseconds;
  for (std::uint64_t i = 0; i < options.steps + 10; ++i) {
    const double begin = SecondsNow();
    for (std::uint64_t launch = 0; launch < batch; ++launch) session.Spin(0);
    const double end = SecondsNow();
    session.Synchronize();
    if (i >= 10) nanoseconds.push_back((end - begin) * 1e9 / static_cast<double>(batch));
  }
  std::printf(
      "{\"name\":\"%s\",\"batches\":%zu,\"batch\":%llu,\"median_ns\":%.1f,\"least_ns\":%.1f}\n",
      options.name.c_str(), nanoseconds.size(), static_cast<unsigned long long>(batch),
      Median(nanoseconds), *std::min_element(nanoseconds.begin(), nanoseconds.end()));
  return 0;
}

}  // namespace
}  // namespace reveza::bench

int main(int argc, char** argv) {
  const auto options = reveza::clients::OptionsOrExit(argc, argv, "launch_cost", {{"batch", 200}});
  if (options.Extra("batch") == 0 || options.steps == 0) {
    reveza::clients::Die("--batch and --steps must be 1 or more");
  }
  return reveza::bench::Main(options);
}
