#include "reveza/insight/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "common/platform/text_file.h"

namespace reveza::doctor {
namespace {

constexpr std::size_t kWidth = 80;

std::size_t CountOf(const Report& report, Severity severity) {
  return static_cast<std::size_t>(
      std::ranges::count(report.findings, severity, &Finding::severity));
}

std::string ConfidenceText(Confidence confidence) {
  return confidence == Confidence::kLikely ? "likely, inferred"
         : confidence == Confidence::kRead ? "reported by the system"
                                           : "measured";
}

void AppendFinding(const Finding& finding, std::string& text) {
  text += fmt::format("{} [{}]\n", SeverityName(finding.severity), IdName(finding.id));
  text += Wrapped(finding.observed, "  ", kWidth);
  const auto member = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += Wrapped(fmt::format("{}: {}", name, value), "    ", kWidth);
  };
  member("limit", finding.limit);
  if (finding.severity == Severity::kFine) return;
  member("why it matters", finding.why);
  member("fix", finding.fix);
  member("confidence", ConfidenceText(finding.confidence));
}

constexpr Page kPages[] = {
#include "generated/doctor/pages.inc"
};

}  // namespace

std::string Wrapped(const std::string& text, const std::string& indent, std::size_t width) {
  std::string out;
  std::string line = indent;
  const std::string next_indent = indent.size() > 2 ? indent + "  " : indent;
  bool empty = true;
  for (const std::string_view word : platform::Words(text)) {
    if (!empty && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line = next_indent;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return out + line + "\n";
}

std::string Verdict(const Report& report) {
  const std::size_t fatal = CountOf(report, Severity::kFatal);
  const std::size_t warnings = CountOf(report, Severity::kWarning);
  if (fatal + warnings == 0) {
    return fmt::format("{}: no problems found ({} checks)", report.subject, report.checks);
  }
  const Finding& worst = report.findings.front();
  return fmt::format("{}: {} fatal, {} warning{} ({} checks); first: {} (reveza doctor explain {})",
                     report.subject, fatal, warnings, warnings == 1 ? "" : "s", report.checks,
                     IdName(worst.id), IdName(worst.id));
}

std::string ReportText(const Report& report, bool all) {
  std::string text;
  for (const Finding& finding : report.findings) {
    if (!all && finding.severity < Severity::kWarning) continue;
    AppendFinding(finding, text);
    text += '\n';
  }
  return text + Verdict(report) + "\n";
}

nlohmann::json ReportJson(const Report& report) {
  constexpr const char* kVerdicts[] = {"fine", "warnings", "fatal"};
  nlohmann::json json = {{"subject", report.subject},
                         {"verdict", kVerdicts[ExitStatusOf(report.findings)]},
                         {"checks", report.checks},
                         {"findings", nlohmann::json::array()}};
  for (const Finding& finding : report.findings) json["findings"].push_back(ToJson(finding));
  return json;
}

std::span<const Page> AllPages() { return kPages; }

std::optional<std::string_view> FindPage(std::string_view id) {
  const auto page = std::ranges::find(kPages, id, &Page::id);
  if (page == std::end(kPages)) return std::nullopt;
  return page->text;
}

}  // namespace reveza::doctor
