// The checks, each a function of what it looks at. Each is run in a process of its own
// (isolate.h): it may take its time and start processes, and it changes nothing.
// Thread-safety: as isolate.h says.
#pragma once

#include <chrono>
#include <span>

#include "doctor/isolate.h"
#include "doctor/subject.h"

namespace reveza::doctor {

struct Check {
  const char* name;
  std::chrono::seconds limit;
  Findings (*run)(const Subject& subject);
};

// All of them, in the order of what most often is the reason.
std::span<const Check> AllChecks();

// Resource limits of the processes against what they use, and what the kernel allows to all.
Findings CheckAddressSpace(const Subject& subject);
Findings CheckMapCount(const Subject& subject);
Findings CheckProcessLimits(const Subject& subject);
Findings CheckThreadCeiling(const Subject& subject);
Findings CheckMemory(const Subject& subject);

// Control groups.
Findings CheckCgroups(const Subject& subject);

}  // namespace reveza::doctor
