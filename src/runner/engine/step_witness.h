// What is seen of a step's processes while they live, for whoever has to say why it died: a dead
// process tells its limits only, and those of a child that its shell has waited for nobody tells.
// Thread-safety: none; the runner's loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "doctor/death.h"
#include "doctor/subject.h"

namespace reveza::runner {

class StepWitness {
 public:
  // Looks at the step's processes, as they are now; to be called every second or so. What has
  // many mappings takes long to count, so that is done at the first look and each tenth.
  void Look(std::span<const pid_t> processes, const std::filesystem::path& root = "/");
  // The text of /proc/PID/limits of the step's own process, when it had ended.
  void TakeLimits(std::string_view text);
  // Puts limits, use and mappings into `death`, as far as anything is known: of the process that
  // came nearest to a limit of its own, with the tightest limits that any of them had.
  void Tell(doctor::Death& death) const;

 private:
  void Take(const platform::ProcessLimits& limits);

  std::optional<platform::ProcessLimits> limits_;
  std::optional<doctor::ProcessView> nearest_;
  double nearness_ = 0;
  std::optional<std::uint64_t> threads_;  // the most of one process
  unsigned looks_ = 0;
};

}  // namespace reveza::runner
