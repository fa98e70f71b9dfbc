// `fraudgen stream`: the timeline of a data set, event by event, to whoever listens.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "datagen/civil_time.h"
#include "datagen/stream/block_source.h"
#include "datagen/stream/event_table.h"
#include "datagen/stream/pipe_sink.h"
#include "datagen/stream/schedule.h"
#include "datagen/stream/streamer.h"
#include "exit_status.h"
#include "models.h"
#include "progress_display.h"
#include "stop_signals.h"
#include "text.h"

namespace reveza::fraudgen {
namespace {

using datagen::StreamProgress;
using std::chrono::nanoseconds;

// As the original.
constexpr std::string_view kDefaultRate = "10";
// Where nobody says how many: a stream begins at once, so nothing is measured first.
constexpr uint64_t kDefaultRows = 1'000'000;

class StopBySignal final : public datagen::Stop {
 public:
  bool Came() override { return signals_.Came() != 0; }
  int file() const override { return signals_.file(); }
  int signal() { return signals_.Came(); }

 private:
  StopSignals signals_;
};

class RealClock final : public datagen::StreamClock {
 public:
  explicit RealClock(datagen::Stop& stop) : stop_(stop) {}
  nanoseconds Now() override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void WaitUntil(nanoseconds time) override {
    constexpr int64_t kSecond = 1'000'000'000;
    const int64_t wait = std::max<int64_t>(0, (time - Now()).count());
    const timespec pause = {.tv_sec = wait / kSecond, .tv_nsec = wait % kSecond};
    pollfd come = {.fd = stop_.file(), .events = POLLIN, .revents = 0};
    ppoll(&come, 1, &pause, nullptr);
  }

 private:
  datagen::Stop& stop_;
};

Result<datagen::Schedule> ScheduleOf(const StreamArguments& stream) {
  if (!stream.rate.empty() && !stream.pace.empty()) {
    return Fail(Error::Code::kInvalidArgument,
                "--rate and --pace both say how fast; leave one of them");
  }
  if (!stream.pace.empty()) return datagen::Schedule::ParsePace(stream.pace);
  return datagen::Schedule::ParseRate(stream.rate.empty() ? kDefaultRate : stream.rate);
}

// A model whose rows are a timeline, and its blocks.
struct Timeline {
  uint64_t rows = 0;
  std::unique_ptr<datagen::Model> model;
  datagen::EventTable table;
  std::unique_ptr<datagen::Turns> turns;
  std::vector<std::unique_ptr<datagen::EventSource>> sources;

  std::vector<datagen::EventSource*> Sources() const {
    std::vector<datagen::EventSource*> all;
    for (const auto& source : sources) all.push_back(source.get());
    return all;
  }
};

Result<Timeline> MakeTimeline(const RunArguments& arguments, const StreamArguments& stream,
                              datagen::Stop& stop) {
  datagen::Settings asked = arguments.settings;
  if (!stream.says_how_much) asked.rows = kDefaultRows;
  const auto rows = RowsOf(asked, [&stop] { return !stop.Came(); });
  if (!rows) return std::unexpected(rows.error());
  const datagen::Settings settings = asked.Resolved(*rows);
  auto model = MakeModel(settings, *rows);
  if (!model) return std::unexpected(model.error());
  Timeline timeline;
  timeline.rows = *rows;
  timeline.model = *std::move(model);
  const auto tables = timeline.model->tables();
  const auto table = std::ranges::find(tables, MainTable(settings), &datagen::Table::name);
  if (table == tables.end()) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("the {} model has no {}", settings.model, MainTable(settings)));
  }
  const auto event_table = datagen::EventTable::Of(**table, datagen::EventKey::kCustomer);
  if (!event_table) return std::unexpected(event_table.error());
  timeline.table = *event_table;
  timeline.turns = std::make_unique<datagen::Turns>(arguments.threads);
  for (uint64_t block = 0; block < timeline.model->blocks(); ++block) {
    auto writer = datagen::EventWriter::Make(settings.Options(), timeline.table);
    if (!writer) return std::unexpected(writer.error());
    timeline.sources.push_back(std::make_unique<datagen::BlockSource>(
        *timeline.model, block, *std::move(writer), **table, *timeline.turns));
  }
  return timeline;
}

Status CheckArguments(const RunArguments& arguments, const StreamArguments& stream) {
  const auto fail = [](std::string message) {
    return Fail(Error::Code::kInvalidArgument, std::move(message));
  };
  const datagen::Settings& settings = arguments.settings;
  if (stream.target != "stdout") {
    return fail(fmt::format("--target: '{}' is not right; write stdout", stream.target));
  }
  if (settings.model == "classic") {
    return fail("the rows of the classic model have no order in time; write --model coherent");
  }
  if (settings.type == datagen::Rows::kOfBoth) {
    return fail("a stream is of one table: --type transactions or --type rides");
  }
  if (settings.format != datagen::Format::kJsonLines) {
    return fail("events are lines of JSON; leave --format away");
  }
  if (arguments.shard.count > 1) return fail("--shard is for files; a stream is whole");
  return {};
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
  std::string text =
      fmt::format("{} events, {}", FormatCount(progress.events), FormatSize(progress.bytes));
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

// Everything but the data goes to standard error, where it mixes with nothing.
int Run(const RunArguments& arguments, const StreamArguments& stream,
        const datagen::Schedule& schedule, StopBySignal& stop, datagen::EventSink& sink,
        const bool* reader_gone) {
  const auto timeline = MakeTimeline(arguments, stream, stop);
  if (!timeline && stop.signal() != 0) return stop.signal() == SIGTERM ? kTerminated : kInterrupted;
  if (!timeline) return Say(timeline.error());
  RealClock clock(stop);
  datagen::Merge merge(timeline->Sources());
  const uint64_t all = std::min(stream.max_events.value_or(UINT64_MAX), timeline->rows);
  StreamProgress progress;
  Status status;
  {
    ProgressDisplay display(arguments.quiet, all);
    status = RunStream(
        merge, sink, schedule, {.most_events = stream.max_events.value_or(UINT64_MAX)}, clock, stop,
        [&](const StreamProgress& now) { display.Show(now.events, now.events, now.bytes); },
        progress);
    if (status) status = sink.Flush();
  }
  const bool enough = reader_gone != nullptr && *reader_gone;
  if (arguments.json) {
    fmt::print(stderr, "{}\n", SummaryJson(progress, sink));
  } else if (!arguments.quiet) {
    fmt::print(stderr, "fraudgen: {}\n", SummaryText(progress, sink));
  }
  if (!status && !enough) return Say(status.error());
  if (progress.stopped) return stop.signal() == SIGTERM ? kTerminated : kInterrupted;
  return kDone;
}

}  // namespace

int Stream(const RunArguments& arguments, const StreamArguments& stream) {
  if (const Status checked = CheckArguments(arguments, stream); !checked)
    return Say(checked.error());
  const auto schedule = ScheduleOf(stream);
  if (!schedule) return Say(schedule.error());
  // A reader that goes away is told by the write.
  signal(SIGPIPE, SIG_IGN);
  StopBySignal stop;
  datagen::PipeSink sink(STDOUT_FILENO,
                         stream.pretty ? datagen::Look::kPretty : datagen::Look::kCompact, stop);
  return Run(arguments, stream, *schedule, stop, sink, &sink.reader_gone());
}

}  // namespace reveza::fraudgen
