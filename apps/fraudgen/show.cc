// What is shown and not written: the plan, a sample, the settings, the schema, the version.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "base/units.h"
#include "commands.h"
#include "datagen/output/arrow_writer.h"
#include "datagen/output/format.h"
#include "datagen/run/pilot.h"
#include "datagen/run/sample.h"
#include "datagen/schema.h"
#include "datagen/stream/kafka/kafka_sink.h"
#include "datagen/stream/webhook/webhook_sink.h"
#include "datagen/vectors.h"
#include "exit_status.h"
#include "models.h"
#include "progress_display.h"
#include "text.h"

namespace reveza::fraudgen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSampleRows = 10;
// Customers are as many as suit the rows; for a look this many are enough.
constexpr uint64_t kRowsToSampleFrom = 100'000;

std::string TimeText(double seconds) {
  return FormatDuration(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)));
}

std::string JsonPlan(const RunArguments& arguments, const datagen::Model& model,
                     const datagen::Plan& plan, const datagen::SizeEstimate& estimate,
                     double seconds) {
  nlohmann::ordered_json all = {
      {"output", arguments.output},
      {"format", datagen::NameOf(arguments.settings.format)},
      {"bytes", estimate.bytes},
      {"files", plan.all_files()},
      {"blocks", plan.all_blocks()},
      {"shard", fmt::format("{}/{}", arguments.shard.index, arguments.shard.count)},
      {"files_of_shard", plan.files()},
      {"seconds", seconds},
      {"tables", nlohmann::ordered_json::object()}};
  for (const datagen::Table* each : model.tables()) {
    const datagen::TableSize& size = estimate.tables.at(each->name);
    all["tables"][std::string(each->name)] = {
        {"files", size.files}, {"rows", size.rows}, {"bytes", size.bytes}};
  }
  return all.dump(2);
}

}  // namespace

int ShowPlan(const RunArguments& arguments) {
  const datagen::Settings& settings = arguments.settings;
  Moments finding(arguments.quiet,
                  settings.Growing() ? "counting rows" : "making one block to find out");
  const auto prepared = PrepareModel(settings, arguments.threads, [&](uint64_t done, uint64_t all) {
    finding.Show(done, all);
    return true;
  });
  if (!prepared) return Say(prepared.error());
  const datagen::Model& model = *prepared->model;
  const auto plan = datagen::Plan::Make(model, settings.format, settings.FileRows(),
                                        arguments.shard, settings.Partition());
  if (!plan) return Say(plan.error());
  const auto begin = Clock::now();
  const auto estimate = datagen::EstimateSize(
      model, settings.Options(), settings.FileRows(), [] { return true; }, settings.Partition());
  if (!estimate) return Say(estimate.error());
  const double block_seconds = std::chrono::duration<double>(Clock::now() - begin).count();

  const auto busy = static_cast<uint64_t>(arguments.threads);
  const uint64_t rounds = (plan->blocks() + busy - 1) / busy;
  const double share = static_cast<double>(plan->blocks()) /
                       static_cast<double>(std::max<uint64_t>(1, plan->all_blocks()));
  const double seconds =
      plan->blocks() <= busy ? block_seconds : block_seconds * static_cast<double>(rounds);
  if (arguments.json) {
    fmt::print("{}\n", JsonPlan(arguments, model, *plan, *estimate, seconds));
    return kDone;
  }
  TextTable table{.head = {"table", "files", "rows", "size"},
                  .align = {Align::kLeft, Align::kRight, Align::kRight, Align::kRight}};
  for (const datagen::Table* each : model.tables()) {
    const datagen::TableSize& size = estimate->tables.at(each->name);
    table.rows.push_back({std::string(each->name), FormatCount(size.files), FormatCount(size.rows),
                          FormatSize(size.bytes)});
  }
  fmt::print("{} as {}, about {} in {} files, {} block{}\n{}", arguments.output,
             datagen::NameOf(settings.format), FormatSize(estimate->bytes),
             FormatCount(plan->all_files()), FormatCount(plan->all_blocks()),
             plan->all_blocks() == 1 ? "" : "s", Render(table, 2));
  if (arguments.shard.count > 1) {
    fmt::print("part {} of {}: {} files\n", arguments.shard.index, arguments.shard.count,
               FormatCount(plan->files()));
  }
  if (plan->blocks() > 0) {
    fmt::print("about {} here with {} thread{}, if the disk takes {}/s\n", TimeText(seconds),
               arguments.threads, arguments.threads == 1 ? "" : "s",
               FormatSize(static_cast<Bytes>(static_cast<double>(estimate->bytes) * share /
                                             std::max(seconds, 1e-3))));
  }
  return kDone;
}

int ShowSample(const RunArguments& arguments) {
  const uint64_t rows = arguments.settings.rows.value_or(kRowsToSampleFrom);
  const auto model = MakeModel(arguments.settings, rows);
  if (!model) return Say(model.error());
  const auto samples = datagen::Sample(**model, kSampleRows);
  if (!samples) return Say(samples.error());
  bool first = true;
  for (const datagen::TableSample& sample : *samples) {
    TextTable table;
    for (const datagen::Column& column : sample.table->columns) {
      table.head.emplace_back(column.name);
      const bool number = column.type == datagen::ColumnType::kInteger ||
                          column.type == datagen::ColumnType::kDecimal;
      table.align.push_back(number ? Align::kRight : Align::kLeft);
    }
    table.rows = sample.rows;
    fmt::print("{}{}\n{}", first ? "" : "\n", sample.table->name, Render(table, 2));
    first = false;
  }
  return kDone;
}

int ShowConfiguration(const RunArguments& arguments) {
  fmt::print("{}", datagen::ConfigurationText(arguments.settings, datagen::Comments::kYes));
  return kDone;
}

int ShowSchema() {
  fmt::print("{}", datagen::SchemaDocument());
  return kDone;
}

int ShowVersion() {
  fmt::print("fraudgen {}\n", REVEZA_VERSION);
  if (datagen::HaveArrow()) {
    fmt::print("Arrow {}, zstd {}\n", datagen::ArrowVersion(), datagen::ZstdVersion());
  } else {
    fmt::print("built without Arrow: no Parquet, no Arrow files\n");
  }
  if (!datagen::HaveKafka()) fmt::print("built without librdkafka: no streams to Kafka\n");
  if (!datagen::HaveWebhook()) fmt::print("built without cpp-httplib: no streams to webhooks\n");
  fmt::print("{} numbers of 64 bits at once on this processor\n",
             static_cast<int>(datagen::VectorsOfProcessor()));
  return kDone;
}

}  // namespace reveza::fraudgen
