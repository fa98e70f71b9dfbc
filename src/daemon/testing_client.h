// For tests: a client by script. It speaks the messages and does what it is ordered only when the
// test says so. Thread-safety: none.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "platform/unix_socket.h"
#include "wire/codec.h"
#include "wire/messages.h"

namespace reveza::daemon {

class TestingClient {
 public:
  static constexpr int kLimitMs = 60'000;

  explicit TestingClient(const std::filesystem::path& socket) {
    auto fd = platform::ConnectTo(socket);
    if (fd) fd_ = std::move(*fd);
  }
  explicit TestingClient(UniqueFd fd) : fd_(std::move(fd)) {}

  bool connected() const { return static_cast<bool>(fd_); }
  void Close() { fd_.Reset(); }
  int fd() const { return fd_.get(); }

  template <typename T>
  void Send(const T& body) {
    char packet[wire::kPacketSize<T>];
    SendRaw(std::string(packet, wire::Encode(body, packet)));
  }
  void SendRaw(const std::string& packet) {
    [[maybe_unused]] const auto sent = send(fd_.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  }

  void SayHello(std::uint64_t job, const char* name, std::uint32_t flags = 0, bool open = false) {
    wire::Hello hello{};
    hello.job = job;
    hello.flags = flags;
    hello.gate_open = open ? 1 : 0;
    wire::CopyText(hello.name, sizeof(hello.name), name);
    wire::CopyText(hello.command, sizeof(hello.command), "python train.py");
    Send(hello);
  }

  static wire::ContextWanted WantedOn(std::uint8_t gpu, Bytes total) {
    wire::ContextWanted wanted{};
    wanted.uuid[15] = gpu;
    wanted.total = total;
    return wanted;
  }

  // The next message of this type; others before it are kept for later. Nothing: the daemon hung
  // up, or the limit passed.
  template <typename T>
  std::optional<T> Await() {
    for (;;) {
      for (auto it = kept_.begin(); it != kept_.end(); ++it) {
        if (it->first != T::kType) continue;
        const T body = wire::View<T>(it->second.data());
        kept_.erase(it);
        return body;
      }
      if (!ReceiveOne()) return std::nullopt;
    }
  }

  // true once the daemon has hung up.
  bool AwaitEnd() {
    while (ReceiveOne()) {
    }
    return ended_;
  }

  // A whole text answer; empty when it does not come.
  std::string AwaitText() {
    std::string text;
    for (;;) {
      while (kept_.empty() || kept_.front().first != wire::Type::kText) {
        if (!kept_.empty()) {
          kept_.pop_front();
        } else if (!ReceiveOne()) {
          return "";
        }
      }
      const std::string packet = std::move(kept_.front().second);
      kept_.pop_front();
      text += packet.substr(wire::kPacketSize<wire::TextHeader>);
      if (wire::View<wire::TextHeader>(packet.data()).last == 1) return text;
    }
  }

  // From Hello to a made context of `overhead` bytes on GPU `gpu`, with a gate that opens.
  void Start(std::uint64_t job, const char* name, std::uint8_t gpu, Bytes total, Bytes overhead) {
    SayHello(job, name);
    ASSERT_TRUE(Await<wire::Welcome>());
    Send(WantedOn(gpu, total));
    const auto admitted = Await<wire::ContextAdmitted>();
    ASSERT_TRUE(admitted);
    gpu_ = admitted->gpu;
    budget_ = admitted->budget;
    Send(wire::ContextMade{gpu_, 0, overhead});
    books_.gpu = gpu_;
    books_.context = overhead;
    Send(books_);
  }
  // Behind the closed gate memory is there without credit.
  void AllocateSwapped(Bytes bytes) {
    books_.swapped += bytes;
    Send(books_);
  }
  // Comes to the gate and does what brings it in. false: it did not open.
  bool EnterGate() {
    Send(wire::GateWanted{});
    if (books_.swapped > 0 && !SwapIn()) return false;
    return Await<wire::OpenGate>().has_value();
  }
  bool SwapIn() {
    const auto order = Await<wire::SwapIn>();
    if (!order) return false;
    Bytes credit = 0;
    while (credit < books_.swapped) {
      const auto given = Await<wire::Credit>();
      if (!given) return false;
      credit += given->bytes;
    }
    const Bytes copied = std::exchange(books_.swapped, 0);
    books_.resident += copied;
    Send(books_);
    Send(wire::SwappedIn{order->serial, 1000, copied});
    return true;
  }
  // Answers the CloseGate that comes, then the Evict that follows it.
  bool LeaveGate(bool evicted) {
    const auto close = Await<wire::CloseGate>();
    if (!close) return false;
    Send(wire::GateClosed{close->serial, 10, 20, 0});
    return !evicted || Evict();
  }
  bool Evict() {
    const auto order = Await<wire::Evict>();
    if (!order) return false;
    const Bytes out = std::min<Bytes>(RoundUp(order->bytes, 2 * kMiB), books_.resident);
    books_.resident -= out;
    books_.swapped += out;
    books_.credit_returned = out;
    books_.arena = books_.swapped;
    Send(books_);
    books_.credit_returned = 0;
    Send(wire::Evicted{order->serial, order->gpu, out, out, 500, wire::EvictFailure::kNone});
    return true;
  }

  const wire::Account& books() const { return books_; }
  Bytes budget() const { return budget_; }
  std::uint32_t gpu() const { return gpu_; }

 private:
  bool ReceiveOne() {
    pollfd readable{fd_.get(), POLLIN, 0};
    if (!fd_ || poll(&readable, 1, kLimitMs) <= 0) return false;
    char packet[wire::kMaxPacket];
    const ssize_t got = recv(fd_.get(), packet, sizeof(packet), 0);
    if (got <= 0) {
      ended_ = true;
      return false;
    }
    wire::Type type{};
    const auto error = wire::Validate(packet, static_cast<std::size_t>(got), &type);
    EXPECT_EQ(error, wire::DecodeError::kNone) << wire::ToText(error);
    if (error != wire::DecodeError::kNone) return false;
    kept_.emplace_back(type, std::string(packet, static_cast<std::size_t>(got)));
    return true;
  }

  UniqueFd fd_;
  std::deque<std::pair<wire::Type, std::string>> kept_;
  wire::Account books_{};
  Bytes budget_ = 0;
  std::uint32_t gpu_ = 0;
  bool ended_ = false;
};

}  // namespace reveza::daemon
