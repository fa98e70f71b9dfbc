#include "monitor/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "monitor/screen_table.h"

namespace reveza::monitor {
namespace {

// What a line is of, a bar, words, and where a line of the past begins.
constexpr int kBarAt = 5;
constexpr int kBar = 22;
constexpr int kTextAt = kBarAt + kBar + 1;
constexpr int kPastAt = 68;
constexpr int kWidePastAt = 84;

std::string TimeOfDay(double time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// "[####xx----]": `other` behind `full`, of `whole`. Empty brackets when not available.
std::string Bar(double full, double other, double whole) {
  constexpr int inner = kBar - 2;
  const auto part = [&](double value) {
    if (!(whole > 0)) return 0;
    return static_cast<int>(std::lround(std::clamp(value / whole, 0.0, 1.0) * inner));
  };
  const int first = part(full);
  const int both = std::max(first, part(full + other));
  return "[" + std::string(static_cast<std::size_t>(first), '#') +
         std::string(static_cast<std::size_t>(both - first), 'x') +
         std::string(static_cast<std::size_t>(inner - both), '-') + "]";
}

double Value(const std::optional<Bytes>& bytes) { return static_cast<double>(bytes.value_or(0)); }

Style StyleOf(std::optional<double> share) {
  if (!share) return Style::kDim;
  if (*share >= 0.9) return Style::kBad;
  return *share >= 0.7 ? Style::kWarning : Style::kGood;
}

int PastAt(const ScreenSize& size) { return size.width >= 110 ? kWidePastAt : kPastAt; }

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
      std::u32string_view(Sparkline(page.history.Of(series), static_cast<std::size_t>(cells), top,
                                    page.size.unicode)),
      Style::kGood);
}

void DrawTitle(Page& page) {
  const Snapshot& now = page.snapshot;
  page.canvas.AddLine();
  int at = page.canvas.Put(0, "reveza top", Style::kBold);
  at = page.canvas.Put(at + 2, TimeOfDay(now.time));
  const auto plural = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  std::string text = now.daemon ? fmt::format("revezad {}, {}", now.daemon->version,
                                              plural(now.clients.size(), "program"))
                                : std::string("no daemon");
  text += ", " + plural(now.jobs.size(), "job");
  if (now.machine.processes) text += fmt::format(", {} processes", *now.machine.processes);
  page.canvas.Put(at + 2, text);
}

void DrawCpu(Page& page) {
  const Machine& machine = page.snapshot.machine;
  page.canvas.AddLine();
  page.canvas.Put(0, "CPU", Style::kBold);
  page.canvas.Put(kBarAt, Bar(machine.cpu.value_or(0), 0, 1), StyleOf(machine.cpu));
  std::string text = Percent(machine.cpu) + " of ";
  text += machine.cores ? fmt::format("{} cores", *machine.cores) : "n/a cores";
  text += "  load ";
  text += machine.load ? fmt::format("{:.2f} {:.2f} {:.2f}", (*machine.load)[0], (*machine.load)[1],
                                     (*machine.load)[2])
                       : std::string(kNotAvailable);
  const int at = page.canvas.Put(kTextAt, text);
  PutSparkline(page, std::max(at + 2, PastAt(page.size)), "cpu", 1.0);
}

void DrawMemory(Page& page) {
  const Machine& machine = page.snapshot.machine;
  page.canvas.AddLine();
  page.canvas.Put(0, "MEM", Style::kBold);
  if (!machine.memory) {
    page.canvas.Put(kBarAt, Bar(0, 0, 0), Style::kDim);
    page.canvas.Put(kTextAt, kNotAvailable);
    return;
  }
  const auto& memory = *machine.memory;
  const Bytes used = memory.total - std::min(memory.total, memory.available);
  const double share = memory.total == 0 ? 0 : Value(used) / Value(memory.total);
  page.canvas.Put(kBarAt, Bar(share, 0, 1), StyleOf(share));
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
  const int at = page.canvas.Put(kTextAt, text);
  PutSparkline(page, std::max(at + 2, PastAt(page.size)), "memory", 1.0);
}

std::string PressureText(const char* name, const std::optional<platform::Pressure>& pressure) {
  if (!pressure) return fmt::format("{} n/a", name);
  std::string text = fmt::format("{} {:.0f} %", name, pressure->some.average_10s);
  if (pressure->full) text += fmt::format(" (all {:.0f} %)", pressure->full->average_10s);
  return text;
}

std::string PressureTexts(const platform::Pressures& pressures) {
  // That all wait for a CPU says nothing of a machine: the kernel gives 0 there.
  auto cpu = pressures.cpu;
  if (cpu) cpu->full.reset();
  return PressureText("cpu", cpu) + "  " + PressureText("memory", pressures.memory) + "  " +
         PressureText("io", pressures.io);
}

// How much of the last ten seconds something, or everything, waited.
void DrawPressure(Page& page) {
  const Machine& machine = page.snapshot.machine;
  page.canvas.AddLine();
  page.canvas.Put(0, "PSI", Style::kBold);
  const int at = page.canvas.Put(kBarAt, "waiting for " + PressureTexts(machine.pressure));
  if (machine.cgroup_pressure == platform::Pressures{}) return;
  const std::string cgroup = "cgroup: " + PressureTexts(machine.cgroup_pressure);
  // Half of it would mislead.
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
  page.canvas.Put(kBarAt, Bar(Value(full), gpu.resident ? Value(gpu.external) : 0, Value(whole)),
                  known ? Style::kGood : Style::kDim);  // a full card is what it is for
  std::string text = fmt::format("{} of {}", ShortBytes(full), ShortBytes(whole));
  if (gpu.swapped) text += fmt::format(", {} swapped", ShortBytes(gpu.swapped));
  text += "  SM " + Percent(gpu.sm_active);
  int at = page.canvas.Put(kTextAt, text);
  at = page.canvas.Put(at + 2, gpu.name, Style::kDim, std::max(PastAt(page.size) - at - 3, 8));
  PutSparkline(page, std::max(at + 1, PastAt(page.size)), "gpu " + gpu.uuid, 1.0);
  if (!both_lines) return;
  page.canvas.AddLine();
  text = fmt::format("link out {}, in {}; swaps {} + {}", ShortRate(gpu.link_out),
                     ShortRate(gpu.link_in), ShortRate(gpu.swap_out), ShortRate(gpu.swap_in));
  if (gpu.handovers && gpu.handovers->count > 0) {
    const auto count = gpu.handovers->count;
    text += fmt::format("; {} handover{}, {}", count, count == 1 ? "" : "s",
                        Seconds(gpu.handovers->mean_seconds));
  }
  page.canvas.Put(kBarAt, text);
}

void DrawGpus(Page& page) {
  const auto& gpus = page.snapshot.gpus;
  if (gpus.empty()) {
    page.canvas.AddLine();
    page.canvas.Put(0, "GPU", Style::kBold);
    page.canvas.Put(kBarAt, "none that can be seen", Style::kDim);
    return;
  }
  const std::size_t room =
      page.size.height == 0 ? gpus.size() * 2 : static_cast<std::size_t>(page.size.height) / 3;
  const bool both_lines = gpus.size() * 2 <= room;
  const std::size_t most = std::max<std::size_t>(both_lines ? gpus.size() : room, 1);
  for (std::size_t i = 0; i < std::min(gpus.size(), most); ++i) {
    DrawGpu(page, gpus[i], both_lines);
  }
  if (gpus.size() > most) {
    page.canvas.AddLine();
    page.canvas.Put(kBarAt, fmt::format("and {} more GPUs", gpus.size() - most), Style::kDim);
  }
}

void DrawHelp(Page& page) {
  constexpr std::array lines = {
      "Up, Down         choose a line",
      "s, S             order by the next, the one before; as they came: order",
      "v                turn the order round",
      "/                show only what has these letters; Enter ends, Esc shows all",
      "t                as a tree, or all alike",
      "p, r             pause, resume the job of the line",
      "c                cancel that job, after a question",
      "?, h             this page, and back",
      "q                end",
      "",
      "CPU is in percent of one core. MEM is the share of memory (PSS, every ten",
      "seconds; before that what is resident). PEAK is beside CLAIM, what a step was",
      "given. SM is the share of the GPU's multiprocessors at work; n/a where the GPU",
      "cannot tell. PSI: of the last ten seconds, how long something (all) waited."};
  page.canvas.AddLine();
  for (const char* line : lines) {
    page.canvas.AddLine();
    page.canvas.Put(2, line);
  }
}

std::string Footer(const ViewState& state) {
  if (!state.question.empty()) return state.question + " (y/n)";
  if (state.typing_filter) return "show only: " + state.arrangement.filter + "_";
  if (!state.message.empty()) return state.message;
  std::string text = "q end  s sort  v turn  / filter  t tree  p pause  r resume  c cancel  ? help";
  if (!state.arrangement.filter.empty()) text = "/" + state.arrangement.filter + "  " + text;
  return text;
}

}  // namespace

std::u32string Sparkline(const History::Values& values, std::size_t cells,
                         std::optional<double> top, bool unicode) {
  const std::u32string levels = unicode ? U"▁▂▃▄▅▆▇█" : U"_.:-=+*#";
  double most = top.value_or(0);
  if (!top) {
    for (const auto& value : values) most = std::max(most, value.value_or(0));
  }
  std::u32string line(cells, U' ');
  const std::size_t count = std::min(cells, values.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& value = values[values.size() - count + i];
    if (!value) continue;
    const double share = most > 0 ? std::clamp(*value / most, 0.0, 1.0) : 0;
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
  DrawMemory(page);
  DrawPressure(page);
  DrawGpus(page);
  const auto used = static_cast<int>(page.canvas.lines().size());
  const bool page_full = size.height > 0;
  const int notes = static_cast<int>(std::min<std::size_t>(snapshot.notes.size(), 2));
  if (state.help) {
    DrawHelp(page);
  } else {
    const int room = page_full ? std::max(size.height - used - notes - 1, 1) : 0;
    DrawTable(page.canvas, Rows(snapshot, state.arrangement), state, room);
  }
  auto& lines = page.canvas.lines();
  if (page_full) {
    const auto most = static_cast<std::size_t>(std::max(size.height - 1 - notes, 1));
    while (lines.size() < most) page.canvas.AddLine();
    lines.resize(most);
  }
  const std::size_t most_notes =
      page_full ? static_cast<std::size_t>(notes) : snapshot.notes.size();
  for (std::size_t i = 0; i < most_notes; ++i) {
    page.canvas.AddLine();
    page.canvas.Put(0, snapshot.notes[i], Style::kWarning);
  }
  if (page_full) {
    page.canvas.AddLine();
    page.canvas.Put(0, Footer(state), state.question.empty() ? Style::kDim : Style::kBad);
    lines.resize(static_cast<std::size_t>(size.height));
  }
  return std::move(lines);
}

}  // namespace reveza::monitor
