#include "monitor/history.h"

#include <set>

namespace reveza::monitor {

void History::Add(const std::string& series, const std::optional<double>& value) {
  Values& values = series_[series];
  values.push_back(value);
  if (values.size() > kLength) values.pop_front();
}

void History::Add(const Snapshot& snapshot) {
  std::set<std::string> seen = {"cpu", "memory"};
  Add("cpu", snapshot.machine.cpu);
  const auto& memory = snapshot.machine.memory;
  Add("memory", memory && memory->total > 0
                    ? std::optional(1.0 - static_cast<double>(memory->available) /
                                              static_cast<double>(memory->total))
                    : std::nullopt);
  for (const Gpu& gpu : snapshot.gpus) {
    Add(*seen.insert("gpu " + gpu.uuid).first, gpu.sm_active);
    const bool measured = gpu.link_out && gpu.link_in;
    const auto out = measured ? gpu.link_out : gpu.swap_out;
    const auto in = measured ? gpu.link_in : gpu.swap_in;
    Add(*seen.insert("link " + gpu.uuid).first,
        out && in ? std::optional(*out + *in) : std::nullopt);
  }
  for (const Job& job : snapshot.jobs) Add(*seen.insert("job " + job.id).first, job.rate);
  std::erase_if(series_, [&](const auto& entry) { return !seen.contains(entry.first); });
}

const History::Values& History::Of(const std::string& series) const {
  static const Values none;
  const auto found = series_.find(series);
  return found == series_.end() ? none : found->second;
}

}  // namespace reveza::monitor
