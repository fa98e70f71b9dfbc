// How steps are kept from taking more memory than they may: by a control group of their own where
// this process may make some, else by a scope of systemd's user manager, else by looking once a
// second. Never RLIMIT_AS: it bounds addresses, of which a GPU program reserves far more than it
// uses. Thread-safety: none.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "platform/cgroup_ground.h"
#include "platform/runtime_paths.h"
#include "runner/engine/job_group.h"
#include "runner/engine/worker_pool.h"
#include "runner/journal/job_folder.h"
#include "runner/run_request.h"

namespace reveza::runner {

struct LimitsChoice {
  Limits by = Limits::kNone;  // never kAuto
  std::string words{};        // for people: what it is, and why it is nothing better
  std::optional<platform::CgroupGround> ground{};  // with kCgroup
  std::filesystem::path systemd_run{};             // with kSystemd
  std::filesystem::path scopes{};                  // the same: where the groups of its scopes are
};

// What there is on this machine, and changes nothing. kInvalidArgument: what was asked for is not
// there; the message says why. `wait` is asked where other programs are in this process's group:
// true, and it looks again.
Result<LimitsChoice> ChooseLimits(Limits wish, const platform::Environment& environment,
                                  const std::filesystem::path& root = "/",
                                  const std::function<bool()>& wait = {});

class StepLimits {
 public:
  // Makes the job's group where there is to be one, and removes what a killed runner has left.
  static Result<StepLimits> Begin(Limits wish, const platform::Environment& environment,
                                  const JobFolder& folder, const std::filesystem::path& root = "/");
  StepLimits() = default;

  Limits by() const { return choice_.by; }
  const std::string& words() const { return choice_.words; }

  // Puts the limit into the request, and what is to be watched into `active`. `brief`: its like
  // are over at once, and are not worth a group unless somebody declared what they need.
  // `last_turn`: see MemoryLimitFor.
  void Apply(const Need& need, bool brief, bool last_turn, Active& active,
             StartRequest& request) const;

 private:
  LimitsChoice choice_;
  std::unique_ptr<JobGroup> group_;
};

// What a killed runner has left of the job's groups: removed, as far as nothing lives in it.
void RemoveLeftGroups(const JobFolder& folder);

}  // namespace reveza::runner
