#include "datagen/output/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "datagen/output/arrow_writer.h"
#include "datagen/output/format.h"

namespace reveza::datagen {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kVersion = 1;
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kMostNameBytes = 255;

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsOneName(std::string_view text) {
  return !text.empty() && text.size() <= kMostNameBytes && text != "." && text != ".." &&
         !text.contains('\0');
}

// Perhaps with folders before it.
bool IsFileName(std::string_view text) {
  for (std::size_t slash = text.find('/'); slash != text.npos; slash = text.find('/')) {
    if (!IsOneName(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return IsOneName(text);
}

// One object of the text, member by member. After the first wrong one the rest is not looked at.
class Members {
 public:
  Members(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object_.is_object()) Refuse("is no object");
  }

  // Null, and an error, if it is not there.
  const Json& Get(const char* key) {
    static const Json kNothing;
    if (error_) return kNothing;
    const auto found = object_.find(key);
    if (found == object_.end()) {
      Refuse(fmt::format("lacks '{}'", key));
      return kNothing;
    }
    ++taken_;
    return *found;
  }

  void Take(const char* key, uint64_t& value) {
    const Json& member = Get(key);
    if (error_) return;
    if (!member.is_number_unsigned()) return RefuseMember(key, "is no whole number from 0");
    value = member.get<uint64_t>();
  }

  template <typename T>
  void TakeSmall(const char* key, T& value) {
    uint64_t number = 0;
    Take(key, number);
    if (error_) return;
    if (number > static_cast<uint64_t>(std::numeric_limits<T>::max())) {
      return RefuseMember(key, "is too large");
    }
    value = static_cast<T>(number);
  }

  void Take(const char* key, bool& value) {
    const Json& member = Get(key);
    if (error_) return;
    if (!member.is_boolean()) return RefuseMember(key, "is neither true nor false");
    value = member.get<bool>();
  }

  void Take(const char* key, std::string& value) {
    const Json& member = Get(key);
    if (error_) return;
    if (!member.is_string()) return RefuseMember(key, "is no text");
    value = member.get<std::string>();
  }

  void TakeIfThere(const char* key, std::string& value) {
    if (!error_ && object_.contains(key)) Take(key, value);
  }

  void TakeHash(const char* key, std::string& value) {
    Take(key, value);
    if (!error_ && !IsHash(value)) RefuseMember(key, "is no hash of 32 hexadecimal digits");
  }

  template <typename T>
  void TakeName(const char* key, T& value, std::optional<T> (*find)(std::string_view)) {
    std::string name;
    Take(key, name);
    if (error_) return;
    const auto found = find(name);
    if (!found) return RefuseMember(key, fmt::format("is '{}', which is not known", name));
    value = *found;
  }

  void RefuseMember(const char* key, std::string_view what) {
    Refuse(fmt::format("'{}' {}", key, what));
  }
  // All members have been taken. What is left is nothing that we know.
  Status End() {
    if (!error_ && taken_ != object_.size()) {
      Refuse(fmt::format("has {} members, {} are known", object_.size(), taken_));
    }
    if (error_) return std::unexpected(*error_);
    return {};
  }
  bool ok() const { return !error_; }

 private:
  void Refuse(std::string_view what) {
    if (!error_) error_ = Error{Error::Code::kInvalidArgument, fmt::format("{}: {}", place_, what)};
  }

  const Json& object_;
  std::string place_;
  std::size_t taken_ = 0;
  std::optional<Error> error_;
};

Json JsonOf(const MadeBy& made_by) {
  return {{"program", made_by.program},
          {"model", made_by.model},
          {"seed", made_by.seed},
          {"configuration", made_by.configuration},
          {"format", NameOf(made_by.format)},
          {"codec", NameOf(made_by.codec)},
          {"level", made_by.level},
          {"row_group_rows", made_by.row_group_rows},
          {"money", NameOf(made_by.money)},
          {"nested", made_by.nested},
          {"classic_columns", made_by.classic_columns},
          {"zone", made_by.zone},
          {"arrow", made_by.arrow},
          {"zstd", made_by.zstd}};
}

Result<MadeBy> MadeByOf(const Json& object, std::string place) {
  MadeBy made_by;
  Members members(object, std::move(place));
  members.Take("program", made_by.program);
  members.Take("model", made_by.model);
  members.Take("seed", made_by.seed);
  members.TakeHash("configuration", made_by.configuration);
  members.TakeName("format", made_by.format, FormatOf);
  members.TakeName("codec", made_by.codec, CodecOf);
  members.TakeSmall("level", made_by.level);
  members.TakeSmall("row_group_rows", made_by.row_group_rows);
  members.TakeName("money", made_by.money, MoneyOf);
  members.Take("nested", made_by.nested);
  members.Take("classic_columns", made_by.classic_columns);
  members.Take("zone", made_by.zone);
  members.Take("arrow", made_by.arrow);
  members.Take("zstd", made_by.zstd);
  if (auto ended = members.End(); !ended) return std::unexpected(std::move(ended).error());
  return made_by;
}

Json JsonOf(const FileManifest& manifest) {
  return {{"file", manifest.file},        {"table", manifest.table}, {"block", manifest.block},
          {"part", manifest.part},        {"rows", manifest.rows},   {"bytes", manifest.bytes},
          {"xxh3_128", manifest.xxh3_128}};
}

void TakeFile(Members& members, FileManifest& file) {
  members.Take("file", file.file);
  if (members.ok() && !IsFileName(file.file)) members.RefuseMember("file", "is no file's name");
  members.Take("table", file.table);
  members.Take("block", file.block);
  members.Take("part", file.part);
  members.Take("rows", file.rows);
  members.Take("bytes", file.bytes);
  members.TakeHash("xxh3_128", file.xxh3_128);
}

// One line for the head of both kinds.
Status CheckVersion(Members& members, std::string_view name) {
  uint64_t version = 0;
  members.Take("manifest", version);
  if (members.ok() && version != kVersion) {
    return Fail(Error::Code::kIncompatible,
                fmt::format("{}: is a manifest of version {}, this program knows version {}", name,
                            version, kVersion));
  }
  return {};
}

Result<Json> Parse(std::string_view text, std::string_view name) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // Its own number and class stand before the words in brackets.
    std::string_view what = error.what();
    if (const auto end = what.find("] "); end != std::string_view::npos)
      what.remove_prefix(end + 2);
    return Fail(Error::Code::kInvalidArgument, fmt::format("{}: is no JSON: {}", name, what));
  }
}

// Catches what the members do not show: a key twice, another order, totals that do not add up.
Status CheckText(std::string_view text, std::string_view wanted, std::string_view name) {
  if (text == wanted) return {};
  const auto [left, right] = std::ranges::mismatch(text, wanted);
  const auto line = 1 + std::count(text.begin(), left, '\n');
  return Fail(
      Error::Code::kInvalidArgument,
      fmt::format("{}: line {} is not as this program writes it; it was changed", name, line));
}

std::string TextOf(const Json& json) { return json.dump(2) + "\n"; }

}  // namespace

void MadeBy::SetOptions(const TableOptions& options) {
  const bool columnar = options.format == Format::kParquet || options.format == Format::kArrow;
  const bool separated = options.format == Format::kCsv || options.format == Format::kTsv;
  const bool levels = options.codec == Codec::kZstd || options.codec == Codec::kGzip ||
                      options.codec == Codec::kBrotli;
  format = options.format;
  codec = columnar ? options.codec : Codec::kNone;
  level = columnar && levels ? options.level : 0;
  row_group_rows = options.format == Format::kParquet ? options.row_group_rows : 0;
  money = columnar ? options.money : Money::kFloat;
  nested = columnar && options.nested;
  classic_columns = separated && options.classic_columns;
  zone = !columnar && !separated && options.zone;
  arrow = columnar ? ArrowVersion() : "";
  zstd = columnar && codec == Codec::kZstd ? ZstdVersion() : "";
}

std::string DifferenceOf(const MadeBy& there, const MadeBy& here) {
  const Json left = JsonOf(there);
  const Json right = JsonOf(here);
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
  std::string name = fmt::format("manifest-{}.json", file);
  std::ranges::replace(name, '/', '.');
  return name;
}

std::string WriteFileManifest(const FileManifest& manifest) {
  Json json = {{"manifest", kVersion}};
  json.update(JsonOf(manifest));
  if (!manifest.etag.empty()) json["etag"] = manifest.etag;
  json["made_by"] = JsonOf(manifest.made_by);
  return TextOf(json);
}

Result<FileManifest> ReadFileManifest(std::string_view text, std::string_view name) {
  const auto json = Parse(text, name);
  if (!json) return std::unexpected(json.error());
  Members members(*json, std::string(name));
  if (auto version = CheckVersion(members, name); !version) {
    return std::unexpected(std::move(version).error());
  }
  FileManifest manifest;
  TakeFile(members, manifest);
  members.TakeIfThere("etag", manifest.etag);
  const Json& made_by_json = members.Get("made_by");
  if (auto ended = members.End(); !ended) return std::unexpected(std::move(ended).error());
  auto made_by = MadeByOf(made_by_json, fmt::format("{}: 'made_by'", name));
  if (!made_by) return std::unexpected(std::move(made_by).error());
  manifest.made_by = *std::move(made_by);
  if (auto same = CheckText(text, WriteFileManifest(manifest), name); !same) {
    return std::unexpected(std::move(same).error());
  }
  return manifest;
}

Result<std::string> WriteManifest(std::vector<FileManifest> files) {
  std::ranges::sort(files, {}, &FileManifest::file);
  const auto twice = std::ranges::adjacent_find(files, {}, &FileManifest::file);
  if (twice != files.end()) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("the file {} is there twice", twice->file));
  }
  struct Total {
    uint64_t files = 0;
    uint64_t rows = 0;
    uint64_t bytes = 0;
  };
  std::map<std::string_view, Total> totals;
  Json listed = Json::array();
  for (const FileManifest& file : files) {
    if (const auto difference = DifferenceOf(file.made_by, files.front().made_by);
        !difference.empty()) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("{} and {} were not made alike: {}", file.file, files.front().file,
                              difference));
    }
    Total& total = totals[file.table];
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
  // Of no files nothing is known.
  json["made_by"] = files.empty() ? Json() : JsonOf(files.front().made_by);
  json["tables"] = std::move(tables);
  json["files"] = std::move(listed);
  return TextOf(json);
}

Result<std::vector<FileManifest>> ReadManifest(std::string_view text, std::string_view name) {
  const auto json = Parse(text, name);
  if (!json) return std::unexpected(json.error());
  Members members(*json, std::string(name));
  if (auto version = CheckVersion(members, name); !version) {
    return std::unexpected(std::move(version).error());
  }
  const Json& made_by_json = members.Get("made_by");
  members.Get("tables");  // are compared with what the files add up to
  const Json& listed = members.Get("files");
  if (members.ok() && !listed.is_array()) members.RefuseMember("files", "is no list");
  if (auto ended = members.End(); !ended) return std::unexpected(std::move(ended).error());
  MadeBy made_by;
  if (!listed.empty()) {
    auto read = MadeByOf(made_by_json, fmt::format("{}: 'made_by'", name));
    if (!read) return std::unexpected(std::move(read).error());
    made_by = *std::move(read);
  }
  std::vector<FileManifest> files;
  for (const Json& entry : listed) {
    FileManifest& file = files.emplace_back();
    Members of_file(entry, fmt::format("{}: entry {} of 'files'", name, files.size()));
    TakeFile(of_file, file);
    if (auto ended = of_file.End(); !ended) return std::unexpected(std::move(ended).error());
    file.made_by = made_by;
  }
  const auto wanted = WriteManifest(files);
  if (!wanted) {
    return Fail(Error::Code::kInvalidArgument, fmt::format("{}: {}", name, wanted.error().message));
  }
  if (auto same = CheckText(text, *wanted, name); !same) {
    return std::unexpected(std::move(same).error());
  }
  return files;
}

}  // namespace reveza::datagen
