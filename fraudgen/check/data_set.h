// A data set in a folder or bucket, as described by its manifests. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/check/outcome.h"
#include "fraudgen/output/destination.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen::check {

struct DataSet {
  std::shared_ptr<Destination> place;
  bool complete = false;            // has manifest.json
  std::vector<FileManifest> files;  // existing files, by block, table and part
  MadeBy made_by;
  std::string settings_name;        // of the file with the settings
  std::vector<const Table*> known;  // tables of its model and manifests

  bool coherent() const { return made_by.model == "coherent"; }
  std::span<const Table* const> tables() const { return known; }
  // Returns true if there is an answer key of injected defects.
  bool defective() const;
  // Returns null if the model has no such table.
  const Table* Find(std::string_view table) const;
  uint64_t RowsOf(std::string_view table) const;
  // Returns true if the table is partitioned.
  bool InFolders(std::string_view table) const;
  // Returns true if a table is partitioned by values, so that its rows are not in order of time.
  bool DividedByValues() const;
  // The writer options that readers need.
  TableOptions options() const;
};

// Whether to verify sizes and hashes, or to trust the manifests.
enum class Contents { kHashed, kTrusted };

// Reads the manifests, verifies the files and adds the outcomes. kNotFound: no readable manifest;
// kIncompatible: unknown model or table.
Result<DataSet> OpenDataSet(const std::shared_ptr<Destination>& place,
                            std::vector<Outcome>& outcomes, Contents contents = Contents::kHashed);

}  // namespace reveza::fraudgen::check
