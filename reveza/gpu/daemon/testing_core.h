// Test helper: a Core without sockets that records the messages sent to each client.
//
// Not thread-safe.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "common/base/log.h"
#include "common/platform/testing_clock.h"
#include "reveza/gpu/daemon/core.h"
#include "reveza/gpu/wire/codec.h"

namespace reveza::daemon {

// Keeps what is reported, summed by job.
class TestingSink : public usage::Sink {
 public:
  void Add(const usage::Usage& usage) override {
    usage::Usage& sum = jobs[usage.job];
    const usage::Counters before = sum.counters;
    sum = usage;
    sum.counters += before;
    ++reports;
  }

  std::map<JobId, usage::Usage> jobs;
  int reports = 0;
};

class TestingCore : public Outbox {
 public:
  explicit TestingCore(nvml::GpuMonitor* monitor = nullptr)
      : core(settings, 4 * kGiB, clock, &sink, *this, MakeNullLogger()), monitor_(monitor) {}

  void Send(ClientId client, const void* packet, std::size_t size) override {
    outboxes_[client].emplace_back(static_cast<const char*>(packet), size);
  }
  std::uint64_t RequestReadings() override { return monitor_ == nullptr ? 0 : ++requests_; }
  // Answers the requests so far. Deliver() and Advance() do, unless `reads_slowly`.
  void Read() {
    if (requests_ == 0 || requests_ == answered_) return;
    answered_ = requests_;
    core.OnReadings({requests_, monitor_->Read()});
  }

  // Returns the first message of this type for the client; removes it and those before it.
  template <typename T>
  std::optional<T> Take(ClientId client) {
    auto& outbox = outboxes_[client];
    for (auto it = outbox.begin(); it != outbox.end(); ++it) {
      wire::Type type{};
      if (wire::Validate(it->data(), it->size(), &type) != wire::DecodeError::kNone) continue;
      if (type != T::kType) continue;
      const T body = wire::View<T>(it->data());
      outbox.erase(outbox.begin(), it + 1);
      return body;
    }
    return std::nullopt;
  }

  template <typename T>
  bool Deliver(ClientId client, const T& message) {
    char packet[wire::kPacketSize<T>];
    wire::Encode(message, packet);
    const bool allowed = core.OnMessage(client, T::kType, packet, sizeof(packet));
    if (!reads_slowly) Read();
    return allowed;
  }

  void Hello(ClientId client, JobId job, const char* name, pid_t pid, std::uint32_t flags = 0,
             bool open = false, uid_t uid = 0, std::uint16_t version = wire::kVersion) {
    wire::Hello hello{};
    hello.job = job;
    hello.flags = flags;
    hello.gate_open = open ? 1 : 0;
    wire::CopyText(hello.name, sizeof(hello.name), name);
    core.OnHello(client, Peer{.pid = pid, .uid = uid, .version = version}, hello);
  }

  // Adds a client with `swapped` bytes behind its closed gate, on GPU `number` of 256 MiB.
  void Start(ClientId client, JobId job, const char* name, pid_t pid, Bytes swapped,
             std::uint8_t number = 1) {
    Hello(client, job, name, pid);
    wire::ContextRequested message{};
    message.uuid[15] = number;
    message.total = 256 * kMiB;
    Deliver(client, message);
    const auto admitted = Take<wire::ContextAdmitted>(client);
    if (!admitted) return;
    Deliver(client, wire::ContextCreated{admitted->gpu, 0, 8 * kMiB});
    ReportAccount(client, 0, swapped, 0);
  }
  void ReportAccount(ClientId client, Bytes resident, Bytes swapped, Bytes returned) {
    Deliver(client, wire::Account{0, 0, returned, resident, swapped, 0, 8 * kMiB, swapped});
  }
  // Answers SwapIn in full. Returns false if none was sent.
  bool SwapIn(ClientId client, Bytes bytes) {
    const auto order = Take<wire::SwapIn>(client);
    if (!order) return false;
    ReportAccount(client, bytes, 0, 0);
    return Deliver(client, wire::SwappedIn{order->serial, 2000, bytes});
  }
  void Advance(nanoseconds step) {
    clock.Advance(step);
    core.Tick();
    if (!reads_slowly) Read();
  }

  Settings settings;
  platform::FakeClock clock;
  TestingSink sink;
  Core core;
  bool reads_slowly = false;

 private:
  nvml::GpuMonitor* const monitor_;
  std::uint64_t requests_ = 0;
  std::uint64_t answered_ = 0;
  std::map<ClientId, std::deque<std::string>> outboxes_;
};

}  // namespace reveza::daemon
