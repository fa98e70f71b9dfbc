// The files of a run, or one table on standard output.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "datagen/output/object_store.h"
#include "datagen/output/stdout_sink.h"
#include "datagen/run/bucket.h"
#include "datagen/run/folder.h"
#include "datagen/run/one_file.h"
#include "datagen/run/runner.h"
#include "exit_status.h"
#include "models.h"
#include "platform/stop_signals.h"
#include "progress_display.h"
#include "text.h"

namespace reveza::fraudgen {
namespace {

using datagen::Format;
using datagen::Plan;
using datagen::RunResult;
using Clock = std::chrono::steady_clock;

int Stopped(int signal, const RunArguments& arguments, const char* what) {
  if (!arguments.quiet) Remark(fmt::format("fraudgen: {}\n", what));
  return signal == SIGTERM ? kTerminated : kInterrupted;
}

constexpr const char* kGoOn =
    "stopped; what is finished stays, the same command goes on from there";

// A model and its files.
struct Prepared : PreparedModel {
  std::optional<Plan> plan;
};

Result<Prepared> Prepare(const RunArguments& arguments, platform::StopSignals& signals) {
  const datagen::Settings& settings = arguments.settings;
  auto model = [&] {
    Moments finding(arguments.quiet || settings.rows.has_value(),
                    settings.Growing() ? "counting rows" : "finding out how large a row is");
    return PrepareModel(settings, arguments.threads, [&](uint64_t done, uint64_t all) {
      finding.Show(done, all);
      return signals.Came() == 0;
    });
  }();
  if (!model) return std::unexpected(model.error());
  Prepared prepared{*std::move(model), std::nullopt};
  auto plan = Plan::Make(*prepared.model, prepared.settings.format, prepared.settings.FileRows(),
                         arguments.shard, prepared.settings.Partition());
  if (!plan) return std::unexpected(plan.error());
  prepared.plan = *std::move(plan);
  return prepared;
}

std::string JsonSummary(const RunArguments& arguments, const std::string& place,
                        const Prepared& prepared, const RunResult& result, double seconds) {
  nlohmann::ordered_json summary = {
      {"output", place},
      {"complete", result.complete},
      {"stopped", result.stopped},
      {"shard", fmt::format("{}/{}", arguments.shard.index, arguments.shard.count)},
      {"rows", prepared.rows},
      {"files_made", result.progress.files_made},
      {"files_kept", result.progress.files_kept},
      {"rows_made", result.progress.rows_made},
      {"bytes_made", result.progress.bytes_made},
      {"seconds", seconds},
      {"tables", nlohmann::ordered_json::object()}};
  for (const auto& [name, total] : result.tables) {
    summary["tables"][std::string(name)] = {
        {"files", total.files}, {"rows", total.rows}, {"bytes", total.bytes}};
  }
  return summary.dump(2);
}

std::string Summary(const RunArguments& arguments, const std::string& place,
                    const Prepared& prepared, const RunResult& result, double seconds) {
  TextTable table{.head = {"table", "files", "rows", "size"},
                  .align = {Align::kLeft, Align::kRight, Align::kRight, Align::kRight}};
  Bytes bytes = 0;
  for (const datagen::Table* each : prepared.model->tables()) {
    const auto found = result.tables.find(each->name);
    if (found == result.tables.end()) continue;
    const datagen::TableTotal& total = found->second;
    table.rows.push_back({std::string(each->name), FormatCount(total.files),
                          FormatCount(total.rows), FormatSize(total.bytes)});
    bytes += total.bytes;
  }
  std::string text = fmt::format("{}: {} in all\n{}", place, FormatSize(bytes), Render(table, 2));
  if (result.progress.files_made > 0) {
    // A block is one thread's work.
    const uint64_t blocks = prepared.plan ? prepared.plan->blocks() : 0;
    const uint64_t threads =
        std::clamp<uint64_t>(blocks, 1, static_cast<uint64_t>(arguments.threads));
    text += fmt::format(
        "made in {:.1f} s: {} rows/s, {}/s with {} thread{}\n", seconds,
        FormatRate(static_cast<double>(result.progress.rows_made) / seconds),
        FormatSize(static_cast<Bytes>(static_cast<double>(result.progress.bytes_made) / seconds)),
        threads, threads == 1 ? "" : "s");
  }
  if (result.progress.files_kept > 0) {
    text += fmt::format("{} of the files were there already\n",
                        FormatCount(result.progress.files_kept));
  }
  if (!result.complete) {
    text += fmt::format("part {} of {}; manifest.json comes with the last of the others\n",
                        arguments.shard.index, arguments.shard.count);
  }
  return text;
}

int GenerateInto(datagen::Destination& destination, const RunArguments& arguments,
                 platform::StopSignals& signals) {
  if (auto ready = destination.Prepare(); !ready) return Say(ready.error());
  const auto prepared = Prepare(arguments, signals);
  if (!prepared) {
    if (const int signal = signals.Came()) return Stopped(signal, arguments, kGoOn);
    return Say(prepared.error());
  }
  datagen::RunOptions options{
      .table = prepared->settings.Options(),
      .made_by = MadeByOf(prepared->settings),
      .configuration = ConfigurationText(prepared->settings, datagen::Comments::kYes),
      .threads = arguments.threads};
  options.table.created_by = CreatedBy();
  const auto begin = Clock::now();
  const auto result = [&] {
    ProgressDisplay display(arguments.quiet, prepared->plan->rows());
    return datagen::Run(*prepared->model, *prepared->plan, options, destination,
                        [&](const datagen::Progress& now) {
                          display.Show(now.rows, now.rows_made, now.bytes_made);
                          return signals.Came() == 0;
                        });
  }();
  if (!result) return Say(result.error());
  const double seconds =
      std::max(1e-3, std::chrono::duration<double>(Clock::now() - begin).count());
  const std::string place = destination.PathOf("");
  if (arguments.json) {
    fmt::print("{}\n", JsonSummary(arguments, place, *prepared, *result, seconds));
  }
  if (result->stopped) return Stopped(signals.Came(), arguments, kGoOn);
  if (!arguments.json && !arguments.quiet) {
    fmt::print("{}", Summary(arguments, place, *prepared, *result, seconds));
  }
  return kDone;
}

int GenerateFolder(const RunArguments& arguments) {
  platform::StopSignals signals;
  datagen::Folder folder(arguments.output);
  return GenerateInto(folder, arguments, signals);
}

int GenerateBucket(const RunArguments& arguments) {
  auto address =
      datagen::ParseStoreAddress(arguments.output, arguments.store, datagen::ProcessEnvironment);
  if (!address) return Say(address.error());
  if (arguments.date_partition) {
    address->prefix = datagen::PrefixOfDay(address->prefix, arguments.settings.End());
  }
  platform::StopSignals signals;
  // Ends what it began on every way out of here.
  const auto session = datagen::StoreSession::Begin(*address);
  if (!session) return Say(session.error());
  const auto store = (*session)->Connect(*address, {});
  if (!store) return Say(store.error());
  datagen::Bucket bucket(**store, *address);
  return GenerateInto(bucket, arguments, signals);
}

// The table of that name; or, having said why not, nothing.
const datagen::Table* FindTable(const datagen::Model& model, const std::string& name) {
  std::vector<std::string_view> names;
  for (const datagen::Table* table : model.tables()) {
    if (table->name == name) return table;
    names.push_back(table->name);
  }
  Say(kUsage, fmt::format("--table: there is no table '{}'; it is one of {}", name,
                          fmt::join(names, ", ")));
  return nullptr;
}

int GenerateStream(const RunArguments& arguments) {
  const Format format = arguments.settings.format;
  if (!arguments.settings.partition.empty()) {
    return Say(kUsage, "--partition makes folders, and --output - has none; leave one");
  }
  if (arguments.shard.count > 1) {
    return Say(kUsage, "--shard is for files, and --output - is one table, whole; leave one");
  }
  if (arguments.json) {
    return Say(kUsage, "--json and --output - would both write to standard output; leave one");
  }
  if ((format == Format::kParquet || format == Format::kArrow) && isatty(STDOUT_FILENO) == 1) {
    return Say(kUsage,
               "a terminal cannot show this format; send it to a file or a program, or "
               "write --format csv");
  }
  platform::StopSignals signals;
  const auto prepared = Prepare(arguments, signals);
  if (!prepared) {
    if (const int signal = signals.Came()) return Stopped(signal, arguments, "stopped");
    return Say(prepared.error());
  }
  const std::string name =
      arguments.table.empty() ? std::string(MainTable(prepared->settings)) : arguments.table;
  const datagen::Table* table = FindTable(*prepared->model, name);
  if (table == nullptr) return kUsage;
  datagen::TableOptions options = prepared->settings.Options();
  options.created_by = CreatedBy();
  datagen::StdoutSink sink;
  // Its line is gone before anything else is said.
  const auto written = [&] {
    ProgressDisplay display(arguments.quiet, prepared->plan->rows());
    return datagen::WriteOneFile(*prepared->model, *prepared->plan, *table, options, sink,
                                 [&](const datagen::OneFileProgress& now) {
                                   display.Show(now.rows, now.rows, now.bytes);
                                   return signals.Came() == 0;
                                 });
  }();
  if (const int signal = signals.Came()) return Stopped(signal, arguments, "stopped");
  // Whoever reads has enough: `fraudgen ... | head`.
  if (!written && sink.reader_gone()) return kDone;
  if (!written) return Say(written.error());
  return kDone;
}

}  // namespace

int Generate(const RunArguments& arguments) {
  if (arguments.output == "-") return GenerateStream(arguments);
  if (!arguments.table.empty()) {
    return Say(kUsage, "--table is for --output -; a folder gets all tables");
  }
  if (datagen::IsStoreUrl(arguments.output)) return GenerateBucket(arguments);
  if (!(arguments.store == datagen::StoreFlags())) {
    return Say(kUsage, "--s3-... and --minio-... are for --output s3://bucket/prefix");
  }
  // With a slash too few it would be a folder of that name.
  if (arguments.output.contains("://") || arguments.output.starts_with("s3:/") ||
      arguments.output.starts_with("minio:/")) {
    return Say(kUsage,
               fmt::format("'{}' is no place to write to; name a folder, s3://bucket/prefix "
                           "or minio://bucket/prefix",
                           arguments.output));
  }
  return GenerateFolder(arguments);
}

}  // namespace reveza::fraudgen
