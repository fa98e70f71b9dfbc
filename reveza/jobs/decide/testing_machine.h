// A simulated machine for tests of the tuner and for bench/tuner_noise.cc: `speed(n)` is the
// throughput of n workers relative to one. Running steps share it evenly. Deterministic for a seed.
// Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs::testing {

using Speed = std::function<double(double workers)>;

// The universal scalability law, N. Gunther 2007.
inline Speed Scalability(double sigma, double kappa) {
  return [=](double n) { return n / (1 + sigma * (n - 1) + kappa * n * (n - 1)); };
}

struct Machine {
  Speed speed;
  // Seconds that step `index` takes alone.
  std::function<double(std::uint64_t index, std::mt19937_64& random)> step =
      [](std::uint64_t, std::mt19937_64&) { return 1.0; };
  // Relative speed of the whole machine at a time, in seconds.
  std::function<double(double now)> weather = [](double) { return 1.0; };
  std::function<WorkClass(std::uint64_t index)> step_class = [](std::uint64_t) { return 0; };
  // More running steps than this run out of memory.
  unsigned max_running = 1000;
};

struct SimulationResult {
  unsigned workers = 0;
  std::uint64_t settled_after = 0;  // steps
  double seconds = 0;
  unsigned hard = 0;
  std::set<unsigned> used;
};

class Simulation {
 public:
  Simulation(const Machine& machine, Tuner& tuner, std::uint64_t seed)
      : machine_(machine), tuner_(tuner), random_(seed) {}

  SimulationResult Run(std::uint64_t steps) {
    SimulationResult ended;
    steps_ = steps;
    Start();
    while (!running_.empty()) {
      FinishNext();
      if (running_.size() > machine_.max_running) {
        tuner_.OnOverload(Now(), OverloadSignal::kOutOfMemory);
        ++ended.hard;
      }
      Start();
      ended.used.insert(tuner_.workers());
      if (tuner_.settled() && ended.settled_after == 0) ended.settled_after = finished_;
    }
    ended.workers = tuner_.workers();
    ended.seconds = now_;
    return ended;
  }

 private:
  struct Running {
    double left = 0;
    double begun = 0;
    std::uint64_t index = 0;
  };

  std::chrono::nanoseconds Now() const {
    return std::chrono::nanoseconds(std::llround(now_ * 1e9));
  }

  void Start() {
    while (running_.size() < tuner_.workers() && next_ < steps_) {
      running_.push_back({machine_.step(next_, random_), now_, next_});
      ++next_;
    }
    tuner_.Update(Now(), steps_ - next_, static_cast<unsigned>(running_.size()));
  }

  void FinishNext() {
    const auto first = std::ranges::min_element(running_, {}, &Running::left);
    const double workers = static_cast<double>(running_.size());
    const double each = machine_.speed(workers) / workers * machine_.weather(now_);
    const double passed = first->left;
    now_ += passed / each;
    const Running done = *first;
    running_.erase(first);
    for (Running& other : running_) other.left -= passed;
    ++finished_;
    tuner_.OnStepFinished(Now(), std::chrono::nanoseconds(std::llround((now_ - done.begun) * 1e9)),
                          machine_.step_class(done.index));
  }

  const Machine& machine_;
  Tuner& tuner_;
  std::mt19937_64 random_;
  std::vector<Running> running_;
  std::uint64_t steps_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t finished_ = 0;
  double now_ = 0;
};

// Returns the smallest number of workers with the highest speed.
inline unsigned Best(const Speed& speed, unsigned max_workers) {
  unsigned best = 1;
  for (unsigned n = 1; n <= max_workers; ++n) {
    if (speed(n) > speed(best) * 1.0001) best = n;
  }
  return best;
}

// Returns lognormal durations with this sigma and `median` seconds.
inline auto Lognormal(double deviation, double median = 1) {
  return [=](std::uint64_t, std::mt19937_64& random) {
    return median * std::lognormal_distribution<double>(0, deviation)(random);
  };
}

}  // namespace reveza::jobs::testing
