// What a runner and a supervisor say to each other over a stream socket: {u32 size, u8 kind, body}.
// Part of the supervisor: libc and header-only C++ only. Thread-safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runner/supervisor/attempt.h"

namespace reveza::runner {

enum class FrameKind : std::uint8_t {
  // To the supervisor.
  kStart = 1,     // a StartRequest; it has nothing running
  kPause = 2,     // stop what runs
  kContinue = 3,  // let it go on
  kEnd = 4,       // SIGTERM, after the grace SIGKILL; its outcome is kCancelled
  kKill = 5,      // SIGKILL at once
  // From it.
  kStarted = 16,  // u32 pid
  kCycle = 17,    // a CycleResult, recorded
  kResult = 18,   // an AttemptResult, recorded
  kTrouble = 19,  // a text: its record cannot be written; it goes on trying
  kRefused = 20,  // a text: the attempt was not begun, for it could not be recorded
  kNoGroup = 21,  // a text: the step runs without the control group that was asked for
  kGroup = 22,    // a GroupEnd: of the step whose result comes next
  kLimits = 23,   // the text of /proc/PID/limits of the step whose result comes next; it failed
};

struct Frame {
  FrameKind kind{};
  std::string body;
};

std::string PackFrame(FrameKind kind, std::string_view body = {});

std::string PackStart(const StartRequest& request);
std::optional<StartRequest> UnpackStart(std::string_view body);
std::string PackResult(const AttemptResult& result);
std::optional<AttemptResult> UnpackResult(std::string_view body);
std::string PackGroup(const GroupEnd& end);
std::optional<GroupEnd> UnpackGroup(std::string_view body);
std::string PackCycle(const CycleResult& cycle);
std::optional<CycleResult> UnpackCycle(std::string_view body);

// Bytes as they come, and the whole frames among them.
class FrameReader {
 public:
  static constexpr std::uint32_t kLargest = 16u << 20;

  void Feed(std::string_view bytes) { bytes_.append(bytes); }
  // Nothing until one is whole.
  std::optional<Frame> Next();
  // A size that nobody sends: the other side is not ours.
  bool broken() const { return broken_; }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
  bool broken_ = false;
};

}  // namespace reveza::runner
