// The result of a check: observation, limit, reason and fix; reports of them as text or JSON; and
// the pages of docs/doctor/, embedded at build time. Values and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reveza::doctor {

// One for each page docs/doctor/NAME.md, in the order of their names.
enum class Id {
#include "generated/doctor/ids.inc"
  kCount,
};
inline constexpr auto kIds = static_cast<std::size_t>(Id::kCount);

// Returns the name, such as "address-space", that `reveza doctor explain` takes.
std::string_view IdName(Id id);
std::optional<Id> IdByName(std::string_view name);

enum class Severity {
  kFine,     // checked, no problem
  kNote,     // worth knowing, or could not be checked
  kWarning,  // costs time, or will fail under more load
  kFatal,    // fails or has failed
};

enum class Confidence {
  kMeasured,  // measured or counted
  kRead,      // reported by the system
  kLikely,    // inferred
};

std::string_view SeverityName(Severity severity);        // "fine", "note", "warning", "fatal"
std::string_view ConfidenceName(Confidence confidence);  // "measured", "read", "likely"

struct Finding {
  Id id = Id::kCheckFailed;
  Severity severity = Severity::kFine;
  Confidence confidence = Confidence::kRead;
  std::string observed = {};
  std::string limit = {};  // empty if there is none
  std::string why = {};
  std::string fix = {};          // the exact command or line, if there is one
  std::optional<Id> cause = {};  // the finding about the limit that this one names

  // Sets the severity and explains it.
  Finding& Raise(Severity to, std::string its_why, std::string its_fix) {
    severity = to;
    why = std::move(its_why);
    fix = std::move(its_fix);
    return *this;
  }
  bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;

// Makes a finding that the system reported.
inline Finding MakeFinding(Id id, Severity severity, std::string observed, std::string limit = "",
                           std::string why = "", std::string fix = "") {
  return {id,
          severity,
          Confidence::kRead,
          std::move(observed),
          std::move(limit),
          std::move(why),
          std::move(fix)};
}

inline Finding Fine(Id id, std::string observed, std::string limit = "") {
  return {.id = id, .observed = std::move(observed), .limit = std::move(limit)};
}

nlohmann::json ToJson(const Finding& finding);
// Parses the output of ToJson(); nullopt if it is malformed.
std::optional<Finding> FindingFromJson(const nlohmann::json& json);

// Keeps the worst finding per id, which counts the others of equal severity; sorts worst first.
Findings MergeFindings(Findings findings);

// Makes notes of findings that only repeat another one: those about a limit that another finding
// names as its cause, and the number of threads that a limit allows.
Findings DemoteConsequences(Findings findings);

// Returns the exit status of the doctor: 0 fine, 1 warnings, 2 fatal.
int ExitStatusOf(const Findings& findings);

struct Report {
  std::string subject;            // "this machine", "pid 12", "python train.py"
  std::vector<Finding> findings;  // merged, worst first
  std::size_t checks = 0;         // number of checks that ran
};

// Returns one line: the number of problems and the worst one.
std::string Verdict(const Report& report);

// Returns the findings and the verdict as lines. Without `all`, only warnings and fatal findings.
std::string ReportText(const Report& report, bool all);

nlohmann::json ReportJson(const Report& report);

// Wraps `text` into lines of at most `width` columns, each beginning with `indent`.
std::string Wrapped(const std::string& text, const std::string& indent, std::size_t width);

struct Page {
  std::string_view id;
  std::string_view text;  // Markdown
};

std::span<const Page> AllPages();  // sorted by id
std::optional<std::string_view> FindPage(std::string_view id);

}  // namespace reveza::doctor
