// Writes a data set to a folder or bucket, or one table to standard output.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/platform/stop_signals.h"
#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/terminal.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/output/store_address.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/direct_output.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/prepare.h"
#include "fraudgen/run/runner.h"

namespace reveza::fraudgen::cli {
namespace {

using Clock = std::chrono::steady_clock;

int Stopped(int signal, const RunArguments& arguments, const char* message) {
  if (!arguments.quiet) PrintToStderr(fmt::format("fraudgen: {}\n", message));
  return StatusOfSignal(signal);
}

constexpr const char* kResumable =
    "stopped; finished files are kept, run the same command to resume";

Result<PreparedRun> Prepare(const RunArguments& arguments, platform::StopSignals& signals) {
  const Settings& settings = arguments.settings;
  StatusLine status(arguments.quiet || settings.rows.has_value(),
                    settings.IsGrowing() ? "counting rows" : "estimating the row size");
  return PrepareRun(settings, arguments.shard, arguments.threads,
                    [&](uint64_t done, uint64_t total) {
                      status.Show(done, total);
                      return signals.Received() == 0;
                    });
}

// Calls `run` with a callback that displays progress and stops the run at a signal. Clears the
// display before anything else is printed.
auto WithDisplay(const RunArguments& arguments, const PreparedRun& prepared,
                 platform::StopSignals& signals, const auto& run) {
  ProgressDisplay display(arguments.quiet, prepared.plan.rows());
  return run([&](const Progress& now) {
    display.Show(now.rows, now.rows_made, now.bytes_made);
    return signals.Received() == 0;
  });
}

std::string JsonSummary(const RunArguments& arguments, const std::string& place,
                        const PreparedRun& prepared, const RunResult& result, double seconds) {
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
                    const PreparedRun& prepared, const RunResult& result, double seconds) {
  Bytes bytes = 0;
  for (const auto& [name, total] : result.tables) bytes += total.bytes;
  std::string text = fmt::format("{}: {} total\n{}", place, FormatSize(bytes),
                                 RenderTotals(prepared.model->tables(), result.tables));
  if (result.progress.files_made > 0) {
    // Each group of blocks is made by one thread.
    const uint64_t threads = std::clamp<uint64_t>(prepared.plan.shard().groups(), 1,
                                                  static_cast<uint64_t>(arguments.threads));
    text += fmt::format(
        "generated in {:.1f} s: {} rows/s, {}/s with {} thread{}\n", seconds,
        FormatScaled(static_cast<double>(result.progress.rows_made) / seconds),
        FormatSize(static_cast<Bytes>(static_cast<double>(result.progress.bytes_made) / seconds)),
        threads, threads == 1 ? "" : "s");
  }
  if (result.progress.files_kept > 0) {
    text += fmt::format("{} files already existed\n", FormatCount(result.progress.files_kept));
  }
  if (!result.complete) {
    text += fmt::format("part {} of {}; the last part to finish writes manifest.json\n",
                        arguments.shard.index, arguments.shard.count);
  }
  return text;
}

int GenerateInto(Destination& destination, const RunArguments& arguments,
                 platform::StopSignals& signals) {
  if (auto able = CheckSupported(arguments.settings.Options()); !able) {
    return ReportError(able.error());
  }
  if (auto ready = destination.Prepare(); !ready) return ReportError(ready.error());
  const auto prepared = Prepare(arguments, signals);
  if (!prepared) {
    if (const int signal = signals.Received()) return Stopped(signal, arguments, kResumable);
    return ReportError(prepared.error());
  }
  const RunOptions options = prepared->Options(arguments.threads);
  const auto begin = Clock::now();
  const auto result = WithDisplay(arguments, *prepared, signals, [&](const OnProgress& progress) {
    return Run(*prepared->model, prepared->plan, options, destination, progress);
  });
  if (!result) return ReportError(result.error());
  const double seconds =
      std::max(1e-3, std::chrono::duration<double>(Clock::now() - begin).count());
  const std::string place = destination.PathOf("");
  if (arguments.json) {
    fmt::print("{}\n", JsonSummary(arguments, place, *prepared, *result, seconds));
  }
  if (result->stopped) return Stopped(signals.Received(), arguments, kResumable);
  if (!arguments.json && !arguments.quiet) {
    fmt::print("{}", Summary(arguments, place, *prepared, *result, seconds));
  }
  return kDone;
}

int GenerateBucket(const RunArguments& arguments) {
  auto address = ParseStoreAddress(arguments.output, arguments.store, ProcessEnvironment);
  if (address && arguments.date_partition) {
    address->prefix = PrefixOfDay(address->prefix, arguments.settings.End());
  }
  platform::StopSignals signals;
  return WithBucket(address, [&](const std::shared_ptr<Destination>& bucket) {
    return GenerateInto(*bucket, arguments, signals);
  });
}

int GenerateToStdout(const RunArguments& arguments) {
  const Format format = arguments.settings.format;
  if (!arguments.settings.partition.empty()) {
    return ReportError(kUsage,
                       "--partition and --output - exclude each other: partitions are folders");
  }
  if (arguments.json) {
    return ReportError(kUsage,
                       "--json and --output - exclude each other: both write to standard output");
  }
  const bool compressed = arguments.settings.TextCodec() != Codec::kNone;
  if ((IsColumnar(format) || compressed) && isatty(STDOUT_FILENO) == 1) {
    return ReportError(
        kUsage, fmt::format("refusing to write {} to a terminal; redirect the output or use {}",
                            compressed ? "compressed text" : "a binary format",
                            compressed ? "--compression none" : "--format csv"));
  }
  platform::StopSignals signals;
  const auto prepared = Prepare(arguments, signals);
  if (!prepared) {
    if (const int signal = signals.Received()) return Stopped(signal, arguments, "stopped");
    return ReportError(prepared.error());
  }
  const Table* table = FindTable(*prepared->model, arguments);
  if (table == nullptr) return kUsage;
  TableOptions options = prepared->Options(arguments.threads).table;
  options.stream = true;
  // A closed pipe is reported by write().
  signal(SIGPIPE, SIG_IGN);
  StdoutSink sink;
  const auto written = WithDisplay(arguments, *prepared, signals, [&](const OnProgress& progress) {
    return WriteOneFile(*prepared->model, prepared->plan, *table, options, sink, progress);
  });
  if (const int signal = signals.Received()) return Stopped(signal, arguments, "stopped");
  // The reader closed the pipe: `fraudgen ... | head`.
  if (!written && sink.reader_gone()) return kDone;
  if (!written) return ReportError(written.error());
  return kDone;
}

}  // namespace

int Generate(const RunArguments& arguments) {
  if (arguments.output == "-") return GenerateToStdout(arguments);
  if (!arguments.table.empty()) {
    return ReportError(kUsage, "--table requires --output -; a folder gets all tables");
  }
  if (IsStoreUrl(arguments.output)) return GenerateBucket(arguments);
  if (!(arguments.store == StoreFlags())) {
    return ReportError(kUsage, "--s3-... and --minio-... require --output s3://bucket/prefix");
  }
  // Catches URLs with a missing slash, which would become folders.
  if (arguments.output.contains("://") || arguments.output.starts_with("s3:/") ||
      arguments.output.starts_with("minio:/")) {
    return ReportError(
        kUsage, fmt::format("--output: '{}' is invalid; expected a folder, s3://bucket/prefix or "
                            "minio://bucket/prefix",
                            arguments.output));
  }
  platform::StopSignals signals;
  Folder folder(arguments.output);
  return GenerateInto(folder, arguments, signals);
}

const Table* FindTable(const Model& model, const RunArguments& arguments) {
  const std::string_view name =
      arguments.table.empty() ? arguments.settings.MainTable() : std::string_view(arguments.table);
  const auto found = FindTable(model, name);
  if (found) return *found;
  ReportError(found.error());
  return nullptr;
}

int WithPlace(const RunArguments& arguments, const std::string& place,
              const std::function<int(const std::shared_ptr<Destination>&)>& use) {
  if (IsStoreUrl(place)) {
    return WithBucket(ParseStoreAddress(place, arguments.store, ProcessEnvironment), use);
  }
  if (!(arguments.store == StoreFlags())) {
    return ReportError(kUsage, "--s3-... and --minio-... require s3://bucket/prefix");
  }
  return use(std::make_shared<Folder>(place));
}

int WithBucket(const Result<StoreAddress>& address,
               const std::function<int(const std::shared_ptr<Destination>&)>& use) {
  if (!address) return ReportError(address.error());
  // Its destructor shuts the S3 library down.
  const auto session = StoreSession::Begin(*address);
  if (!session) return ReportError(session.error());
  auto bucket = (*session)->Connect(*address, {});
  if (!bucket) return ReportError(bucket.error());
  return use(*std::move(bucket));
}

}  // namespace reveza::fraudgen::cli
