#include "daemon/why.h"

#include <fmt/format.h>

#include "base/units.h"

namespace reveza::daemon {
namespace {

using scheduler::JobState;
using scheduler::WaitReason;

std::string TurnText(const WhyWorld& world) {
  if (world.blocker_name.empty()) return "waiting for its turn";
  if (world.blocker != nullptr && world.blocker->slice_ends > world.now) {
    return fmt::format("waiting for its turn: {} has the GPU for {} more", world.blocker_name,
                       FormatDuration(world.blocker->slice_ends - world.now));
  }
  return fmt::format("waiting for its turn: {} has the GPU", world.blocker_name);
}

std::string MemoryText(const WhyWorld& world) {
  const std::string who =
      world.blocker_name.empty()
          ? "memory of others that cannot be moved"
          : fmt::format("memory of {} that cannot be moved", world.blocker_name);
  return fmt::format("waiting for GPU memory: it needs {} of {}, and {} is in the way",
                     FormatBytes(world.need), FormatBytes(world.budget), who);
}

}  // namespace

std::string WhyText(const scheduler::JobView& job, const WhyWorld& world) {
  switch (job.why) {
    case WaitReason::kNone:
      return job.state == JobState::kEntering ? "its memory is coming back to the GPU" : "";
    case WaitReason::kTurn:
      return TurnText(world);
    case WaitReason::kContext:
      return world.blocker_name.empty()
                 ? "waiting to start on the GPU: another program is starting there"
                 : fmt::format("waiting to start on the GPU: {} is starting there",
                               world.blocker_name);
    case WaitReason::kGpuMemory:
      return MemoryText(world);
    case WaitReason::kHostMemory:
      return fmt::format(
          "waiting for host memory: {} of {} are left to swap others into; a larger "
          "--host-budget would help",
          FormatBytes(world.host_free), FormatBytes(world.host_budget));
    case WaitReason::kUnpreemptible:
      return fmt::format("waiting for {}, whose work on the GPU does not end; tried again soon",
                         world.blocker_name.empty() ? "a program" : world.blocker_name);
    case WaitReason::kQueue:
      return fmt::format("queued: {} programs take turns already, as many as a wait of {} allows",
                         world.rotating, FormatDuration(world.max_wait));
  }
  return "";
}

}  // namespace reveza::daemon
