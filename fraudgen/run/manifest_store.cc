#include "fraudgen/run/manifest_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/settings/document.h"

namespace reveza::fraudgen {
namespace {

// Manifests that are read at the same time where latency dominates.
constexpr std::size_t kMaxReaders = 32;
constexpr std::size_t kReadStep = 128;
constexpr std::string_view kAdvice =
    "choose another folder, or use the original settings to resume";

std::unexpected<Error> Differs(std::string message) {
  return Fail(Error::Code::kIncompatible, std::move(message));
}

}  // namespace

// Configuration hashes only tell that settings differ; the stored configuration tells which.
std::string ManifestStore::DifferenceTo(const MadeBy& there) const {
  if (there.program != made_by_.program || there.model != made_by_.model ||
      there.model_version != made_by_.model_version || there.seed != made_by_.seed ||
      there.configuration == made_by_.configuration) {
    return DifferenceOf(there, made_by_);
  }
  const auto text = destination_.ReadSmall(kConfigurationName);
  // Scenarios come last, and are compared as a whole.
  const auto split = [](std::string_view all) {
    const std::size_t at = std::min(all.find("[[scenario]]"), all.size());
    return std::pair(all.substr(0, at), all.substr(at));
  };
  const auto [here, scenarios_here] = split(configuration_);
  const auto [stored, scenarios_stored] = split(text && *text ? std::string_view(**text) : "");
  const auto mine = ParseSettings(here, "");
  const auto other = ParseSettings(stored, "");
  if (mine && other && !other->empty()) {
    const auto value_of = [](const std::vector<FileSetting>& settings, const std::string& key) {
      const auto found = std::ranges::find(settings, key, &FileSetting::key);
      return found == settings.end() ? std::string("not set") : found->value;
    };
    for (const auto* settings : {&*mine, &*other}) {
      for (const FileSetting& setting : *settings) {
        const std::string left = value_of(*other, setting.key);
        const std::string right = value_of(*mine, setting.key);
        if (left == right) continue;
        return fmt::format("{} is {} there and {} here", setting.key, left, right);
      }
    }
    if (scenarios_here != scenarios_stored) return "the scenarios differ";
  }
  return "the settings differ";
}

Status ManifestStore::CheckMadeBy(const MadeBy& there, const std::string& name) const {
  if (there == made_by_) return {};
  return Differs(fmt::format("{} belongs to another data set: {}; {}", destination_.PathOf(name),
                             DifferenceTo(there), kAdvice));
}

Result<FileManifest> ManifestStore::Parse(const std::string& text, const std::string& name) const {
  auto manifest = ReadFileManifest(text, destination_.PathOf(name));
  if (manifest) return manifest;
  return Differs(manifest.error().message + "; remove it to regenerate the file");
}

Result<std::optional<FileManifest>> ManifestStore::Read(const std::string& file) const {
  const std::string name = ManifestNameOf(file);
  ASSIGN_OR_RETURN(const auto text, destination_.ReadSmall(name));
  if (!text) return std::nullopt;
  return Parse(*text, name);
}

Status ManifestStore::Open(const Plan& plan) {
  destination_.RemovePartial(kConfigurationName);
  destination_.RemovePartial(kManifestName);
  RETURN_IF_ERROR(RefuseOldLayout());
  const auto names = destination_.List(kMetadataFolder);
  if (!names && names.error().code != Error::Code::kNotFound) {
    return std::unexpected(names.error());
  }
  for (const std::string& base : names ? *names : std::vector<std::string>()) {
    std::string name = fmt::format("{}/{}", kMetadataFolder, base);
    if (IsFileManifest(name) || name == kConfigurationName) existing_.insert(std::move(name));
  }
  std::unordered_set<std::string> manifests = existing_;
  manifests.erase(std::string(kConfigurationName));
  if (manifests.empty()) return WriteConfiguration();
  std::string known_file;
  for (uint64_t block = 0; block < plan.all_blocks() && !manifests.empty(); ++block) {
    for (const PlannedFile& planned : plan.FilesOf(block)) {
      if (manifests.erase(ManifestNameOf(planned.name)) > 0) known_file = planned.name;
    }
  }
  // One of this plan's manifests is enough; Find() validates the others.
  if (!known_file.empty()) {
    ASSIGN_OR_RETURN(const auto manifest, Read(known_file));
    if (manifest) RETURN_IF_ERROR(CheckMadeBy(manifest->made_by, known_file));
  }
  if (manifests.empty()) return WriteConfiguration();
  const std::string other = *std::ranges::min_element(manifests);
  ASSIGN_OR_RETURN(const auto text, destination_.ReadSmall(other));
  if (!text) return {};
  ASSIGN_OR_RETURN(const auto manifest, Parse(*text, other));
  RETURN_IF_ERROR(CheckMadeBy(manifest.made_by, other));
  return Differs(fmt::format("{} describes a file that is not part of this data set; {}",
                             destination_.PathOf(other), kAdvice));
}

Status ManifestStore::RefuseOldLayout() const {
  ASSIGN_OR_RETURN(const auto names, destination_.List(""));
  for (const std::string& name : names) {
    if (name != OldNameOf(kManifestName) && name != OldNameOf(kConfigurationName)) continue;
    return Differs(
        fmt::format("{} belongs to a data set of fraudgen 0.1, which has other file names; choose "
                    "another folder",
                    destination_.PathOf(name)));
  }
  return {};
}

Status ManifestStore::WriteConfiguration() const {
  if (existing_.contains(std::string(kConfigurationName))) {
    ASSIGN_OR_RETURN(const auto there, destination_.ReadSmall(kConfigurationName));
    if (there && *there == configuration_) return {};
  }
  return destination_.WriteSmall(kConfigurationName, configuration_);
}

void ManifestStore::Cache(FileManifest manifest) {
  manifest.made_by = {};
  std::string file = manifest.file;
  const MutexLock lock(mutex_);
  cache_.insert_or_assign(std::move(file), std::move(manifest));
}

std::optional<FileManifest> ManifestStore::TakeCached(const std::string& file) {
  const MutexLock lock(mutex_);
  auto cached = cache_.extract(file);
  if (cached.empty()) return std::nullopt;
  cached.mapped().made_by = made_by_;
  return std::move(cached.mapped());
}

Result<std::optional<FileManifest>> ManifestStore::Find(const PlannedFile& planned) {
  destination_.RemovePartial(ManifestNameOf(planned.name));
  if (!existing_.contains(ManifestNameOf(planned.name))) return std::nullopt;
  auto manifest = Read(planned.name);
  if (!manifest || !*manifest) return manifest;
  const FileManifest& there = **manifest;
  RETURN_IF_ERROR(CheckMadeBy(there.made_by, ManifestNameOf(planned.name)));
  const std::string path = destination_.PathOf(planned.name);
  if (there.table != planned.table->name || there.block != planned.block ||
      there.part != planned.part || (planned.rows && there.rows != *planned.rows)) {
    return Differs(fmt::format("the manifest of {} describes block {} of {} with {} rows; {}", path,
                               there.block, there.table, there.rows, kAdvice));
  }
  ASSIGN_OR_RETURN(const auto stored, destination_.Stat(planned.name));
  if (!stored) return std::nullopt;
  if (stored->bytes != there.bytes) {
    return Differs(
        fmt::format("{} was modified: {} bytes, {} in its manifest; remove it to regenerate it",
                    path, stored->bytes, there.bytes));
  }
  // An entity tag makes reading the bytes unnecessary.
  const bool has_etag = !stored->etag.empty() && !there.etag.empty();
  ASSIGN_OR_RETURN(const auto hash, has_etag ? Result<std::string>(stored->etag)
                                             : destination_.HashOf(planned.name));
  const std::string& wanted = has_etag ? there.etag : there.xxh3_128;
  if (hash != wanted) {
    return Differs(
        fmt::format("{} was modified: {} {}, {} in its manifest; remove it to regenerate it", path,
                    has_etag ? "ETag" : "hash", hash, wanted));
  }
  Cache(there);
  return manifest;
}

Status ManifestStore::CheckReplaceable(const WrittenFile& file) const {
  ASSIGN_OR_RETURN(const auto stored, destination_.Stat(file.planned.name));
  if (!stored) return {};
  // A run interrupted between file and manifest left the same bytes.
  if (stored->bytes == file.bytes) {
    ASSIGN_OR_RETURN(const auto hash, destination_.HashOf(file.planned.name));
    if (hash == file.hash) return {};
  }
  return Differs(
      fmt::format("{} exists and is not part of this data set; move it or choose another folder",
                  destination_.PathOf(file.planned.name)));
}

Status ManifestStore::Commit(const WrittenFile& file) {
  ASSIGN_OR_RETURN(const auto stored, destination_.Stat(file.planned.name));
  const uint64_t bytes = stored ? stored->bytes : 0;
  if (!stored || bytes != file.bytes) {
    return Fail(Error::Code::kUnavailable,
                "{} has {} bytes, but {} were written; run the same command again",
                destination_.PathOf(file.planned.name), bytes, file.bytes);
  }
  const FileManifest manifest{.file = file.planned.name,
                              .table = std::string(file.planned.table->name),
                              .block = file.planned.block,
                              .part = file.planned.part,
                              .rows = file.rows,
                              .bytes = file.bytes,
                              .xxh3_128 = file.hash,
                              .rows_of_blocks = file.rows_of_blocks,
                              .etag = stored->etag,
                              .made_by = made_by_};
  auto written =
      destination_.WriteSmall(ManifestNameOf(file.planned.name), WriteFileManifest(manifest));
  if (written) Cache(manifest);
  return written;
}

Result<bool> ManifestStore::ReadAll(std::span<const std::string> files,
                                    std::vector<FileManifest>& to) const {
  std::vector<Result<std::optional<FileManifest>>> found(files.size());
  std::atomic<std::size_t> next = 0;
  const auto read = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) found[i] = Read(files[i]);
  };
  {
    std::vector<std::jthread> others;
    const std::size_t readers = destination_.FinishConcurrency(kMaxReaders);
    for (std::size_t i = 1; i < std::min(readers, files.size()); ++i) others.emplace_back(read);
    read();
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    ASSIGN_OR_RETURN(auto manifest, std::move(found[i]));
    if (!manifest) return false;
    RETURN_IF_ERROR(CheckMadeBy(manifest->made_by, ManifestNameOf(files[i])));
    to.push_back(*std::move(manifest));
  }
  return true;
}

Result<bool> ManifestStore::CommitAll(const Plan& plan) {
  std::vector<FileManifest> all;
  all.reserve(plan.all_files());
  std::vector<std::string> others;
  for (uint64_t block = 0; block < plan.all_blocks(); ++block) {
    for (const PlannedFile& planned : plan.FilesOf(block)) {
      if (auto cached = TakeCached(planned.name)) {
        all.push_back(*std::move(cached));
      } else {
        others.push_back(planned.name);
      }
    }
    // In steps: while other shards run, one of the first is often missing.
    if (others.size() < kReadStep && block + 1 < plan.all_blocks()) continue;
    ASSIGN_OR_RETURN(const bool complete, ReadAll(others, all));
    if (!complete) return false;
    others.clear();
  }
  ASSIGN_OR_RETURN(const auto text, WriteManifest(std::move(all)));
  ASSIGN_OR_RETURN(const auto there, destination_.ReadSmall(kManifestName));
  if (there && *there == text) return true;
  RETURN_IF_ERROR(destination_.WriteSmall(kManifestName, text));
  return true;
}

}  // namespace reveza::fraudgen
