#include "reveza/gpu/daemon/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace reveza::daemon {
namespace {

using nlohmann::json;

json Metadata(const char* what, std::size_t row, int line, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", row}, {"tid", line}, {"args", {{"name", name}}}};
}

json FactsJson(const ClientFacts& facts) {
  const bool limited = facts.policy.limit != scheduler::Policy{}.limit;
  return {{"memory", facts.memory},
          {"context", facts.context},
          {"weight", facts.policy.weight},
          {"priority", scheduler::ToText(facts.policy.priority)},
          {"interactive", facts.policy.interactive},
          {"request", facts.policy.request},
          {"limit", limited ? json(facts.policy.limit) : json(nullptr)}};
}

}  // namespace

double TraceMicroseconds(Time time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

const char* ToText(EventKind kind) {
  static constexpr const char* kTexts[] = {"slice",
                                           "drain",
                                           "drain failed",
                                           "copy out",
                                           "copy in",
                                           "wait for its turn",
                                           "wait for a context",
                                           "wait for memory",
                                           "contexts out",
                                           "contexts in",
                                           "promote",
                                           "demote"};
  return kTexts[static_cast<std::size_t>(kind)];
}

void EventLog::SetClientName(std::uint64_t client, std::uint64_t job, int pid, std::string name) {
  names_[client] = ClientName{job, pid, std::move(name), {}};
  if (names_.size() > kMaxNames) names_.erase(names_.begin());
}

ClientFacts* EventLog::Facts(std::uint64_t client) {
  const auto found = names_.find(client);
  return found == names_.end() ? nullptr : &found->second.facts;
}

void EventLog::Add(const Event& event) {
  events_.push_back(event);
  ++next_;
  if (events_.size() > kMaxEvents) events_.pop_front();
}

json EventLog::Since(std::uint64_t since, std::set<std::uint64_t> named) const {
  const std::uint64_t oldest = next_ - events_.size();
  // A number of the future is one of an earlier daemon.
  const std::uint64_t first = since > next_ ? oldest : std::max(since, oldest);
  const std::uint64_t end = std::min<std::uint64_t>(next_, first + kMaxAnswer);
  json list = json::array();
  for (std::uint64_t number = first; number < end; ++number) {
    const Event& event = events_[number - oldest];
    named.insert(event.client);
    list.push_back({event.client, ToText(event.kind), event.gpu, TraceMicroseconds(event.begin),
                    TraceMicroseconds(event.duration), event.bytes, event.unchanged});
  }
  json clients = json::array();
  for (const std::uint64_t id : named) {
    const auto found = names_.find(id);
    if (found == names_.end()) continue;
    const ClientName& client = found->second;
    clients.push_back({id, fmt::format("{:016x}", client.job), client.pid, client.name});
  }
  return {{"first", first},
          {"next", end},
          {"last", next_},
          {"clients", std::move(clients)},
          {"events", std::move(list)}};
}

std::string EventLog::ToJson(const json& machine) const {
  json list = json::array();
  std::map<std::uint64_t, std::size_t> rows;  // job -> row
  std::set<std::uint64_t> named;
  for (const Event& event : events_) {
    const auto found = names_.find(event.client);
    if (found == names_.end()) continue;
    const ClientName& client_name = found->second;
    const std::size_t row = rows.try_emplace(client_name.job, rows.size() + 1).first->second;
    if (named.insert(event.client).second) {
      list.push_back(Metadata("process_name", row, client_name.pid, client_name.name));
      list.back()["args"].update(FactsJson(client_name.facts));
      list.push_back(
          Metadata("thread_name", row, client_name.pid, "pid " + std::to_string(client_name.pid)));
    }
    json entry = {{"ph", "X"},
                  {"name", ToText(event.kind)},
                  {"cat", "reveza"},
                  {"pid", row},
                  {"tid", client_name.pid},
                  {"ts", TraceMicroseconds(event.begin)},
                  {"dur", TraceMicroseconds(event.duration)}};
    if (event.bytes != 0 || event.unchanged != 0) {
      entry["args"] = {{"gpu", event.gpu}, {"bytes", event.bytes}};
    }
    if (event.unchanged != 0) entry["args"]["unchanged"] = event.unchanged;
    list.push_back(std::move(entry));
  }
  const json trace = {
      {"displayTimeUnit", "ms"}, {"otherData", machine}, {"traceEvents", std::move(list)}};
  return trace.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace reveza::daemon
