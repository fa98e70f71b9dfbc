#include "reveza/insight/doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reveza::doctor {
namespace {

constexpr std::array<std::string_view, kIds> kIdNames = {
#define REVEZA_FINDING_NAME(id, name) name,
    REVEZA_FINDING_IDS(REVEZA_FINDING_NAME)
#undef REVEZA_FINDING_NAME
};

constexpr std::array<std::string_view, 4> kSeverities = {"fine", "note", "warning", "fatal"};
constexpr std::array<std::string_view, 3> kConfidences = {"measured", "read", "likely"};

template <typename Enumeration, std::size_t kNames>
std::optional<Enumeration> ByName(const std::array<std::string_view, kNames>& names,
                                  std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enumeration>(found - names.begin());
}

}  // namespace

std::string_view IdName(Id id) { return kIdNames.at(static_cast<std::size_t>(id)); }
std::optional<Id> IdByName(std::string_view name) { return ByName<Id>(kIdNames, name); }

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

int ExitStatusOf(const Findings& findings) {
  int status = 0;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kFatal) return 2;
    if (finding.severity == Severity::kWarning) status = 1;
  }
  return status;
}

}  // namespace reveza::doctor
