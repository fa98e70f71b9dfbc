#include "daemon/events.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace reveza::daemon {
namespace {

using nlohmann::json;

json Metadata(const char* what, std::size_t row, int line, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", row}, {"tid", line}, {"args", {{"name", name}}}};
}

double Microseconds(Time time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

const char* ToText(EventKind kind) {
  switch (kind) {
    case EventKind::kSlice:
      return "slice";
    case EventKind::kDrain:
      return "drain";
    case EventKind::kDrainFailed:
      return "drain failed";
    case EventKind::kCopyOut:
      return "copy out";
    case EventKind::kCopyIn:
      return "copy in";
    case EventKind::kWait:
      return "wait for its turn";
    case EventKind::kWaitContext:
      return "wait for a context";
    case EventKind::kWaitMemory:
      return "wait for memory";
  }
  return "unknown";
}

void EventLog::Name(std::uint64_t client, std::uint64_t job, int pid, std::string name) {
  names_[client] = Who{job, pid, std::move(name)};
  if (names_.size() > kMostNames) names_.erase(names_.begin());
}

void EventLog::Add(const Event& event) {
  events_.push_back(event);
  if (events_.size() > kMostEvents) events_.pop_front();
}

std::string EventLog::ToJson() const {
  json list = json::array();
  std::map<std::uint64_t, std::size_t> rows;  // job -> number of its row
  std::set<std::uint64_t> named;
  for (const Event& event : events_) {
    const auto found = names_.find(event.client);
    if (found == names_.end()) continue;
    const Who& who = found->second;
    const std::size_t row = rows.try_emplace(who.job, rows.size() + 1).first->second;
    if (named.insert(event.client).second) {
      list.push_back(Metadata("process_name", row, who.pid, who.name));
      list.push_back(Metadata("thread_name", row, who.pid, "pid " + std::to_string(who.pid)));
    }
    json entry = {{"ph", "X"},
                  {"name", ToText(event.kind)},
                  {"cat", "reveza"},
                  {"pid", row},
                  {"tid", who.pid},
                  {"ts", Microseconds(event.begin)},
                  {"dur", Microseconds(event.duration)}};
    if (event.bytes != 0) entry["args"] = {{"gpu", event.gpu}, {"bytes", event.bytes}};
    list.push_back(std::move(entry));
  }
  const json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(list)}};
  return trace.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace reveza::daemon
