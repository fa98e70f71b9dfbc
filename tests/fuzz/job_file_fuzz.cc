// Parses arbitrary text as a job file in both formats. An error must name its location; the steps
// of a valid job must expand.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/job_file.h"

namespace {

// Excludes input that refers to other files or has too many steps to expand quickly.
bool ShouldParse(std::string_view text) {
  if (text.contains('@')) return false;
  int digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 3) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using reveza::jobs::JobFormat;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!ShouldParse(text)) return 0;
  for (const JobFormat format : {JobFormat::kToml, JobFormat::kJson}) {
    const auto job = reveza::jobs::ParseJob(text, format, "file", "/nowhere");
    if (!job) {
      if (!job.error().message.starts_with("file:")) std::abort();
      continue;
    }
    if (job->steps.empty()) std::abort();
    for (const auto& step : job->steps) {
      for (const auto before : step.after) {
        if (before >= job->steps.size()) std::abort();
      }
    }
    const auto count = static_cast<std::uint32_t>(job->steps.size());
    const auto after = [&](std::uint32_t i) { return std::span(job->steps[i].after); };
    if (!reveza::jobs::FindDependencyCycle(count, after).empty()) std::abort();
    const auto expander = reveza::jobs::Expander::Make(*job);
    if (!expander || !expander->Expand(job->steps.back(), {})) std::abort();
  }
  return 0;
}
