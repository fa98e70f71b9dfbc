// Commands that only print: plan, sample, config, scenarios, schema, version.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/platform/free_bytes.h"
#include "common/settings/layered_settings.h"
#include "common/table/arrow.h"
#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/terminal.h"
#include "fraudgen/model/coherent/scenario.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/output/store_address.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/direct_output.h"
#include "fraudgen/run/prepare.h"
#include "fraudgen/run/size_estimate.h"
#include "fraudgen/schema/schema.h"
#include "fraudgen/stream/kafka/kafka_sink.h"
#include "fraudgen/stream/webhook/webhook_sink.h"
#include "fraudgen/values/simd_width.h"

namespace reveza::fraudgen::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSampleRows = 10;
constexpr std::size_t kIndent = 2;
// Determines the number of customers in a sample.
constexpr uint64_t kSampledRows = 100'000;

std::string JsonPlan(const RunArguments& arguments, const Model& model, const Plan& plan,
                     const SizeEstimate& estimate, double seconds) {
  nlohmann::ordered_json all = {
      {"output", arguments.output},
      {"format", NameOf(arguments.settings.format)},
      {"bytes", estimate.bytes},
      {"files", plan.all_files()},
      {"blocks", plan.all_blocks()},
      {"shard", fmt::format("{}/{}", arguments.shard.index, arguments.shard.count)},
      {"files_of_shard", plan.files()},
      {"seconds", seconds},
      {"tables", nlohmann::ordered_json::object()}};
  for (const Table* each : model.tables()) {
    const TableTotal& total = estimate.tables.at(each->name);
    all["tables"][std::string(each->name)] = {
        {"files", total.files}, {"rows", total.rows}, {"bytes", total.bytes}};
  }
  return all.dump(2);
}

// Returns the bytes that are free where a folder is or will be; nothing if that is unknown.
std::optional<Bytes> FreeBytesOf(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::path place = std::filesystem::absolute(folder, ignored);
  while (place.has_relative_path() && !std::filesystem::exists(place, ignored)) {
    place = place.parent_path();
  }
  return platform::FreeBytes(place.string());
}

void PrintPlan(const RunArguments& arguments, const Model& model, const Plan& plan,
               const SizeEstimate& estimate, double seconds) {
  fmt::print("{} as {}, about {} in {} files, {} block{}\n{}", arguments.output,
             NameOf(arguments.settings.format), FormatSize(estimate.bytes),
             FormatCount(plan.all_files()), FormatCount(plan.all_blocks()),
             plan.all_blocks() == 1 ? "" : "s", RenderTotals(model.tables(), estimate.tables));
  if (arguments.shard.count > 1) {
    fmt::print("part {} of {}: {} files\n", arguments.shard.index, arguments.shard.count,
               FormatCount(plan.files()));
  }
  if (plan.shard().blocks() == 0) return;
  const double share = static_cast<double>(plan.shard().blocks()) /
                       static_cast<double>(std::max<uint64_t>(1, plan.all_blocks()));
  const auto needed = static_cast<Bytes>(static_cast<double>(estimate.bytes) * share);
  fmt::print("about {} on this machine with {} thread{}, if the disk sustains {}/s\n",
             FormatSeconds(seconds), arguments.threads, arguments.threads == 1 ? "" : "s",
             FormatSize(static_cast<Bytes>(static_cast<double>(needed) / std::max(seconds, 1e-3))));
  if (arguments.output == "-" || IsStoreUrl(arguments.output)) return;
  if (const auto free = FreeBytesOf(arguments.output); free && *free < needed) {
    fmt::print("{} has {} free, which is too little for {}\n", arguments.output, FormatSize(*free),
               FormatSize(needed));
  }
}

TextTable TextOf(const TableSample& sample) {
  TextTable table;
  for (const Column& column : sample.table->columns) {
    table.head.emplace_back(column.name);
    const bool number = column.type == ColumnType::kInteger || column.type == ColumnType::kDecimal;
    table.align.push_back(number ? Align::kRight : Align::kLeft);
  }
  table.rows = sample.rows;
  return table;
}

// Prints one table as a text file of the format that was given.
int SampleAsFile(const RunArguments& arguments, const Model& model) {
  const Settings& settings = arguments.settings;
  if (IsColumnar(settings.format)) {
    return ReportError(kUsage,
                       fmt::format("sample prints text, not {}; expected --format csv, tsv, "
                                   "json or jsonl",
                                   NameOf(settings.format)));
  }
  const Table* table = FindTable(model, arguments);
  if (table == nullptr) return kUsage;
  StdoutSink sink;
  auto written = WriteFirstRows(model, *table, kSampleRows, settings.Options(), sink);
  if (written) written = sink.Finish();
  return written ? kDone : ReportError(written.error());
}

// Prints all tables, or the one that was given, as one object.
int SampleAsJson(const RunArguments& arguments, const Model& model) {
  TableOptions options = arguments.settings.Options();
  options.format = Format::kJson;
  options.text_codec = Codec::kNone;
  const Table* only = arguments.table.empty() ? nullptr : FindTable(model, arguments);
  if (only == nullptr && !arguments.table.empty()) return kUsage;
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const Table* table : model.tables()) {
    if (only != nullptr && table != only) continue;
    MemorySink text;
    const auto written = WriteFirstRows(model, *table, kSampleRows, options, text);
    if (!written) return ReportError(written.error());
    all[std::string(table->name)] = nlohmann::ordered_json::parse(text.bytes());
  }
  fmt::print("{}\n", all.dump(2));
  return kDone;
}

}  // namespace

int ShowPlan(const RunArguments& arguments) {
  const Settings& settings = arguments.settings;
  StatusLine status(arguments.quiet,
                    settings.IsGrowing() ? "counting rows" : "making a sample block");
  const auto prepared =
      PrepareRun(settings, arguments.shard, arguments.threads, [&](uint64_t done, uint64_t total) {
        status.Show(done, total);
        return true;
      });
  if (!prepared) return ReportError(prepared.error());
  const Model& model = *prepared->model;
  const Plan& plan = prepared->plan;
  const auto begin = Clock::now();
  const auto estimate = EstimateSize(
      model, settings.Options(), settings.FileRows(), [] { return true; }, settings.Partition());
  if (!estimate) return ReportError(estimate.error());
  const double block_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto threads = static_cast<uint64_t>(arguments.threads);
  const uint64_t rounds = (plan.shard().blocks() + threads - 1) / threads;
  const double seconds = plan.shard().blocks() <= threads
                             ? block_seconds
                             : block_seconds * static_cast<double>(rounds);
  if (arguments.json) {
    fmt::print("{}\n", JsonPlan(arguments, model, plan, *estimate, seconds));
  } else {
    PrintPlan(arguments, model, plan, *estimate, seconds);
  }
  return kDone;
}

int ShowSample(const RunArguments& arguments) {
  const uint64_t rows = arguments.settings.rows.value_or(kSampledRows);
  const auto model = MakeModel(arguments.settings, rows);
  if (!model) return ReportError(model.error());
  if (arguments.json) return SampleAsJson(arguments, **model);
  if (arguments.has_format) return SampleAsFile(arguments, **model);
  const Table* only = nullptr;
  if (!arguments.table.empty()) {
    only = FindTable(**model, arguments);
    if (only == nullptr) return kUsage;
  }
  const auto samples = Sample(**model, kSampleRows);
  if (!samples) return ReportError(samples.error());
  const std::size_t width =
      TerminalColumns(STDOUT_FILENO).value_or(std::numeric_limits<std::size_t>::max());
  bool first = true;
  for (const TableSample& sample : *samples) {
    if (only != nullptr && sample.table != only) continue;
    fmt::print("{}{}\n{}", first ? "" : "\n", sample.table->name,
               Render(TextOf(sample), kIndent, width));
    first = false;
  }
  return kDone;
}

int ShowConfiguration(const RunArguments& arguments) {
  fmt::print("{}", ConfigurationText(arguments.settings, Comments::kYes));
  return kDone;
}

int ShowSchema() {
  fmt::print("{}", SchemaDocument());
  return kDone;
}

int ShowScenarios(const std::string& name) {
  std::vector<std::string_view> names;
  TextTable table;
  table.head = {"scenario", "weight", "what happens"};
  table.align = {Align::kLeft, Align::kRight, Align::kLeft};
  const std::vector<coherent::Scenario>& scenarios = coherent::BuiltInScenarios();
  for (const coherent::BuiltInScenario& each : coherent::BuiltInScenarioTexts()) {
    if (each.name == name) {
      fmt::print("{}", each.text);
      return kDone;
    }
    names.push_back(each.name);
    const auto found = std::ranges::find(scenarios, each.name, &coherent::Scenario::name);
    // The first line is a comment.
    const std::string_view line = each.text.substr(0, each.text.find('\n'));
    table.rows.push_back({std::string(each.name), fmt::format("{}", found->weight),
                          std::string(line.substr(std::min<std::size_t>(2, line.size())))});
  }
  if (!name.empty()) {
    return ReportError(kUsage, UnknownKey(name, names, "fraudgen scenarios").error().message);
  }
  fmt::print(
      "{}",
      Render(table, 0,
             TerminalColumns(STDOUT_FILENO).value_or(std::numeric_limits<std::size_t>::max())));
  return kDone;
}

int ShowVersion() {
  fmt::print("fraudgen {}\n", REVEZA_VERSION);
  if (kHaveArrow) {
    fmt::print("Arrow {}, zstd {}\n", kArrowVersion, kZstdVersion);
  } else {
    fmt::print("built without Arrow: no Parquet or Arrow files\n");
  }
  if (!HaveKafka()) fmt::print("built without librdkafka: no Kafka streams\n");
  if (!HaveWebhook()) fmt::print("built without cpp-httplib: no webhook streams\n");
  fmt::print("SIMD: {} x 64 bits on this processor\n", static_cast<int>(DetectSimdWidth()));
  return kDone;
}

}  // namespace reveza::fraudgen::cli
