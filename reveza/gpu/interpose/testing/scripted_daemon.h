// A scripted daemon for tests, in a thread of the test process, with one client. By default it
// admits every context, grants all growth, and opens the gate when the client asks; the test orders
// closing and eviction. All methods are for the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/unique_fd.h"
#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::interpose::testing {

class ScriptedDaemon {
 public:
  using Uuid = std::array<std::uint8_t, 16>;
  static constexpr std::uint32_t kDrainLimitUs = 60'000'000;  // for slow machines and sanitizers

  // Listens at `socket` and sets REVEZA_SOCKET.
  ScriptedDaemon(const std::filesystem::path& socket, Bytes budget);
  ~ScriptedDaemon();
  ScriptedDaemon(const ScriptedDaemon&) = delete;
  ScriptedDaemon& operator=(const ScriptedDaemon&) = delete;

  // Sets the answer to growth requests.
  void AnswerGrowth(wire::Growth answer) { growth_ = answer; }
  // Refuses single requests above `bytes`.
  void RefuseAbove(Bytes bytes) { max_growth_ = bytes; }
  // Speaks this version of the protocol, and refuses others.
  void SetVersion(std::uint16_t version) { version_ = version; }
  // Refuses further contexts with this text; null: admits them.
  void RefuseContexts(const char* text) { refusal_ = text; }
  // Whether to leave context requests unanswered; those held back are answered on `false`.
  void HoldContexts(bool hold);
  // Returns the number of a GPU on which a context was requested.
  std::uint32_t NumberOf(const Uuid& uuid);
  // Closes the connection. The next one behaves like that of a restarted daemon.
  void Disconnect();
  // Whether to open the gate when the client is blocked at it, also if it is already.
  void SetAutoOpen(bool auto_open);

  // Orders the gate closed and waits for the answer. Returns nullopt if it closed.
  std::optional<wire::DrainFailure> CloseGate(std::uint32_t drain_limit_us = kDrainLimitUs,
                                              std::uint32_t submissions = 0);
  // Orders eviction of all swappable memory of a GPU, numbered in the order of the requests, and
  // waits for the answer.
  wire::Evicted Evict(std::uint32_t gpu = 0);
  // Waits until an Account satisfies `condition`. Returns false on timeout.
  template <typename Condition>
  bool AwaitUsage(Condition condition) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, kTimeout, [&] { return condition(usage_); });
  }
  // Returns the last Account received before the last growth request.
  wire::Account UsageWhenAsked() {
    const std::lock_guard lock(mutex_);
    return usage_when_asked_;
  }
  // Returns the credit returned so far, and how much of it before the last growth request.
  Bytes Returned() {
    const std::lock_guard lock(mutex_);
    return returned_;
  }
  Bytes ReturnedWhenAsked() {
    const std::lock_guard lock(mutex_);
    return returned_when_asked_;
  }
  // Waits for and consumes the first unconsumed message of type T; nullopt on timeout.
  template <typename T>
  std::optional<T> Await() {
    std::unique_lock lock(mutex_);
    std::optional<T> found;
    arrived_.wait_for(lock, kTimeout, [&] {
      for (auto it = kept_.begin(); it != kept_.end() && !found; ++it) {
        if (it->first != T::kType) continue;
        found = wire::View<T>(it->second.data());
        kept_.erase(it);
        break;
      }
      return found.has_value();
    });
    return found;
  }
  // Returns whether an unconsumed message of type T has arrived.
  template <typename T>
  bool Has() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(kept_, [](const auto& one) { return one.first == T::kType; });
  }
  // Discards unconsumed messages of type T.
  template <typename T>
  void Forget() {
    std::unique_lock lock(mutex_);
    // What has been answered may not be kept yet.
    arrived_.wait_for(lock, kTimeout, [&] { return !handling_; });
    std::erase_if(kept_, [](const auto& one) { return one.first == T::kType; });
  }
  template <typename T>
  void Send(const T& body) {
    char packet[wire::kPacketSize<T>];
    SendPacket(packet, wire::Encode(body, packet, version_));
  }

 private:
  static constexpr std::chrono::seconds kTimeout{60};

  void Run();
  void Serve(int client);
  void Handle(wire::Type type, const char* packet);
  void Admit(const Uuid& uuid, Bytes credit);
  void AnswerContext(const Uuid& uuid);
  void StartOpening();
  void SendPacket(const char* packet, std::size_t size);

  const Bytes budget_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::atomic<wire::Growth> growth_{wire::Growth::kGranted};
  std::atomic<Bytes> max_growth_{~Bytes{0}};
  std::atomic<std::uint16_t> version_{wire::kVersion};
  std::atomic<const char*> refusal_{nullptr};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::pair<wire::Type, std::string>> kept_;
  bool handling_ = false;  // a message
  wire::Account usage_{};
  wire::Account usage_when_asked_{};
  Bytes returned_ = 0;
  Bytes returned_when_asked_ = 0;
  bool hold_contexts_ = false;
  std::vector<Uuid> held_contexts_;
  std::set<Uuid> creating_;  // further requests for these are ignored, as by the daemon
  std::vector<Uuid> gpus_;
  bool auto_open_ = true;
  bool at_gate_ = false;
  bool open_ = false;
  bool opening_ = false;  // cancelled by CloseGate
  std::atomic<std::uint32_t> serial_{0};
  std::atomic<int> client_{-1};
  std::thread thread_;
};

}  // namespace reveza::interpose::testing
