#include "fraudgen/output/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <concepts>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/table/arrow.h"
#include "fraudgen/output/table_writer.h"

namespace reveza::fraudgen {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kVersion = 1;
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kMaxNameBytes = 255;

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsOneName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text != "." && text != ".." &&
         !text.contains('\0');
}

// Also accepts folders.
bool IsFileName(std::string_view text) {
  for (std::size_t slash = text.find('/'); slash != text.npos; slash = text.find('/')) {
    if (!IsOneName(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return IsOneName(text);
}

// Reads the members of a JSON object. Keeps the first error and ignores the rest.
class Members {
 public:
  Members(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object_.is_object()) SetError("is not an object");
  }

  // Returns null and sets an error if the member is missing.
  const Json& Get(const char* key) {
    static const Json kNothing;
    if (error_) return kNothing;
    const auto found = object_.find(key);
    if (found == object_.end()) {
      SetError(fmt::format("lacks '{}'", key));
      return kNothing;
    }
    ++taken_;
    return *found;
  }

  template <typename T>
  void Take(const char* key, T& value) {
    const Json& member = Get(key);
    if (error_) return;
    if constexpr (std::same_as<T, bool>) {
      if (!member.is_boolean()) return SetMemberError(key, "is not true or false");
    } else if constexpr (std::integral<T>) {
      if (!member.is_number_unsigned()) return SetMemberError(key, "is not a whole number");
      if (!std::in_range<T>(member.get<uint64_t>())) return SetMemberError(key, "is too large");
    } else if constexpr (std::same_as<T, std::vector<uint64_t>>) {
      const auto is_number = [](const Json& entry) { return entry.is_number_unsigned(); };
      if (!member.is_array() || !std::ranges::all_of(member, is_number)) {
        return SetMemberError(key, "is not a list of whole numbers");
      }
    } else if (!member.is_string()) {
      return SetMemberError(key, "is not a string");
    }
    if constexpr (std::is_enum_v<T>) {
      const auto found = FromName<T>(member.get<std::string>());
      if (!found) {
        return SetMemberError(key,
                              fmt::format("has the unknown value '{}'", member.get<std::string>()));
      }
      value = *found;
    } else {
      value = member.get<T>();
    }
  }

  // Reads the members of a struct.
  template <typename T, typename... Fields>
  void TakeAll(T& value, const std::tuple<Fields...>& fields) {
    std::apply([&](const auto&... each) { (Take(each.first, value.*each.second), ...); }, fields);
  }

  void CheckHash(const char* key, std::string_view value) {
    if (!IsHash(value)) SetMemberError(key, "is not 32 hexadecimal digits");
  }
  void SetMemberError(const char* key, std::string_view what) {
    SetError(fmt::format("'{}' {}", key, what));
  }
  // Sets an error if there are members that were not read.
  Status End() {
    if (!error_ && taken_ != object_.size()) {
      SetError(fmt::format("has {} members, expected {}", object_.size(), taken_));
    }
    if (error_) return std::unexpected(*error_);
    return {};
  }
  bool ok() const { return !error_; }

 private:
  void SetError(std::string_view what) {
    if (!error_) error_ = Error{Error::Code::kInvalidArgument, fmt::format("{}: {}", place_, what)};
  }

  const Json& object_;
  std::string place_;
  std::size_t taken_ = 0;
  std::optional<Error> error_;
};

// Members of the JSON objects, in order.
constexpr std::tuple kMadeByFields = {std::pair("program", &MadeBy::program),
                                      std::pair("model", &MadeBy::model),
                                      std::pair("seed", &MadeBy::seed),
                                      std::pair("configuration", &MadeBy::configuration),
                                      std::pair("format", &MadeBy::format),
                                      std::pair("codec", &MadeBy::codec),
                                      std::pair("level", &MadeBy::level),
                                      std::pair("row_group_rows", &MadeBy::row_group_rows),
                                      std::pair("money", &MadeBy::money),
                                      std::pair("nested", &MadeBy::nested),
                                      std::pair("classic_columns", &MadeBy::classic_columns),
                                      std::pair("zone", &MadeBy::zone),
                                      std::pair("arrow", &MadeBy::arrow),
                                      std::pair("zstd", &MadeBy::zstd)};
constexpr std::tuple kFileFields = {
    std::pair("file", &FileManifest::file),        std::pair("table", &FileManifest::table),
    std::pair("block", &FileManifest::block),      std::pair("part", &FileManifest::part),
    std::pair("rows", &FileManifest::rows),        std::pair("bytes", &FileManifest::bytes),
    std::pair("xxh3_128", &FileManifest::xxh3_128)};

template <typename T, typename... Fields>
Json JsonOf(const T& value, const std::tuple<Fields...>& fields) {
  Json json;
  const auto add = [&](const char* key, const auto& member) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(member)>>) {
      json[key] = NameOf(member);
    } else {
      json[key] = member;
    }
  };
  std::apply([&](const auto&... each) { (add(each.first, value.*each.second), ...); }, fields);
  return json;
}

Json JsonOf(const FileManifest& file) {
  Json json = JsonOf(file, kFileFields);
  if (!file.rows_of_blocks.empty()) json["rows_of_blocks"] = file.rows_of_blocks;
  return json;
}

// Leaves out the version of models before version 2.
Json JsonOf(const MadeBy& made_by) {
  Json json = JsonOf(made_by, kMadeByFields);
  if (made_by.model_version != 1) json["model_version"] = made_by.model_version;
  return json;
}

Result<MadeBy> MadeByOf(const Json& object, std::string place) {
  MadeBy made_by;
  Members members(object, std::move(place));
  members.TakeAll(made_by, kMadeByFields);
  if (object.contains("model_version")) members.Take("model_version", made_by.model_version);
  members.CheckHash("configuration", made_by.configuration);
  RETURN_IF_ERROR(members.End());
  return made_by;
}

void TakeFile(const Json& json, Members& members, FileManifest& file) {
  members.TakeAll(file, kFileFields);
  if (json.contains("rows_of_blocks")) {
    members.Take("rows_of_blocks", file.rows_of_blocks);
    const auto& rows = file.rows_of_blocks;
    if (rows.size() < 2 || std::accumulate(rows.begin(), rows.end(), uint64_t{0}) != file.rows) {
      members.SetMemberError("rows_of_blocks", "does not add up to 'rows'");
    }
  }
  if (!IsFileName(file.file)) members.SetMemberError("file", "is not a valid file name");
  members.CheckHash("xxh3_128", file.xxh3_128);
}

// Reads the version, common to both kinds.
Status CheckVersion(Members& members, std::string_view name) {
  uint64_t version = 0;
  members.Take("manifest", version);
  if (members.ok() && version != kVersion) {
    return Fail(Error::Code::kIncompatible, "{}: manifest version {} is not supported, only {}",
                name, version, kVersion);
  }
  return {};
}

Result<Json> Parse(std::string_view text, std::string_view name) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // Strips the exception id in brackets.
    std::string_view what = error.what();
    if (const auto end = what.find("] "); end != std::string_view::npos)
      what.remove_prefix(end + 2);
    return InvalidArgument("{}: invalid JSON: {}", name, what);
  }
}

// Detects duplicate keys, another order and wrong totals.
Status CheckText(std::string_view text, std::string_view wanted, std::string_view name) {
  if (text == wanted) return {};
  const auto [left, right] = std::ranges::mismatch(text, wanted);
  const auto line = 1 + std::count(text.begin(), left, '\n');
  return InvalidArgument("{}: line {} was modified", name, line);
}

std::string TextOf(const Json& json) { return json.dump(2) + "\n"; }

}  // namespace

void MadeBy::SetOptions(const TableOptions& options) {
  const bool columnar = IsColumnar(options.format);
  const bool separated = options.format == Format::kCsv || options.format == Format::kTsv;
  format = options.format;
  codec = columnar ? options.codec : options.text_codec;
  level = MaxLevel(codec) != 0 ? options.level : 0;
  row_group_rows = options.format == Format::kParquet ? options.row_group_rows : 0;
  money = columnar ? options.money : Money::kFloat;
  nested = columnar && options.nested;
  classic_columns = separated && options.classic_columns;
  // Arrow's library contains the codecs.
  arrow = columnar || codec != Codec::kNone ? kArrowVersion : "";
  zstd = codec == Codec::kZstd ? kZstdVersion : "";
}

std::string DifferenceOf(const MadeBy& there, const MadeBy& here) {
  Json left = JsonOf(there, kMadeByFields);
  Json right = JsonOf(here, kMadeByFields);
  left["model_version"] = there.model_version;
  right["model_version"] = here.model_version;
  for (const auto& [key, value] : left.items()) {
    if (value == right[key]) continue;
    const auto show = [](const Json& json) {
      return json.is_string() ? fmt::format("'{}'", json.get<std::string>()) : json.dump();
    };
    return fmt::format("the {} is {} there and {} here", key, show(value), show(right[key]));
  }
  return {};
}

std::string ManifestNameOf(std::string_view file) {
  std::string flat(file);
  std::ranges::replace(flat, '/', '.');
  return fmt::format("{}/manifest-{}.json", kMetadataFolder, flat);
}

bool IsFileManifest(std::string_view name) {
  return OldNameOf(name).starts_with("manifest-") && name.ends_with(".json");
}

std::string_view OldNameOf(std::string_view name) {
  assert(name.starts_with(kMetadataFolder));
  return name.substr(kMetadataFolder.size() + 1);
}

std::string WriteFileManifest(const FileManifest& manifest) {
  Json json = {{"manifest", kVersion}};
  json.update(JsonOf(manifest));
  if (!manifest.etag.empty()) json["etag"] = manifest.etag;
  json["made_by"] = JsonOf(manifest.made_by);
  return TextOf(json);
}

Result<FileManifest> ReadFileManifest(std::string_view text, std::string_view name) {
  ASSIGN_OR_RETURN(const auto json, Parse(text, name));
  Members members(json, std::string(name));
  RETURN_IF_ERROR(CheckVersion(members, name));
  FileManifest manifest;
  TakeFile(json, members, manifest);
  if (json.contains("etag")) members.Take("etag", manifest.etag);
  const Json& made_by_json = members.Get("made_by");
  RETURN_IF_ERROR(members.End());
  ASSIGN_OR_RETURN(manifest.made_by, MadeByOf(made_by_json, fmt::format("{}: 'made_by'", name)));
  RETURN_IF_ERROR(CheckText(text, WriteFileManifest(manifest), name));
  return manifest;
}

Result<std::string> WriteManifest(std::vector<FileManifest> files) {
  std::ranges::sort(files, {}, &FileManifest::file);
  const auto twice = std::ranges::adjacent_find(files, {}, &FileManifest::file);
  if (twice != files.end()) {
    return InvalidArgument("duplicate file {}", twice->file);
  }
  TableTotals totals;
  Json listed = Json::array();
  for (const FileManifest& file : files) {
    if (const auto difference = DifferenceOf(file.made_by, files.front().made_by);
        !difference.empty()) {
      return InvalidArgument("{} and {} were made differently: {}", file.file, files.front().file,
                             difference);
    }
    TableTotal& total = totals[file.table];
    total.files += 1;
    total.rows += file.rows;
    total.bytes += file.bytes;
    listed.push_back(JsonOf(file));
  }
  Json tables = Json::array();
  for (const auto& [table, total] : totals) {
    tables.push_back(
        {{"table", table}, {"files", total.files}, {"rows", total.rows}, {"bytes", total.bytes}});
  }
  Json json = {{"manifest", kVersion}};
  // Without files there is no MadeBy.
  json["made_by"] = files.empty() ? Json() : JsonOf(files.front().made_by);
  json["tables"] = std::move(tables);
  json["files"] = std::move(listed);
  return TextOf(json);
}

Result<std::vector<FileManifest>> ReadManifest(std::string_view text, std::string_view name) {
  ASSIGN_OR_RETURN(const auto json, Parse(text, name));
  Members members(json, std::string(name));
  RETURN_IF_ERROR(CheckVersion(members, name));
  const Json& made_by_json = members.Get("made_by");
  members.Get("tables");  // verified by comparing the text
  const Json& listed = members.Get("files");
  if (members.ok() && !listed.is_array()) members.SetMemberError("files", "is not a list");
  RETURN_IF_ERROR(members.End());
  MadeBy made_by;
  if (!listed.empty()) {
    ASSIGN_OR_RETURN(made_by, MadeByOf(made_by_json, fmt::format("{}: 'made_by'", name)));
  }
  std::vector<FileManifest> files;
  for (const Json& entry : listed) {
    FileManifest& file = files.emplace_back();
    Members of_file(entry, fmt::format("{}: entry {} of 'files'", name, files.size()));
    TakeFile(entry, of_file, file);
    RETURN_IF_ERROR(of_file.End());
    file.made_by = made_by;
  }
  const auto wanted = WriteManifest(files);
  if (!wanted) {
    return InvalidArgument("{}: {}", name, wanted.error().message);
  }
  RETURN_IF_ERROR(CheckText(text, *wanted, name));
  return files;
}

}  // namespace reveza::fraudgen
