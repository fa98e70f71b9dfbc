#include "platform/process_watch.h"

#include <algorithm>
#include <unordered_set>

namespace reveza::platform {

using std::chrono::nanoseconds;

std::vector<pid_t> InTurn::Take(std::span<const pid_t> sorted, nanoseconds elapsed) {
  const auto period = static_cast<std::uint64_t>(period_.count());
  // More than a period is no more than all.
  const nanoseconds counted = std::clamp(elapsed, nanoseconds(0), period_);
  credit_ += sorted.size() * static_cast<std::uint64_t>(counted.count());
  const std::uint64_t due = std::min<std::uint64_t>(credit_ / period, sorted.size());
  credit_ %= period;
  std::vector<pid_t> taken;
  taken.reserve(due);
  auto next = std::ranges::upper_bound(sorted, last_);
  for (std::uint64_t i = 0; i < due; ++i, ++next) {
    if (next == sorted.end()) next = sorted.begin();
    taken.push_back(*next);
  }
  if (!taken.empty()) last_ = taken.back();
  return taken;
}

ProcessWatch::ProcessWatch(const std::filesystem::path& root, std::size_t most_open)
    : reader_(root) {
  reader_.KeepOpen(most_open);
}

// New ones, those whose parent has ended, and those whose turn it is.
std::vector<pid_t> ProcessWatch::Changed(std::span<const pid_t> listed, nanoseconds elapsed) {
  std::vector<pid_t> unnamed;
  unnamed.reserve(listed.size());
  for (const pid_t pid : listed) {
    const auto entry = entries_.find(pid);
    if (entry == entries_.end() || entry->second.named + 1 < look_) unnamed.push_back(pid);
  }
  std::vector<pid_t> changed = turns_.Take(unnamed, elapsed);
  for (const pid_t pid : listed) {
    const auto entry = entries_.find(pid);
    if (entry == entries_.end()) {
      changed.push_back(pid);
      continue;
    }
    // 0 is the parent of the first process, and of one whose parent is in another namespace.
    const pid_t parent = entry->second.stat.parent;
    if (parent > 0 && !std::ranges::binary_search(listed, parent)) changed.push_back(pid);
  }
  std::ranges::sort(changed);
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  return changed;
}

void ProcessWatch::Look(nanoseconds now) {
  before_ = look_ == 0 ? now : now_;
  now_ = now;
  ++look_;
  std::vector<pid_t> listed = reader_.List();
  std::ranges::sort(listed);
  std::erase_if(entries_, [&](const auto& entry) {
    return !std::ranges::binary_search(listed, entry.first);
  });
  for (const pid_t pid : Changed(listed, now_ - before_)) Take(pid, reader_.Stat(pid));
  for (const auto& [pid, entry] : entries_) newest_ = std::max(newest_, entry.stat.start_ticks);
  FindFamilies();
}

bool ProcessWatch::Read(std::span<const pid_t> pids) {
  bool same = true;
  for (const pid_t pid : pids) {
    auto entry = entries_.find(pid);
    if (entry == entries_.end() || entry->second.look != look_) {  // else it was its turn
      same &= Take(pid, reader_.StatAgain(pid));
      entry = entries_.find(pid);
    }
    if (entry != entries_.end()) entry->second.named = look_;
  }
  reader_.CloseOthers(pids);
  if (!same) FindFamilies();
  return same;
}

bool ProcessWatch::Take(pid_t pid, const std::optional<ProcessStat>& stat) {
  if (!stat) return entries_.erase(pid) == 0;
  auto [place, fresh] = entries_.try_emplace(pid);
  Entry& entry = place->second;
  const bool other = !fresh && entry.stat.start_ticks != stat->start_ticks;
  const bool same = !fresh && !other && entry.stat.parent == stat->parent;
  // All that a new one has used, it has used since the look before.
  std::uint64_t before = 0;
  nanoseconds since = before_;
  if (!fresh && !other) {
    before = entry.stat.user_ticks + entry.stat.system_ticks;
    since = entry.read_at;
  }
  const std::uint64_t used = stat->user_ticks + stat->system_ticks;
  entry.cpu.reset();
  // One that is older than who was there before could not be read then: what it has used since,
  // nobody knows.
  const bool came_back = (fresh || other) && stat->start_ticks < newest_;
  if (now_ > since && !came_back) {
    const double seconds = std::chrono::duration<double>(now_ - since).count();
    entry.cpu = static_cast<double>(used - std::min(used, before)) /
                static_cast<double>(TicksPerSecond()) / seconds;
  }
  entry.stat = *stat;
  entry.look = look_;
  entry.read_at = now_;
  return same;
}

void ProcessWatch::FindFamilies() {
  below_.clear();
  for (const auto& [pid, entry] : entries_) {
    if (entry.stat.parent > 0) below_[entry.stat.parent].push_back(pid);
  }
}

const ProcessStat* ProcessWatch::Find(pid_t pid) const {
  const auto entry = entries_.find(pid);
  return entry == entries_.end() ? nullptr : &entry->second.stat;
}

std::optional<double> ProcessWatch::Cpu(pid_t pid) const {
  const auto entry = entries_.find(pid);
  return entry == entries_.end() ? std::nullopt : entry->second.cpu;
}

std::vector<pid_t> ProcessWatch::Descendants(pid_t pid) const {
  if (!entries_.contains(pid)) return {};
  std::vector<pid_t> found = {pid};
  // They are not read at one instant: a number that was taken over must not make a ring.
  std::unordered_set<pid_t> seen = {pid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto children = below_.find(found[i]);
    if (children == below_.end()) continue;
    for (const pid_t child : children->second) {
      if (seen.insert(child).second) found.push_back(child);
    }
  }
  return found;
}

}  // namespace reveza::platform
