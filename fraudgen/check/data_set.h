// A data set in a folder or bucket, as described by its manifests. Not thread-safe.
#pragma once

#include <memory>
#include <set>
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
  bool complete = false;               // has manifest.json
  std::vector<FileManifest> files;     // by block, table and part
  std::set<std::string> missing = {};  // files with a manifest that VerifyFiles() did not find
  MadeBy made_by;
  std::string settings_name;        // of the file with the settings
  std::vector<const Table*> known;  // tables of its model and manifests

  bool coherent() const { return made_by.model == "coherent"; }
  std::span<const Table* const> tables() const { return known; }
  // Returns null if the model has no such table.
  const Table* Find(std::string_view table) const;
  uint64_t RowsOf(std::string_view table) const;
};

// Reads the manifests and adds their outcomes. kNotFound: no readable manifest; kIncompatible: a
// model or table that is unknown, or a newer version of a model.
Result<DataSet> OpenDataSet(const std::shared_ptr<Destination>& place,
                            std::vector<Outcome>& outcomes);

// Whether to verify hashes too, or sizes only.
enum class Contents { kHashed, kTrusted };

// Verifies that the files are there as their manifests say, and moves missing ones.
Status VerifyFiles(DataSet& data, Contents contents, std::vector<Outcome>& outcomes);

}  // namespace reveza::fraudgen::check
