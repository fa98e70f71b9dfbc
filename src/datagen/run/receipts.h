// What is finished: the manifests that stand beside the files, and the one of the whole. Safe from
// several threads.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "datagen/output/manifest.h"
#include "datagen/run/block_files.h"
#include "datagen/run/destination.h"
#include "datagen/run/plan.h"

namespace reveza::datagen {

// All that was asked for, as a file for --config, lies beside the data.
inline constexpr std::string_view kConfigurationName = "fraudgen.toml";

class Receipts {
 public:
  // `destination` must outlive it. `configuration` is the text of kConfigurationName.
  Receipts(Destination& destination, MadeBy made_by, std::string configuration)
      : destination_(destination),
        made_by_(std::move(made_by)),
        configuration_(std::move(configuration)) {}

  // Once, before all else: whether what is there already can be of the same data set; else says
  // what differs.
  Status Begin(const Plan& plan);

  // The manifest of a file that is there, whole, and made as this run makes it; nothing if it is
  // still to be made, or was when the run began. A file that was changed since, or was made
  // otherwise, is an error.
  Result<std::optional<FileManifest>> Find(const PlannedFile& planned);

  // Whether the file may get its name: not in place of a file that is somebody else's.
  Status MayReplace(const WrittenFile& file) const;

  // Once the file itself lasts.
  Status Write(const WrittenFile& file);

  // Once, after all else: writes the manifest of the whole if all files of all shards are there;
  // whether they are. Those that were found or written are not read again.
  Result<bool> WriteWhole(const Plan& plan);

 private:
  Result<std::optional<FileManifest>> Read(const std::string& file) const;
  Result<FileManifest> Parse(const std::string& text, const std::string& name) const;
  Status WriteConfiguration() const;
  void Keep(FileManifest manifest);
  std::optional<FileManifest> TakeKept(const std::string& file);
  std::string DifferenceTo(const MadeBy& there) const;
  Status CheckMadeBy(const MadeBy& there, const std::string& name) const;

  Destination& destination_;
  MadeBy made_by_;
  std::string configuration_;
  // What was there at the beginning, by name; only Begin writes it. Where each question takes its
  // time, asking for what is not there would cost a block as much as some of its rows.
  std::unordered_set<std::string> there_;

  std::mutex mutex_;
  // Of files, by their name, without who made them: that is this run.
  std::unordered_map<std::string, FileManifest> kept_;
};

}  // namespace reveza::datagen
