#include "reveza/jobs/engine/step_list.h"

#include <algorithm>
#include <numeric>

namespace reveza::jobs {

StepList::StepList(std::span<const Identity> identities) {
  steps_.reserve(identities.size());
  for (const Identity& identity : identities) {
    steps_.push_back({.id = static_cast<std::int64_t>(steps_.size()) + 1, .identity = identity});
  }
}

Result<StepList> StepList::Read(Journal& journal) {
  StepList list;
  RETURN_IF_ERROR(journal.ForEachListed([&list](const StepEntry& entry) { list.Add(entry); }));
  return list;
}

void StepList::Add(const StepEntry& entry) {
  steps_.emplace_back();
  Set(static_cast<std::uint32_t>(steps_.size() - 1), entry);
}

void StepList::Set(std::uint32_t step, const StepEntry& entry) {
  steps_[step] = {
      .id = entry.id, .identity = entry.identity, .attempts = entry.attempts, .state = entry.state};
  SetFiles(step, entry.files);
}

void StepList::SetFiles(std::uint32_t step, const std::string& files) {
  if (files == FilesOfId(steps_[step].id)) {
    other_files_.erase(step);
  } else {
    other_files_[step] = files;
  }
}

void StepList::Truncate(std::size_t size) {
  if (size < steps_.size()) steps_.resize(size);
  other_files_.erase(other_files_.lower_bound(static_cast<std::uint32_t>(size)),
                     other_files_.end());
}

std::string StepList::FilesOf(std::uint32_t step) const {
  const auto other = other_files_.find(step);
  return other != other_files_.end() ? other->second : FilesOfId(steps_[step].id);
}

std::optional<std::uint32_t> StepList::Find(const Identity& identity) const {
  const auto identity_of = [this](std::uint32_t step) { return steps_[step].identity; };
  // Identities of listed steps never change.
  if (by_identity_.size() != steps_.size()) {
    by_identity_.resize(steps_.size());
    std::iota(by_identity_.begin(), by_identity_.end(), 0);
    std::ranges::sort(by_identity_, {}, identity_of);
  }
  const auto at = std::ranges::lower_bound(by_identity_, identity, {}, identity_of);
  if (at == by_identity_.end() || identity_of(*at) != identity) return std::nullopt;
  return *at;
}

}  // namespace reveza::jobs
