// A discrete-event simulation around a Scheduler: a virtual clock, channels with latency,
// full-duplex GPU links, and simulated clients. Deterministic for a given seed.
//
// Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "reveza/gpu/scheduler/scheduler.h"
#include "reveza/gpu/simulator/checker.h"
#include "reveza/gpu/simulator/collectives.h"

namespace reveza::simulator {

using scheduler::ClientId;
using scheduler::GpuId;
using scheduler::JobId;
using scheduler::Time;

class Client;
struct Plan;

// How kernels of clients whose gates are open at the same time share a GPU.
enum class Kernels {
  kIndependent,  // as if each were alone
  kTimeSliced,   // in turns of the hardware: n clients take n times as long
  kMps,          // at the same time, as far as they do not fill the GPU together
};

struct WorldConfig {
  std::uint64_t seed = 1;
  scheduler::Config scheduler;
  std::vector<Bytes> budgets;  // one per GPU
  Bytes granule = 64 * kMiB;
  double link_bandwidth = 20e9;  // bytes/s per direction
  double pin_bandwidth = 0;      // bytes/s of host memory, shared by all clients; 0: unlimited
  Time min_latency = std::chrono::microseconds(20);
  Time max_latency = std::chrono::microseconds(500);
  Kernels kernels = Kernels::kIndependent;
  bool check = true;  // the invariants, after every event
  // Sends every event also to a scheduler that considers everything, and fails if it decides
  // anything else, or shows anything else of jobs, clients or GPUs.
  bool compare = false;
};

// How the failure of a comparison begins.
inline constexpr std::string_view kDiffers = "differs from a scheduler that considers everything";

enum class Direction { kOut, kIn };

class World {
 public:
  explicit World(const WorldConfig& config);
  ~World();

  // Starts a process at `when`, which follows its plan until its work is done.
  void Start(Time when, JobId job, const Plan& plan);
  void KillAt(Time when, ClientId client);
  void SetExternalAt(Time when, GpuId gpu, Bytes bytes);
  void SetPolicyAt(Time when, JobId job, const scheduler::Policy& policy);
  // Sends an event to the scheduler that no process sends.
  void SendAt(Time when, std::function<void(scheduler::Scheduler&, Time)> event);
  // Replaces the scheduler at `when`; running clients report to the new one.
  void RestartDaemonAt(Time when);
  // Calls `observer` after every event of the scheduler.
  void Observe(std::function<void()> observer) { observer_ = std::move(observer); }

  // Runs until no actions are left, `limit` is reached or an invariant is violated.
  void Run(Time limit);

  // ---- for clients ----
  Time now() const { return now_; }
  // When the last client so far left; ticks without effect may follow.
  Time last_exit() const { return last_exit_; }
  void Schedule(Time when, std::function<void()> action);
  // Like Schedule(), unless the client has exited by then.
  void ScheduleFor(Time when, ClientId client, std::function<void(Client&)> action);
  // Sends an event to the scheduler; messages of a client keep their order.
  void Send(ClientId client, EventKind kind,
            std::function<void(scheduler::Scheduler&, Time)> event);
  void RemoveClient(ClientId client);
  // Returns the collectives of a job's ranks.
  Collectives& CollectivesOf(JobId job) {
    return collectives_.try_emplace(job, *this).first->second;
  }
  // Starts a copy now; returns when it completes.
  Time Copy(GpuId gpu, Direction direction, Bytes bytes);
  // Begins and ends a kernel of a client, which alone fills `share` of each of the GPUs. Begin()
  // returns how many times longer it takes than alone, for those that run now.
  double BeginKernel(const std::vector<GpuId>& gpus, double share);
  void EndKernel(const std::vector<GpuId>& gpus, double share);
  // Starts pinning host memory now; returns when it is ready.
  Time Pin(Bytes bytes);
  std::uint64_t Random(std::uint64_t low, std::uint64_t high);  // inclusive
  Time RandomTime(Time low, Time high);                         // inclusive
  bool Chance(double probability);

  scheduler::Scheduler& scheduler() { return *scheduler_; }
  const WorldConfig& config() const { return config_; }
  Checker& checker() { return checker_; }
  Client* Find(ClientId client);
  const std::map<ClientId, std::unique_ptr<Client>>& clients() const { return clients_; }
  std::uint64_t events() const { return events_; }
  // Returns the most passes of one event.
  int max_passes() const { return max_passes_; }
  Bytes bytes_moved() const { return bytes_moved_; }

 private:
  struct Action {
    Time when;
    std::uint64_t order;
    std::function<void()> run;
    bool operator>(const Action& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  struct Channel {
    Time up{0};
    Time down{0};
  };

  void Dispatch(EventKind kind, const std::function<void(scheduler::Scheduler&, Time)>& event,
                ClientId client);
  void Compare(const std::vector<scheduler::Decision>& decisions,
               const std::vector<scheduler::Decision>& expected, bool may_decide);
  void ScheduleTick();
  void MakeScheduler();
  std::unique_ptr<scheduler::Scheduler> NewScheduler(const scheduler::Config& config);
  Time Latency() { return RandomTime(config_.min_latency, config_.max_latency); }
  // Returns how long `bytes` take; `bandwidth` in bytes/s.
  static Time TransferTime(Bytes bytes, double bandwidth);

  WorldConfig config_;
  std::mt19937_64 random_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<scheduler::Scheduler> reference_;  // if they are compared
  Checker checker_;
  std::priority_queue<Action, std::vector<Action>, std::greater<>> actions_;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
  std::map<ClientId, Channel> channels_;
  std::map<std::pair<GpuId, Direction>, Time> links_;
  struct Load {
    int kernels = 0;
    double shares = 0;
  };
  std::map<GpuId, Load> loads_;
  Time pinning_until_{0};
  std::map<GpuId, Bytes> external_;
  std::map<JobId, Collectives> collectives_;
  Time now_{0};
  Time last_exit_{0};
  std::uint64_t next_order_ = 0;
  std::uint64_t next_client_ = 0;
  std::uint64_t events_ = 0;
  int max_passes_ = 0;
  std::uint64_t tick_generation_ = 0;
  std::uint64_t daemon_generation_ = 0;
  Bytes bytes_moved_ = 0;
  std::function<void()> observer_;
};

}  // namespace reveza::simulator
