#include "datagen/check/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "datagen/output/format.h"
#include "datagen/output/hashing_sink.h"
#include "datagen/output/memory_sink.h"
#include "datagen/schema_coherent.h"

namespace reveza::datagen::check {
namespace {

namespace fs = std::filesystem;

Result<std::string> ReadWhole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) {
    return Fail(Error::Code::kNotFound, fmt::format("cannot read {}", path.string()));
  }
  return text;
}

struct Seen {
  uint64_t bytes = 0;
  std::string hash;
};

Result<Seen> HashFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  NullSink nowhere;
  HashingSink hashing(nowhere);
  std::vector<char> buffer(std::size_t{1} << 16);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(file.gcount()));
    if (auto appended = hashing.Append(bytes); !appended) {
      return std::unexpected(std::move(appended).error());
    }
  }
  if (!file.eof()) {
    return Fail(Error::Code::kNotFound, fmt::format("cannot read {}", path.string()));
  }
  return Seen{.bytes = hashing.bytes(), .hash = hashing.Hash()};
}

// What the folder says of itself: the manifests of the files, and the one of all.
struct Manifests {
  std::map<std::string, FileManifest> files;
  std::optional<std::vector<FileManifest>> all;
  std::vector<std::string> others;  // names of files that are no manifests
};

Result<Manifests> ReadManifests(const fs::path& folder, Tally& readable) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    // Where rows are divided, their files are in folders.
    if (!entry->is_directory()) names.push_back(entry->path().lexically_relative(folder).string());
  }
  if (error) {
    return Fail(Error::Code::kNotFound,
                fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  }
  std::ranges::sort(names);
  Manifests manifests;
  for (const std::string& name : names) {
    const bool one = name.starts_with("manifest-") && name.ends_with(".json");
    if (!one && name != kManifestName) {
      manifests.others.push_back(name);
      continue;
    }
    readable.Look();
    const auto text = ReadWhole(folder / name);
    if (!text) {
      readable.Bad(text.error().message);
    } else if (one) {
      auto file = ReadFileManifest(*text, name);
      if (!file) {
        readable.Bad(file.error().message);
      } else if (ManifestNameOf(file->file) != name) {
        readable.Bad(fmt::format("{} is about {}", name, file->file));
      } else {
        const std::string about = file->file;
        manifests.files.emplace(about, *std::move(file));
      }
    } else if (auto all = ReadManifest(*text, name); all) {
      manifests.all = *std::move(all);
    } else {
      readable.Bad(all.error().message);
    }
  }
  return manifests;
}

// Each file of manifest.json has a manifest of its own that says the same, and the other way round.
void Compare(const Manifests& manifests, Tally& agree) {
  if (!manifests.all) {
    agree.Bad("manifest.json is missing: the data set is not whole, or not all shards are there");
    return;
  }
  std::map<std::string, FileManifest> listed;
  for (const FileManifest& file : *manifests.all) listed.emplace(file.file, file);
  for (const auto& [name, file] : listed) {
    agree.Look();
    const auto own = manifests.files.find(name);
    if (own == manifests.files.end()) {
      agree.Bad(fmt::format("{} has no manifest of its own", name));
    } else if (own->second != file) {
      agree.Bad(fmt::format("manifest.json and {} differ about {}", ManifestNameOf(name), name));
    }
  }
  for (const auto& [name, file] : manifests.files) {
    if (!listed.contains(name)) agree.Bad(fmt::format("{} is not in manifest.json", name));
  }
}

// The files that nothing says anything of, but look like ours.
void FindStrays(const Manifests& manifests, Tally& known) {
  for (const std::string& name : manifests.others) {
    const bool data = std::ranges::any_of(FormatNames(), [&](std::string_view format) {
      return name.ends_with(fmt::format(".{}", format));
    });
    if (!data) continue;
    known.Look();
    const bool listed =
        manifests.all &&
        std::ranges::find(*manifests.all, name, &FileManifest::file) != manifests.all->end();
    if (!manifests.files.contains(name) && !listed) known.Bad(name + " is in no manifest");
  }
}

// Which of the files are there, with the size and the hash that the manifest has.
std::vector<FileManifest> Hash(const fs::path& folder, std::map<std::string, FileManifest> files,
                               Tally& there, Tally& bytes, Tally& hashes) {
  std::vector<FileManifest> found;
  for (auto& [name, file] : files) {
    there.Look();
    const auto seen = HashFile(folder / name);
    if (!seen) {
      there.Bad(name + " is missing");
      continue;
    }
    bytes.Look();
    hashes.Look();
    if (seen->bytes != file.bytes) {
      bytes.Bad(
          fmt::format("{} has {} bytes, its manifest says {}", name, seen->bytes, file.bytes));
    }
    if (seen->hash != file.xxh3_128) {
      hashes.Bad(fmt::format("{} has {}, its manifest says {}", name, seen->hash, file.xxh3_128));
    }
    found.push_back(std::move(file));
  }
  return found;
}

}  // namespace

std::span<const Table* const> DataSet::tables() const {
  return coherent() ? coherent::Tables() : AllTables();
}

const Table* DataSet::Find(std::string_view table) const {
  const auto found = std::ranges::find(tables(), table, &Table::name);
  return found == tables().end() ? nullptr : *found;
}

uint64_t DataSet::RowsOf(std::string_view table) const {
  uint64_t rows = 0;
  for (const FileManifest& file : files) rows += file.table == table ? file.rows : 0;
  return rows;
}

bool DataSet::DividedByValues() const {
  return std::ranges::any_of(files, [](const FileManifest& file) {
    for (std::size_t slash = 0; (slash = file.file.find('/', slash)) != std::string::npos;) {
      const std::string_view key = std::string_view(file.file).substr(++slash);
      const std::string_view name = key.substr(0, key.find_first_of("=/"));
      if (key.find('/') == key.npos) break;
      if (name != "year" && name != "month" && name != "day") return true;
    }
    return false;
  });
}

TableOptions DataSet::options() const {
  return {.format = made_by.format,
          .money = made_by.money,
          .nested = made_by.nested,
          .classic_columns = made_by.classic_columns,
          .zone = made_by.zone};
}

Result<DataSet> OpenDataSet(const fs::path& folder, std::vector<Outcome>& outcomes,
                            Contents contents) {
  Tally readable("manifests: can be read");
  Tally agree("manifests: manifest.json and those of the files agree");
  Tally known("manifests: every data file is in them");
  Tally there("files: all are there");
  Tally bytes("files: sizes are those of the manifests");
  Tally hashes("files: hashes are those of the manifests");
  auto manifests = ReadManifests(folder, readable);
  if (!manifests) return std::unexpected(std::move(manifests).error());
  Compare(*manifests, agree);
  FindStrays(*manifests, known);
  // Where a file's own manifest is gone, that of all still knows the file.
  if (manifests->all) {
    for (const FileManifest& file : *manifests->all) manifests->files.emplace(file.file, file);
  }
  if (manifests->files.empty()) {
    return Fail(Error::Code::kNotFound,
                readable.bad() != 0
                    ? fmt::format("no manifest of {} can be read: {}", folder.string(),
                                  readable.outcome().detail)
                    : fmt::format("{} has no manifests, so it is no data set that fraudgen wrote",
                                  folder.string()));
  }
  DataSet data{.folder = folder, .files = {}, .made_by = manifests->files.begin()->second.made_by};
  if (data.made_by.model != "classic" && !data.coherent()) {
    return Fail(Error::Code::kIncompatible,
                fmt::format("{} was made by the model '{}', which this program does not know",
                            folder.string(), data.made_by.model));
  }
  for (const auto& [name, file] : manifests->files) {
    if (data.Find(file.table) == nullptr) {
      return Fail(Error::Code::kIncompatible,
                  fmt::format("{} is of the table '{}', which this program does not know", name,
                              file.table));
    }
  }
  if (contents == Contents::kHashed) {
    data.files = Hash(folder, std::move(manifests->files), there, bytes, hashes);
  } else {
    for (auto& [name, file] : manifests->files) data.files.push_back(std::move(file));
  }
  std::ranges::sort(data.files, {}, [&](const FileManifest& file) {
    const auto table = std::ranges::find(data.tables(), file.table, &Table::name);
    return std::tuple(file.block, table - data.tables().begin(), file.part);
  });
  for (const Tally* tally : {&readable, &agree, &known, &there, &bytes, &hashes}) {
    outcomes.push_back(tally->outcome());
  }
  return data;
}

}  // namespace reveza::datagen::check
