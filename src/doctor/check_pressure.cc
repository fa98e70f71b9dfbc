// How much of the time something waited for CPU, memory or storage.
#include <fmt/format.h>

#include <utility>

#include "doctor/checks.h"
#include "platform/pressure.h"

namespace reveza::doctor {
namespace {

struct Kind {
  const char* name;
  double warn;   // percent of the last minute
  double fatal;  // over 100: never
  bool all;      // judge the time in which all waited
  const char* why;
  const char* fix;
};

constexpr Kind kCpu = {
    "CPU", 60, 101, false, "more workers would only wait more", "fewer workers or threads at once"};
constexpr Kind kMemory = {"memory",
                          5,
                          40,
                          true,
                          "pages are thrown out and read again: all is slow, and a kill is near",
                          "fewer workers at once; reveza jobs run stops admitting under pressure"};
constexpr Kind kStorage = {"storage",
                           40,
                           101,
                           true,
                           "everything waits for the disk; more workers would wait with it",
                           "write less often or into memory (/dev/shm), or fewer workers"};

void Judge(const char* whose, const std::optional<platform::Pressure>& pressure, const Kind& kind,
           Findings& findings) {
  if (!pressure) return;
  const bool all = kind.all && pressure->full;
  const platform::PressureLine& line = all ? *pressure->full : pressure->some;
  const double part = line.average_60s;
  const Severity severity = part >= kind.fatal  ? Severity::kFatal
                            : part >= kind.warn ? Severity::kWarning
                                                : Severity::kFine;
  findings.push_back(
      {.id = Id::kPressure,
       .severity = severity,
       .sure = Sureness::kRead,
       .observed =
           fmt::format("{}: {} waited for {} in {:.1f} % of the last minute ({:.1f} % of "
                       "the last 10 s)",
                       whose, all ? "all tasks" : "some task", kind.name, part, line.average_10s),
       .limit = severity == Severity::kFine ? "" : fmt::format("{:.0f} %", kind.warn),
       .why = severity == Severity::kFine ? "" : kind.why,
       .fix = severity == Severity::kFine ? "" : kind.fix});
}

}  // namespace

Findings CheckPressure(const Subject& subject) {
  Findings findings;
  const platform::Pressures machine = platform::MachinePressure(subject.root);
  const platform::Pressures group = platform::CgroupPressure(subject.pid, subject.root);
  for (const auto& [whose, pressures] :
       {std::pair{"the machine", &machine}, {"the control group", &group}}) {
    Judge(whose, pressures->memory, kMemory, findings);
    Judge(whose, pressures->cpu, kCpu, findings);
    Judge(whose, pressures->io, kStorage, findings);
  }
  if (findings.empty()) {
    findings.push_back({.id = Id::kPressure,
                        .severity = Severity::kNote,
                        .sure = Sureness::kRead,
                        .observed = "this kernel has no pressure figures",
                        .limit = "",
                        .why = "what waits for memory or CPU cannot be seen",
                        .fix = "boot with psi=1"});
  }
  return findings;
}

}  // namespace reveza::doctor
