// Test helper: a scripted client that speaks the protocol and answers orders only when the test
// says so.
//
// Not thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/unique_fd.h"
#include "common/platform/unix_socket.h"
#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::daemon {

class TestingClient {
 public:
  static constexpr int kTimeoutMs = 60'000;

  explicit TestingClient(const std::filesystem::path& socket) {
    auto fd = platform::ConnectTo(socket);
    if (fd) fd_ = std::move(*fd);
  }
  explicit TestingClient(UniqueFd fd) : fd_(std::move(fd)) {}

  bool connected() const { return static_cast<bool>(fd_); }
  void Close() { fd_.Reset(); }
  int fd() const { return fd_.get(); }

  // Speaks this version of the protocol from now on.
  void set_version(std::uint16_t version) { version_ = version; }
  const std::set<std::uint16_t>& versions_received() const { return versions_received_; }

  template <typename T>
  void Send(const T& body) {
    char packet[wire::kPacketSize<T>];
    SendRaw(std::string(packet, wire::Encode(body, packet, version_)));
  }
  void SendRaw(const std::string& packet) {
    [[maybe_unused]] const auto sent = send(fd_.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  }

  void SendHello(std::uint64_t job, const char* name, std::uint32_t flags = 0, bool open = false) {
    wire::Hello hello{};
    hello.job = job;
    hello.flags = flags;
    hello.gate_open = open ? 1 : 0;
    wire::CopyText(hello.name, sizeof(hello.name), name);
    wire::CopyText(hello.command, sizeof(hello.command), "python train.py");
    Send(hello);
  }

  static wire::ContextRequested ContextRequestFor(std::uint8_t gpu, Bytes total) {
    wire::ContextRequested message{};
    message.uuid[15] = gpu;
    message.total = total;
    return message;
  }

  // Returns the next message of this type, keeping others for later; nullopt after a hangup or
  // timeout.
  template <typename T>
  std::optional<T> Await() {
    for (;;) {
      for (auto it = received_.begin(); it != received_.end(); ++it) {
        if (it->first != T::kType) continue;
        const T body = wire::View<T>(it->second.data());
        received_.erase(it);
        return body;
      }
      if (!ReceiveOne()) return std::nullopt;
    }
  }

  // Waits until the daemon hangs up. Returns false on timeout.
  bool AwaitHangup() {
    while (ReceiveOne()) {
    }
    return hung_up_;
  }

  // Returns a complete text answer; empty on failure.
  std::string AwaitText() {
    std::string text;
    for (;;) {
      while (received_.empty() || received_.front().first != wire::Type::kText) {
        if (!received_.empty()) {
          received_.pop_front();
        } else if (!ReceiveOne()) {
          return "";
        }
      }
      const std::string packet = std::move(received_.front().second);
      received_.pop_front();
      text += packet.substr(wire::kPacketSize<wire::TextHeader>);
      if (wire::View<wire::TextHeader>(packet.data()).last == 1) return text;
    }
  }

  // Runs the protocol from Hello to a context of `overhead` bytes on GPU `gpu`.
  void Start(std::uint64_t job, const char* name, std::uint8_t gpu, Bytes total, Bytes overhead) {
    SendHello(job, name);
    ASSERT_TRUE(Await<wire::Welcome>());
    Send(ContextRequestFor(gpu, total));
    const auto admitted = Await<wire::ContextAdmitted>();
    ASSERT_TRUE(admitted);
    gpu_ = admitted->gpu;
    budget_ = admitted->budget;
    Send(wire::ContextCreated{gpu_, 0, overhead});
    account_.gpu = gpu_;
    account_.context = overhead;
    Send(account_);
  }
  // Allocates swapped memory behind the closed gate, which needs no credit.
  void AllocateSwapped(Bytes bytes) {
    account_.swapped += bytes;
    Send(account_);
  }
  // Requests the gate and swaps in. Returns whether the gate opened.
  bool EnterGate() {
    Send(wire::GateRequested{});
    if (account_.swapped > 0 && !SwapIn()) return false;
    return Await<wire::OpenGate>().has_value();
  }
  bool SwapIn() {
    const auto order = Await<wire::SwapIn>();
    if (!order) return false;
    Bytes credit = 0;
    while (credit < account_.swapped) {
      const auto given = Await<wire::Credit>();
      if (!given) return false;
      credit += given->bytes;
    }
    const Bytes copied = std::exchange(account_.swapped, 0);
    account_.resident += copied;
    Send(account_);
    Send(wire::SwappedIn{order->serial, 1000, copied});
    return true;
  }
  // Answers the next CloseGate and, if `evicted`, the following Evict.
  bool LeaveGate(bool evicted) {
    const auto close = Await<wire::CloseGate>();
    if (!close) return false;
    Send(wire::GateClosed{close->serial, 10, 20, 0});
    return !evicted || Evict();
  }
  bool Evict() {
    const auto order = Await<wire::Evict>();
    if (!order) return false;
    const Bytes out = std::min<Bytes>(RoundUp(order->bytes, 2 * kMiB), account_.resident);
    account_.resident -= out;
    account_.swapped += out;
    account_.credit_returned = out;
    account_.arena = account_.swapped;
    Send(account_);
    account_.credit_returned = 0;
    Send(wire::Evicted{order->serial, order->gpu, out, out, 500, wire::EvictFailure::kNone});
    return true;
  }

  const wire::Account& account() const { return account_; }
  Bytes budget() const { return budget_; }
  std::uint32_t gpu() const { return gpu_; }

 private:
  bool ReceiveOne() {
    pollfd readable{fd_.get(), POLLIN, 0};
    if (!fd_ || poll(&readable, 1, kTimeoutMs) <= 0) return false;
    char packet[wire::kMaxPacket];
    const ssize_t got = recv(fd_.get(), packet, sizeof(packet), 0);
    if (got <= 0) {
      hung_up_ = true;
      return false;
    }
    wire::Type type{};
    const auto error = wire::Validate(packet, static_cast<std::size_t>(got), &type);
    EXPECT_EQ(error, wire::DecodeError::kNone) << wire::ToText(error);
    if (error != wire::DecodeError::kNone) return false;
    versions_received_.insert(wire::VersionOf(packet));
    received_.emplace_back(type, std::string(packet, static_cast<std::size_t>(got)));
    return true;
  }

  UniqueFd fd_;
  std::deque<std::pair<wire::Type, std::string>> received_;
  wire::Account account_{};
  Bytes budget_ = 0;
  std::uint32_t gpu_ = 0;
  bool hung_up_ = false;
  std::uint16_t version_ = wire::kVersion;
  std::set<std::uint16_t> versions_received_;
};

}  // namespace reveza::daemon
