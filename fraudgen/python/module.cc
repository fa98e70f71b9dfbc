// The extension module fraudgen._native, of which python/fraudgen makes the package.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/python/native.h"
#include "fraudgen/check/check.h"
#include "fraudgen/run/direct_output.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/prepare.h"
#include "fraudgen/run/row_stream.h"
#include "fraudgen/run/settings.h"

namespace reveza::fraudgen {
namespace {

namespace nb = nanobind;
using python::ValueOf;
using python::WithoutLock;

// Returns the settings of a data set from texts by name, as in a configuration file.
Settings SettingsOf(const nb::dict& given) {
  SettingsBuilder builder;
  for (const auto [key, value] : given) {
    python::Check(builder.AddFlag(nb::cast<std::string>(key), nb::cast<std::string>(value)));
  }
  return ValueOf(builder.Build());
}

const Table* TableOf(const PreparedModel& prepared, const std::string& name) {
  return ValueOf(FindTable(*prepared.model,
                           name.empty() ? prepared.settings.MainTable() : std::string_view(name)));
}

// Returns the rows as a capsule of Arrow's C stream interface.
nb::capsule Generate(const nb::dict& given, const std::string& table_name,
                     const std::vector<std::string>& column_names, int threads) {
  const Settings settings = SettingsOf(given);
  auto prepared = ValueOf(WithoutLock(
      [&] { return PrepareRun(settings, {}, threads, [](uint64_t, uint64_t) { return true; }); }));
  const Table* const table = TableOf(prepared, table_name);
  auto columns = ValueOf(FindColumns(*table, column_names));
  auto stream = std::make_unique<CStream>();
  OpenStream(std::move(prepared), *table, std::move(columns), *stream);
  return {stream.release(), "arrow_array_stream", [](void* at) noexcept {
            const std::unique_ptr<CStream> held(static_cast<CStream*>(at));
            // The reader has taken it unless there is still something to release.
            if (held->release != nullptr) held->release(held.get());
          }};
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

// Returns the tables that these settings generate.
nb::list Schema(const nb::dict& given) {
  constexpr uint64_t kAnyRows = 1000;
  const Settings settings = SettingsOf(given);
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

std::string_view NameOf(check::Outcome::Verdict verdict) {
  switch (verdict) {
    case check::Outcome::Verdict::kPassed:
      return "passed";
    case check::Outcome::Verdict::kFailed:
      return "failed";
    case check::Outcome::Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

// Damaged files may contain invalid UTF-8.
nb::object TextOf(const std::string& text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::dict DictOf(const check::FileDifferences& file) {
  nb::list first;
  for (const check::Difference& difference : file.first) {
    nb::dict row;
    row["row"] = difference.row;
    row["column"] = TextOf(difference.column);
    row["found"] = TextOf(difference.found);
    row["expected"] = TextOf(difference.expected);
    first.append(row);
  }
  nb::dict row;
  row["file"] = TextOf(file.file);
  row["table"] = file.table;
  row["count"] = file.count;
  row["first"] = first;
  return row;
}

nb::dict Check(const std::string& folder, int threads) {
  const auto place = std::make_shared<Folder>(folder);
  const auto result = ValueOf(
      WithoutLock([&] { return check::CheckData(place, threads, [](uint64_t) { return true; }); }));
  nb::list checks;
  for (const check::Outcome& outcome : result.outcomes) {
    nb::dict row;
    row["verdict"] = std::string(NameOf(outcome.verdict));
    row["name"] = outcome.name;
    row["detail"] = TextOf(outcome.detail);
    checks.append(row);
  }
  nb::list files;
  for (const check::FileDifferences& file : result.files) files.append(DictOf(file));
  nb::dict found;
  found["findings"] = result.findings;
  found["checks"] = checks;
  found["files"] = files;
  return found;
}

}  // namespace
}  // namespace reveza::fraudgen

NB_MODULE(_native, module) {
  namespace nb = nanobind;
  module.def("generate", &reveza::fraudgen::Generate, nb::arg("settings"), nb::arg("table"),
             nb::arg("columns"), nb::arg("threads"));
  module.def("schema", &reveza::fraudgen::Schema, nb::arg("settings"));
  module.def("check", &reveza::fraudgen::Check, nb::arg("folder"), nb::arg("threads"));
}
