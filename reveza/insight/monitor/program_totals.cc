#include "reveza/insight/monitor/program_totals.h"

#include <fmt/format.h>

#include <algorithm>

namespace reveza::monitor {
namespace {

// Returns by how much a counter has grown; one that is new or began again counts from 0.
double Growth(const std::map<std::string, double>& before, const std::string& key, double now) {
  const auto found = before.find(key);
  return found == before.end() || found->second > now ? now : now - found->second;
}

}  // namespace

void ProgramTotals::Update(Snapshot& snapshot) {
  std::map<std::string, double> ran;
  std::map<std::string, double> waited;
  std::map<std::string, std::string> names;  // of the keys, which have the name first
  for (const Client& client : snapshot.clients) {
    totals_[client.name].seen = snapshot.time;
    // All processes of a job say what the job had.
    const std::string job = fmt::format("{} {}", client.name, client.job);
    const std::string process = fmt::format("{} {}", job, client.pid);
    names[job] = names[process] = client.name;
    if (client.ran_seconds) ran[job] = std::max(ran[job], *client.ran_seconds);
    if (client.waited_seconds) waited[process] += *client.waited_seconds;
  }
  for (const auto& [key, seconds] : ran) {
    totals_[names[key]].used.gpu_seconds += Growth(ran_, key, seconds);
  }
  for (const auto& [key, seconds] : waited) {
    totals_[names[key]].used.waited_seconds += Growth(waited_, key, seconds);
  }
  ran_ = std::move(ran);
  waited_ = std::move(waited);
  std::erase_if(totals_, [&](const auto& entry) {
    return entry.second.seen < snapshot.time - kEndedSeconds;
  });
  snapshot.used.clear();
  for (const auto& [name, total] : totals_) snapshot.used[name] = total.used;
}

}  // namespace reveza::monitor
