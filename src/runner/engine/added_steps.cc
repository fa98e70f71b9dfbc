#include "runner/engine/added_steps.h"

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

#include "platform/output_file.h"
#include "runner/definition/identity.h"
#include "runner/definition/job_json.h"
#include "runner/text_file.h"

namespace reveza::runner {
namespace {

constexpr const char* kAdded = "added";  // in the journal: a list of jobs

Result<nlohmann::json> ReadAdded(Journal& journal) {
  const auto kept = journal.Get(kAdded);
  if (!kept) return std::unexpected(kept.error());
  auto added = nlohmann::json::parse(kept->value_or("[]"), nullptr, false);
  if (added.is_array()) return added;
  return Fail(Error::Code::kIncompatible, "the steps that were added to the job cannot be read");
}

// The file: a checksum in hexadecimal digits, and on the next line what it is of.
std::string SumText(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// Nothing: there is none, or it is not what was written.
std::optional<nlohmann::json> ReadAddedFile(const JobFolder& folder) {
  const auto text = ReadTextFile(folder.added());
  if (!text) return std::nullopt;
  const auto end = text->find('\n');
  if (end == std::string::npos) return std::nullopt;
  const std::string_view body = std::string_view(*text).substr(end + 1);
  if (text->substr(0, end) != SumText(body)) return std::nullopt;
  auto added = nlohmann::json::parse(body, nullptr, false);
  return added.is_array() ? std::optional(std::move(added)) : std::nullopt;
}

Status WriteAddedFile(const JobFolder& folder, const nlohmann::json& added) {
  const std::string body = added.dump();
  auto file = platform::OutputFile::Create(folder.added());
  if (!file) return std::unexpected(file.error());
  if (auto written = file->Append(SumText(body) + "\n" + body); !written) return written;
  return file->Finish();
}

using Places = std::map<Identity, std::uint32_t>;

// Behind the steps of `job`, which are at `places`.
Result<std::uint64_t> Merge(const Job& more, Job& job, std::vector<Identity>& identities,
                            Places& places) {
  const auto theirs = IdentitiesOf(more);
  if (!theirs) return std::unexpected(theirs.error());
  const auto first_command = static_cast<std::uint32_t>(job.commands.size());
  std::uint64_t came = 0;
  std::vector<std::uint32_t> place(theirs->size());
  std::vector<std::size_t> news;
  for (std::size_t i = 0; i < theirs->size(); ++i) {
    const auto next = static_cast<std::uint32_t>(identities.size());
    const auto [at, is_new] = places.emplace((*theirs)[i], next);
    place[i] = at->second;
    if (!is_new) continue;
    identities.push_back((*theirs)[i]);
    news.push_back(i);
    ++came;
  }
  if (came == 0) return came;
  job.commands.insert(job.commands.end(), more.commands.begin(), more.commands.end());
  for (const auto i : news) {
    Step step = more.steps[i];
    step.command += first_command;
    for (auto& before : step.after) before = place[before];
    job.steps.push_back(std::move(step));
  }
  return came;
}

}  // namespace

std::string LabelOf(const Job& job, std::uint32_t step) {
  const auto& parameters = job.steps[step].parameters;
  if (parameters.empty()) return fmt::format("{}", step + 1);
  std::string label;
  for (const auto& [name, value] : parameters) {
    if (!label.empty()) label += ' ';
    label.append(name).append("=").append(value);
  }
  return label;
}

Result<std::uint64_t> AddSteps(Journal& journal, const Job& more) {
  const auto identities = IdentitiesOf(more);
  if (!identities) return std::unexpected(identities.error());
  std::vector<ListedStep> steps;
  steps.reserve(identities->size());
  for (std::uint32_t step = 0; step < identities->size(); ++step) {
    steps.push_back({(*identities)[step], LabelOf(more, step)});
  }
  const auto came = journal.Append(steps);
  if (!came || *came == 0) return came;
  auto added = ReadAdded(journal);
  if (!added) return std::unexpected(added.error());
  added->push_back(ToJson(more));
  if (auto set = journal.Set(kAdded, added->dump()); !set) return std::unexpected(set.error());
  return came;
}

bool IsAddedFileDamaged(const JobFolder& folder) {
  std::error_code error;
  return std::filesystem::exists(folder.added(), error) && !ReadAddedFile(folder);
}

// Nothing is ever taken away, so whoever has more has all.
Status SettleAdded(const JobFolder& folder, Journal& journal) {
  const auto noted = ReadAdded(journal);
  if (!noted) return std::unexpected(noted.error());
  const auto kept = ReadAddedFile(folder);
  const std::size_t in_file = kept ? kept->size() : 0;
  if (in_file == noted->size()) return {};
  if (in_file > noted->size()) return journal.Set(kAdded, kept->dump());
  return WriteAddedFile(folder, *noted);
}

Result<std::uint64_t> MergeAdded(Journal& journal, Job& job, std::vector<Identity>& identities) {
  const auto added = ReadAdded(journal);
  if (!added) return std::unexpected(added.error());
  if (added->empty()) return 0;
  Places places;
  for (std::uint32_t i = 0; i < identities.size(); ++i) places.emplace(identities[i], i);
  std::uint64_t came = 0;
  for (const auto& one : *added) {
    const auto more = JobFromJson(one);
    if (!more) return std::unexpected(more.error());
    const auto merged = Merge(*more, job, identities, places);
    if (!merged) return merged;
    came += *merged;
  }
  return came;
}

}  // namespace reveza::runner
