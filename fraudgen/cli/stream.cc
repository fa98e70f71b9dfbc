// `fraudgen stream`: sends the rows of a data set as events, in order of time.
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
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/platform/stop_signals.h"
#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/terminal.h"
#include "fraudgen/model/defects/defective_model.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/run/prepare.h"
#include "fraudgen/stream/block_source.h"
#include "fraudgen/stream/event_defects.h"
#include "fraudgen/stream/event_writer.h"
#include "fraudgen/stream/kafka/kafka_sink.h"
#include "fraudgen/stream/pipe_sink.h"
#include "fraudgen/stream/streamer.h"
#include "fraudgen/stream/webhook/webhook_sink.h"
#include "fraudgen/stream/webhook/webhook_url.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::cli {
namespace {

using std::chrono::nanoseconds;

enum class StreamTarget { kStdout, kKafka, kWebhook };

struct StreamPlan {
  StreamTarget target = StreamTarget::kStdout;
  Schedule schedule = Schedule::Max();
  EventKey key = EventKey::kCustomer;
  KafkaOptions kafka = {};      // for kKafka
  WebhookOptions webhook = {};  // for kWebhook
};

constexpr std::string_view kDefaultRate = "10";

Status CheckRows(const RunArguments& arguments, const std::string& defects_key) {
  const Settings& settings = arguments.settings;
  if (settings.type == DataType::kAll) {
    return InvalidArgument("a stream has one table: use --type transactions or --type rides");
  }
  if (settings.format != Format::kJsonLines) {
    return InvalidArgument("--format does not apply to streams: events are JSON");
  }
  if (settings.defects.Any() && defects_key.empty()) {
    return InvalidArgument("--defects requires --defects-key FILE for the answer key");
  }
  if (!settings.defects.Any() && !defects_key.empty()) {
    return InvalidArgument("--defects-key requires --defects");
  }
  if (arguments.shard.count > 1) return InvalidArgument("--shard does not apply to streams");
  return {};
}

Result<Schedule> ScheduleOf(const StreamArguments& stream) {
  if (!stream.rate.empty() && !stream.pace.empty()) {
    return InvalidArgument("--rate and --pace exclude each other");
  }
  if (!stream.pace.empty()) return Schedule::ParsePace(stream.pace);
  return Schedule::ParseRate(stream.rate.empty() ? kDefaultRate : stream.rate);
}

Status CheckEvents(const StreamArguments& stream) {
  const int64_t count = stream.max_events.value_or(0);
  if (count >= 0) return {};
  return InvalidArgument("--max-events: {} is invalid; expected a whole number from 0", count);
}

Result<StreamTarget> TargetOf(const StreamArguments& stream) {
  const bool out = stream.target == "stdout";
  const bool kafka = stream.target == "kafka";
  const bool webhook = stream.target == "webhook";
  if (!out && !kafka && !webhook) {
    return InvalidArgument("--target: '{}' is invalid; expected stdout, kafka or webhook",
                           stream.target);
  }
  if (stream.pretty && !out) return InvalidArgument("--pretty requires --target stdout");
  if (webhook && stream.webhook_url.empty()) {
    return InvalidArgument(
        "--target webhook requires --webhook-url, such as http://localhost:8080/events");
  }
  if (out) return StreamTarget::kStdout;
  return kafka ? StreamTarget::kKafka : StreamTarget::kWebhook;
}

Result<EventKey> KeyOf(const StreamArguments& stream) {
  if (stream.key == "customer") return EventKey::kCustomer;
  if (stream.key == "event") return EventKey::kRow;
  if (stream.key == "none") return EventKey::kNone;
  return InvalidArgument("--kafka-key: '{}' is invalid; expected customer, event or none",
                         stream.key);
}

Result<KafkaOptions> KafkaOf(const RunArguments& arguments, const StreamArguments& stream) {
  KafkaOptions options{.servers = stream.kafka_server, .topic = stream.kafka_topic};
  if (options.topic.empty()) options.topic = arguments.settings.MainTable();
  for (const std::string& text : stream.kafka_options) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return InvalidArgument(
          "--kafka-option: '{}' is invalid; expected NAME=VALUE, such as compression.type=lz4",
          text);
    }
    options.properties.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return options;
}

Result<WebhookOptions> WebhookOf(const StreamArguments& stream) {
  constexpr int64_t kMaxBatch = 1'000;
  WebhookOptions options{.url = stream.webhook_url,
                         .method = stream.webhook_method,
                         .batch_size = static_cast<std::size_t>(stream.webhook_batch)};
  if (options.method != "POST" && options.method != "PUT" && options.method != "PATCH") {
    return InvalidArgument("--webhook-method: '{}' is invalid; expected POST, PUT or PATCH",
                           options.method);
  }
  if (stream.webhook_batch < 1 || stream.webhook_batch > kMaxBatch) {
    return InvalidArgument("--webhook-batch: {} is invalid; expected 1 to {}", stream.webhook_batch,
                           kMaxBatch);
  }
  for (const std::string& text : stream.webhook_headers) {
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == std::string::npos || text.find_first_of("\r\n") != text.npos) {
      return InvalidArgument(
          "--webhook-header: '{}' is invalid; expected NAME: VALUE, such as 'Authorization: Bearer "
          "x'",
          text);
    }
    const std::size_t value = text.find_first_not_of(' ', colon + 1);
    options.headers.emplace_back(text.substr(0, colon),
                                 value == std::string::npos ? "" : text.substr(value));
  }
  // Fails before any data is made.
  RETURN_IF_ERROR(ParseWebhookUrl(options.url));
  return options;
}

// Validates the options. kInvalidArgument names the option and its valid values.
Result<StreamPlan> PlanStream(const RunArguments& arguments, const StreamArguments& stream) {
  RETURN_IF_ERROR(CheckRows(arguments, stream.defects_key));
  RETURN_IF_ERROR(CheckEvents(stream));
  StreamPlan plan;
  ASSIGN_OR_RETURN(plan.target, TargetOf(stream));
  ASSIGN_OR_RETURN(plan.schedule, ScheduleOf(stream));
  ASSIGN_OR_RETURN(plan.key, KeyOf(stream));
  if (plan.target == StreamTarget::kKafka) {
    ASSIGN_OR_RETURN(plan.kafka, KafkaOf(arguments, stream));
  }
  if (plan.target == StreamTarget::kWebhook) {
    ASSIGN_OR_RETURN(plan.webhook, WebhookOf(stream));
  }
  return plan;
}

class StopBySignal final : public Stop {
 public:
  bool Requested() override { return signals_.Received() != 0; }
  int file() const override { return signals_.file(); }
  int signal() { return signals_.Received(); }

 private:
  platform::StopSignals signals_;
};

// A model and one event source per block.
struct Timeline {
  uint64_t rows = 0;  // may be an estimate, see PrepareStream
  std::unique_ptr<Model> model;
  EventTable table;
  std::unique_ptr<RowDefects> defects;  // null: no defects
  std::unique_ptr<ConcurrencyLimit> limit;
  std::vector<std::unique_ptr<EventSource>> sources;

  std::vector<EventSource*> Sources() const {
    std::vector<EventSource*> all;
    for (const auto& source : sources) all.push_back(source.get());
    return all;
  }
  uint64_t events() const { return rows + (defects ? defects->duplicates() : 0); }
};

Status AddSource(Timeline& timeline, const TableOptions& options, std::optional<uint64_t> first_row,
                 BlockSource::MakeRows make) {
  std::unique_ptr<EventCorruptor> corruptor;
  if (timeline.defects) {
    ASSIGN_OR_RETURN(corruptor, EventCorruptor::Make(options, *timeline.defects, first_row));
  }
  ASSIGN_OR_RETURN(auto writer, EventWriter::Make(options, timeline.table, std::move(corruptor)));
  timeline.sources.push_back(
      std::make_unique<BlockSource>(std::move(make), std::move(writer), *timeline.limit));
  return {};
}

Result<Timeline> MakeTimeline(const RunArguments& arguments, EventKey key, Stop& stop) {
  ASSIGN_OR_RETURN(auto prepared,
                   PrepareStream(arguments.settings, arguments.threads,
                                 [&stop](uint64_t, uint64_t) { return !stop.Requested(); }));
  const Settings& settings = prepared.settings;
  Timeline timeline;
  timeline.rows = prepared.rows;
  timeline.model = std::move(prepared.model);
  const auto tables = timeline.model->tables();
  const auto table = std::ranges::find(tables, settings.MainTable(), &Table::name);
  if (table == tables.end()) {
    return Fail(Error::Code::kInvalidArgument, "the {} model has no {}", settings.model,
                settings.MainTable());
  }
  ASSIGN_OR_RETURN(timeline.table, EventTable::Of(**table, key));
  timeline.limit = std::make_unique<ConcurrencyLimit>(arguments.threads);
  const Model& rows_of = *timeline.model;
  const Table* wanted = *table;
  if (settings.defects.Any()) {
    timeline.defects = std::make_unique<RowDefects>(rows_of, *wanted, DefectsOf(settings));
  }
  if (!rows_of.IsInOrder()) {
    RETURN_IF_ERROR(AddSource(
        timeline, settings.Options(), std::nullopt,
        [&rows_of, wanted](BatchSink& sink) { return rows_of.MakeInOrder(*wanted, sink); }));
    return timeline;
  }
  for (uint64_t block = 0; block < rows_of.blocks(); ++block) {
    const uint64_t first = timeline.defects ? timeline.defects->FirstRow(block) : 0;
    RETURN_IF_ERROR(
        AddSource(timeline, settings.Options(), first, [&rows_of, wanted, block](BatchSink& sink) {
          return rows_of.Make(block, std::span(&wanted, 1), sink);
        }));
  }
  return timeline;
}

double Seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// Returns the events per second after the first event.
double RateOf(const StreamProgress& progress) {
  if (progress.events < 2 || progress.elapsed.count() == 0) return 0;
  return static_cast<double>(progress.events - 1) / Seconds(progress.elapsed);
}

std::string TimeOf(int64_t time) {
  return FormatTime(time).substr(0, sizeof("2024-01-01T00:00:00") - 1);
}

std::string SummaryText(const StreamProgress& progress, const EventSink& sink) {
  std::string text = fmt::format("{} event{}, {}", FormatCount(progress.events),
                                 progress.events == 1 ? "" : "s", FormatSize(progress.bytes));
  if (progress.events > 0) {
    text += fmt::format(" in {:.1f} s: {:.1f}/s; from {} to {}", Seconds(progress.elapsed),
                        RateOf(progress), TimeOf(progress.first_time), TimeOf(progress.last_time));
  }
  if (sink.acknowledged() < progress.events) {
    text += fmt::format("; {} unacknowledged", FormatCount(progress.events - sink.acknowledged()));
  }
  if (sink.resent() > 0) {
    text += fmt::format("; {} resent", FormatCount(sink.resent()));
  }
  if (progress.whole) text += "; end of data";
  return text;
}

std::string SummaryJson(const StreamProgress& progress, const EventSink& sink) {
  const nlohmann::ordered_json summary = {{"events", progress.events},
                                          {"bytes", progress.bytes},
                                          {"confirmed", sink.acknowledged()},
                                          {"repeated", sink.resent()},
                                          {"seconds", Seconds(progress.elapsed)},
                                          {"rate", RateOf(progress)},
                                          {"behind_seconds", Seconds(progress.behind)},
                                          {"whole", progress.whole},
                                          {"stopped", progress.stopped}};
  return summary.dump();
}

// The file of the answer key, written along with the events.
struct KeyFile {
  UniqueFd file;
  StdoutSink sink;
};

Result<KeyFile> OpenKeyFile(const std::string& path) {
  constexpr mode_t kMode = 0666;
  if (path.empty()) return KeyFile{.file = {}, .sink = StdoutSink()};
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!file) {
    const int error = errno;
    const bool refused = error == EACCES || error == EPERM || error == EROFS;
    return Fail(refused ? Error::Code::kPermission : Error::Code::kNotFound,
                "--defects-key: could not write {}: {}", path,
                std::generic_category().message(error));
  }
  StdoutSink sink(file.get(), path);
  return KeyFile{.file = std::move(file), .sink = std::move(sink)};
}

// Standard output is for the events; everything else goes to standard error.
int Run(const RunArguments& arguments, const StreamArguments& stream, const StreamPlan& plan,
        StopBySignal& stop, EventSink& sink, const bool* reader_gone) {
  const auto timeline = MakeTimeline(arguments, plan.key, stop);
  if (!timeline && stop.Requested()) return StatusOfSignal(stop.signal());
  if (!timeline) return ReportError(timeline.error());
  auto key = OpenKeyFile(stream.defects_key);
  if (!key) return ReportError(key.error());
  std::unique_ptr<EventKeySink> key_sink;
  if (timeline->defects) {
    auto made = EventKeySink::Make(sink, timeline->table.table->name, key->sink);
    if (!made) return ReportError(made.error());
    key_sink = *std::move(made);
  }
  EventSink& target = key_sink ? *key_sink : sink;
  RealClock clock(stop);
  Merge merge(timeline->Sources());
  DisplacedEvents displaced(merge);
  EventFeed& feed = key_sink ? static_cast<EventFeed&>(displaced) : merge;
  const auto max_events =
      stream.max_events ? static_cast<uint64_t>(*stream.max_events) : UINT64_MAX;
  const uint64_t total = std::min(max_events, timeline->events());
  StreamProgress progress;
  Status status;
  {
    ProgressDisplay display(arguments.quiet, total);
    status = RunStream(
        feed, target, plan.schedule, max_events, clock, stop,
        [&](const StreamProgress& now) { display.Show(now.events, now.events, now.bytes); },
        progress);
    if (status) status = sink.Flush();
  }
  const bool reader_closed = reader_gone != nullptr && *reader_gone;
  if (arguments.json) {
    PrintToStderr(fmt::format("{}\n", SummaryJson(progress, sink)));
  } else if (!arguments.quiet) {
    PrintToStderr(fmt::format("fraudgen: {}\n", SummaryText(progress, sink)));
  }
  if (!status && !reader_closed) return ReportError(status.error());
  if (auto ended = key->file.Close(); !ended) {
    return ReportError({Error::Code::kExhausted,
                        fmt::format("--defects-key: could not write {}: {}", stream.defects_key,
                                    std::generic_category().message(ended.error()))});
  }
  // All events were sent, but not all were acknowledged before the stop.
  const bool unacknowledged = stop.Requested() && sink.acknowledged() < progress.events;
  if (progress.stopped || unacknowledged) return StatusOfSignal(stop.signal());
  return kDone;
}

}  // namespace

int Stream(const RunArguments& arguments, const StreamArguments& stream) {
  const auto plan = PlanStream(arguments, stream);
  if (!plan) return ReportError(plan.error());
  // A closed pipe is reported by write().
  signal(SIGPIPE, SIG_IGN);
  StopBySignal stop;
  if (plan->target == StreamTarget::kStdout) {
    PipeSink sink(STDOUT_FILENO, stream.pretty ? JsonStyle::kPretty : JsonStyle::kCompact, stop);
    return Run(arguments, stream, *plan, stop, sink, &sink.reader_gone());
  }
  RealClock clock(stop);
  const auto sink = plan->target == StreamTarget::kKafka
                        ? MakeKafkaSink(plan->kafka, stop)
                        : MakeWebhookSink(plan->webhook, clock, stop);
  if (!sink && stop.Requested()) return StatusOfSignal(stop.signal());
  if (!sink) return ReportError(sink.error());
  return Run(arguments, stream, *plan, stop, **sink, nullptr);
}

}  // namespace reveza::fraudgen::cli
