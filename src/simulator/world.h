// A discrete-event world around a Scheduler: a virtual clock, channels with latency, GPU links that
// copy in both directions at once, and simulated clients. What the daemon and the processes do in
// real time happens here in virtual time, the same way for the same seed.
//
// Thread-safety: none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "simulator/checker.h"

namespace reveza::simulator {

using scheduler::ClientId;
using scheduler::GpuId;
using scheduler::JobId;
using scheduler::Time;

class Client;
struct Plan;

struct WorldConfig {
  std::uint64_t seed = 1;
  scheduler::Config scheduler;
  std::vector<Bytes> budgets;  // one a GPU
  Bytes granule = 64 * kMiB;
  double link = 20e9;  // bytes/s each way
  double pinning = 0;  // bytes/s of host memory, for all clients together; 0: it takes no time
  Time shortest_latency = std::chrono::microseconds(20);
  Time longest_latency = std::chrono::microseconds(500);
};

enum class Direction { kOut, kIn };

class World {
 public:
  explicit World(const WorldConfig& config);
  ~World();

  // A process starts at `when` and follows its plan until its work is done.
  void Start(Time when, JobId job, const Plan& plan);
  void KillAt(Time when, ClientId client);
  void SetExternalAt(Time when, GpuId gpu, Bytes bytes);
  // The daemon dies and a new one asks the living clients what they hold.
  void RestartDaemonAt(Time when);

  // Runs until nothing is left to do, `limit` is reached or an invariant is broken.
  void Run(Time limit);

  // ---- for clients ----
  Time now() const { return now_; }
  void At(Time when, std::function<void()> action);
  // The same, unless the client is gone by then.
  void AtFor(Time when, ClientId client, std::function<void(Client&)> action);
  // Something for the scheduler, in the order of sending.
  void Send(ClientId client, EventKind kind,
            std::function<void(scheduler::Scheduler&, Time)> event);
  void Gone(ClientId client);
  // When a copy that begins now will be done.
  Time Copy(GpuId gpu, Direction direction, Bytes bytes);
  // When host memory whose pinning begins now will be ready.
  Time Pin(Bytes bytes);
  std::uint64_t Random(std::uint64_t low, std::uint64_t high);  // both included
  bool Chance(double probability);

  scheduler::Scheduler& scheduler() { return *scheduler_; }
  const WorldConfig& config() const { return config_; }
  Checker& checker() { return checker_; }
  Client* Find(ClientId client);
  const std::map<ClientId, std::unique_ptr<Client>>& clients() const { return clients_; }
  std::uint64_t events() const { return events_; }
  Bytes moved() const { return moved_; }

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

  void Inject(EventKind kind, const std::function<void(scheduler::Scheduler&, Time)>& event,
              ClientId client);
  void Deliver(EventKind kind, ClientId client);
  void PlanTick();
  void MakeScheduler();
  Time Latency();

  WorldConfig config_;
  std::mt19937_64 random_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  Checker checker_;
  std::priority_queue<Action, std::vector<Action>, std::greater<>> actions_;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
  std::map<ClientId, Channel> channels_;
  std::map<std::pair<GpuId, Direction>, Time> links_;
  Time pins_until_{0};
  std::map<GpuId, Bytes> external_;
  Time now_{0};
  std::uint64_t next_order_ = 0;
  std::uint64_t next_client_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t tick_ = 0;
  std::uint64_t daemon_ = 0;
  Bytes moved_ = 0;
};

}  // namespace reveza::simulator
