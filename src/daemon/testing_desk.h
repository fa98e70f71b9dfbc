// For tests of the core: keeps what is sent to each client, without sockets.
// Thread-safety: none.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/log.h"
#include "daemon/core.h"
#include "platform/clock.h"
#include "wire/codec.h"

namespace reveza::daemon {

class TestingDesk : public Outbox {
 public:
  explicit TestingDesk(platform::GpuMonitor* monitor = nullptr)
      : core(settings, 4 * kGiB, clock, monitor, *this, MakeSilentLogger()) {}

  void Send(ClientId client, const void* packet, std::size_t size) override {
    boxes_[client].emplace_back(static_cast<const char*>(packet), size);
  }

  // The first message of this type for the client; it and those before it are taken out.
  template <typename T>
  std::optional<T> Take(ClientId client) {
    auto& box = boxes_[client];
    for (auto it = box.begin(); it != box.end(); ++it) {
      wire::Type type{};
      if (wire::Validate(it->data(), it->size(), &type) != wire::DecodeError::kNone) continue;
      if (type != T::kType) continue;
      const T body = wire::View<T>(it->data());
      box.erase(box.begin(), it + 1);
      return body;
    }
    return std::nullopt;
  }

  template <typename T>
  bool Say(ClientId client, const T& message) {
    char packet[wire::kPacketSize<T>];
    wire::Encode(message, packet);
    return core.OnMessage(client, T::kType, packet);
  }

  void Hello(ClientId client, JobId job, const char* name, pid_t pid, std::uint32_t flags = 0,
             bool open = false) {
    wire::Hello hello{};
    hello.job = job;
    hello.flags = flags;
    hello.gate_open = open ? 1 : 0;
    wire::CopyText(hello.name, sizeof(hello.name), name);
    core.OnHello(client, Peer{pid, 0}, hello);
  }

  // A client with `swapped` bytes behind its closed gate, on GPU `number` of 256 MiB.
  void Start(ClientId client, JobId job, const char* name, pid_t pid, Bytes swapped,
             std::uint8_t number = 1) {
    Hello(client, job, name, pid);
    wire::ContextWanted wanted{};
    wanted.uuid[15] = number;
    wanted.total = 256 * kMiB;
    Say(client, wanted);
    const auto admitted = Take<wire::ContextAdmitted>(client);
    if (!admitted) return;
    Say(client, wire::ContextMade{admitted->gpu, 0, 8 * kMiB});
    SayBooks(client, 0, swapped, 0);
  }
  void SayBooks(ClientId client, Bytes resident, Bytes swapped, Bytes returned) {
    Say(client, wire::Account{0, 0, returned, resident, swapped, 0, 8 * kMiB, swapped});
  }
  // Answers SwapIn with all that it wants. false: none was ordered.
  bool SwapIn(ClientId client, Bytes bytes) {
    const auto order = Take<wire::SwapIn>(client);
    if (!order) return false;
    SayBooks(client, bytes, 0, 0);
    return Say(client, wire::SwappedIn{order->serial, 2000, bytes});
  }
  void Advance(nanoseconds step) {
    clock.Advance(step);
    core.Tick();
  }

  Settings settings;
  platform::FakeClock clock;
  Core core;

 private:
  std::map<ClientId, std::deque<std::string>> boxes_;
};

}  // namespace reveza::daemon
