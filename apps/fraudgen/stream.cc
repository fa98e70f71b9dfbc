// `fraudgen stream`: the timeline of a data set, event by event, to whoever listens.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "commands.h"
#include "datagen/civil_time.h"
#include "datagen/defects/row_defects.h"
#include "datagen/output/stdout_sink.h"
#include "datagen/schema_coherent.h"
#include "datagen/stream/block_source.h"
#include "datagen/stream/displaced_events.h"
#include "datagen/stream/event_key_sink.h"
#include "datagen/stream/event_spoiler.h"
#include "datagen/stream/event_table.h"
#include "datagen/stream/kafka/kafka_sink.h"
#include "datagen/stream/merge.h"
#include "datagen/stream/pipe_sink.h"
#include "datagen/stream/real_clock.h"
#include "datagen/stream/streamer.h"
#include "datagen/stream/webhook/webhook_sink.h"
#include "exit_status.h"
#include "models.h"
#include "platform/stop_signals.h"
#include "progress_display.h"
#include "stream_plan.h"
#include "text.h"

namespace reveza::fraudgen {
namespace {

using datagen::StreamProgress;
using std::chrono::nanoseconds;

// Where nobody says how many: a stream begins at once, so nothing is measured first.
constexpr uint64_t kDefaultRows = 1'000'000;
// A block is a thread and about 13 MB.
constexpr uint64_t kMostBlocks = 2'000;
constexpr uint64_t kMostRows = 4'000'000'000;

class StopBySignal final : public datagen::Stop {
 public:
  bool Came() override { return signals_.Came() != 0; }
  int file() const override { return signals_.file(); }
  int signal() { return signals_.Came(); }

 private:
  platform::StopSignals signals_;
};

// A model whose rows are a timeline, and its blocks.
struct Timeline {
  uint64_t rows = 0;  // where nobody counts them, about as many
  std::unique_ptr<datagen::Model> model;
  datagen::EventTable table;
  std::unique_ptr<datagen::RowDefects> defects;  // null: all rows are sound
  std::unique_ptr<datagen::Turns> turns;
  std::vector<std::unique_ptr<datagen::EventSource>> sources;

  std::vector<datagen::EventSource*> Sources() const {
    std::vector<datagen::EventSource*> all;
    for (const auto& source : sources) all.push_back(source.get());
    return all;
  }
  uint64_t events() const { return rows + (defects ? defects->duplicates() : 0); }
};

// The sound model, whose rows are broken on their way. Rows that follow from customers and days are
// counted only where the breaking needs it: a stream begins at once.
Result<PreparedModel> PrepareSound(const RunArguments& arguments, const StreamArguments& stream,
                                   datagen::Stop& stop) {
  datagen::Settings asked = arguments.settings;
  if (!stream.says_how_much && !asked.Growing()) asked.rows = kDefaultRows;
  const OnPreparing go_on = [&stop](uint64_t, uint64_t) { return !stop.Came(); };
  PreparedModel prepared;
  if (!asked.Growing()) {
    const auto rows = RowsOf(asked, go_on);
    if (!rows) return std::unexpected(rows.error());
    prepared.rows = *rows;
  }
  prepared.settings = asked.Resolved(prepared.rows);
  auto model = MakeSoundModel(prepared.settings, prepared.rows);
  if (!model) return std::unexpected(model.error());
  prepared.model = *std::move(model);
  if (prepared.model->IsInOrder() && prepared.model->blocks() > kMostBlocks) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("a stream of {} rows would keep too many customers in memory; ask for "
                            "a shorter period and at most {} rows",
                            FormatCount(prepared.rows), FormatCount(kMostRows)));
  }
  if (!asked.Growing()) return prepared;
  if (!asked.defects.Any()) {
    prepared.rows =
        prepared.model->RowsOf(datagen::coherent::kTransactions, 0) * prepared.model->blocks();
    return prepared;
  }
  const auto counted = CountRows(*prepared.model, arguments.threads, go_on);
  if (!counted) return std::unexpected(counted.error());
  prepared.rows = *counted;
  return prepared;
}

Status AddSource(Timeline& timeline, const datagen::TableOptions& options,
                 std::optional<uint64_t> first_row, datagen::BlockSource::MakeRows make) {
  std::unique_ptr<datagen::EventSpoiler> spoiler;
  if (timeline.defects) {
    auto made = datagen::EventSpoiler::Make(options, *timeline.defects, first_row);
    if (!made) return std::unexpected(made.error());
    spoiler = *std::move(made);
  }
  auto writer = datagen::EventWriter::Make(options, timeline.table, std::move(spoiler));
  if (!writer) return std::unexpected(writer.error());
  timeline.sources.push_back(
      std::make_unique<datagen::BlockSource>(std::move(make), *std::move(writer), *timeline.turns));
  return {};
}

Result<Timeline> MakeTimeline(const RunArguments& arguments, const StreamArguments& stream,
                              datagen::EventKey key, datagen::Stop& stop) {
  auto prepared = PrepareSound(arguments, stream, stop);
  if (!prepared) return std::unexpected(prepared.error());
  const datagen::Settings& settings = prepared->settings;
  Timeline timeline;
  timeline.rows = prepared->rows;
  timeline.model = std::move(prepared->model);
  const auto tables = timeline.model->tables();
  const auto table = std::ranges::find(tables, MainTable(settings), &datagen::Table::name);
  if (table == tables.end()) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("the {} model has no {}", settings.model, MainTable(settings)));
  }
  const auto event_table = datagen::EventTable::Of(**table, key);
  if (!event_table) return std::unexpected(event_table.error());
  timeline.table = *event_table;
  timeline.turns = std::make_unique<datagen::Turns>(arguments.threads);
  const datagen::Model& rows_of = *timeline.model;
  const datagen::Table* wanted = *table;
  if (settings.defects.Any()) {
    timeline.defects = std::make_unique<datagen::RowDefects>(rows_of, *wanted, DefectsOf(settings));
  }
  if (!rows_of.IsInOrder()) {
    const Status added = AddSource(timeline, settings.Options(), std::nullopt,
                                   [&rows_of, wanted](datagen::BatchSink& sink) {
                                     return rows_of.MakeInOrder(*wanted, sink);
                                   });
    if (!added) return std::unexpected(added.error());
    return timeline;
  }
  for (uint64_t block = 0; block < rows_of.blocks(); ++block) {
    const uint64_t first = timeline.defects ? timeline.defects->FirstRow(block) : 0;
    const Status added = AddSource(timeline, settings.Options(), first,
                                   [&rows_of, wanted, block](datagen::BatchSink& sink) {
                                     return rows_of.Make(block, std::span(&wanted, 1), sink);
                                   });
    if (!added) return std::unexpected(added.error());
  }
  return timeline;
}

double Seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// The events after the first, by the time that they took.
double RateOf(const StreamProgress& progress) {
  if (progress.events < 2 || progress.elapsed.count() == 0) return 0;
  return static_cast<double>(progress.events - 1) / Seconds(progress.elapsed);
}

std::string TimeOf(int64_t time) {
  const datagen::TimeText text = datagen::FormatTime(time);
  return {text.data(), sizeof("2024-01-01T00:00:00") - 1};
}

std::string SummaryText(const StreamProgress& progress, const datagen::EventSink& sink) {
  std::string text = fmt::format("{} event{}, {}", FormatCount(progress.events),
                                 progress.events == 1 ? "" : "s", FormatSize(progress.bytes));
  if (progress.events > 0) {
    text += fmt::format(" in {:.1f} s: {:.1f}/s; from {} to {}", Seconds(progress.elapsed),
                        RateOf(progress), TimeOf(progress.first_time), TimeOf(progress.last_time));
  }
  if (sink.confirmed() < progress.events) {
    text += fmt::format("; {} not confirmed", FormatCount(progress.events - sink.confirmed()));
  }
  if (sink.repeated() > 0) {
    text += fmt::format("; {} sent again", FormatCount(sink.repeated()));
  }
  if (progress.whole) text += "; that was all of the timeline";
  return text;
}

std::string SummaryJson(const StreamProgress& progress, const datagen::EventSink& sink) {
  const nlohmann::ordered_json summary = {{"events", progress.events},
                                          {"bytes", progress.bytes},
                                          {"confirmed", sink.confirmed()},
                                          {"repeated", sink.repeated()},
                                          {"seconds", Seconds(progress.elapsed)},
                                          {"rate", RateOf(progress)},
                                          {"behind_seconds", Seconds(progress.behind)},
                                          {"whole", progress.whole},
                                          {"stopped", progress.stopped}};
  return summary.dump();
}

int Stopped(StopBySignal& stop) { return stop.signal() == SIGTERM ? kTerminated : kInterrupted; }

// The file that the answer key goes into as the events go, so that it can be followed.
struct KeyFile {
  UniqueFd file;
  datagen::StdoutSink sink;
};

Result<KeyFile> BeginKey(const std::string& path) {
  constexpr mode_t kForAll = 0666;
  if (path.empty()) return KeyFile{.file = {}, .sink = datagen::StdoutSink()};
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kForAll));
  if (!file) {
    const int error = errno;
    const bool refused = error == EACCES || error == EPERM || error == EROFS;
    return Fail(refused ? Error::Code::kPermission : Error::Code::kNotFound,
                fmt::format("--defects-key: could not write {}: {}", path,
                            std::generic_category().message(error)));
  }
  datagen::StdoutSink sink(file.get(), path);
  return KeyFile{.file = std::move(file), .sink = std::move(sink)};
}

// Everything but the data goes to standard error, where it mixes with nothing.
int Run(const RunArguments& arguments, const StreamArguments& stream, const StreamPlan& plan,
        StopBySignal& stop, datagen::EventSink& sink, const bool* reader_gone) {
  const auto timeline = MakeTimeline(arguments, stream, plan.key, stop);
  if (!timeline && stop.Came()) return Stopped(stop);
  if (!timeline) return Say(timeline.error());
  auto key = BeginKey(stream.defects_key);
  if (!key) return Say(key.error());
  std::unique_ptr<datagen::EventKeySink> noting;
  if (timeline->defects) {
    auto made = datagen::EventKeySink::Make(sink, timeline->table.table->name, key->sink);
    if (!made) return Say(made.error());
    noting = *std::move(made);
  }
  datagen::EventSink& taker = noting ? *noting : sink;
  datagen::RealClock clock(stop);
  datagen::Merge merge(timeline->Sources());
  datagen::DisplacedEvents displaced(merge);
  datagen::EventFeed& feed = noting ? static_cast<datagen::EventFeed&>(displaced)
                                    : static_cast<datagen::EventFeed&>(merge);
  const auto most = stream.max_events ? static_cast<uint64_t>(*stream.max_events) : UINT64_MAX;
  const uint64_t all = std::min(most, timeline->events());
  StreamProgress progress;
  Status status;
  {
    ProgressDisplay display(arguments.quiet, all);
    status = RunStream(
        feed, taker, plan.schedule, {.most_events = most}, clock, stop,
        [&](const StreamProgress& now) { display.Show(now.events, now.events, now.bytes); },
        progress);
    if (status) status = sink.Flush();
  }
  const bool enough = reader_gone != nullptr && *reader_gone;
  if (arguments.json) {
    Remark(fmt::format("{}\n", SummaryJson(progress, sink)));
  } else if (!arguments.quiet) {
    Remark(fmt::format("fraudgen: {}\n", SummaryText(progress, sink)));
  }
  if (!status && !enough) return Say(status.error());
  if (auto ended = key->file.Close(); !ended) {
    return Say({Error::Code::kExhausted,
                fmt::format("--defects-key: could not write {}: {}", stream.defects_key,
                            std::generic_category().message(ended.error()))});
  }
  // Also where all had been sent, and those who had them were not heard of any more.
  const bool unconfirmed = stop.Came() && sink.confirmed() < progress.events;
  if (progress.stopped || unconfirmed) return Stopped(stop);
  return kDone;
}

}  // namespace

int Stream(const RunArguments& arguments, const StreamArguments& stream) {
  const auto plan = PlanOf(arguments, stream);
  if (!plan) return Say(plan.error());
  // A reader that goes away is told by the write.
  signal(SIGPIPE, SIG_IGN);
  StopBySignal stop;
  if (plan->target == StreamTarget::kStdout) {
    datagen::PipeSink sink(STDOUT_FILENO,
                           stream.pretty ? datagen::Look::kPretty : datagen::Look::kCompact, stop);
    return Run(arguments, stream, *plan, stop, sink, &sink.reader_gone());
  }
  datagen::RealClock clock(stop);
  const auto sink = plan->target == StreamTarget::kKafka
                        ? datagen::MakeKafkaSink(plan->kafka, stop)
                        : datagen::MakeWebhookSink(plan->webhook, clock, stop);
  if (!sink && stop.Came()) return Stopped(stop);
  if (!sink) return Say(sink.error());
  return Run(arguments, stream, *plan, stop, **sink, nullptr);
}

}  // namespace reveza::fraudgen
