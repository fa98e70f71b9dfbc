#include "datagen/run/receipts.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "datagen/run/settings_file.h"

namespace reveza::datagen {
namespace {

constexpr std::string_view kGoOn =
    "write to another folder, or run it as it was then and it goes on there";

bool IsManifestName(std::string_view name) {
  return name.starts_with("manifest-") && name.ends_with(".json");
}

std::unexpected<Error> Differs(std::string message) {
  return Fail(Error::Code::kIncompatible, std::move(message));
}

}  // namespace

// The hash of two configurations says that they differ, the folder's own file in what.
std::string Receipts::DifferenceTo(const MadeBy& there) const {
  if (there.program != made_by_.program || there.model != made_by_.model ||
      there.seed != made_by_.seed || there.configuration == made_by_.configuration) {
    return DifferenceOf(there, made_by_);
  }
  const auto text = destination_.ReadSmall(kConfigurationName);
  const auto mine = ReadSettingsFile(configuration_, "");
  const auto other = ReadSettingsFile(text && *text ? std::string_view(**text) : "", "");
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
  }
  return "it was made with other settings";
}

Status Receipts::CheckMadeBy(const MadeBy& there, const std::string& name) const {
  if (there == made_by_) return {};
  return Differs(fmt::format("{} belongs to other data: {}; {}", destination_.PathOf(name),
                             DifferenceTo(there), kGoOn));
}

Result<FileManifest> Receipts::Parse(const std::string& text, const std::string& name) const {
  auto manifest = ReadFileManifest(text, destination_.PathOf(name));
  if (manifest) return manifest;
  return Differs(manifest.error().message + "; remove it, and its file is made again");
}

Result<std::optional<FileManifest>> Receipts::Read(const std::string& file) const {
  const std::string name = ManifestNameOf(file);
  const auto text = destination_.ReadSmall(name);
  if (!text) return std::unexpected(text.error());
  if (!*text) return std::nullopt;
  auto manifest = Parse(**text, name);
  if (!manifest) return std::unexpected(std::move(manifest.error()));
  return *std::move(manifest);
}

Status Receipts::Begin(const Plan& plan) {
  destination_.Clean(kConfigurationName);
  destination_.Clean(kManifestName);
  const auto names = destination_.List("");
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    if (IsManifestName(name) || name == kConfigurationName) there_.insert(name);
  }
  std::unordered_set<std::string> manifests = there_;
  manifests.erase(std::string(kConfigurationName));
  if (manifests.empty()) return WriteConfiguration();
  std::string planned_one;
  for (uint64_t block = 0; block < plan.all_blocks() && !manifests.empty(); ++block) {
    for (const PlannedFile& planned : plan.FilesOf(block)) {
      if (manifests.erase(ManifestNameOf(planned.name)) > 0) planned_one = planned.name;
    }
  }
  // One of those of this plan is enough: the others are looked at when their turn comes.
  if (!planned_one.empty()) {
    const auto manifest = Read(planned_one);
    if (!manifest) return std::unexpected(manifest.error());
    if (*manifest) {
      if (auto fits = CheckMadeBy((*manifest)->made_by, planned_one); !fits) return fits;
    }
  }
  if (manifests.empty()) return WriteConfiguration();
  const std::string other = *std::ranges::min_element(manifests);
  const auto text = destination_.ReadSmall(other);
  if (!text) return std::unexpected(text.error());
  if (!*text) return {};
  const auto manifest = Parse(**text, other);
  if (!manifest) return std::unexpected(manifest.error());
  if (auto fits = CheckMadeBy(manifest->made_by, other); !fits) return fits;
  return Differs(fmt::format("{} is of a file that this data does not have; {}",
                             destination_.PathOf(other), kGoOn));
}

Status Receipts::WriteConfiguration() const {
  if (there_.contains(std::string(kConfigurationName))) {
    const auto there = destination_.ReadSmall(kConfigurationName);
    if (!there) return std::unexpected(there.error());
    if (*there && **there == configuration_) return {};
  }
  return WriteSmall(destination_, kConfigurationName, configuration_);
}

void Receipts::Keep(FileManifest manifest) {
  manifest.made_by = {};
  std::string file = manifest.file;
  const std::scoped_lock lock(mutex_);
  kept_.insert_or_assign(std::move(file), std::move(manifest));
}

std::optional<FileManifest> Receipts::TakeKept(const std::string& file) {
  const std::scoped_lock lock(mutex_);
  auto kept = kept_.extract(file);
  if (kept.empty()) return std::nullopt;
  kept.mapped().made_by = made_by_;
  return std::move(kept.mapped());
}

Result<std::optional<FileManifest>> Receipts::Find(const PlannedFile& planned) {
  destination_.Clean(ManifestNameOf(planned.name));
  if (!there_.contains(ManifestNameOf(planned.name))) return std::nullopt;
  auto manifest = Read(planned.name);
  if (!manifest || !*manifest) return manifest;
  const FileManifest& there = **manifest;
  if (auto fits = CheckMadeBy(there.made_by, ManifestNameOf(planned.name)); !fits) {
    return std::unexpected(fits.error());
  }
  const std::string path = destination_.PathOf(planned.name);
  if (there.table != planned.table->name || there.block != planned.block ||
      there.part != planned.part || (planned.rows && there.rows != *planned.rows)) {
    return Differs(fmt::format("the manifest of {} says block {} of {} with {} rows; {}", path,
                               there.block, there.table, there.rows, kGoOn));
  }
  const auto stored = destination_.Look(planned.name);
  if (!stored) return std::unexpected(stored.error());
  if (!*stored) return std::nullopt;
  if ((*stored)->bytes != there.bytes) {
    return Differs(
        fmt::format("{} was changed: it has {} bytes, its manifest says {}; remove it, "
                    "and it is made again",
                    path, (*stored)->bytes, there.bytes));
  }
  // A store's own name for the bytes spares reading them.
  const bool named = !(*stored)->etag.empty() && !there.etag.empty();
  const auto hash =
      named ? Result<std::string>((*stored)->etag) : destination_.HashOf(planned.name);
  if (!hash) return std::unexpected(hash.error());
  const std::string& wanted = named ? there.etag : there.xxh3_128;
  if (*hash != wanted) {
    return Differs(
        fmt::format("{} was changed: its {} is {}, its manifest says {}; remove it, "
                    "and it is made again",
                    path, named ? "ETag" : "hash", *hash, wanted));
  }
  Keep(there);
  return manifest;
}

Status Receipts::MayReplace(const WrittenFile& file) const {
  const auto stored = destination_.Look(file.planned.name);
  if (!stored) return std::unexpected(stored.error());
  if (!*stored) return {};
  // Whoever was ended between the file and its manifest left the same bytes.
  if ((*stored)->bytes == file.bytes) {
    const auto hash = destination_.HashOf(file.planned.name);
    if (!hash) return std::unexpected(hash.error());
    if (*hash == file.hash) return {};
  }
  return Differs(
      fmt::format("{} is there already, and not from this run; move it away, or write "
                  "to another folder",
                  destination_.PathOf(file.planned.name)));
}

Status Receipts::Write(const WrittenFile& file) {
  const auto stored = destination_.Look(file.planned.name);
  if (!stored) return std::unexpected(stored.error());
  const uint64_t bytes = *stored ? (*stored)->bytes : 0;
  if (!*stored || bytes != file.bytes) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("{} has {} bytes after {} were written; run the same command again",
                            destination_.PathOf(file.planned.name), bytes, file.bytes));
  }
  const FileManifest manifest{.file = file.planned.name,
                              .table = std::string(file.planned.table->name),
                              .block = file.planned.block,
                              .part = file.planned.part,
                              .rows = file.rows,
                              .bytes = file.bytes,
                              .xxh3_128 = file.hash,
                              .etag = (*stored)->etag,
                              .made_by = made_by_};
  auto written =
      WriteSmall(destination_, ManifestNameOf(file.planned.name), WriteFileManifest(manifest));
  if (written) Keep(manifest);
  return written;
}

Result<bool> Receipts::WriteWhole(const Plan& plan) {
  std::vector<FileManifest> all;
  all.reserve(plan.all_files());
  for (uint64_t block = 0; block < plan.all_blocks(); ++block) {
    for (const PlannedFile& planned : plan.FilesOf(block)) {
      if (auto kept = TakeKept(planned.name)) {
        all.push_back(*std::move(kept));
        continue;
      }
      auto manifest = Read(planned.name);
      if (!manifest) return std::unexpected(manifest.error());
      if (!*manifest) return false;
      if (auto fits = CheckMadeBy((*manifest)->made_by, ManifestNameOf(planned.name)); !fits) {
        return std::unexpected(fits.error());
      }
      all.push_back(**std::move(manifest));
    }
  }
  const auto text = WriteManifest(std::move(all));
  if (!text) return std::unexpected(text.error());
  const auto there = destination_.ReadSmall(kManifestName);
  if (!there) return std::unexpected(there.error());
  if (*there && **there == *text) return true;
  if (auto written = WriteSmall(destination_, kManifestName, *text); !written) {
    return std::unexpected(written.error());
  }
  return true;
}

}  // namespace reveza::datagen
