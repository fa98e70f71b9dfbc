#include "reveza/insight/doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/platform/text_file.h"

namespace reveza::doctor {
namespace {

constexpr std::array<Page, kIds> kPages = {{
#include "generated/doctor/pages.inc"
}};

constexpr std::array<std::string_view, 4> kSeverities = {"fine", "note", "warning", "fatal"};
constexpr std::array<std::string_view, 3> kConfidences = {"measured", "read", "likely"};

template <typename Enumeration, std::size_t kNames>
std::optional<Enumeration> ByName(const std::array<std::string_view, kNames>& names,
                                  std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enumeration>(found - names.begin());
}

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

}  // namespace

std::string_view IdName(Id id) { return kPages.at(static_cast<std::size_t>(id)).id; }
std::optional<Id> IdByName(std::string_view name) {
  const auto found = std::ranges::find(kPages, name, &Page::id);
  if (found == kPages.end()) return std::nullopt;
  return static_cast<Id>(found - kPages.begin());
}

std::string_view SeverityName(Severity severity) {
  return kSeverities.at(static_cast<std::size_t>(severity));
}
std::string_view ConfidenceName(Confidence confidence) {
  return kConfidences.at(static_cast<std::size_t>(confidence));
}

nlohmann::json ToJson(const Finding& finding) {
  nlohmann::json json = {{"id", IdName(finding.id)},
                         {"severity", SeverityName(finding.severity)},
                         {"sure", ConfidenceName(finding.confidence)},
                         {"observed", finding.observed},
                         {"limit", nullptr},
                         {"why", finding.why},
                         {"fix", finding.fix}};
  if (!finding.limit.empty()) json["limit"] = finding.limit;
  return json;
}

std::optional<Finding> FindingFromJson(const nlohmann::json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto text = [&](const char* key) -> std::string {
    const auto value = json.find(key);
    return value != json.end() && value->is_string() ? value->get<std::string>() : std::string();
  };
  const auto id = IdByName(text("id"));
  const auto severity = ByName<Severity>(kSeverities, text("severity"));
  const auto sure = ByName<Confidence>(kConfidences, text("sure"));
  if (!id || !severity || !sure) return std::nullopt;
  return Finding{*id, *severity, *sure, text("observed"), text("limit"), text("why"), text("fix")};
}

Findings MergeFindings(Findings findings) {
  Findings merged;
  std::array<std::size_t, kIds> others{};
  const auto add = [&](Finding& finding) {
    const auto kept = std::ranges::find(merged, finding.id, &Finding::id);
    if (kept == merged.end()) {
      merged.push_back(std::move(finding));
    } else if (kept->severity == finding.severity && *kept != finding) {
      ++others.at(static_cast<std::size_t>(finding.id));
    }
  };
  for (const Severity severity :
       {Severity::kFatal, Severity::kWarning, Severity::kNote, Severity::kFine}) {
    for (Finding& finding : findings) {
      if (finding.severity == severity) add(finding);
    }
  }
  for (Finding& finding : merged) {
    const std::size_t count = others.at(static_cast<std::size_t>(finding.id));
    if (count > 0) finding.observed += fmt::format(" (and {} more like it)", count);
  }
  return merged;
}

Findings DemoteConsequences(Findings findings) {
  const auto matters = [](const Finding& finding) {
    return finding.severity >= Severity::kWarning;
  };
  constexpr std::array kLimitsOfThreads = {Id::kAddressSpace, Id::kDataLimit,    Id::kProcessLimit,
                                           Id::kCgroupPids,   Id::kMapCount,     Id::kOvercommit,
                                           Id::kStackLimit,   Id::kThreadCeiling};
  std::vector<Id> named;
  for (const Finding& finding : findings) {
    if (!matters(finding)) continue;
    if (finding.cause) named.push_back(*finding.cause);
    if (std::ranges::find(kLimitsOfThreads, finding.id) != kLimitsOfThreads.end()) {
      named.push_back(Id::kThreadProbe);
    }
  }
  for (Finding& finding : findings) {
    if (matters(finding) && std::ranges::find(named, finding.id) != named.end()) {
      finding.severity = Severity::kNote;
    }
  }
  return findings;
}

int ExitStatusOf(const Findings& findings) {
  int status = 0;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kFatal) return 2;
    if (finding.severity == Severity::kWarning) status = 1;
  }
  return status;
}

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
  const auto known = IdByName(id);
  if (!known) return std::nullopt;
  return kPages.at(static_cast<std::size_t>(*known)).text;
}

}  // namespace reveza::doctor
