// What is written down of each file that is whole (manifest-FILE.json), and of all of them together
// (manifest.json): how to know a file again, and what decided its bytes. Neither says anything of
// the host, the time, threads, shards or folders, so whoever writes one writes the same. Reading is
// strict: what this program would not have written is refused. Values, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "datagen/output/table_writer.h"

namespace reveza::datagen {

// All that decides the bytes of a file besides table, block and part.
struct MadeBy {
  std::string program;  // and its version: fraudgen 0.1.0
  std::string model;
  uint64_t seed = 0;
  std::string configuration;  // hash of all that is configured: HashOf
  Format format = Format::kParquet;
  Codec codec = Codec::kZstd;
  int level = 0;
  int64_t row_group_rows = 0;
  Money money = Money::kFloat;
  bool nested = false;
  bool classic_columns = false;
  bool zone = false;
  std::string arrow;  // versions; empty for text
  std::string zstd;

  // Takes from the options what decides the bytes in their format, and the versions of this
  // program's libraries. Options without an effect are 0, so they make no difference.
  void SetOptions(const TableOptions& options);

  friend bool operator==(const MadeBy&, const MadeBy&) = default;
};

// The first thing in which they differ, in words (`the seed is 1 there and 2 here`); empty if they
// are the same.
std::string DifferenceOf(const MadeBy& there, const MadeBy& here);

struct FileManifest {
  std::string file;  // its name, with the folders of its rows: type=PIX/transactions_00000.parquet
  std::string table;
  uint64_t block = 0;
  uint64_t part = 0;  // of the block, where it has several files
  uint64_t rows = 0;
  uint64_t bytes = 0;
  std::string xxh3_128;  // as HashingSink has it
  // What the store calls these bytes, where the file is an object. It stands only beside the file,
  // not in the whole, which is the same everywhere.
  std::string etag = {};
  MadeBy made_by;

  friend bool operator==(const FileManifest&, const FileManifest&) = default;
};

inline constexpr std::string_view kManifestName = "manifest.json";
// manifest-FILE.json, with dots for the slashes of FILE: manifests lie where the folders do, for
// who reads a folder takes all in it for data.
std::string ManifestNameOf(std::string_view file);

std::string WriteFileManifest(const FileManifest& manifest);
// `name` is where the text was read, for what an error says.
Result<FileManifest> ReadFileManifest(std::string_view text, std::string_view name);

// Of all files, in any order: the text is the same. An error where two have one name, or were made
// by different means.
Result<std::string> WriteManifest(std::vector<FileManifest> files);
Result<std::vector<FileManifest>> ReadManifest(std::string_view text, std::string_view name);

}  // namespace reveza::datagen
