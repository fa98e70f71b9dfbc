#include "reveza/insight/monitor/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <set>

namespace reveza::monitor {
namespace {

// Columns of the bar, the text and the sparkline; width of the bar.
constexpr int kBarColumn = 5;
constexpr int kBarWidth = 22;
constexpr int kTextColumn = kBarColumn + kBarWidth + 1;
constexpr int kSparklineColumn = 68;
constexpr int kWideSparklineColumn = 84;

std::string TimeOfDay(double time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Style StyleOf(std::optional<double> share) {
  if (!share) return Style::kDim;
  if (*share >= 0.9) return Style::kBad;
  return *share >= 0.7 ? Style::kWarning : Style::kGood;
}

int SparklineColumn(const ScreenSize& size) {
  return size.width >= 110 ? kWideSparklineColumn : kSparklineColumn;
}

struct Page {
  const Snapshot& snapshot;
  const History& history;
  const ScreenSize& size;
  Canvas canvas;
};

void PutSparkline(Page& page, int from, const std::string& series, std::optional<double> top) {
  const int cells = std::min(page.canvas.width() - from, static_cast<int>(History::kLength));
  if (cells < 4) return;
  page.canvas.Put(
      from,
      std::u32string_view(Sparkline(page.history.Series(series), static_cast<std::size_t>(cells),
                                    top, page.size.unicode)),
      Style::kGood);
}

void DrawTitle(Page& page) {
  const Snapshot& now = page.snapshot;
  page.canvas.AddLine();
  int at = page.canvas.Put(0, "reveza top", Style::kBold);
  at = page.canvas.Put(at + 2, TimeOfDay(now.time));
  std::string text = "no daemon";
  if (now.daemon) {
    text = "revezad " + now.daemon->version;
    if (!now.further_daemons.empty()) {
      text = Plural(1 + now.further_daemons.size(), "daemon");
    }
    text += ", " + Plural(now.clients.size(), "program");
  }
  text += ", " + Plural(now.jobs.size(), "job");
  if (now.machine.processes) text += fmt::format(", {} processes", *now.machine.processes);
  page.canvas.Put(at + 2, text);
}

void DrawCpu(Page& page) {
  const Machine& machine = page.snapshot.machine;
  page.canvas.AddLine();
  page.canvas.Put(0, "CPU", Style::kBold);
  page.canvas.Put(kBarColumn, Bar(machine.cpu.value_or(0), 0.0, 1.0, kBarWidth),
                  StyleOf(machine.cpu));
  std::string text = FormatPercent(machine.cpu) + " of ";
  text += machine.cores ? fmt::format("{} cores", *machine.cores) : "n/a cores";
  text += "  load ";
  text += machine.load ? fmt::format("{:.2f} {:.2f} {:.2f}", (*machine.load)[0], (*machine.load)[1],
                                     (*machine.load)[2])
                       : std::string(kNotAvailable);
  const int at = page.canvas.Put(kTextColumn, text);
  PutSparkline(page, std::max(at + 2, SparklineColumn(page.size)), "cpu", 1.0);
}

// Draws a bar of one character per core, in groups of eight, on at most two lines of a terminal.
void DrawCores(Page& page) {
  constexpr int kGroup = 8;
  constexpr int kMore = 12;  // columns of "and 999 more"
  const auto& cores = page.snapshot.machine.each_core;
  const int groups = std::max((page.size.width - kBarColumn - kMore) / (kGroup + 1), 1);
  const std::size_t per_line = static_cast<std::size_t>(groups) * kGroup;
  const std::size_t max_cores = page.size.height > 0 ? 2 * per_line : cores.size();
  int at = kBarColumn;
  for (std::size_t i = 0; i < std::min(cores.size(), max_cores); ++i) {
    if (i % per_line == 0) {
      page.canvas.AddLine();
      at = kBarColumn;
    } else if (i % kGroup == 0) {
      ++at;
    }
    const std::u32string bar = Sparkline({cores[i]}, 1, 1.0, page.size.unicode);
    at = page.canvas.Put(at, std::u32string_view(bar), StyleOf(cores[i]));
  }
  if (cores.size() > max_cores) {
    page.canvas.Put(at + 1, fmt::format("and {} more", cores.size() - max_cores), Style::kDim);
  }
}

void DrawMemory(Page& page) {
  const Machine& machine = page.snapshot.machine;
  page.canvas.AddLine();
  page.canvas.Put(0, "MEM", Style::kBold);
  if (!machine.memory) {
    page.canvas.Put(kBarColumn, Bar(0.0, 0.0, 0.0, kBarWidth), Style::kDim);
    page.canvas.Put(kTextColumn, kNotAvailable);
    return;
  }
  const auto& memory = *machine.memory;
  const Bytes used = memory.total - std::min(memory.total, memory.available);
  const double share =
      memory.total == 0 ? 0 : static_cast<double>(used) / static_cast<double>(memory.total);
  page.canvas.Put(kBarColumn, Bar(share, 0.0, 1.0, kBarWidth), StyleOf(share));
  std::string text = fmt::format("{} of {}", ShortBytes(used), ShortBytes(memory.total));
  if (machine.cgroup_headroom) {
    text += fmt::format("  cgroup: {} left", ShortBytes(machine.cgroup_headroom));
  }
  if (!memory.swap_total || !memory.swap_free) {
    text += "  swap n/a";
  } else if (*memory.swap_total == 0) {
    text += "  no swap";
  } else {
    text += fmt::format("  swap {} of {}", ShortBytes(*memory.swap_total - *memory.swap_free),
                        ShortBytes(memory.swap_total));
  }
  const int at = page.canvas.Put(kTextColumn, text);
  PutSparkline(page, std::max(at + 2, SparklineColumn(page.size)), "memory", 1.0);
}

std::string PressureText(const char* name, const std::optional<platform::Pressure>& pressure) {
  if (!pressure) return fmt::format("{} n/a", name);
  std::string text = fmt::format("{} {:.0f} %", name, pressure->some.average_10s);
  if (pressure->full) text += fmt::format(" (all {:.0f} %)", pressure->full->average_10s);
  return text;
}

std::string PressureTexts(const platform::Pressures& pressures) {
  // "full" CPU pressure is undefined at system level; the kernel reports 0.
  auto cpu = pressures.cpu;
  if (cpu) cpu->full.reset();
  return PressureText("cpu", cpu) + "  " + PressureText("memory", pressures.memory) + "  " +
         PressureText("io", pressures.io);
}

// Draws the share of the last ten seconds in which some or all tasks stalled.
void DrawPressure(Page& page) {
  const Machine& machine = page.snapshot.machine;
  page.canvas.AddLine();
  page.canvas.Put(0, "PSI", Style::kBold);
  const int at = page.canvas.Put(kBarColumn, "waiting for " + PressureTexts(machine.pressure));
  if (machine.cgroup_pressure == platform::Pressures{}) return;
  const std::string cgroup = "cgroup: " + PressureTexts(machine.cgroup_pressure);
  // Omit rather than truncate.
  if (at + 2 + static_cast<int>(cgroup.size()) <= page.canvas.width()) {
    page.canvas.Put(at + 2, cgroup, Style::kDim);
  }
}

void DrawGpu(Page& page, const Gpu& gpu, bool both_lines) {
  page.canvas.AddLine();
  page.canvas.Put(0, gpu.index ? fmt::format("GPU{}", *gpu.index) : "GPU", Style::kBold);
  const auto whole = gpu.budget ? gpu.budget : gpu.total;
  const auto full = gpu.resident ? gpu.resident : gpu.used;
  const bool known = whole && full && *whole > 0;
  page.canvas.Put(kBarColumn,
                  Bar(full.value_or(0), gpu.resident ? gpu.external.value_or(0) : 0,
                      whole.value_or(0), kBarWidth),
                  known ? Style::kGood : Style::kDim);  // a full GPU is not a problem
  std::string text = fmt::format("{} of {}", ShortBytes(full), ShortBytes(whole));
  if (gpu.swapped) text += fmt::format(", {} swapped", ShortBytes(gpu.swapped));
  text += "  SM " + FormatPercent(gpu.sm_active);
  int at = page.canvas.Put(kTextColumn, text);
  at = page.canvas.Put(at + 2, gpu.name, Style::kDim,
                       std::max(SparklineColumn(page.size) - at - 3, 8));
  PutSparkline(page, std::max(at + 1, SparklineColumn(page.size)), "gpu " + gpu.uuid, 1.0);
  if (!both_lines) return;
  page.canvas.AddLine();
  text = fmt::format("link out {}, in {}; swaps {} + {}", FormatTransferRate(gpu.link_out),
                     FormatTransferRate(gpu.link_in), FormatTransferRate(gpu.swap_out),
                     FormatTransferRate(gpu.swap_in));
  if (gpu.handovers && gpu.handovers->count > 0) {
    const auto count = gpu.handovers->count;
    text += fmt::format("; {}, {}", Plural(count, "handover"),
                        FormatSeconds(gpu.handovers->mean_seconds));
  }
  page.canvas.Put(kBarColumn, text);
}

void DrawGpus(Page& page) {
  const auto& gpus = page.snapshot.gpus;
  if (gpus.empty()) {
    page.canvas.AddLine();
    page.canvas.Put(0, "GPU", Style::kBold);
    page.canvas.Put(kBarColumn, "none found", Style::kDim);
    return;
  }
  const std::size_t room =
      page.size.height == 0 ? gpus.size() * 2 : static_cast<std::size_t>(page.size.height) / 3;
  const bool both_lines = gpus.size() * 2 <= room;
  const std::size_t max_gpus = std::max<std::size_t>(both_lines ? gpus.size() : room, 1);
  for (std::size_t i = 0; i < std::min(gpus.size(), max_gpus); ++i) {
    DrawGpu(page, gpus[i], both_lines);
  }
  if (gpus.size() > max_gpus) {
    page.canvas.AddLine();
    page.canvas.Put(kBarColumn, fmt::format("and {} more GPUs", gpus.size() - max_gpus),
                    Style::kDim);
  }
}

void DrawHelp(Page& page) {
  constexpr std::array lines = {
      "Up, Down         select a row",
      "s, S             sort by the next, previous column",
      "v                reverse the order",
      "/                filter rows; Enter keeps the filter, Esc clears it",
      "t                toggle tree and flat view",
      "p, r             pause, resume the selected job",
      "c                cancel the selected job (asks first)",
      "?, h             toggle this help",
      "q                quit",
      "",
      "CPU has a bar for each core; CPU% is relative to one core. MEM is proportional",
      "memory (PSS, updated every ten seconds; resident memory until then). CLAIM is the",
      "memory reserved for a step, PEAK its maximum so far. IO/s is what a process and",
      "its children read from and write to storage. SM is the share of cycles in which",
      "the GPU's multiprocessors had work; n/a if unsupported. PSI is the share of the",
      "last ten seconds in which some (all) tasks stalled."};
  page.canvas.AddLine();
  for (const char* line : lines) {
    page.canvas.AddLine();
    page.canvas.Put(2, line);
  }
}

std::string Footer(const ViewState& state) {
  if (!state.question.empty()) return state.question + " (y/n)";
  if (state.typing_filter) return "filter: " + state.table.filter + "_";
  if (!state.message.empty()) return state.message;
  std::string text =
      "q quit  s sort  v reverse  / filter  t tree  p pause  r resume  c cancel  ? help";
  if (!state.table.filter.empty()) text = "/" + state.table.filter + "  " + text;
  return text;
}

}  // namespace

std::u32string Sparkline(const History::Values& values, std::size_t cells,
                         std::optional<double> top, bool unicode) {
  const std::u32string levels = unicode ? U"▁▂▃▄▅▆▇█" : U"_.:-=+*#";
  double max = top.value_or(0);
  if (!top) {
    for (const auto& value : values) max = std::max(max, value.value_or(0));
  }
  std::u32string line(cells, U' ');
  const std::size_t count = std::min(cells, values.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& value = values[values.size() - count + i];
    if (!value) continue;
    const double share = max > 0 ? std::clamp(*value / max, 0.0, 1.0) : 0;
    const auto level = static_cast<std::size_t>(share * static_cast<double>(levels.size()));
    line[cells - count + i] = levels[std::min(level, levels.size() - 1)];
  }
  return line;
}

std::vector<Line> Draw(const Snapshot& snapshot, const History& history, const ScreenSize& size,
                       const ViewState& state) {
  Page page{snapshot, history, size, Canvas(size.width)};
  DrawTitle(page);
  DrawCpu(page);
  DrawCores(page);
  DrawMemory(page);
  DrawPressure(page);
  DrawGpus(page);
  const auto used = static_cast<int>(page.canvas.lines().size());
  const bool fixed_height = size.height > 0;
  const int notes = static_cast<int>(std::min<std::size_t>(snapshot.notes.size(), 2));
  if (state.help) {
    DrawHelp(page);
  } else {
    const int room = fixed_height ? std::max(size.height - used - notes - 1, 1) : 0;
    DrawTable(page.canvas, Rows(snapshot, state.table), state, !snapshot.gpus.empty(), room);
  }
  auto& lines = page.canvas.lines();
  if (fixed_height) {
    const auto count = static_cast<std::size_t>(std::max(size.height - 1 - notes, 1));
    while (lines.size() < count) page.canvas.AddLine();
    lines.resize(count);
  }
  const std::size_t max_notes =
      fixed_height ? static_cast<std::size_t>(notes) : snapshot.notes.size();
  for (std::size_t i = 0; i < max_notes; ++i) {
    page.canvas.AddLine();
    page.canvas.Put(0, snapshot.notes[i], Style::kWarning);
  }
  if (fixed_height) {
    page.canvas.AddLine();
    page.canvas.Put(0, Footer(state), state.question.empty() ? Style::kDim : Style::kBad);
    lines.resize(static_cast<std::size_t>(size.height));
  }
  return std::move(lines);
}

void History::Add(const std::string& series, const std::optional<double>& value) {
  Values& values = series_[series];
  values.push_back(value);
  if (values.size() > kLength) values.pop_front();
}

void History::Add(const Snapshot& snapshot) {
  std::set<std::string> seen = {"cpu", "memory"};
  Add("cpu", snapshot.machine.cpu);
  const auto& memory = snapshot.machine.memory;
  Add("memory", memory && memory->total > 0
                    ? std::optional(1.0 - static_cast<double>(memory->available) /
                                              static_cast<double>(memory->total))
                    : std::nullopt);
  for (const Gpu& gpu : snapshot.gpus) {
    Add(*seen.insert("gpu " + gpu.uuid).first, gpu.sm_active);
    const bool measured = gpu.link_out && gpu.link_in;
    const auto out = measured ? gpu.link_out : gpu.swap_out;
    const auto in = measured ? gpu.link_in : gpu.swap_in;
    Add(*seen.insert("link " + gpu.uuid).first,
        out && in ? std::optional(*out + *in) : std::nullopt);
  }
  for (const Job& job : snapshot.jobs) Add(*seen.insert("job " + job.id).first, job.rate);
  std::erase_if(series_, [&](const auto& entry) { return !seen.contains(entry.first); });
}

const History::Values& History::Series(const std::string& series) const {
  static const Values none;
  const auto found = series_.find(series);
  return found == series_.end() ? none : found->second;
}

}  // namespace reveza::monitor
