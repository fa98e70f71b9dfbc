// For tests: a daemon on a thread of its own, and its status.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "daemon/server.h"
#include "daemon/testing_client.h"
#include "platform/testing_directory.h"

namespace reveza::daemon {

inline constexpr Bytes kCard = 256 * kMiB;  // 248 MiB are the budget
inline constexpr Bytes kContext = 8 * kMiB;

inline Settings TestSettings() {
  Settings settings;
  settings.slice_floor = std::chrono::milliseconds(20);
  settings.linger = std::chrono::hours(1);
  return settings;
}

// A daemon on a thread of its own.
class RunningServer {
 public:
  explicit RunningServer(const std::filesystem::path& socket, Settings settings = TestSettings(),
                         std::optional<gid_t> group = std::nullopt,
                         std::size_t most_connections = ServerOptions{}.most_connections,
                         std::chrono::seconds hello_limit = std::chrono::minutes(1))
      : settings_(std::move(settings)) {
    ServerOptions options;
    options.socket = socket;
    options.group = group;
    options.most_connections = most_connections;
    options.host_budget = kGiB;
    options.hello_limit = hello_limit;
    auto made = Server::Make(settings_, options, clock_, &monitor, MakeSilentLogger());
    if (!made) {
      error = made.error();
      return;
    }
    server_ = std::move(*made);
    thread_ = std::thread([this] { EXPECT_TRUE(server_->Run()); });
  }
  ~RunningServer() { End(); }

  void End() {
    if (thread_.joinable()) {
      server_->Stop();
      thread_.join();
    }
    server_.reset();
  }
  // Waits until it ends by itself.
  void Join() { thread_.join(); }

  std::optional<Error> error;
  platform::FakeGpuMonitor monitor;

 private:
  Settings settings_;
  platform::MonotonicClock clock_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

class ServerFixture : public testing::Test {
 protected:
  nlohmann::json Status() {
    TestingClient asker(socket_);
    asker.Send(wire::StatusRequest{});
    return nlohmann::json::parse(asker.AwaitText(), nullptr, false);
  }
  // Asks until the answer is as wanted; the last answer.
  template <typename Wanted>
  nlohmann::json StatusWhen(Wanted wanted) {
    nlohmann::json status;
    for (int i = 0; i < 600; ++i) {
      status = Status();
      if (wanted(status)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return status;
  }

  platform::TestingDirectory place_;
  std::filesystem::path socket_ = place_ / "revezad.sock";
};

}  // namespace reveza::daemon
