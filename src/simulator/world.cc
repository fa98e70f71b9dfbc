#include "simulator/world.h"

#include <algorithm>

#include "simulator/client.h"

namespace reveza::simulator {

World::World(const WorldConfig& config)
    : config_(config), random_(config.seed), checker_(config.scheduler) {
  MakeScheduler();
}

World::~World() = default;

void World::MakeScheduler() {
  scheduler_ = std::make_unique<scheduler::Scheduler>(config_.scheduler);
  for (GpuId gpu = 0; gpu < config_.budgets.size(); ++gpu) {
    const Bytes budget = config_.budgets[gpu];
    scheduler_->SetGpu(now_, gpu, scheduler::GpuConfig{budget, budget, config_.granule});
    scheduler_->SetExternal(now_, gpu, external_[gpu]);
  }
}

void World::Start(Time when, JobId job, const Plan& plan) {
  const ClientId id = ++next_client_;
  At(when, [this, id, job, plan] {
    Client& client =
        *clients_.emplace(id, std::make_unique<Client>(*this, id, job, plan)).first->second;
    client.Begin();
  });
}

void World::KillAt(Time when, ClientId client) {
  AtFor(when, client, [](Client& victim) { victim.Die(); });
}

void World::SetExternalAt(Time when, GpuId gpu, Bytes bytes) {
  At(when, [this, gpu, bytes] {
    external_[gpu] = bytes;
    Inject(
        EventKind::kBudget,
        [gpu, bytes](scheduler::Scheduler& s, Time now) { s.SetExternal(now, gpu, bytes); }, 0);
  });
}

void World::RestartDaemonAt(Time when) {
  At(when, [this] {
    ++daemon_;
    MakeScheduler();
    checker_.Restarted();
    // What was on its way is lost with the sockets.
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

void World::At(Time when, std::function<void()> action) {
  actions_.push({std::max(when, now_), next_order_++, std::move(action)});
}

void World::AtFor(Time when, ClientId client, std::function<void(Client&)> action) {
  At(when, [this, client, action = std::move(action)] {
    if (Client* alive = Find(client)) action(*alive);
  });
}

Time World::Latency() {
  return Time(
      static_cast<Time::rep>(Random(static_cast<std::uint64_t>(config_.shortest_latency.count()),
                                    static_cast<std::uint64_t>(config_.longest_latency.count()))));
}

void World::Send(ClientId client, EventKind kind,
                 std::function<void(scheduler::Scheduler&, Time)> event) {
  Channel& channel = channels_[client];
  channel.up = std::max(channel.up, now_ + Latency());
  At(channel.up, [this, client, kind, daemon = daemon_, event = std::move(event)] {
    if (daemon == daemon_) Inject(kind, event, client);
  });
}

void World::Gone(ClientId client) { clients_.erase(client); }

void World::Inject(EventKind kind, const std::function<void(scheduler::Scheduler&, Time)>& event,
                   ClientId client) {
  ++events_;
  event(*scheduler_, now_);
  Deliver(kind, client);
}

void World::Deliver(EventKind kind, ClientId client) {
  const std::vector<scheduler::Decision> decisions = scheduler_->TakeDecisions();
  checker_.After(*scheduler_, kind, client, decisions, now_);
  for (const scheduler::Decision& decision : decisions) {
    const ClientId to = std::visit([](const auto& order) { return order.client; }, decision);
    Channel& channel = channels_[to];
    channel.down = std::max(channel.down, now_ + Latency());
    const std::uint64_t daemon = daemon_;
    AtFor(channel.down, to, [this, decision, daemon](Client& receiver) {
      if (daemon == daemon_) receiver.Obey(decision);
    });
  }
  for (const auto& [id, alive] : clients_) {
    checker_.CheckWait(id, alive->WaitingSince(), alive->WaitsFor(), now_);
  }
  PlanTick();
}

void World::PlanTick() {
  const std::uint64_t tick = ++tick_;
  const auto next = scheduler_->NextWakeup();
  if (!next) return;
  At(*next, [this, tick] {
    if (tick != tick_) return;
    Inject(EventKind::kTick, [](scheduler::Scheduler& s, Time now) { s.Tick(now); }, 0);
  });
}

Time World::Copy(GpuId gpu, Direction direction, Bytes bytes) {
  Time& busy_until = links_[{gpu, direction}];
  const double seconds = static_cast<double>(bytes) / config_.link;
  busy_until = std::max(busy_until, now_) +
               std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
  moved_ += bytes;
  return busy_until;
}

Time World::Pin(Bytes bytes) {
  if (config_.pinning == 0) return now_;
  const double seconds = static_cast<double>(bytes) / config_.pinning;
  pins_until_ = std::max(pins_until_, now_) +
                std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
  return pins_until_;
}

std::uint64_t World::Random(std::uint64_t low, std::uint64_t high) {
  return low + random_() % (high - low + 1);
}

bool World::Chance(double probability) {
  return static_cast<double>(random_() >> 11) * 0x1.0p-53 < probability;
}

Client* World::Find(ClientId client) {
  const auto entry = clients_.find(client);
  return entry == clients_.end() ? nullptr : entry->second.get();
}

}  // namespace reveza::simulator
