// Formats the findings as text or JSON; the pages of docs/doctor/, embedded at build time. Pure
// functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reveza/insight/doctor/finding.h"

namespace reveza::doctor {

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
