// Measures the bandwidth of the link between host and GPU, in each direction and in both at once,
// with pinned memory and copies of 64 MiB. These are the upper bounds for swapping.
#include <algorithm>
#include <cstdio>

#include "bench/limits/host_arena.h"
#include "reveza/cli/demo_worker/client.h"

namespace reveza::bench {
namespace {

using clients::Options;
using clients::SecondsNow;
using clients::Session;

class Link {
 public:
  Link(const Session& session, std::uint64_t bytes, std::uint64_t piece)
      : driver_(session.driver()),
        bytes_(bytes / piece * piece),
        piece_(piece),
        to_arena_(driver_, bytes_),
        from_arena_(driver_, bytes_),
        to_memory_(session.Allocate(bytes_)),
        from_memory_(session.Allocate(bytes_)) {
    REVEZA_CHECK(driver_, cuStreamCreate(&to_stream_, CU_STREAM_NON_BLOCKING));
    REVEZA_CHECK(driver_, cuStreamCreate(&from_stream_, CU_STREAM_NON_BLOCKING));
    session.Fill(to_memory_, bytes_, 1);
    session.Fill(from_memory_, bytes_, 2);
    session.Synchronize();
  }

  // Returns the best bandwidth of `rounds` in GB/s, over all copied bytes.
  double Measure(bool to_gpu, bool from_gpu, std::uint64_t rounds) const {
    double best = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const double begin = SecondsNow();
      for (std::uint64_t offset = 0; offset < bytes_; offset += piece_) {
        if (to_gpu) {
          REVEZA_CHECK(driver_, cuMemcpyHtoDAsync(to_memory_ + offset, to_arena_.data() + offset,
                                                  piece_, to_stream_));
        }
        if (from_gpu) {
          REVEZA_CHECK(driver_, cuMemcpyDtoHAsync(from_arena_.data() + offset,
                                                  from_memory_ + offset, piece_, from_stream_));
        }
      }
      REVEZA_CHECK(driver_, cuStreamSynchronize(to_stream_));
      REVEZA_CHECK(driver_, cuStreamSynchronize(from_stream_));
      const double moved = static_cast<double>(bytes_) * (to_gpu + from_gpu);
      best = std::max(best, moved / 1e9 / (SecondsNow() - begin));
    }
    return best;
  }

  const HostArena& arena() const { return to_arena_; }

 private:
  const clients::Driver& driver_;
  const std::uint64_t bytes_, piece_;
  const HostArena to_arena_, from_arena_;
  const CUdeviceptr to_memory_, from_memory_;
  CUstream to_stream_ = nullptr, from_stream_ = nullptr;
};

int Main(const Options& options) {
  const Session session(options);
  const std::uint64_t piece = std::min(options.Extra("piece"), options.bytes);
  const Link link(session, options.bytes, piece);
  const double to = link.Measure(true, false, options.steps);
  const double from = link.Measure(false, true, options.steps);
  const double both = link.Measure(true, true, options.steps);
  const auto gigabytes = static_cast<double>(options.bytes) / 1e9;
  std::printf(
      "{\"name\":\"%s\",\"bytes\":%llu,\"piece\":%llu,\"to_gpu_gb_s\":%.3f,"
      "\"from_gpu_gb_s\":%.3f,\"both_gb_s\":%.3f,\"touch_gb_s\":%.3f,\"register_gb_s\":%.3f}\n",
      options.name.c_str(), static_cast<unsigned long long>(options.bytes),
      static_cast<unsigned long long>(piece), to, from, both,
      gigabytes / link.arena().seconds_to_touch(), gigabytes / link.arena().seconds_to_register());
  return 0;
}

}  // namespace
}  // namespace reveza::bench

int main(int argc, char** argv) {
  return reveza::bench::Main(
      reveza::clients::OptionsOrExit(argc, argv, "link_speed", {{"piece", 64 << 20}}));
}
