#include "fraudgen/check/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "fraudgen/model/model.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/manifest_store.h"
#include "fraudgen/schema/schema_coherent.h"
#include "fraudgen/schema/schema_derived.h"

namespace reveza::fraudgen::check {
namespace {

// The manifests of the files, manifest.json, and all other names.
struct Manifests {
  bool old_layout = false;  // beside the data
  std::map<std::string, FileManifest> files;
  std::optional<std::vector<FileManifest>> all;
  std::vector<std::string> others;  // names of other files

  std::string NameOf(std::string_view file) const {
    const std::string name = ManifestNameOf(file);
    return old_layout ? std::string(OldNameOf(name)) : name;
  }
};

// Returns the names in a folder, sorted; none if there is no such folder.
Result<std::vector<std::string>> SortedNames(Destination& place, std::string_view folder) {
  auto names = place.List(folder);
  if (!names && names.error().code == Error::Code::kNotFound && !folder.empty()) {
    return std::vector<std::string>();
  }
  if (names) std::ranges::sort(*names);
  return names;
}

// Reads one manifest. `name` is as in the present layout, `stored` its name in the destination.
Status ReadOne(Destination& place, std::string_view name, const std::string& stored,
               Manifests& manifests, Tally& readable) {
  readable.AddChecked();
  ASSIGN_OR_RETURN(const auto text, place.ReadSmall(stored));
  if (!text) {
    readable.AddFailure(stored + " was removed while it was read");
  } else if (name == kManifestName) {
    auto all = ReadManifest(*text, stored);
    if (all) {
      manifests.all = *std::move(all);
    } else {
      readable.AddFailure(all.error().message);
    }
  } else if (auto file = ReadFileManifest(*text, stored); !file) {
    readable.AddFailure(file.error().message);
  } else if (manifests.NameOf(file->file) != stored) {
    readable.AddFailure("{} describes {}", stored, file->file);
  } else {
    const std::string about = file->file;
    manifests.files.emplace(about, *std::move(file));
  }
  return {};
}

Result<Manifests> ReadManifests(Destination& place, Tally& readable) {
  Manifests manifests;
  ASSIGN_OR_RETURN(manifests.others, SortedNames(place, ""));
  ASSIGN_OR_RETURN(auto names, SortedNames(place, kMetadataFolder));
  manifests.old_layout = names.empty();
  if (manifests.old_layout) names.swap(manifests.others);
  for (const std::string& base : names) {
    const std::string name = fmt::format("{}/{}", kMetadataFolder, base);
    if (IsFileManifest(name) || name == kManifestName) {
      RETURN_IF_ERROR(
          ReadOne(place, name, manifests.old_layout ? base : name, manifests, readable));
    } else if (manifests.old_layout) {
      manifests.others.push_back(base);
    }
  }
  return manifests;
}

// manifest.json has no entity tags.
FileManifest WithoutEtag(FileManifest file) {
  file.etag.clear();
  return file;
}

// Compares manifest.json with the manifests of the files, in both directions.
void Compare(const Manifests& manifests, Tally& agree) {
  if (!manifests.all) {
    agree.AddFailure("manifest.json is missing: the data set is incomplete");
    return;
  }
  std::map<std::string, FileManifest> listed;
  for (const FileManifest& file : *manifests.all) listed.emplace(file.file, file);
  for (const auto& [name, file] : listed) {
    agree.AddChecked();
    const auto own = manifests.files.find(name);
    if (own == manifests.files.end()) {
      agree.AddFailure("{} has no file manifest", name);
    } else if (WithoutEtag(own->second) != file) {
      agree.AddFailure("manifest.json and {} differ for {}", manifests.NameOf(name), name);
    }
  }
  for (const auto& [name, file] : manifests.files) {
    if (!listed.contains(name)) agree.AddFailure("{} is not in manifest.json", name);
  }
}

// Lists the folders of the files that the manifests name.
Status AddNamesInFolders(Destination& place, Manifests& manifests) {
  std::set<std::string> folders;
  for (const auto& [name, file] : manifests.files) {
    for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
      folders.insert(name.substr(0, slash));
    }
  }
  for (const std::string& folder : folders) {
    ASSIGN_OR_RETURN(const auto names, SortedNames(place, folder));
    for (const std::string& name : names)
      manifests.others.push_back(fmt::format("{}/{}", folder, name));
  }
  return {};
}

// Reports data files that no manifest lists.
void FindStrays(const Manifests& manifests, Tally& known) {
  for (const std::string& name : manifests.others) {
    const bool data = std::ranges::any_of(kFormatNames, [&](std::string_view format) {
      return name.ends_with(fmt::format(".{}", format)) ||
             name.contains(fmt::format(".{}.", format));
    });
    if (!data) continue;
    known.AddChecked();
    const bool listed =
        manifests.all &&
        std::ranges::find(*manifests.all, name, &FileManifest::file) != manifests.all->end();
    if (!manifests.files.contains(name) && !listed) known.AddFailure(name + " is in no manifest");
  }
}

// Optional tables are detected from the manifests. The answer key comes first, because reading the
// other tables requires it.
std::vector<const Table*> KnownTables(bool coherent, const Manifests& manifests) {
  const auto tables = coherent ? coherent::Tables() : AllTables();
  std::vector<const Table*> known(tables.begin(), tables.end());
  const auto has = [&](const Table* table) {
    return std::ranges::any_of(manifests.files,
                               [&](const auto& file) { return file.second.table == table->name; });
  };
  if (coherent && has(&coherent::kSessions)) known.push_back(&coherent::kSessions);
  if (coherent) std::ranges::copy_if(GraphTables(), std::back_inserter(known), has);
  if (has(&kDefects)) known.insert(known.begin(), &kDefects);
  return known;
}

}  // namespace

const Table* DataSet::Find(std::string_view table) const {
  const auto found = std::ranges::find(tables(), table, &Table::name);
  return found == tables().end() ? nullptr : *found;
}

uint64_t DataSet::RowsOf(std::string_view table) const {
  uint64_t rows = 0;
  for (const FileManifest& file : files) rows += file.table == table ? file.rows : 0;
  return rows;
}

Result<DataSet> OpenDataSet(const std::shared_ptr<Destination>& place,
                            std::vector<Outcome>& outcomes) {
  Tally readable("manifests: readable");
  Tally agree("manifests: manifest.json matches the file manifests");
  Tally known("manifests: every data file is listed");
  ASSIGN_OR_RETURN(auto manifests, ReadManifests(*place, readable));
  Compare(manifests, agree);
  RETURN_IF_ERROR(AddNamesInFolders(*place, manifests));
  FindStrays(manifests, known);
  // manifest.json replaces missing file manifests.
  if (manifests.all) {
    for (const FileManifest& file : *manifests.all) manifests.files.emplace(file.file, file);
  }
  if (manifests.files.empty()) {
    return Fail(Error::Code::kNotFound,
                readable.failed() != 0 ? fmt::format("no readable manifest in {}: {}",
                                                     place->PathOf(""), readable.outcome().detail)
                                       : fmt::format("{} is not a fraudgen data set: no manifests",
                                                     place->PathOf("")));
  }
  DataSet data{
      .place = place,
      .complete = manifests.all.has_value(),
      .files = {},
      .made_by = manifests.all && !manifests.all->empty() ? manifests.all->front().made_by
                                                          : manifests.files.begin()->second.made_by,
      .settings_name =
          std::string(manifests.old_layout ? OldNameOf(kConfigurationName) : kConfigurationName),
      .known = {}};
  if (data.made_by.model != "classic" && !data.coherent()) {
    return Fail(Error::Code::kIncompatible, "{} was made by the unknown model '{}'",
                place->PathOf(""), data.made_by.model);
  }
  if (data.made_by.model_version > kModelVersion) {
    return Fail(Error::Code::kIncompatible,
                "{} was made by {} with version {} of its models, this program has version {}; use "
                "the program that made it",
                place->PathOf(""), data.made_by.program, data.made_by.model_version, kModelVersion);
  }
  data.known = KnownTables(data.coherent(), manifests);
  for (const auto& [name, file] : manifests.files) {
    if (data.Find(file.table) == nullptr) {
      return Fail(Error::Code::kIncompatible, "{} belongs to the unknown table '{}'", name,
                  file.table);
    }
  }
  for (auto& [name, file] : manifests.files) data.files.push_back(std::move(file));
  std::ranges::sort(data.files, {}, [&](const FileManifest& file) {
    const auto table = std::ranges::find(data.tables(), file.table, &Table::name);
    return std::tuple(file.block, table - data.tables().begin(), file.part);
  });
  for (const Tally* tally : {&readable, &agree, &known}) outcomes.push_back(tally->outcome());
  return data;
}

Status VerifyFiles(DataSet& data, Contents contents, std::vector<Outcome>& outcomes) {
  Tally there("files: none is missing");
  Tally bytes("files: sizes match the manifests");
  Tally hashes("files: hashes match the manifests");
  std::vector<FileManifest> found;
  for (FileManifest& file : data.files) {
    const std::string& name = file.file;
    there.AddChecked();
    ASSIGN_OR_RETURN(const auto stored, data.place->Stat(name));
    if (!stored) {
      there.AddFailure(name + " is missing");
      data.missing.insert(name);
      continue;
    }
    bytes.AddChecked();
    if (stored->bytes != file.bytes) {
      bytes.AddFailure("{} has {} bytes, {} in its manifest", name, stored->bytes, file.bytes);
    }
    if (contents == Contents::kHashed) {
      hashes.AddChecked();
      ASSIGN_OR_RETURN(const auto hash, data.place->HashOf(name));
      if (hash != file.xxh3_128) {
        hashes.AddFailure("{} has {}, {} in its manifest", name, hash, file.xxh3_128);
      }
    }
    found.push_back(std::move(file));
  }
  data.files = std::move(found);
  outcomes.push_back(there.outcome());
  outcomes.push_back(bytes.outcome());
  if (contents == Contents::kHashed) outcomes.push_back(hashes.outcome());
  return {};
}

}  // namespace reveza::fraudgen::check
