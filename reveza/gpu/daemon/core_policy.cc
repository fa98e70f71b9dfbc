// Core: what jobs are entitled to, and who may change it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "common/base/units.h"
#include "reveza/gpu/daemon/core.h"

namespace reveza::daemon {
namespace {

using nlohmann::json;

// Part of the budget that is not announced to a client: contexts of others stay on the GPU during
// its turn. Two clients that each used the whole budget could never run again while both exist.
Bytes ReserveForOthers(Bytes budget) { return std::min<Bytes>(budget / 32, 1280 * kMiB); }

std::string Refusal(const char* code, const std::string& text) {
  return json{{"ok", false}, {"code", code}, {"error", text}}.dump(-1, ' ', false,
                                                                   json::error_handler_t::replace);
}

// Parses a number that makes up the whole text.
std::optional<std::uint64_t> ParseWhole(const std::string& text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && last == end ? std::optional(value) : std::nullopt;
}

}  // namespace

bool Core::Handle(ClientEntry& client, const wire::Yield&) {
  scheduler_.BecameIdle(clock_.Now(), client.id);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::Hold& message) {
  scheduler_.SetHold(clock_.Now(), client.id, message.on == 1);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::Policy& message) {
  scheduler::Policy policy = jobs_.at(client.job).policy;
  ApplyPolicy(message, policy);
  SetPolicy(client.job, policy);
  return true;
}

void Core::SetPolicy(JobId job, const scheduler::Policy& policy) {
  jobs_.at(job).policy = policy;
  for (const auto& [id, client] : clients_) {
    ClientFacts* const facts = client.job == job ? events_.Facts(id) : nullptr;
    if (facts != nullptr) facts->policy = policy;
  }
  scheduler_.SetPolicy(clock_.Now(), job, policy);
}

void Core::ApplyClass(const ClientEntry& client, const Identity& identity) {
  const PolicyClass* const found = FindClass(settings_.classes, client.command, identity);
  if (found == nullptr) return;
  logger_->info("client {} is of the class {}", client.id, found->name);
  jobs_.at(client.job).policy_class = found->name;
  SetPolicy(client.job, found->policy);
}

void Core::ApplyQuota(const ClientEntry& client, const Peer& peer) {
  const QuotaRule* const found = FindQuota(settings_.quotas, peer.identity);
  if (found == nullptr) return;
  jobs_.at(client.job).quota = found->quota;
  scheduler_.SetAccount(clock_.Now(), client.job, peer.uid, found->quota);
}

std::vector<JobId> Core::FindJobs(const std::string& name) const {
  std::vector<JobId> found;
  const auto pid = ParseWhole(name, 10);
  const auto number = name.size() == 16 ? ParseWhole(name, 16) : std::nullopt;
  for (const auto& [job, entry] : jobs_) {
    const bool named = std::ranges::any_of(clients_, [&](const auto& one) {
      const ClientEntry& client = one.second;
      return client.job == job &&
             (client.name == name || (pid && client.pid == static_cast<pid_t>(*pid)));
    });
    if (named || job == number) found.push_back(job);
  }
  return found;
}

std::string Core::OnJobRequest(uid_t uid, const wire::JobRequest& request) {
  const std::string name = request.name;
  const std::vector<JobId> found = FindJobs(name);
  if (found.empty()) {
    return Refusal("not_found",
                   fmt::format("no program '{}' uses a GPU; see `reveza status`", name));
  }
  if (found.size() > 1) {
    return Refusal("ambiguous",
                   fmt::format("{} jobs are named '{}'; use the pid of one", found.size(), name));
  }
  const JobId job = found.front();
  JobEntry& entry = jobs_.at(job);
  if (uid != 0 && uid != entry.owner) {
    return Refusal(
        "permission",
        fmt::format("'{}' belongs to another user; its owner and root may change it", name));
  }
  scheduler::Policy policy = entry.policy;
  ApplyPolicy(request.policy, policy);
  if (policy.request > policy.limit) {
    return Refusal("invalid", fmt::format("the request of {} exceeds the limit of {}",
                                          FormatBytes(policy.request), FormatBytes(policy.limit)));
  }
  if (const auto shortage = scheduler_.FindShortage(job, policy.request)) {
    return Refusal(
        "shortage",
        fmt::format("GPU {} cannot keep {} for it: {} at most, beside what is promised to "
                    "and held by others",
                    shortage->gpu, FormatBytes(policy.request),
                    FormatBytes(shortage->max_request)));
  }
  logger_->info("user {} changes job {:016x} ({})", uid, job, name);
  SetPolicy(job, policy);
  for (const auto& [id, client] : clients_) {
    if (client.job == job) Send(client, PolicyMessage(policy));
  }
  ApplyDecisions();
  return json{{"ok", true}, {"job", fmt::format("{:016x}", job)}}.dump();
}

Bytes Core::PresentedBudget(JobId job, GpuId gpu) const {
  const Bytes budget = gpus_.at(gpu).config.budget;
  Bytes promised = 0;
  for (const auto& [id, entry] : jobs_) {
    const bool uses = std::ranges::any_of(clients_, [&](const auto& one) {
      return one.second.job == id && one.second.admitted.contains(gpu);
    });
    if (id != job && uses) promised += entry.policy.request;
  }
  const Bytes left = budget - std::min(budget, std::max(promised, ReserveForOthers(budget)));
  return std::min({left, jobs_.at(job).policy.limit, jobs_.at(job).quota.limit});
}

void Core::SampleShares() {
  const Time now = clock_.Now();
  for (const auto& job : scheduler_.Jobs()) {
    const auto entry = jobs_.find(job.id);
    if (entry == jobs_.end()) continue;
    auto& samples = entry->second.samples;
    samples.emplace_back(now, job.ran);
    while (samples.front().first < now - JobEntry::kShareWindow) samples.pop_front();
  }
}

}  // namespace reveza::daemon
