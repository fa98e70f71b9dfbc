// Any text as a job file, in both formats: a job whose steps can all be expanded, or refused with a
// message that names the place.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runner/definition/dependencies.h"
#include "runner/definition/expander.h"
#include "runner/definition/job_file.h"

namespace {

// What names other files, or asks for more steps than there is time for, is tested elsewhere.
bool IsOfInterest(std::string_view text) {
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
  using reveza::runner::JobFormat;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!IsOfInterest(text)) return 0;
  for (const JobFormat format : {JobFormat::kToml, JobFormat::kJson}) {
    const auto job = reveza::runner::ParseJob(text, format, "file", "/nowhere");
    if (!job) {
      if (!job.error().message.starts_with("file:")) std::abort();
      continue;
    }
    if (job->steps.empty() || !reveza::runner::CheckDependencies(*job)) std::abort();
    const auto expander = reveza::runner::Expander::Make(*job);
    if (!expander || !expander->Expand(job->steps.back(), {})) std::abort();
  }
  return 0;
}
