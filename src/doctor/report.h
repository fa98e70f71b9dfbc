// What the doctor says, for people and for programs. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctor/finding.h"

namespace reveza::doctor {

struct Report {
  std::string subject;            // "this machine", "pid 12", "python train.py"
  std::vector<Finding> findings;  // merged, worst first
  std::size_t checks = 0;         // how many were run
};

// One line: how many findings of which kind, and the first thing to do.
std::string Verdict(const Report& report);

// Several lines with their ends. Without `all` only warnings and what is fatal.
std::string ReportText(const Report& report, bool all);

nlohmann::json ReportJson(const Report& report);

// `text` in lines of at most `width` columns, each beginning with `indent`.
std::string Wrapped(const std::string& text, const std::string& indent, std::size_t width);

}  // namespace reveza::doctor
