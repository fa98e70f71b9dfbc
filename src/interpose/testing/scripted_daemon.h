// For tests: a daemon by script, in a thread of the test's own process. It admits every context,
// grants all growth unless told otherwise, and lets the client in when it comes to the gate; the
// test orders it out. One client.
//
// Thread-safety: the test's thread calls everything; the daemon's thread is inside.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "wire/codec.h"
#include "wire/messages.h"

namespace reveza::interpose::testing {

class ScriptedDaemon {
 public:
  static constexpr std::uint32_t kDrainLimitUs = 60'000'000;  // for slow machines and sanitizers

  // Listens at `socket`, and puts it into the environment as REVEZA_SOCKET.
  ScriptedDaemon(const std::filesystem::path& socket, Bytes budget);
  ~ScriptedDaemon();
  ScriptedDaemon(const ScriptedDaemon&) = delete;
  ScriptedDaemon& operator=(const ScriptedDaemon&) = delete;

  // How requests for growth are answered from now on.
  void AnswerGrowth(wire::Growth answer) { growth_ = answer; }
  // A request for more at once than this is refused.
  void RefuseMoreThan(Bytes bytes) { most_ = bytes; }
  // Whether who asks for a context gets no answer from now on.
  void HoldContexts(bool hold) { hold_contexts_ = hold; }
  // The connection ends. Who connects then finds a daemon that knows of nobody.
  void HangUp();
  // Whether who comes to the gate is let in. When it becomes true, who waits already is.
  void LetIn(bool let_in);

  // Closes the gate and waits for the answer. Nothing: it closed.
  std::optional<wire::DrainFailure> CloseGate(std::uint32_t drain_limit_us = kDrainLimitUs);
  // Orders all movable memory of GPU 0 out, and waits until that has ended.
  wire::Evicted Evict();
  // The last books that came, once they are as `condition` wants them.
  template <typename Condition>
  bool AwaitBooks(Condition condition) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, kLimit, [&] { return condition(books_); });
  }
  // The last books that had come when growth was last asked for.
  wire::Account BooksWhenAsked() {
    const std::lock_guard lock(mutex_);
    return books_when_asked_;
  }
  // The next message of this type that the client sends, or has sent since the last question.
  template <typename T>
  std::optional<T> Await() {
    std::unique_lock lock(mutex_);
    std::optional<T> found;
    arrived_.wait_for(lock, kLimit, [&] {
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
  // Whether such a message has come that nobody has asked for yet.
  template <typename T>
  bool Has() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(kept_, [](const auto& one) { return one.first == T::kType; });
  }
  // What has come of it so far was about something else.
  template <typename T>
  void Forget() {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [](const auto& one) { return one.first == T::kType; });
  }
  template <typename T>
  void Send(const T& body) {
    char packet[wire::kPacketSize<T>];
    SendPacket(packet, wire::Encode(body, packet));
  }

 private:
  static constexpr std::chrono::seconds kLimit{60};

  void Run();
  void Serve(int client);
  void Handle(wire::Type type, const char* packet);
  void LetInNow();
  void SendPacket(const char* packet, std::size_t size);

  const Bytes budget_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::atomic<wire::Growth> growth_{wire::Growth::kGranted};
  std::atomic<Bytes> most_{~Bytes{0}};
  std::atomic<bool> hold_contexts_{false};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::pair<wire::Type, std::string>> kept_;
  wire::Account books_{};
  wire::Account books_when_asked_{};
  bool let_in_ = true;
  bool at_gate_ = false;
  bool open_ = false;
  bool letting_in_ = false;  // a CloseGate ends it
  std::atomic<std::uint32_t> serial_{0};
  std::atomic<int> client_{-1};
  std::thread thread_;
};

}  // namespace reveza::interpose::testing
