// The protocol between runner and supervisor on a stream socket: frames {u32 size, u8 kind, body}.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

enum class FrameKind : std::uint8_t {
  // To the supervisor.
  kStart = 1,     // a StartRequest; only valid when idle
  kPause = 2,     // SIGSTOP the step
  kContinue = 3,  // SIGCONT the step
  kEnd = 4,       // SIGTERM, SIGKILL after the grace period; outcome kCancelled
  kKill = 5,      // SIGKILL at once
  kInherit = 6,   // an InheritedEnvironment, for the steps that follow
  // From the supervisor.
  kStarted = 16,      // u32 pid
  kCycle = 17,        // a CycleResult, recorded
  kResult = 18,       // an AttemptResult, recorded
  kRecordError = 19,  // message: the record cannot be written; retrying
  kRefused = 20,      // message: the attempt could not be recorded and was not started
  kNoGroup = 21,      // message: the step runs without its control group
  kGroup = 22,        // a GroupStats; precedes the step's kResult
  kLimits = 23,       // /proc/PID/limits of a failed step; precedes its kResult
};

struct Frame {
  FrameKind kind{};
  std::string body;
};

inline std::string PackFrame(FrameKind kind, std::string_view body = {}) {
  Packer packer;
  packer.Add(static_cast<std::uint32_t>(body.size())).Add(kind);
  return packer.Take().append(body);
}

constexpr FrameKind KindOf(const StartRequest&) { return FrameKind::kStart; }
constexpr FrameKind KindOf(const InheritedEnvironment&) { return FrameKind::kInherit; }
constexpr FrameKind KindOf(const CycleResult&) { return FrameKind::kCycle; }
constexpr FrameKind KindOf(const AttemptResult&) { return FrameKind::kResult; }
constexpr FrameKind KindOf(const GroupStats&) { return FrameKind::kGroup; }

// Packs a frame with a message; Unpack() unpacks its body.
template <typename T>
std::string Pack(const T& message) {
  return PackFrame(KindOf(message), Packer().Add(message).bytes());
}

// Splits a byte stream into frames.
class FrameReader {
 public:
  static constexpr std::uint32_t kMaxSize = 16u << 20;

  void Feed(std::string_view bytes) { bytes_.append(bytes); }
  // Returns the next complete frame, if any.
  std::optional<Frame> Next() {
    constexpr std::size_t kHeader = 5;
    const std::string_view left = std::string_view(bytes_).substr(begin_);
    Unpacker head(left);
    const auto size = head.Take<std::uint32_t>();
    const auto kind = head.Take<FrameKind>();
    if (!head.ok()) {
      bytes_.erase(0, begin_);
      begin_ = 0;
      return std::nullopt;
    }
    if (size > kMaxSize) broken_ = true;
    if (broken_ || left.size() < kHeader + size) return std::nullopt;
    begin_ += kHeader + size;
    return Frame{kind, std::string(left.substr(kHeader, size))};
  }
  // Returns whether an invalid frame size was received.
  bool broken() const { return broken_; }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
  bool broken_ = false;
};

}  // namespace reveza::jobs
