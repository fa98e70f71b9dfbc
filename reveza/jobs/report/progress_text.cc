#include "reveza/jobs/report/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "common/base/units.h"
#include "reveza/jobs/decide/throughput.h"
#include "reveza/jobs/definition/job_json.h"

namespace reveza::jobs {
namespace {

constexpr std::size_t kMinColumns = 20;
constexpr std::size_t kMaxMetricLines = 2;
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Replaces control characters, which could move the cursor.
std::string Sanitize(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return clean;
}

double ShareDone(const Progress& progress) {
  const auto share = [](std::uint64_t done, std::uint64_t all) {
    return std::min(
        1.0, static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(all, 1)));
  };
  if (progress.cycles == 0) return share(progress.done, progress.steps);
  // Less than all until the steps have ended as well.
  return std::min(share(progress.cycles_done, progress.cycles),
                  progress.done == progress.steps ? 1.0 : 1 - 1e-6);
}

std::string CyclesText(const Progress& progress) {
  if (progress.cycles == 0) return {};
  return fmt::format(", {} of {} cycles", progress.cycles_done, progress.cycles);
}

// Formats "name ━━━━━───── 213 of 500, 43 %".
std::string BarLine(const Progress& progress) {
  const double done = ShareDone(progress);
  const double failed =
      std::min(1 - done, static_cast<double>(progress.failed) /
                             static_cast<double>(std::max<std::uint64_t>(progress.steps, 1)));
  // Rounded down, so that 100 % means that all are done.
  const std::string count = fmt::format(" {} of {}{}, {:.0f} %", progress.done, progress.steps,
                                        CyclesText(progress), std::floor(100 * done + 1e-9));
  const std::string name = Truncate(Sanitize(progress.name), progress.columns / 3);
  const std::size_t taken = Width(name) + 1 + Width(count);
  if (taken + 5 > progress.columns) return Truncate(name + count, progress.columns);
  const std::size_t room = progress.columns - taken;
  const auto cells = [room](double share) {
    return static_cast<std::size_t>(share * static_cast<double>(room) + 1e-9);
  };
  const std::size_t full = cells(done);
  // A single failed step is visible.
  const std::size_t broken =
      failed > 0 ? std::clamp<std::size_t>(cells(failed), 1, room - std::min(full, room - 1)) : 0;
  const std::size_t shown = std::min(full, room - broken);
  const auto repeat = [&](std::string_view colour, std::string_view cell, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += cell;
    if (!progress.colour || times == 0) return text;
    return fmt::format("{}{}{}", colour, text, kPlain);
  };
  return name + " " + repeat(kGreen, "━", shown) + repeat(kRed, "╳", broken) +
         repeat(kDim, "─", room - shown - broken) + count;
}

// Returns the current counts, rate and remaining time.
std::vector<std::string> CurrentParts(const Progress& progress) {
  std::vector<std::string> parts = {fmt::format("{} running", progress.running)};
  if (progress.workers) parts.back() += fmt::format(" (of {})", *progress.workers);
  if (progress.waiting > 0) parts.push_back(fmt::format("{} waiting", progress.waiting));
  if (progress.failed > 0) parts.push_back(fmt::format("{} failed", progress.failed));
  if (progress.rate) parts.push_back(FormatRate(*progress.rate));
  if (progress.remaining) parts.push_back(RemainingText(*progress.remaining));
  return parts;
}

// Returns the elapsed time and earlier results.
std::vector<std::string> PastParts(const Progress& progress) {
  std::vector<std::string> parts;
  if (progress.elapsed.count() > 0) parts.push_back("after " + FormatDuration(progress.elapsed));
  if (progress.done_before > 0)
    parts.push_back(fmt::format("{} done earlier", progress.done_before));
  return parts;
}

// Formats as many metrics as fit on at most two lines.
std::vector<std::string> MetricLines(const Progress& progress, std::size_t columns) {
  std::vector<std::string> lines;
  std::size_t shown_metrics = 0;
  for (const NamedSummary& metric : progress.metrics) {
    const std::string text = MetricText(metric);
    if (!lines.empty() && Width(lines.back()) + 2 + Width(text) <= columns) {
      lines.back() += "  " + text;
    } else if (lines.size() < kMaxMetricLines) {
      lines.push_back(text);
    } else {
      break;
    }
    ++shown_metrics;
  }
  if (shown_metrics < progress.metrics.size()) {
    const std::string more = fmt::format("  and {} more", progress.metrics.size() - shown_metrics);
    lines.back() = Truncate(lines.back(), columns - std::min(columns, Width(more))) + more;
  }
  return lines;
}

using nlohmann::json;

}  // namespace

std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, std::not_fn(IsContinuation)));
}

std::string Truncate(std::string_view text, std::size_t columns) {
  if (Width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t kept = 0;
  std::size_t points = 0;
  while (kept < text.size()) {
    if (!IsContinuation(text[kept]) && ++points == columns) break;
    ++kept;
  }
  return std::string(text.substr(0, kept)) + "…";
}

std::string RemainingText(const RemainingTime& remaining) {
  const std::string from = FormatDuration(remaining.p50);
  const std::string to = FormatDuration(std::max(remaining.p50, remaining.p90));
  return from == to ? from + " left" : fmt::format("{} to {} left", from, to);
}

RemainingTime RemainingFromJson(const json& eta) {
  const auto read = [&](const char* name) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(eta.value(name, 0.0)));
  };
  return {read("p50"), read("p90")};
}

std::string MetricText(const NamedSummary& metric) {
  const auto& [name, summary] = metric;
  if (summary.count == 1) return fmt::format("{} {:.4g}", name, summary.final);
  return fmt::format("{} {:.4g} (min {:.4g}, mean {:.4g}, max {:.4g})", name, summary.final,
                     summary.min, summary.mean, summary.max);
}

std::vector<std::string> ProgressLines(const Progress& progress) {
  Progress fitted = progress;
  fitted.columns = std::max(progress.columns, kMinColumns);
  std::vector<std::string> lines = {BarLine(fitted)};
  const std::size_t inner = fitted.columns - 2;
  std::string state = fmt::format("{}", fmt::join(CurrentParts(fitted), ", "));
  for (const std::string& part : PastParts(fitted)) {
    if (Width(state) + 2 + Width(part) <= inner) state += ", " + part;
  }
  const auto add = [&](std::string_view text) { lines.push_back("  " + Truncate(text, inner)); };
  add(state);
  if (!fitted.waiting_reason.empty()) add("waits for " + Sanitize(fitted.waiting_reason));
  for (const std::string& line : MetricLines(fitted, inner)) add(line);
  return lines;
}

std::string ProgressLine(const Progress& progress) {
  std::vector<std::string> parts = {fmt::format("{}{}{} of {} done{}", Sanitize(progress.name),
                                                progress.name.empty() ? "" : ": ", progress.done,
                                                progress.steps, CyclesText(progress))};
  std::ranges::move(CurrentParts(progress), std::back_inserter(parts));
  std::ranges::move(PastParts(progress), std::back_inserter(parts));
  for (const NamedSummary& metric : progress.metrics) parts.push_back(MetricText(metric));
  std::string line = fmt::format("{}", fmt::join(parts, ", "));
  if (!progress.waiting_reason.empty()) line += "; waits for " + Sanitize(progress.waiting_reason);
  return line;
}

json MetricsJson(std::span<const NamedSummary> metrics) {
  json all = json::object();
  for (const auto& [name, summary] : metrics) {
    all[name] = {{"count", summary.count},
                 {"min", summary.min},
                 {"mean", summary.mean},
                 {"max", summary.max},
                 {"final", summary.final}};
  }
  return all;
}

json CyclesJson(const Progress& progress) {
  if (progress.cycles == 0) return nullptr;
  return {{"done", progress.cycles_done}, {"all", progress.cycles}};
}

json EtaJson(const std::optional<RemainingTime>& remaining) {
  if (!remaining) return nullptr;
  return {{"p50", Seconds(remaining->p50)}, {"p90", Seconds(remaining->p90)}};
}

json ProgressJson(const Progress& progress) {
  return {{"steps", progress.steps},
          {"done", progress.done},
          {"failed", progress.failed},
          {"cycles", CyclesJson(progress)},
          {"running", progress.running},
          {"waiting", progress.waiting},
          {"reason", progress.waiting_reason.empty() ? json() : json(progress.waiting_reason)},
          {"elapsed", Seconds(progress.elapsed)},
          {"rate", OrNull(progress.rate)},
          {"eta", EtaJson(progress.remaining)},
          {"metrics", MetricsJson(progress.metrics)}};
}

std::string_view JoblogHeader() {
  return "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
}

std::string JoblogLine(const JoblogEntry& entry) {
  using Seconds = std::chrono::duration<double>;
  return fmt::format("{}\t:\t{:.3f}\t{:10.3f}\t0\t{}\t{}\t{}\t{}\n", entry.number,
                     Seconds(entry.start.time_since_epoch()).count(),
                     Seconds(entry.duration).count(), entry.received, entry.exit_status,
                     entry.signal, EscapeControls(entry.command));
}

void MetricSummary::Add(std::uint64_t number, double value) {
  if (++count == 1) {
    *this = {.count = 1,
             .min = value,
             .mean = value,
             .max = value,
             .final = value,
             .final_number = number};
    return;
  }
  const double share = 1 / static_cast<double>(count);
  // Not mean + (value - mean) * share: the difference may overflow.
  mean = mean * (1 - share) + value * share;
  min = std::min(min, value);
  max = std::max(max, value);
  if (number < final_number) return;
  final = number == final_number ? std::max(final, value) : value;
  final_number = number;
}

void Metrics::Add(std::uint64_t number, std::span<const Metric> metrics) {
  for (const auto& [name, value] : metrics) {
    auto known = std::ranges::find(all_, name, &NamedSummary::name);
    if (known == all_.end() && all_.size() >= kMaxNames) continue;
    if (known == all_.end()) known = all_.insert(all_.end(), {name, {}});
    known->summary.Add(number, value);
  }
}

std::vector<Metric> MetricsOf(const CycleResult& cycle) {
  const auto line = ParseCycleLine(fmt::format("reveza step {} {}", cycle.number, cycle.metrics));
  return line ? line->metrics : std::vector<Metric>{};
}

std::string EscapeControls(std::string_view command) {
  std::string line;
  line.reserve(command.size());
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    // U+0080 to U+009F in UTF-8: terminals obey some of these too.
    if (c == '\xc2' && i + 1 < command.size() &&
        static_cast<unsigned char>(command[i + 1]) < 0xa0) {
      line += fmt::format("\\xc2\\x{:02x}", static_cast<unsigned char>(command[++i]));
      continue;
    }
    if (c == '\t') {
      line += "\\t";
    } else if (c == '\n') {
      line += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

std::string OutcomeText(const AttemptResult& result) {
  switch (result.outcome) {
    case Outcome::kFailure:
      return fmt::format("failed with status {}", result.code);
    case Outcome::kSignal:
      return fmt::format("was killed by signal {}", result.code);
    case Outcome::kNotStarted:
      return fmt::format("could not be started: {}",
                         std::error_code(result.code, std::generic_category()).message());
    case Outcome::kTimeLimit:
      return "exceeded its time limit";
    case Outcome::kCancelled:
      return "was cancelled";
    case Outcome::kUnknown:
      return "has an unknown result: its end was not recorded";
    case Outcome::kMemory:
      return "ran out of memory";
    case Outcome::kPartial:
      return "ended before its last cycle";
    case Outcome::kOutputLost:
      return "exited with status 0, but the disk was full: its output may be incomplete";
    case Outcome::kSuccess:
      break;
  }
  return "is done";
}

Result<Metrics> ReadMetrics(JournalReader& journal) {
  Metrics metrics;
  RETURN_IF_ERROR(journal.ForEachCycle(
      [&](const CycleResult& cycle) { metrics.Add(cycle.number, MetricsOf(cycle)); }));
  return metrics;
}

}  // namespace reveza::jobs
