#include "reveza/gpu/interpose/testing/scripted_daemon.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "common/platform/unix_socket.h"

namespace reveza::interpose::testing {
namespace {

constexpr Bytes kContextBytes = 2 * kMiB;

}  // namespace

ScriptedDaemon::ScriptedDaemon(const std::filesystem::path& socket, Bytes budget)
    : budget_(budget), stop_(eventfd(0, EFD_CLOEXEC)) {
  auto listener = platform::ListenAt(socket, std::nullopt);
  if (!listener) std::abort();
  listener_ = std::move(*listener);
  setenv("REVEZA_SOCKET", socket.c_str(), 1);
  thread_ = std::thread([this] { Run(); });
}

ScriptedDaemon::~ScriptedDaemon() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void ScriptedDaemon::Run() {
  pollfd fds[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (poll(fds, 2, -1) > 0 && fds[1].revents == 0) {
    const UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) continue;
    client_ = client.get();
    Serve(client.get());
    client_ = -1;
  }
}

void ScriptedDaemon::Serve(int client) {
  pollfd fds[2] = {{client, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (poll(fds, 2, -1) > 0 && fds[1].revents == 0) {
    char packet[wire::kMaxPacket];
    const ssize_t got = recv(client, packet, sizeof(packet), 0);
    wire::Type type{};
    if (got <= 0 ||
        wire::Validate(packet, static_cast<std::size_t>(got), &type) != wire::DecodeError::kNone) {
      return;
    }
    if (wire::VersionOf(packet) != version_) {
      wire::Refused refused{};
      refused.reason = wire::RefusedReason::kWrongVersion;
      refused.version = version_;
      return Send(refused);
    }
    {
      const std::lock_guard lock(mutex_);
      handling_ = true;
    }
    Handle(type, packet);
    const std::lock_guard lock(mutex_);
    handling_ = false;
    if (type != wire::Type::kAccount) {
      kept_.emplace_back(type, std::string(packet, static_cast<std::size_t>(got)));
    }
    arrived_.notify_all();
  }
}

void ScriptedDaemon::Handle(wire::Type type, const char* packet) {
  switch (type) {
    case wire::Type::kHello: {
      const std::lock_guard lock(mutex_);
      const auto hello = wire::View<wire::Hello>(packet);
      open_ = (hello.flags & wire::kHelloResuming) != 0 && hello.gate_open != 0;
      creating_.clear();
      held_contexts_.clear();
      return Send(wire::Welcome{1, kDrainLimitUs, 100'000});
    }
    case wire::Type::kResumed: {
      const std::lock_guard lock(mutex_);
      return Admit(std::to_array(wire::View<wire::Resumed>(packet).uuid), 0);
    }
    case wire::Type::kContextRequested: {
      const auto wanted = wire::View<wire::ContextRequested>(packet);
      const std::lock_guard lock(mutex_);
      if (const char* text = refusal_) {
        wire::ContextRefused refused{};
        std::ranges::copy(wanted.uuid, refused.uuid);
        wire::CopyText(refused.text, sizeof(refused.text), text);
        return Send(refused);
      }
      if (!hold_contexts_) return AnswerContext(std::to_array(wanted.uuid));
      held_contexts_.push_back(std::to_array(wanted.uuid));
      return;
    }
    case wire::Type::kContextCreated: {
      const std::lock_guard lock(mutex_);
      creating_.erase(gpus_.at(wire::View<wire::ContextCreated>(packet).gpu));
      return;
    }
    case wire::Type::kGrowthRequested: {
      const auto wanted = wire::View<wire::GrowthRequested>(packet);
      const std::lock_guard lock(mutex_);
      usage_when_asked_ = usage_;
      returned_when_asked_ = returned_;
      wire::Growth answer = wanted.bytes > max_growth_ ? wire::Growth::kRefused : growth_.load();
      if (!open_ && answer == wire::Growth::kGranted) answer = wire::Growth::kLater;
      const Bytes credit = answer == wire::Growth::kGranted ? wanted.bytes : 0;
      return Send(wire::GrowthAnswer{wanted.request, answer, wanted.gpu, 0, credit});
    }
    case wire::Type::kAccount: {
      const std::lock_guard lock(mutex_);
      usage_ = wire::View<wire::Account>(packet);
      returned_ += usage_.credit_returned;
      return;
    }
    case wire::Type::kGateRequested: {
      const std::lock_guard lock(mutex_);
      at_gate_ = true;
      if (auto_open_) StartOpening();
      return;
    }
    case wire::Type::kSwappedIn: {
      const std::lock_guard lock(mutex_);
      if (!opening_) return;
      open_ = true;
      return Send(wire::OpenGate{++serial_, 0});
    }
    default:
      return;
  }
}

void ScriptedDaemon::HoldContexts(bool hold) {
  const std::lock_guard lock(mutex_);
  hold_contexts_ = hold;
  if (hold) return;
  for (const Uuid& uuid : std::exchange(held_contexts_, {})) AnswerContext(uuid);
}

// The lock must be held.
void ScriptedDaemon::AnswerContext(const Uuid& uuid) {
  if (creating_.insert(uuid).second) Admit(uuid, kContextBytes);
}

std::uint32_t ScriptedDaemon::NumberOf(const Uuid& uuid) {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(std::ranges::find(gpus_, uuid) - gpus_.begin());
}

// The lock must be held.
void ScriptedDaemon::Admit(const Uuid& uuid, Bytes credit) {
  auto known = std::ranges::find(gpus_, uuid);
  if (known == gpus_.end()) known = gpus_.insert(gpus_.end(), uuid);
  wire::ContextAdmitted admitted{};
  std::ranges::copy(uuid, admitted.uuid);
  admitted.gpu = static_cast<std::uint32_t>(known - gpus_.begin());
  admitted.budget = budget_;
  admitted.credit = credit;
  admitted.granule = 2 * kMiB;
  Send(admitted);
}

void ScriptedDaemon::SetAutoOpen(bool auto_open) {
  const std::lock_guard lock(mutex_);
  auto_open_ = auto_open;
  if (auto_open_ && at_gate_) StartOpening();
}

// The lock must be held. Grants more credit than needed, which is harmless here.
void ScriptedDaemon::StartOpening() {
  at_gate_ = false;
  opening_ = true;
  Send(wire::SwapIn{++serial_, 0});
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) Send(wire::Credit{gpu, 0, budget_});
}

std::optional<wire::DrainFailure> ScriptedDaemon::CloseGate(std::uint32_t drain_limit_us,
                                                            std::uint32_t submissions) {
  std::unique_lock lock(mutex_);
  const std::uint32_t serial = ++serial_;
  opening_ = open_ = false;
  Send(wire::CloseGate{serial, drain_limit_us, drain_limit_us, submissions});
  std::optional<wire::DrainFailure> failure;
  bool answered = false;
  arrived_.wait_for(lock, kTimeout, [&] {
    for (const auto& [type, packet] : kept_) {
      if (type == wire::Type::kGateClosed) {
        answered |= wire::View<wire::GateClosed>(packet.data()).serial == serial;
      } else if (type == wire::Type::kDrainFailed) {
        const auto failed = wire::View<wire::DrainFailed>(packet.data());
        if (failed.serial == serial) failure = failed.reason;
      }
    }
    return answered || failure;
  });
  open_ = failure.has_value();
  EXPECT_TRUE(answered || failure) << "no answer to CloseGate";
  return failure;
}

void ScriptedDaemon::Disconnect() { shutdown(client_, SHUT_RDWR); }

wire::Evicted ScriptedDaemon::Evict(std::uint32_t gpu) {
  Send(wire::Evict{++serial_, gpu, wire::kMaxBytes});
  const auto evicted = Await<wire::Evicted>();
  EXPECT_TRUE(evicted) << "no answer to Evict";
  return evicted.value_or(wire::Evicted{});
}

void ScriptedDaemon::SendPacket(const char* packet, std::size_t size) {
  [[maybe_unused]] const auto sent = send(client_, packet, size, MSG_NOSIGNAL);
}

}  // namespace reveza::interpose::testing
