#include "reveza/cli/reveza/demo/demo_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "common/base/units.h"
#include "reveza/insight/monitor/text.h"

namespace reveza::cli {
namespace {

constexpr int kCardWidth = 46;
constexpr int kStepsWidth = 30;
constexpr const char* kColors[] = {"\x1b[36m", "\x1b[33m", "\x1b[35m"};
constexpr const char* kPlain = "\x1b[0m";

std::string Colored(const std::string& text, std::size_t index, bool color) {
  if (!color) return text;
  return kColors[index % std::size(kColors)] + text + kPlain;
}

char LetterOf(const DemoRow& row) {
  return row.name.empty()
             ? '?'
             : static_cast<char>(std::toupper(static_cast<unsigned char>(row.name[0])));
}

}  // namespace

bool DemoResult::AllSame() const {
  return !programs.empty() && std::ranges::all_of(programs, &Program::same);
}

std::string TitleLine(const std::string& title) {
  std::string line = "== " + title + " ";
  if (line.size() < 78) line.append(78 - line.size(), '=');
  return line;
}

std::string Picture(const std::vector<DemoRow>& rows, Bytes card, double seconds, bool color) {
  std::string bar;
  int used = 0;
  Bytes resident = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    resident += rows[i].resident;
    const double share = card == 0 ? 0 : static_cast<double>(resident) / static_cast<double>(card);
    const int until = std::min(kCardWidth, static_cast<int>(std::lround(share * kCardWidth)));
    const int cells = std::max(0, until - used);
    bar += Colored(std::string(static_cast<std::size_t>(cells), LetterOf(rows[i])), i, color);
    used += cells;
  }
  bar.append(static_cast<std::size_t>(kCardWidth - used), '.');
  std::string text =
      fmt::format("  GPU   [{}] {:>9} {:>6.1f} s\n", bar, FormatBytes(resident), seconds);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const DemoRow& row = rows[i];
    text += fmt::format("  {} {:<12} {} {}/{}\n", Colored(fmt::format("{:<6}", row.name), i, color),
                        row.state,
                        monitor::Bar(row.step, std::uint64_t{0},
                                     std::max<std::uint64_t>(row.steps, 1), kStepsWidth),
                        row.step, row.steps);
  }
  return text;
}

std::string PlainLine(const std::vector<DemoRow>& rows, double seconds) {
  std::string text = fmt::format("  {:>5.1f} s", seconds);
  for (const DemoRow& row : rows) {
    text += fmt::format("   {}: {} {}/{}", row.name, row.state, row.step, row.steps);
  }
  return text + "\n";
}

std::string ResultTable(const DemoResult& result) {
  std::string text =
      fmt::format("  {:<14}{:>10}{:>12}{:>16}\n", "", "alone", "together", "same result");
  for (const auto& program : result.programs) {
    text += fmt::format("  {:<14}{:>8.1f} s{:>10.1f} s{:>16}\n", program.name, program.alone,
                        program.together, program.same ? "yes" : "NO");
  }
  text += fmt::format("  {:<14}{:>8.1f} s{:>10.1f} s{:>16}\n", "all three", result.all_alone,
                      result.all_together, result.AllSame() ? "yes" : "NO");
  text += fmt::format("\n  together / one by one: {:.2f}\n", result.Ratio());
  text +=
      fmt::format("  swapped out {}, swapped in {}, in {} handovers\n",
                  FormatBytes(result.moved_out), FormatBytes(result.moved_in), result.handovers);
  return text;
}

nlohmann::json ResultJson(const DemoResult& result) {
  nlohmann::json programs = nlohmann::json::array();
  for (const auto& program : result.programs) {
    programs.push_back({{"name", program.name},
                        {"alone_s", program.alone},
                        {"together_s", program.together},
                        {"same_result", program.same}});
  }
  return {{"device", result.device},
          {"real_gpu", result.real_gpu},
          {"card_bytes", result.card},
          {"program_bytes", result.each},
          {"programs", std::move(programs)},
          {"alone_s", result.all_alone},
          {"together_s", result.all_together},
          {"ratio", result.Ratio()},
          {"moved_out_bytes", result.moved_out},
          {"moved_in_bytes", result.moved_in},
          {"handovers", result.handovers},
          {"same_results", result.AllSame()}};
}

}  // namespace reveza::cli
