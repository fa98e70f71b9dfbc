#include "reveza/gpu/simulator/world.h"

#include <algorithm>

#include "reveza/gpu/simulator/client.h"

namespace reveza::simulator {

World::World(const WorldConfig& config)
    : config_(config), random_(config.seed), checker_(config.scheduler) {
  MakeScheduler();
}

World::~World() = default;

void World::MakeScheduler() {
  scheduler_ = NewScheduler(config_.scheduler);
  if (!config_.compare) return;
  scheduler::Config everything = config_.scheduler;
  everything.consider_everything = true;
  reference_ = NewScheduler(everything);
}

std::unique_ptr<scheduler::Scheduler> World::NewScheduler(const scheduler::Config& config) {
  auto fresh = std::make_unique<scheduler::Scheduler>(config);
  for (GpuId gpu = 0; gpu < config_.budgets.size(); ++gpu) {
    const Bytes budget = config_.budgets[gpu];
    fresh->SetGpu(now_, gpu, scheduler::GpuConfig{budget, budget, config_.granule});
    fresh->SetExternal(now_, gpu, external_[gpu]);
  }
  return fresh;
}

void World::Start(Time when, JobId job, const Plan& plan) {
  const ClientId id = ++next_client_;
  if (plan.submissions_per_collective > 0) CollectivesOf(job).Join(id, plan.step);
  Schedule(when, [this, id, job, plan] {
    Client& client =
        *clients_.emplace(id, std::make_unique<Client>(*this, id, job, plan)).first->second;
    client.Start();
  });
}

void World::KillAt(Time when, ClientId client) {
  ScheduleFor(when, client, [](Client& victim) { victim.Exit(); });
}

void World::SetExternalAt(Time when, GpuId gpu, Bytes bytes) {
  Schedule(when, [this, gpu, bytes] {
    external_[gpu] = bytes;
    Dispatch(
        EventKind::kBudgetChanged,
        [gpu, bytes](scheduler::Scheduler& s, Time now) { s.SetExternal(now, gpu, bytes); }, 0);
  });
}

void World::SetPolicyAt(Time when, JobId job, const scheduler::Policy& policy) {
  Schedule(when, [this, job, policy] {
    Dispatch(
        EventKind::kPolicyChanged,
        [job, policy](scheduler::Scheduler& s, Time now) {
          if (!s.FindShortage(job, policy.request)) s.SetPolicy(now, job, policy);
        },
        0);
  });
}

void World::SendAt(Time when, std::function<void(scheduler::Scheduler&, Time)> event) {
  Schedule(when, [this, event = std::move(event)] { Dispatch(EventKind::kOther, event, 0); });
}

void World::RestartDaemonAt(Time when) {
  Schedule(when, [this] {
    ++daemon_generation_;
    MakeScheduler();
    checker_.OnRestart();
    // Messages in flight are lost with the sockets.
    for (auto& [id, channel] : channels_) channel = Channel{now_, now_};
    for (auto& [id, client] : clients_) client->Resume();
  });
}

void World::Run(Time limit) {
  while (!actions_.empty() && checker_.ok()) {
    if (actions_.top().when > limit) return;
    const Action action = actions_.top();
    actions_.pop();
    now_ = action.when;
    action.run();
  }
}

void World::Schedule(Time when, std::function<void()> action) {
  actions_.push({std::max(when, now_), next_order_++, std::move(action)});
}

void World::ScheduleFor(Time when, ClientId client, std::function<void(Client&)> action) {
  Schedule(when, [this, client, action = std::move(action)] {
    if (Client* alive = Find(client)) action(*alive);
  });
}

void World::Send(ClientId client, EventKind kind,
                 std::function<void(scheduler::Scheduler&, Time)> event) {
  Channel& channel = channels_[client];
  channel.up = std::max(channel.up, now_ + Latency());
  Schedule(channel.up, [this, client, kind, daemon = daemon_generation_, event = std::move(event)] {
    if (daemon == daemon_generation_) Dispatch(kind, event, client);
  });
}

void World::RemoveClient(ClientId client) {
  clients_.erase(client);
  last_exit_ = now_;
}

void World::Dispatch(EventKind kind, const std::function<void(scheduler::Scheduler&, Time)>& event,
                     ClientId client) {
  ++events_;
  const auto wake = scheduler_->NextWakeup();
  event(*scheduler_, now_);
  max_passes_ = std::max(max_passes_, scheduler_->Passes());
  const std::vector<scheduler::Decision> decisions = scheduler_->TakeDecisions();
  if (reference_) {
    event(*reference_, now_);
    const bool may_decide = kind != EventKind::kTick || (wake && *wake <= now_);
    Compare(decisions, reference_->TakeDecisions(), may_decide);
  }
  if (config_.check) checker_.CheckEvent(*scheduler_, kind, client, decisions, now_);
  if (observer_) observer_();
  for (const scheduler::Decision& decision : decisions) {
    const ClientId to = std::visit([](const auto& order) { return order.client; }, decision);
    Channel& channel = channels_[to];
    channel.down = std::max(channel.down, now_ + Latency());
    const std::uint64_t daemon = daemon_generation_;
    ScheduleFor(channel.down, to, [this, decision, daemon](Client& receiver) {
      if (daemon == daemon_generation_) receiver.Execute(decision);
    });
  }
  for (const auto& [id, alive] : clients_) {
    if (!config_.check) break;
    checker_.CheckWait(id, alive->WaitingSince(), alive->WaitReasonText(), now_);
  }
  ScheduleTick();
}

// `may_decide`: the event is not only a wake-up that the reference has asked for.
void World::Compare(const std::vector<scheduler::Decision>& decisions,
                    const std::vector<scheduler::Decision>& expected, bool may_decide) {
  const auto fail = [this](const char* what) {
    checker_.Fail(std::string(kDiffers) + ": " + what, now_);
  };
  if (decisions != expected) fail("decisions");
  if (!decisions.empty() && !may_decide) fail("decisions without a wake-up");
  if (scheduler_->Jobs() != reference_->Jobs()) fail("jobs");
  if (scheduler_->Gpus() != reference_->Gpus()) fail("GPUs");
  if (scheduler_->Clients() != reference_->Clients()) fail("clients");
}

void World::ScheduleTick() {
  const std::uint64_t tick = ++tick_generation_;
  auto next = scheduler_->NextWakeup();
  if (const auto other = reference_ ? reference_->NextWakeup() : next) {
    next = std::min(next.value_or(*other), *other);
  }
  if (!next) return;
  Schedule(*next, [this, tick] {
    if (tick != tick_generation_) return;
    Dispatch(EventKind::kTick, [](scheduler::Scheduler& s, Time now) { s.Tick(now); }, 0);
  });
}

Time World::TransferTime(Bytes bytes, double bandwidth) {
  const std::chrono::duration<double> seconds(static_cast<double>(bytes) / bandwidth);
  return std::chrono::duration_cast<Time>(seconds);
}

Time World::Copy(GpuId gpu, Direction direction, Bytes bytes) {
  Time& busy_until = links_[{gpu, direction}];
  busy_until = std::max(busy_until, now_) + TransferTime(bytes, config_.link_bandwidth);
  bytes_moved_ += bytes;
  return busy_until;
}

double World::BeginKernel(const std::vector<GpuId>& gpus, double share) {
  double slowest = 1;
  for (const GpuId gpu : gpus) {
    Load& load = loads_[gpu];
    ++load.kernels;
    load.shares += share;
    if (config_.kernels == Kernels::kTimeSliced) slowest = std::max(slowest, double(load.kernels));
    if (config_.kernels == Kernels::kMps) slowest = std::max(slowest, load.shares);
  }
  return slowest;
}

void World::EndKernel(const std::vector<GpuId>& gpus, double share) {
  for (const GpuId gpu : gpus) {
    Load& load = loads_[gpu];
    load.shares = --load.kernels == 0 ? 0 : load.shares - share;
  }
}

Time World::Pin(Bytes bytes) {
  if (config_.pin_bandwidth == 0) return now_;
  pinning_until_ = std::max(pinning_until_, now_) + TransferTime(bytes, config_.pin_bandwidth);
  return pinning_until_;
}

std::uint64_t World::Random(std::uint64_t low, std::uint64_t high) {
  return low + random_() % (high - low + 1);
}

Time World::RandomTime(Time low, Time high) {
  const auto range = static_cast<std::uint64_t>((high - low).count());
  return low + Time(static_cast<Time::rep>(Random(0, range)));
}

bool World::Chance(double probability) {
  return static_cast<double>(random_() >> 11) * 0x1.0p-53 < probability;
}

Client* World::Find(ClientId client) {
  const auto entry = clients_.find(client);
  return entry == clients_.end() ? nullptr : entry->second.get();
}

}  // namespace reveza::simulator
