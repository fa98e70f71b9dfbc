// The extension module fraudgen._native, of which python/fraudgen makes the package.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/python/native.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/output/text_codec.h"
#include "fraudgen/run/direct_output.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/manifest_store.h"
#include "fraudgen/run/prepare.h"
#include "fraudgen/run/row_stream.h"
#include "fraudgen/run/settings.h"
#include "fraudgen/run/shard.h"

namespace reveza::fraudgen {
namespace {

namespace nb = nanobind;
using python::Raise;
using python::ValueOf;
using python::WithoutLock;

// Returns the settings of a data set from texts by name, as in a configuration file; that of
// "scenario FILE" is the content of a file.
Settings SettingsOf(const nb::dict& given) {
  constexpr std::string_view kScenario = "scenario ";
  SettingsBuilder builder;
  for (const auto [name, value] : given) {
    const auto key = nb::cast<std::string>(name);
    const auto text = nb::cast<std::string>(value);
    python::Check(key.starts_with(kScenario)
                      ? builder.AddScenario(text, key.substr(kScenario.size()))
                      : builder.AddFlag(key, text));
  }
  return ValueOf(builder.Build());
}

// One table of a data set, and some of its columns.
struct ChosenTable {
  PreparedModel prepared;
  const Table* table;
  std::vector<std::size_t> columns;
};

ChosenTable Choose(const nb::dict& given, const std::string& table_name,
                   const std::vector<std::string>& column_names) {
  const Settings settings = SettingsOf(given);
  auto prepared = ValueOf(
      WithoutLock([&] { return PrepareRows(settings, [](uint64_t, uint64_t) { return true; }); }));
  const Table* const table =
      ValueOf(FindTable(*prepared.model, table_name.empty() ? prepared.settings.MainTable()
                                                            : std::string_view(table_name)));
  auto columns = ValueOf(FindColumns(*table, column_names));
  return {std::move(prepared), table, std::move(columns)};
}

// Returns a structure of Arrow as a capsule. The reader has taken it unless there is still
// something to release.
template <typename Structure>
nb::capsule CapsuleOf(std::unique_ptr<Structure> structure, const char* name) {
  return {structure.release(), name, [](void* at) noexcept {
            const std::unique_ptr<Structure> held(static_cast<Structure*>(at));
            if (held->release != nullptr) held->release(held.get());
          }};
}

// Returns the rows of a shard, such as "3/8", as a capsule of Arrow's C stream interface.
nb::capsule Generate(const nb::dict& given, const std::string& table_name,
                     const std::vector<std::string>& column_names, const std::string& shard_text) {
  const Shard shard = ValueOf(ParseShard(shard_text));
  auto chosen = Choose(given, table_name, column_names);
  auto stream = std::make_unique<CStream>();
  OpenStream(std::move(chosen.prepared), shard, *chosen.table, std::move(chosen.columns), *stream);
  return CapsuleOf(std::move(stream), "arrow_array_stream");
}

// Returns what workers need to make the rows of one table in shards.
nb::dict PlanShards(const nb::dict& given, const std::string& table_name,
                    const std::vector<std::string>& column_names) {
  auto chosen = Choose(given, table_name, column_names);
  const PreparedModel& prepared = chosen.prepared;
  nb::dict plan;
  plan["rows"] = prepared.settings.rows ? nb::cast(*prepared.settings.rows) : nb::none();
  plan["groups"] = ShardBlocks(prepared.model->blocks(), {}).all_groups();
  auto schema = std::make_unique<CSchema>();
  ExportSchema({.table = chosen.table,
                .columns = std::move(chosen.columns),
                .money = prepared.settings.money},
               *schema);
  plan["schema"] = CapsuleOf(std::move(schema), "arrow_schema");
  return plan;
}

// Names what decides the rows of the same settings.
std::string Maker() {
  return std::string(CreatedBy()) + ", model version " + std::to_string(kModelVersion);
}

std::string_view NameOf(ColumnType type) {
  switch (type) {
    case ColumnType::kText:
      return "text";
    case ColumnType::kCategory:
      return "category";
    case ColumnType::kBoolean:
      return "boolean";
    case ColumnType::kInteger:
      return "integer";
    case ColumnType::kDecimal:
      return "decimal";
    case ColumnType::kDate:
      return "date";
    case ColumnType::kTimestamp:
      return "timestamp";
  }
  return "";
}

nb::dict DictOf(const Column& column) {
  nb::list values;
  for (const std::string_view value : column.values) values.append(std::string(value));
  nb::dict row;
  row["name"] = FlatName(column);
  row["type"] = std::string(NameOf(column.type));
  row["decimal_places"] = column.decimal_places;
  row["unit"] = std::string(column.unit);
  row["nullable"] = column.nullable == Nullable::kYes;
  row["values"] = nb::tuple(values);
  row["meaning"] = std::string(column.english);
  row["source"] = std::string(column.source);
  return row;
}

nb::list TablesOf(const Settings& settings) {
  constexpr uint64_t kAnyRows = 1000;
  const auto model = ValueOf(MakeModel(settings, settings.rows.value_or(kAnyRows)));
  nb::list tables;
  for (const Table* table : model->tables()) {
    nb::list columns;
    for (const Column& column : table->columns) columns.append(DictOf(column));
    nb::dict row;
    row["name"] = std::string(table->name);
    row["meaning"] = std::string(table->english);
    row["columns"] = columns;
    tables.append(row);
  }
  return tables;
}

// Returns the tables that these settings generate.
nb::list Schema(const nb::dict& given) { return TablesOf(SettingsOf(given)); }

// Returns the text of a file of a data set, which must be complete.
std::string MetadataOf(Folder& folder, std::string_view name) {
  auto text = ValueOf(WithoutLock([&] { return folder.ReadSmall(name); }));
  if (!text) {
    Raise(Error{Error::Code::kNotFound,
                folder.PathOf(name) + " is missing: this is no folder of fraudgen, or it is not "
                                      "complete; the command that began it completes it"});
  }
  return *std::move(text);
}

// Returns what the complete data set in a folder consists of.
nb::dict Describe(const std::string& path) {
  Folder folder(path);
  const auto manifest = MetadataOf(folder, kManifestName);
  const auto configuration = MetadataOf(folder, kConfigurationName);
  const auto files = ValueOf(ReadManifest(manifest, folder.PathOf(kManifestName)));
  SettingsBuilder builder;
  python::Check(builder.AddText(configuration, folder.PathOf(kConfigurationName)));
  const Settings settings = ValueOf(builder.Build());
  nb::dict rows;
  for (const FileManifest& file : files) {
    const auto* const table = file.table.c_str();
    rows[table] = (rows.contains(table) ? nb::cast<uint64_t>(rows[table]) : 0) + file.rows;
  }
  nb::dict found;
  found["program"] = files.empty() ? std::string() : files.front().made_by.program;
  found["model"] = settings.model;
  found["seed"] = settings.seed;
  found["extension"] = ExtensionOf(settings.format, settings.TextCodec());
  found["nested"] = settings.nested;
  found["partition"] = settings.partition;
  found["rows"] = rows;
  found["tables"] = TablesOf(settings);
  return found;
}

}  // namespace
}  // namespace reveza::fraudgen

NB_MODULE(_native, module) {
  namespace nb = nanobind;
  module.def("generate", &reveza::fraudgen::Generate, nb::arg("settings"), nb::arg("table"),
             nb::arg("columns"), nb::arg("shard"));
  module.def("plan", &reveza::fraudgen::PlanShards, nb::arg("settings"), nb::arg("table"),
             nb::arg("columns"));
  module.attr("maker") = reveza::fraudgen::Maker();
  module.def("schema", &reveza::fraudgen::Schema, nb::arg("settings"));
  module.def("describe", &reveza::fraudgen::Describe, nb::arg("folder"));
}
