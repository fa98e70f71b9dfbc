#include "reveza/jobs/decide/testing_world.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace reveza::jobs::testing {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kStartSeconds = 0.1;  // of processor time, to start a program
// Lost to context switches at most: a time slice has a minimum, however many wait for the core.
constexpr double kSwitching = 0.03;

constexpr std::array<std::string_view, 10> kNames = {"CPU",  "bandwidth", "waiting",   "lognormal",
                                                     "lock", "knee",      "degrading", "drifting",
                                                     "GPU",  "mixed"};

std::chrono::nanoseconds Nanoseconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

double Uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// Returns a factor with mean 1.
double Noise(std::mt19937_64& random, double sigma) {
  return std::lognormal_distribution<double>(-sigma * sigma / 2, sigma)(random);
}

// Returns the cores that `computing` steps keep busy, less what switching between them costs.
double Cores(double cores, double computing) {
  if (computing <= cores) return computing;
  return cores * (1 - kSwitching * (1 - cores / computing));
}

// A step that computes and waits in turn.
WorldStep Alternating(double seconds, double wait_share) {
  constexpr int kRounds = 4;
  WorldStep step{.phases = {{Phase::kCompute, kStartSeconds}}};
  for (int i = 0; i < kRounds; ++i) {
    step.phases.push_back({Phase::kWait, seconds * wait_share / kRounds});
    step.phases.push_back({Phase::kCompute, seconds * (1 - wait_share) / kRounds});
  }
  return step;
}

WorldStep Computing(double seconds) {
  return {.phases = {{Phase::kCompute, kStartSeconds}, {Phase::kCompute, seconds}}};
}

// What the workloads have in common.
struct Draw {
  std::mt19937_64 random;
  double cores = 1;
  double seconds = 1;  // of a step
  double sigma = 0;    // of the logarithm of its length
};

using Make = void (*)(Workload& workload, Draw& draw);

void MakeCpu(Workload& workload, Draw& draw) {
  workload.step = [=](auto, auto, std::mt19937_64& random) {
    return Computing(draw.seconds * Noise(random, draw.sigma));
  };
}

// The memory's bandwidth is full before the cores are, and every further step disturbs a little.
void MakeBandwidth(Workload& workload, Draw& draw) {
  MakeCpu(workload, draw);
  const double full = Uniform(draw.random, 0.3, 0.9) * draw.cores;
  const double loss = Uniform(draw.random, 0, 0.02);
  workload.speed = [=, cores = draw.cores](double computing) {
    const double busy = Cores(cores, computing);
    return std::min(busy, full / (1 + loss * std::max(0.0, busy - full)));
  };
}

void MakeWaiting(Workload& workload, Draw& draw) {
  const double wait = Uniform(draw.random, 0.7, 0.97);
  workload.step = [=](auto, auto, std::mt19937_64& random) {
    return Alternating(draw.seconds * Noise(random, draw.sigma), wait);
  };
}

void MakeLognormal(Workload& workload, Draw& draw) {
  draw.sigma = Uniform(draw.random, 0.5, 1.2);
  MakeCpu(workload, draw);
}

// A part of each step needs a lock that one at a time holds.
void MakeLock(Workload& workload, Draw& draw) {
  const double locked = Uniform(draw.random, 0.2, 1);
  workload.lock_penalty = Uniform(draw.random, 0, 0.05);
  workload.step = [=](auto, auto, std::mt19937_64& random) {
    constexpr int kRounds = 4;
    const double seconds = draw.seconds * Noise(random, draw.sigma);
    WorldStep step{.phases = {{Phase::kCompute, kStartSeconds}}};
    for (int i = 0; i < kRounds; ++i) {
      step.phases.push_back({Phase::kLock, seconds * locked / kRounds});
      step.phases.push_back({Phase::kCompute, seconds * (1 - locked) / kRounds});
    }
    return step;
  };
}

// Steps do not disturb each other up to a number, as long as they fit into the cache.
void MakeKnee(Workload& workload, Draw& draw) {
  MakeCpu(workload, draw);
  const double knee = std::max(1.0, Uniform(draw.random, 0.4, 1) * draw.cores);
  const double slope = Uniform(draw.random, 1, 2) / knee;
  workload.speed = [=, cores = draw.cores](double computing) {
    return Cores(cores, computing) / (1 + slope * std::max(0.0, computing - knee));
  };
}

// Each pair of steps disturbs the others (N. Gunther's universal scalability law, 2007).
void MakeDegrading(Workload& workload, Draw& draw) {
  MakeCpu(workload, draw);
  const double peak = Uniform(draw.random, 0.4, 1.2) * draw.cores;
  const double contention = Uniform(draw.random, 0, 0.05);
  const double coherency = (1 - contention) / (peak * peak);
  workload.speed = [=, cores = draw.cores](double n) {
    return Cores(cores, n) / (1 + contention * (n - 1) + coherency * n * (n - 1));
  };
}

// Steps get three times as long during the job, or shorter.
void MakeDrifting(Workload& workload, Draw& draw) {
  const double wait = Uniform(draw.random, 0, 0.5);
  const bool grows = (draw.random() & 1) != 0;
  workload.step = [=](std::uint64_t index, std::uint64_t steps, std::mt19937_64& random) {
    const double part = static_cast<double>(index) / static_cast<double>(steps);
    const double length = 1 + 2 * (grows ? part : 1 - part);
    return Alternating(draw.seconds * length / 2 * Noise(random, draw.sigma), wait);
  };
}

// A part of each step is on the GPU, which a few steps fill, and whose memory has room for some.
void MakeGpu(Workload& workload, Draw& draw) {
  workload.on_gpu = true;
  workload.room = static_cast<unsigned>(Uniform(draw.random, 2, 17));
  const double share = Uniform(draw.random, 0.3, 1);
  const double full = Uniform(draw.random, 1, 4);
  const double loss = Uniform(draw.random, 0, 0.03);
  workload.gpu_speed = [=](double n) { return std::min(n, full) / (1 + loss * (n - 1)); };
  workload.step = [=](auto, auto, std::mt19937_64& random) {
    constexpr int kRounds = 4;
    const double seconds = draw.seconds * Noise(random, draw.sigma);
    WorldStep step{.phases = {{Phase::kCompute, kStartSeconds}}};
    for (int i = 0; i < kRounds; ++i) {
      step.phases.push_back({Phase::kCompute, seconds * (1 - share) / kRounds});
      step.phases.push_back({Phase::kGpu, seconds * share / kRounds});
    }
    return step;
  };
}

// Half of the steps mostly wait, and are of another command.
void MakeMixed(Workload& workload, Draw& draw) {
  const double wait = Uniform(draw.random, 0.7, 0.97);
  const double ratio = std::exp(Uniform(draw.random, -1.5, 1.5));  // of their lengths
  workload.step = [=](auto, auto, std::mt19937_64& random) {
    const bool waits = (random() & 1) != 0;
    const double seconds = draw.seconds * Noise(random, draw.sigma);
    WorldStep step = waits ? Alternating(seconds * ratio, wait) : Computing(seconds);
    step.step_class = waits ? 1 : 0;
    return step;
  };
}

constexpr std::array<Make, kNames.size()> kMakers = {
    MakeCpu,  MakeBandwidth, MakeWaiting,  MakeLognormal, MakeLock,
    MakeKnee, MakeDegrading, MakeDrifting, MakeGpu,       MakeMixed};

}  // namespace

std::span<const std::string_view> WorkloadNames() { return kNames; }

Workload MakeWorkload(std::string_view name, std::uint64_t seed, unsigned cores, double seconds) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) throw std::invalid_argument("no such workload");
  Draw draw;
  draw.random.seed(seed);
  constexpr std::array<unsigned, 4> kCores = {2, 4, 8, 16};
  const unsigned drawn = kCores[draw.random() % kCores.size()];
  Workload workload;
  workload.name = name;
  workload.cores = cores > 0 ? cores : drawn;
  draw.cores = workload.cores;
  draw.seconds = std::exp(Uniform(draw.random, std::log(1), std::log(30)));
  if (seconds > 0) draw.seconds = seconds;
  draw.sigma = Uniform(draw.random, 0.02, 0.2);
  workload.speed = [cores = draw.cores](double computing) { return Cores(cores, computing); };
  workload.gpu_speed = [](double n) { return n; };
  kMakers[static_cast<std::size_t>(found - kNames.begin())](workload, draw);
  return workload;
}

Tuner MakeTuner(const Workload& workload) {
  Tuner::Options options{.max = 100'000};
  options.initial = kInitialGpuWorkers;
  if (!workload.on_gpu) {
    options.initial = InitialWorkers(workload.cores);
    options.cores = workload.cores;
  }
  return Tuner(options);
}

World::World(const Workload& workload, std::uint64_t steps, std::uint64_t seed)
    : workload_(workload) {
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < steps; ++i) {
    steps_.push_back(workload_.step(i, steps, random));
  }
}

std::chrono::nanoseconds World::Now() const {
  return std::chrono::nanoseconds(std::llround(now_ * 1e9));
}

double World::CpuRate() const {
  const double computing =
      static_cast<double>(ends_[Phase::kCompute].size() + ends_[Phase::kLock].size());
  return computing > 0 ? std::min(1.0, workload_.cores / computing) : 1;
}

// Returns the progress of each phase of a kind.
double World::Rate(Phase::Kind kind) const {
  const double computing =
      static_cast<double>(ends_[Phase::kCompute].size() + ends_[Phase::kLock].size());
  switch (kind) {
    case Phase::kCompute:
      return workload_.speed(computing) / computing;
    case Phase::kLock:
      return workload_.speed(computing) / computing /
             (1 +
              workload_.lock_penalty *
                  std::min<double>(workload_.cores, static_cast<double>(lock_queue_.size() - 1)));
    case Phase::kGpu: {
      const double sharing = static_cast<double>(ends_[Phase::kGpu].size());
      return workload_.gpu_speed(sharing) / sharing;
    }
    case Phase::kWait:
      break;
  }
  return 1;
}

double World::CpuOf(const Running& one) const {
  const Phase::Kind kind = one.step.phases[one.phase].kind;
  const bool computes = kind == Phase::kCompute ||
                        (kind == Phase::kLock && &one == &running_.at(lock_queue_.front()));
  return one.cpu + (computes ? cpu_clock_ - one.cpu_clock : 0);
}

void World::Begin(Id id) {
  Running& one = running_.at(id);
  const Phase& phase = one.step.phases[one.phase];
  one.cpu_clock = cpu_clock_;
  if (phase.kind == Phase::kLock) {
    lock_queue_.push_back(id);
    if (lock_queue_.size() > 1) return;
  }
  ends_[phase.kind].emplace(clocks_[phase.kind] + phase.seconds, id);
}

void World::Start(unsigned workers) {
  workers = std::min(workers, workload_.room);
  while (running_.size() < workers && next_ < steps_.size()) {
    running_[next_] = {.step = steps_[next_], .begun = now_};
    Begin(next_++);
  }
}

void World::Advance(double seconds) {
  cpu_clock_ += seconds * CpuRate();
  std::array<double, 4> rates{};
  for (const auto kind : {Phase::kCompute, Phase::kWait, Phase::kLock, Phase::kGpu}) {
    rates[kind] = ends_[kind].empty() ? 0 : Rate(kind);
  }
  for (std::size_t kind = 0; kind < 4; ++kind) clocks_[kind] += seconds * rates[kind];
  now_ += seconds;
}

std::optional<World::Id> World::EndPhase(Phase::Kind kind) {
  const Id id = ends_[kind].begin()->second;
  Running& one = running_.at(id);
  one.cpu = CpuOf(one);
  ends_[kind].erase(ends_[kind].begin());
  if (kind == Phase::kLock) {
    lock_queue_.pop_front();
    if (!lock_queue_.empty()) {
      Running& next = running_.at(lock_queue_.front());
      next.cpu_clock = cpu_clock_;
      ends_[kind].emplace(clocks_[kind] + next.step.phases[next.phase].seconds,
                          lock_queue_.front());
    }
  }
  if (one.phase + 1 == one.step.phases.size()) return id;
  ++one.phase;
  Begin(id);
  return std::nullopt;
}

std::optional<World::Id> World::Next(double until) {
  while (true) {
    double soonest = kInfinite;
    Phase::Kind which = Phase::kCompute;
    for (const auto kind : {Phase::kCompute, Phase::kWait, Phase::kLock, Phase::kGpu}) {
      if (ends_[kind].empty()) continue;
      const double in = (ends_[kind].begin()->first - clocks_[kind]) / Rate(kind);
      if (in < soonest) {
        soonest = in;
        which = kind;
      }
    }
    if (now_ + soonest > until) {
      Advance(until - now_);
      return std::nullopt;
    }
    Advance(std::max(0.0, soonest));
    if (const auto ended = EndPhase(which)) return ended;
  }
}

double World::Run(unsigned workers) {
  for (Start(workers); !running_.empty(); Start(workers)) {
    running_.erase(*Next(kInfinite));
  }
  return now_;
}

void World::Sample(Tuner& tuner) {
  std::vector<StepUsage> usage;
  for (const auto& [id, one] : running_) {
    usage.push_back({id, Nanoseconds(CpuOf(one))});
  }
  tuner.ObserveUsage(Now(), usage);
}

double World::Run(Tuner& tuner) {
  const auto update = [&] {
    do {
      Start(tuner.workers());
      tuner.Update(Now(), steps_.size() - next_, static_cast<unsigned>(running_.size()));
    } while (running_.size() < std::min(tuner.workers(), workload_.room) && next_ < steps_.size());
  };
  double next_sample = 0;
  for (update(); !running_.empty(); update()) {
    const auto id = Next(next_sample);
    if (!id) {
      Sample(tuner);
      next_sample = now_ + Seconds(tuner.SampleInterval());
      continue;
    }
    const Running& done = running_.at(*id);
    tuner.OnStepFinished(
        Now(), {*id, Nanoseconds(now_ - done.begun), Nanoseconds(done.cpu), done.step.step_class});
    const Ended ended{*id, now_ - done.begun, done.step.step_class};
    running_.erase(*id);
    if (running_.size() > workload_.out_of_memory_above) {
      tuner.OnOverload(Now(), OverloadSignal::kOutOfMemory);
      ++out_of_memory_;
    }
    on_event(ended);
  }
  return now_;
}

PendingGroup World::Pending(unsigned workers) const {
  std::map<WorkClass, std::uint64_t> left;
  for (std::size_t i = next_; i < steps_.size(); ++i) ++left[steps_[i].step_class];
  PendingGroup group{.workers = workers};
  for (const auto& [step_class, steps] : left) group.left.push_back({step_class, steps});
  for (const auto& [id, one] : running_) {
    group.running.push_back({one.step.step_class, Nanoseconds(now_ - one.begun)});
  }
  return group;
}

BestFixed FindBestFixed(const Workload& workload, std::uint64_t steps, std::uint64_t seed) {
  BestFixed best{.seconds = kInfinite};
  double workers = 1;
  while (true) {
    const auto n = static_cast<unsigned>(std::min<double>(workers, static_cast<double>(steps)));
    const double seconds = World(workload, steps, seed).Run(n);
    if (seconds < best.seconds) best = {n, seconds};
    if (n == steps || n >= workload.room) return best;
    // Every number up to 20, then by 5 %.
    workers = std::max(workers + 1, std::ceil(workers * 1.05));
  }
}

}  // namespace reveza::jobs::testing
