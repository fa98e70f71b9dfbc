#include "common/platform/process_watch.h"

#include <algorithm>

#include "common/platform/process_tree.h"

namespace reveza::platform {

using std::chrono::nanoseconds;

std::vector<pid_t> RoundRobin::Take(std::span<const pid_t> sorted, nanoseconds elapsed) {
  const auto period = static_cast<std::uint64_t>(period_.count());
  // At most all processes are due.
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

ProcessWatch::ProcessWatch(const std::filesystem::path& root, std::size_t max_open_files)
    : reader_(root) {
  reader_.SetMaxOpenFiles(max_open_files);
}

// Returns the processes that are new, lost their parent, or are due.
std::vector<pid_t> ProcessWatch::Due(std::span<const pid_t> listed, nanoseconds elapsed) {
  std::vector<pid_t> unrequested;
  unrequested.reserve(listed.size());
  for (const pid_t pid : listed) {
    const auto entry = entries_.find(pid);
    if (entry == entries_.end() || entry->second.requested + 1 < refresh_)
      unrequested.push_back(pid);
  }
  std::vector<pid_t> due = round_robin_.Take(unrequested, elapsed);
  for (const pid_t pid : listed) {
    const auto entry = entries_.find(pid);
    if (entry == entries_.end()) {
      due.push_back(pid);
      continue;
    }
    // 0 is the parent of the first process, and of one whose parent is in another namespace.
    const pid_t parent = entry->second.stat.parent;
    if (parent > 0 && !std::ranges::binary_search(listed, parent)) due.push_back(pid);
  }
  std::ranges::sort(due);
  due.erase(std::unique(due.begin(), due.end()), due.end());
  return due;
}

void ProcessWatch::Refresh(nanoseconds now) {
  before_ = refresh_ == 0 ? now : now_;
  now_ = now;
  ++refresh_;
  std::vector<pid_t> listed = reader_.List();
  std::ranges::sort(listed);
  std::erase_if(entries_, [&](const auto& entry) {
    return !std::ranges::binary_search(listed, entry.first);
  });
  for (const pid_t pid : Due(listed, now_ - before_)) Store(pid, reader_.Stat(pid));
  for (const auto& [pid, entry] : entries_) newest_ = std::max(newest_, entry.stat.start_ticks);
  RebuildChildren();
}

bool ProcessWatch::Read(std::span<const pid_t> pids) {
  bool same = true;
  for (const pid_t pid : pids) {
    auto entry = entries_.find(pid);
    if (entry == entries_.end() || entry->second.refresh != refresh_) {  // not read by Refresh()
      same &= Store(pid, reader_.StatCached(pid));
      entry = entries_.find(pid);
    }
    if (entry != entries_.end()) entry->second.requested = refresh_;
  }
  reader_.CloseAllExcept(pids);
  if (!same) RebuildChildren();
  return same;
}

bool ProcessWatch::Store(pid_t pid, const std::optional<ProcessStat>& stat) {
  if (!stat) return entries_.erase(pid) == 0;
  auto [position, fresh] = entries_.try_emplace(pid);
  Entry& entry = position->second;
  const bool reused = !fresh && entry.stat.start_ticks != stat->start_ticks;
  const bool same = !fresh && !reused && entry.stat.parent == stat->parent;
  // A new process has used all of its CPU time since the previous refresh.
  std::uint64_t before = 0;
  nanoseconds since = before_;
  if (!fresh && !reused) {
    before = entry.stat.user_ticks + entry.stat.system_ticks;
    since = entry.read_at;
  }
  const std::uint64_t used = stat->user_ticks + stat->system_ticks;
  entry.cpu.reset();
  // A new process that is older than the newest known one could not be read before; its usage since
  // then is unknown.
  const bool reappeared = (fresh || reused) && stat->start_ticks < newest_;
  if (now_ > since && !reappeared) {
    const double seconds = std::chrono::duration<double>(now_ - since).count();
    entry.cpu = static_cast<double>(used - std::min(used, before)) /
                static_cast<double>(TicksPerSecond()) / seconds;
  }
  entry.stat = *stat;
  entry.refresh = refresh_;
  entry.read_at = now_;
  return same;
}

void ProcessWatch::RebuildChildren() {
  children_.clear();
  for (const auto& [pid, entry] : entries_) {
    if (entry.stat.parent > 0) children_[entry.stat.parent].push_back(pid);
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
  return CollectDescendants(pid, children_);
}

}  // namespace reveza::platform
