// The manifests of a run: one for each file, and manifest.json for the complete data set. They
// record which files are finished. Thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/mutex.h"
#include "fraudgen/output/destination.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/run/block_files.h"
#include "fraudgen/run/plan.h"

namespace reveza::fraudgen {

// The resolved settings, as a file for --config.
inline constexpr std::string_view kConfigurationName = "_fraudgen/fraudgen.toml";

class ManifestStore {
 public:
  // `destination` must outlive it. `configuration` is the text of kConfigurationName.
  ManifestStore(Destination& destination, MadeBy made_by, std::string configuration)
      : destination_(destination),
        made_by_(std::move(made_by)),
        configuration_(std::move(configuration)) {}

  // Reads the existing manifests and writes the configuration. Called once, before the other
  // methods. kIncompatible: the destination has other data; the message names the difference.
  Status Open(const Plan& plan);

  // Returns the manifest of a complete file made from the same settings; nullopt if the file was
  // missing when the run began. kIncompatible: the file was modified or made from other settings.
  Result<std::optional<FileManifest>> Find(const PlannedFile& planned);

  // kIncompatible: a file of that name exists that another run made.
  Status CheckReplaceable(const WrittenFile& file) const;

  // Writes the manifest of a durable file.
  Status Commit(const WrittenFile& file);

  // Writes manifest.json if the files of all shards exist. Returns whether they do. Called once,
  // after the other methods.
  Result<bool> CommitAll(const Plan& plan);

 private:
  Result<std::optional<FileManifest>> Read(const std::string& file) const;
  // Appends the manifests of files; false: one is missing.
  Result<bool> ReadAll(std::span<const std::string> files, std::vector<FileManifest>& to) const;
  Result<FileManifest> Parse(const std::string& text, const std::string& name) const;
  Status WriteConfiguration() const;
  void Cache(FileManifest manifest);
  std::optional<FileManifest> TakeCached(const std::string& file);
  // kIncompatible: the destination has a data set with its manifests beside the data.
  Status RefuseOldLayout() const;
  std::string DifferenceTo(const MadeBy& there) const;
  Status CheckMadeBy(const MadeBy& there, const std::string& name) const;

  Destination& destination_;
  MadeBy made_by_;
  std::string configuration_;
  // Names found by Open(), so that missing files cost no requests.
  std::unordered_set<std::string> existing_;

  Mutex mutex_;
  // Manifests found or committed, by file, without made_by: it is that of this run.
  std::unordered_map<std::string, FileManifest> cache_ GUARDED_BY(mutex_);
};

}  // namespace reveza::fraudgen
