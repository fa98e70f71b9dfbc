// Test helpers: a daemon on its own thread, and its status.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "common/platform/testing_directory.h"
#include "reveza/gpu/daemon/server.h"
#include "reveza/gpu/daemon/testing_client.h"
#include "reveza/gpu/nvml/testing_fakes.h"

namespace reveza::daemon {

inline constexpr Bytes kCard = 256 * kMiB;  // budget: 248 MiB
inline constexpr Bytes kContext = 8 * kMiB;

inline Settings TestSettings() {
  Settings settings;
  settings.slice_floor = std::chrono::milliseconds(20);
  settings.linger = std::chrono::hours(1);
  return settings;
}

// Runs a Server on its own thread.
class RunningServer {
 public:
  explicit RunningServer(const std::filesystem::path& socket, Settings settings = TestSettings(),
                         std::optional<gid_t> group = std::nullopt,
                         std::size_t max_connections = ServerOptions{}.max_connections,
                         std::chrono::seconds hello_timeout = std::chrono::minutes(1))
      : settings_(std::move(settings)) {
    ServerOptions options;
    options.socket = socket;
    options.group = group;
    options.max_connections = max_connections;
    options.host_budget = kGiB;
    options.hello_timeout = hello_timeout;
    auto made = Server::Make(settings_, options, clock_, &monitor, MakeNullLogger());
    if (!made) {
      error = made.error();
      return;
    }
    server_ = std::move(*made);
    thread_ = std::thread([this] { EXPECT_TRUE(server_->Run()); });
  }
  ~RunningServer() { Shutdown(); }

  void Shutdown() {
    if (thread_.joinable()) {
      server_->Stop();
      thread_.join();
    }
    server_.reset();
  }
  // Waits until the server exits by itself.
  void Join() { thread_.join(); }

  std::optional<Error> error;
  nvml::FakeGpuMonitor monitor;

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
  // Polls the status until `wanted(status)`. Returns the last status.
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
