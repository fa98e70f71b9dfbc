// A folder or bucket with a data set, as its manifests say. Values, safe from any thread that owns
// them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "datagen/check/outcome.h"
#include "datagen/output/manifest.h"
#include "datagen/run/destination.h"
#include "datagen/schema.h"

namespace reveza::datagen::check {

struct DataSet {
  std::shared_ptr<Destination> place;
  std::vector<FileManifest> files;  // those that are there, by block, then table, then part
  MadeBy made_by;
  std::vector<const Table*> known;  // tables that it may have, by its model and its manifests

  bool coherent() const { return made_by.model == "coherent"; }
  std::span<const Table* const> tables() const { return known; }
  // Whether there is an answer key, so rows are broken on purpose.
  bool defective() const;
  // Null where the model has no such table.
  const Table* Find(std::string_view table) const;
  uint64_t RowsOf(std::string_view table) const;
  // Whether the table's rows are divided into folders.
  bool InFolders(std::string_view table) const;
  // Whether a table's rows are not in order of time, because those of equal values share a folder.
  bool DividedByValues() const;
  // How its files were written, as far as reading needs it.
  TableOptions options() const;
};

// Whether the files' bytes are looked at; if not, all files of the manifests are taken as there.
enum class Contents { kHashed, kTrusted };

// Reads the manifests and adds what they, and the files' sizes and hashes, say to `outcomes`. An
// error where there is no manifest that can be read, or of a model that is not known.
Result<DataSet> OpenDataSet(const std::shared_ptr<Destination>& place,
                            std::vector<Outcome>& outcomes, Contents contents = Contents::kHashed);

}  // namespace reveza::datagen::check
