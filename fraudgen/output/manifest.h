// Manifests of each complete file (manifest-FILE.json) and of the complete data set
// (manifest.json): name, size and hash of files, and everything that determined their bytes. They
// contain no host, time, threads, shards or folders, so every run writes the same. Reading is
// strict: only what this program writes is accepted. Pure functions.
//
// They are in a folder of their own, whose name readers of data sets skip (Spark, pyarrow), so that
// the folder of a table contains nothing but data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/output/table_writer.h"

namespace reveza::fraudgen {

// Everything that determines the bytes of a file besides table, block and part.
struct MadeBy {
  std::string program;  // with version: fraudgen 0.1.0
  std::string model;
  // Changes when the same settings give other rows. Manifests of version 1 do not state it.
  uint64_t model_version = 1;
  uint64_t seed = 0;
  std::string configuration;  // HashOf(HashedText(settings))
  Format format = Format::kParquet;
  Codec codec = Codec::kZstd;
  int level = 0;
  int64_t row_group_rows = 0;
  Money money = Money::kFloat;
  bool nested = false;
  bool classic_columns = false;
  bool zone = false;  // times in JSON end in -03:00: only in data sets of fraudgen 0.1
  std::string arrow;  // library versions; empty for text
  std::string zstd;

  // Sets format, library versions and the options that affect the bytes. Options without effect are
  // set to 0.
  void SetOptions(const TableOptions& options);

  friend bool operator==(const MadeBy&, const MadeBy&) = default;
};

// Returns the first difference ("the seed is 1 there and 2 here"), or "" if they are equal.
std::string DifferenceOf(const MadeBy& there, const MadeBy& here);

struct FileManifest {
  std::string file;  // with its folders: transactions/type=PIX/part-00000.parquet
  std::string table;
  uint64_t block = 0;
  uint64_t part = 0;  // index among the block's files of the table
  uint64_t rows = 0;
  uint64_t bytes = 0;
  std::string xxh3_128;  // HashingSink::Hash
  // Of a file that spans blocks from `block` on; empty if it has the rows of one.
  std::vector<uint64_t> rows_of_blocks = {};
  // Entity tag in an object store. Only in file manifests, because manifest.json must not depend on
  // the destination.
  std::string etag = {};
  MadeBy made_by;

  friend bool operator==(const FileManifest&, const FileManifest&) = default;
};

// The files of a table.
struct TableTotal {
  uint64_t files = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
};
using TableTotals = std::map<std::string_view, TableTotal>;  // by name

inline constexpr std::string_view kMetadataFolder = "_fraudgen";
inline constexpr std::string_view kManifestName = "_fraudgen/manifest.json";
// Returns _fraudgen/manifest-FILE.json, with dots for slashes.
std::string ManifestNameOf(std::string_view file);
// Returns true for the name of the manifest of a file.
bool IsFileManifest(std::string_view name);

// Data sets of fraudgen 0.1 have their manifests beside the data: the names above without the
// folder. Returns that name.
std::string_view OldNameOf(std::string_view name);

std::string WriteFileManifest(const FileManifest& manifest);
// Parses a manifest; `name` is its name in messages. kInvalidArgument: malformed; kIncompatible:
// another version.
Result<FileManifest> ReadFileManifest(std::string_view text, std::string_view name);

// Returns manifest.json for the files, in any order. kInvalidArgument: duplicate names, or files
// with different MadeBy.
Result<std::string> WriteManifest(std::vector<FileManifest> files);
Result<std::vector<FileManifest>> ReadManifest(std::string_view text, std::string_view name);

}  // namespace reveza::fraudgen
