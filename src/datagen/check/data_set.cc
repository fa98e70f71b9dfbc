#include "datagen/check/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "datagen/output/format.h"
#include "datagen/schema_coherent.h"
#include "datagen/schema_defects.h"
#include "datagen/schema_graph.h"

namespace reveza::datagen::check {
namespace {

// What the folder says of itself: the manifests of the files, and the one of all.
struct Manifests {
  std::map<std::string, FileManifest> files;
  std::optional<std::vector<FileManifest>> all;
  std::vector<std::string> others;  // names of files that are no manifests
};

Result<Manifests> ReadManifests(Destination& place, Tally& readable) {
  auto names = place.List("");
  if (!names) return std::unexpected(std::move(names).error());
  std::ranges::sort(*names);
  Manifests manifests;
  for (const std::string& name : *names) {
    const bool one = name.starts_with("manifest-") && name.ends_with(".json");
    if (!one && name != kManifestName) {
      manifests.others.push_back(name);
      continue;
    }
    readable.Look();
    const auto read = place.ReadSmall(name);
    if (!read) return std::unexpected(read.error());
    const std::optional<std::string>& text = *read;
    if (!text) {
      readable.Bad(name + " went away meanwhile");
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

// What a store calls the bytes is said of a file only.
FileManifest WithoutEtag(FileManifest file) {
  file.etag.clear();
  return file;
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
    } else if (WithoutEtag(own->second) != file) {
      agree.Bad(fmt::format("manifest.json and {} differ about {}", ManifestNameOf(name), name));
    }
  }
  for (const auto& [name, file] : manifests.files) {
    if (!listed.contains(name)) agree.Bad(fmt::format("{} is not in manifest.json", name));
  }
}

// Where rows are divided, their files are in folders: those that the manifests know.
Status AddNamesInFolders(Destination& place, Manifests& manifests) {
  std::set<std::string> folders;
  for (const auto& [name, file] : manifests.files) {
    for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
      folders.insert(name.substr(0, slash));
    }
  }
  for (const std::string& folder : folders) {
    const auto names = place.List(folder);
    if (!names && names.error().code == Error::Code::kNotFound) continue;
    if (!names) return std::unexpected(names.error());
    for (const std::string& name : *names)
      manifests.others.push_back(fmt::format("{}/{}", folder, name));
  }
  return {};
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

// What was asked for beside the model's tables shows in the manifests. The answer key comes first,
// for it is needed to read the others.
std::vector<const Table*> KnownTables(bool coherent, const Manifests& manifests) {
  const auto tables = coherent ? coherent::Tables() : AllTables();
  std::vector<const Table*> known(tables.begin(), tables.end());
  const auto has = [&](const Table* table) {
    return std::ranges::any_of(manifests.files,
                               [&](const auto& file) { return file.second.table == table->name; });
  };
  if (coherent) std::ranges::copy_if(GraphTables(), std::back_inserter(known), has);
  if (has(&kDefects)) known.insert(known.begin(), &kDefects);
  return known;
}

// Which of the files are there, with the size and the hash that the manifest has.
Result<std::vector<FileManifest>> Hash(Destination& place,
                                       std::map<std::string, FileManifest> files, Tally& there,
                                       Tally& bytes, Tally& hashes) {
  std::vector<FileManifest> found;
  for (auto& [name, file] : files) {
    there.Look();
    const auto stored = place.Look(name);
    if (!stored) return std::unexpected(stored.error());
    if (!*stored) {
      there.Bad(name + " is missing");
      continue;
    }
    bytes.Look();
    hashes.Look();
    if ((*stored)->bytes != file.bytes) {
      bytes.Bad(
          fmt::format("{} has {} bytes, its manifest says {}", name, (*stored)->bytes, file.bytes));
    }
    const auto hash = place.HashOf(name);
    if (!hash) return std::unexpected(hash.error());
    if (*hash != file.xxh3_128) {
      hashes.Bad(fmt::format("{} has {}, its manifest says {}", name, *hash, file.xxh3_128));
    }
    found.push_back(std::move(file));
  }
  return found;
}

}  // namespace

bool DataSet::defective() const { return Find(kDefects.name) != nullptr; }

const Table* DataSet::Find(std::string_view table) const {
  const auto found = std::ranges::find(tables(), table, &Table::name);
  return found == tables().end() ? nullptr : *found;
}

uint64_t DataSet::RowsOf(std::string_view table) const {
  uint64_t rows = 0;
  for (const FileManifest& file : files) rows += file.table == table ? file.rows : 0;
  return rows;
}

bool DataSet::InFolders(std::string_view table) const {
  return std::ranges::any_of(files, [&](const FileManifest& file) {
    return file.table == table && file.file.find('/') != std::string::npos;
  });
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

Result<DataSet> OpenDataSet(const std::shared_ptr<Destination>& place,
                            std::vector<Outcome>& outcomes, Contents contents) {
  Tally readable("manifests: can be read");
  Tally agree("manifests: manifest.json and those of the files agree");
  Tally known("manifests: every data file is in them");
  Tally there("files: all are there");
  Tally bytes("files: sizes are those of the manifests");
  Tally hashes("files: hashes are those of the manifests");
  auto manifests = ReadManifests(*place, readable);
  if (!manifests) return std::unexpected(std::move(manifests).error());
  Compare(*manifests, agree);
  if (auto added = AddNamesInFolders(*place, *manifests); !added) {
    return std::unexpected(added.error());
  }
  FindStrays(*manifests, known);
  // Where a file's own manifest is gone, that of all still knows the file.
  if (manifests->all) {
    for (const FileManifest& file : *manifests->all) manifests->files.emplace(file.file, file);
  }
  if (manifests->files.empty()) {
    return Fail(Error::Code::kNotFound,
                readable.bad() != 0
                    ? fmt::format("no manifest of {} can be read: {}", place->PathOf(""),
                                  readable.outcome().detail)
                    : fmt::format("{} has no manifests, so it is no data set that fraudgen wrote",
                                  place->PathOf("")));
  }
  DataSet data{.place = place,
               .files = {},
               .made_by = manifests->files.begin()->second.made_by,
               .known = {}};
  if (data.made_by.model != "classic" && !data.coherent()) {
    return Fail(Error::Code::kIncompatible,
                fmt::format("{} was made by the model '{}', which this program does not know",
                            place->PathOf(""), data.made_by.model));
  }
  data.known = KnownTables(data.coherent(), *manifests);
  for (const auto& [name, file] : manifests->files) {
    if (data.Find(file.table) == nullptr) {
      return Fail(Error::Code::kIncompatible,
                  fmt::format("{} is of the table '{}', which this program does not know", name,
                              file.table));
    }
  }
  if (contents == Contents::kHashed) {
    auto found = Hash(*place, std::move(manifests->files), there, bytes, hashes);
    if (!found) return std::unexpected(std::move(found).error());
    data.files = *std::move(found);
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
