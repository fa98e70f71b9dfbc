#include "reveza/jobs/engine/added_steps.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/read_file.h"
#include "common/platform/output_file.h"
#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/definition/job_json.h"
#include "reveza/jobs/journal/step_listing.h"

namespace reveza::jobs {
namespace {

constexpr const char* kAdded = "added";  // in the journal: a list of jobs

Result<nlohmann::json> ReadAdded(Journal& journal) {
  ASSIGN_OR_RETURN(const auto kept, journal.Get(kAdded));
  auto added = nlohmann::json::parse(kept.value_or("[]"), nullptr, false);
  if (added.is_array()) return added;
  return Fail(Error::Code::kIncompatible, "the list of added steps in the journal is damaged");
}

// The file format: the body's checksum in hexadecimal on the first line, then the body.
std::string ChecksumText(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// Returns the file's content; empty if it is missing or damaged.
std::optional<nlohmann::json> ReadAddedFile(const JobFolder& folder) {
  const auto text = ReadFile(folder.added());
  if (!text) return std::nullopt;
  const auto end = text->find('\n');
  if (end == std::string::npos) return std::nullopt;
  const std::string_view body = std::string_view(*text).substr(end + 1);
  if (text->substr(0, end) != ChecksumText(body)) return std::nullopt;
  auto added = nlohmann::json::parse(body, nullptr, false);
  return added.is_array() ? std::optional(std::move(added)) : std::nullopt;
}

Status WriteAddedFile(const JobFolder& folder, const nlohmann::json& added) {
  const std::string body = added.dump();
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(folder.added()));
  RETURN_IF_ERROR(file.Append(ChecksumText(body) + "\n" + body));
  return file.Finish();
}

using StepIndices = std::map<Identity, std::uint32_t>;

// Appends the steps of `more` that are not at `indices` yet. Returns how many.
Result<std::uint64_t> Merge(const Job& more, Job& job, std::vector<Identity>& identities,
                            StepIndices& indices) {
  ASSIGN_OR_RETURN(const auto theirs, ComputeIdentities(more));
  const auto first_command = static_cast<std::uint32_t>(job.commands.size());
  std::uint64_t added_count = 0;
  std::vector<std::uint32_t> index(theirs.size());
  std::vector<std::size_t> new_steps;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const auto next = static_cast<std::uint32_t>(identities.size());
    const auto [at, is_new] = indices.emplace(theirs[i], next);
    index[i] = at->second;
    if (!is_new) continue;
    identities.push_back(theirs[i]);
    new_steps.push_back(i);
    ++added_count;
  }
  if (added_count == 0) return added_count;
  job.commands.insert(job.commands.end(), more.commands.begin(), more.commands.end());
  for (const auto i : new_steps) {
    Step step = more.steps[i];
    step.command += first_command;
    for (auto& before : step.after) before = index[before];
    job.steps.push_back(std::move(step));
  }
  return added_count;
}

}  // namespace

std::vector<ListedStep> ListSteps(const Job& job, std::span<const Identity> identities,
                                  std::size_t first) {
  std::vector<ListedStep> steps;
  steps.reserve(identities.size() - first);
  for (std::size_t i = first; i < identities.size(); ++i) {
    steps.push_back({identities[i], LabelOf(job, i)});
  }
  return steps;
}

Result<std::uint64_t> AddSteps(Journal& journal, const Job& more) {
  ASSIGN_OR_RETURN(const auto identities, ComputeIdentities(more));
  ASSIGN_OR_RETURN(const auto steps, journal.List());
  const auto added_count = journal.Append(ListSteps(more, identities));
  if (!added_count || *added_count == 0) return added_count;
  RETURN_IF_ERROR(ExtendListing(journal, more, identities, steps.size()));
  ASSIGN_OR_RETURN(auto added, ReadAdded(journal));
  added.push_back(ToJson(more));
  RETURN_IF_ERROR(journal.Set(kAdded, added.dump()));
  return added_count;
}

bool IsAddedFileDamaged(const JobFolder& folder) {
  std::error_code error;
  return std::filesystem::exists(folder.added(), error) && !ReadAddedFile(folder);
}

// Steps are never removed, so the longer list is complete.
Status SyncAddedSteps(const JobFolder& folder, Journal& journal) {
  ASSIGN_OR_RETURN(const auto in_journal, ReadAdded(journal));
  const auto kept = ReadAddedFile(folder);
  const std::size_t in_file = kept ? kept->size() : 0;
  if (in_file == in_journal.size()) return {};
  if (in_file > in_journal.size()) return journal.Set(kAdded, kept->dump());
  return WriteAddedFile(folder, in_journal);
}

Result<std::uint64_t> MergeAddedSteps(Journal& journal, Job& job,
                                      std::vector<Identity>& identities) {
  ASSIGN_OR_RETURN(const auto added, ReadAdded(journal));
  if (added.empty()) return 0;
  StepIndices indices;
  for (std::uint32_t i = 0; i < identities.size(); ++i) indices.emplace(identities[i], i);
  std::uint64_t added_count = 0;
  for (const auto& one : added) {
    ASSIGN_OR_RETURN(const auto more, JobFromJson(one));
    const auto merged = Merge(more, job, identities, indices);
    if (!merged) return merged;
    added_count += *merged;
  }
  return added_count;
}

}  // namespace reveza::jobs
