// Nanoseconds that a launch takes the calling thread, as this program gets the call (with
// libreveza.so: through the gate) and as the driver exports it. Batches of both take turns in one
// run, so that what the machine does meanwhile meets both; without the library the difference is
// that of a thing with itself. Batches are small enough for the driver's queue never to be full,
// and the GPU is waited for outside the measured time.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "client.h"
#include "driver_symbol.h"

namespace reveza::bench {
namespace {

using clients::Options;
using clients::SecondsNow;
using clients::Session;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double BatchNanoseconds(const Session& session, std::uint64_t launches) {
  const double begin = SecondsNow();
  for (std::uint64_t launch = 0; launch < launches; ++launch) session.Spin(0);
  const double end = SecondsNow();
  session.Synchronize();
  return (end - begin) * 1e9 / static_cast<double>(launches);
}

int Main(const Options& options) {
  const Session session(options);
  clients::Driver bare_driver = session.driver();
  void* bare = DriverSymbol("libcuda.so.1", "cuLaunchKernel");
  if (bare == nullptr) clients::Die("libcuda.so.1 exports no cuLaunchKernel");
  bare_driver.cuLaunchKernel = reinterpret_cast<decltype(bare_driver.cuLaunchKernel)>(bare);
  const Session bare_session(bare_driver, session.device(), session.context());
  const std::uint64_t batch = options.Extra("batch");
  std::vector<double> given;
  std::vector<double> exported;
  std::vector<double> added;
  for (std::uint64_t i = 0; i < options.steps + 10; ++i) {
    double pair[2];  // as given, as exported; the order changes from pair to pair
    for (const std::uint64_t which : {i % 2, 1 - i % 2}) {
      pair[which] = BatchNanoseconds(which == 0 ? session : bare_session, batch);
    }
    if (i < 10) continue;
    given.push_back(pair[0]);
    exported.push_back(pair[1]);
    added.push_back(pair[0] - pair[1]);
  }
  std::printf(
      "{\"name\":\"%s\",\"batches\":%zu,\"batch\":%llu,\"median_ns\":%.1f,"
      "\"exported_ns\":%.1f,\"added_ns\":%.1f,\"gated\":%s}\n",
      options.name.c_str(), given.size(), static_cast<unsigned long long>(batch), Median(given),
      Median(exported), Median(added),
      reinterpret_cast<void*>(session.driver().cuLaunchKernel) == bare ? "false" : "true");
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
