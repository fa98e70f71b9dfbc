#include "reveza/cli/reveza/simulate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "common/base/units.h"
#include "reveza/cli/reveza/commands.h"

namespace reveza::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using simulator::Phase;
using simulator::SimulatedJob;
using simulator::Simulation;
using simulator::Span;
using simulator::Time;

constexpr std::size_t kColumns = 72;
constexpr std::size_t kMaxLanes = 40;
constexpr std::size_t kPhases = static_cast<std::size_t>(Phase::kPaused) + 1;
// In the order of Phase, as those below.
constexpr std::string_view kMarks = " .-#-=";
constexpr auto kTraceNames =
    std::to_array<const char*>({nullptr, "wait", "copy in", "slice", "drain", "wait"});
static_assert(kMarks.size() == kPhases && kTraceNames.size() == kPhases);

double Seconds(Time time) { return std::chrono::duration<double>(time).count(); }

// Returns the mark of what the job did most in each column.
std::string Lane(const Simulation& simulation, std::size_t job) {
  std::vector<std::array<double, kPhases>> columns(kColumns);
  const double scale = static_cast<double>(kColumns) / Seconds(simulation.makespan);
  for (const Span& span : simulation.spans) {
    if (span.job != job) continue;
    const double begin = Seconds(span.begin) * scale;
    const double end = std::min(Seconds(span.end) * scale, static_cast<double>(kColumns));
    for (auto column = static_cast<std::size_t>(begin); static_cast<double>(column) < end;
         ++column) {
      const double first = std::max(begin, static_cast<double>(column));
      const double last = std::min(end, static_cast<double>(column + 1));
      columns[column][static_cast<std::size_t>(span.phase)] += last - first;
    }
  }
  std::string lane;
  for (const auto& column : columns) {
    lane += kMarks[static_cast<std::size_t>(std::ranges::max_element(column) - column.begin())];
  }
  return lane;
}

std::vector<std::size_t> LanesOf(const Simulation& simulation) {
  std::vector<std::size_t> lanes;
  for (std::size_t i = 0; i < simulation.jobs.size() && lanes.size() < kMaxLanes; ++i) {
    if (simulation.jobs[i].node == 0) lanes.push_back(i);
  }
  return lanes;
}

}  // namespace

std::string SimulationPicture(const Simulation& simulation) {
  std::string text;
  if (simulation.makespan == Time(0)) return text;
  for (const std::size_t job : LanesOf(simulation)) {
    text +=
        fmt::format("{:>16} |{}|\n", Shorten(simulation.jobs[job].name, 16), Lane(simulation, job));
  }
  return text + fmt::format("{:>16}  0{:>{}}\n{:>16}  # runs  - moves memory  . waits  = paused\n",
                            "", FormatDuration(simulation.makespan), kColumns - 1, "");
}

std::string SimulationText(const Simulation& simulation) {
  std::string text = fmt::format("{:<20} {:>11} {:>11} {:>11} {:>7} {:>11} {:>11}\n", "JOB",
                                 "ENDED", "GPU TIME", "WAITED", "TURNS", "WAIT P50", "WAIT P99");
  Time worked{0};
  for (std::size_t i = 0; i < simulation.jobs.size(); ++i) {
    const SimulatedJob& job = simulation.jobs[i];
    worked += job.ran;
    if (i >= kMaxLanes) continue;
    text +=
        fmt::format("{:<20} {:>11} {:>11} {:>11} {:>7} {:>11} {:>11}\n", Shorten(job.name, 20),
                    job.finished ? FormatDuration(job.ended) : "not yet", FormatDuration(job.ran),
                    FormatDuration(job.waited), job.turns, FormatDuration(job.WaitPercentile(0.5)),
                    FormatDuration(job.WaitPercentile(0.99)));
  }
  if (simulation.jobs.size() > kMaxLanes) {
    text += fmt::format("... and {} more; --json has all\n", simulation.jobs.size() - kMaxLanes);
  }
  return text +
         fmt::format("\n{} in all, GPU time {}, fairness {:.3f}, {} moved, {} scheduler events",
                     FormatDuration(simulation.makespan), FormatDuration(worked),
                     simulation.Fairness(), FormatBytes(simulation.bytes_moved),
                     FormatCount(simulation.events));
}

ordered_json SimulationJson(const Simulation& simulation) {
  ordered_json jobs = ordered_json::array();
  for (const SimulatedJob& job : simulation.jobs) {
    jobs.push_back({{"name", job.name},
                    {"node", job.node},
                    {"started_s", Seconds(job.started)},
                    {"ended_s", job.finished ? ordered_json(Seconds(job.ended)) : nullptr},
                    {"ran_s", Seconds(job.ran)},
                    {"waited_s", Seconds(job.waited)},
                    {"turns", job.turns},
                    {"wait_s",
                     {{"count", job.waits.size()},
                      {"p50", Seconds(job.WaitPercentile(0.5))},
                      {"p95", Seconds(job.WaitPercentile(0.95))},
                      {"p99", Seconds(job.WaitPercentile(0.99))}}}});
  }
  return {{"makespan_s", Seconds(simulation.makespan)},
          {"all_finished", simulation.all_finished},
          {"fairness", simulation.Fairness()},
          {"bytes_moved", simulation.bytes_moved},
          {"events", simulation.events},
          {"jobs", std::move(jobs)}};
}

json SimulationTrace(const Simulation& simulation) {
  json events = json::array();
  for (std::size_t i = 0; i < simulation.jobs.size(); ++i) {
    if (simulation.jobs[i].node != 0) continue;
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", i + 1},
                      {"args", {{"name", simulation.jobs[i].name}}}});
  }
  for (const Span& span : simulation.spans) {
    const char* const name = kTraceNames[static_cast<std::size_t>(span.phase)];
    if (name == nullptr) continue;
    events.push_back({{"ph", "X"},
                      {"name", name},
                      {"pid", span.job + 1},
                      {"tid", span.job + 1},
                      {"ts", Seconds(span.begin) * 1e6},
                      {"dur", Seconds(span.end - span.begin) * 1e6}});
  }
  return {{"traceEvents", std::move(events)}};
}

}  // namespace reveza::cli
