// Test fixture: a supervisor process and its frames.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/platform/testing_directory.h"
#include "common/platform/text_file.h"
#include "reveza/jobs/engine/worker_pool.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/supervisor/record.h"
#include "reveza/jobs/supervisor/supervisor.h"

namespace reveza::jobs {

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() : worker_(Start()) {}
  ~SupervisorTest() override {
    if (!worker_) return;
    kill(worker_->pid(), SIGKILL);
    waitpid(worker_->pid(), nullptr, 0);
  }

  std::optional<Worker> Start() {
    auto worker = Worker::Start(REVEZA_SUPERVISOR, folder_.path() / "record");
    EXPECT_TRUE(worker) << worker.error().message;
    return worker ? std::optional(std::move(*worker)) : std::nullopt;
  }

  StartRequest Shell(const std::string& line) const {
    StartRequest request;
    request.name.identity[0] = 1;
    request.name.attempt = 1;
    request.arguments = {"/bin/sh", "-c", line};
    request.environment = {"PATH=/usr/bin:/bin"};
    request.folder = folder_.path();
    request.output = folder_.path() / "out";
    request.errors = folder_.path() / "err";
    request.grace = 10'000'000'000;
    return request;
  }

  std::optional<Frame> AwaitAny() {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
         std::chrono::steady_clock::now() < end;) {
      if (!frames_.empty()) {
        Frame frame = std::move(frames_.front());
        frames_.erase(frames_.begin());
        return frame;
      }
      pollfd descriptor{worker_->descriptor(), POLLIN, 0};
      poll(&descriptor, 1, 1000);
      if (!worker_->Receive(frames_) && frames_.empty()) return std::nullopt;
    }
    return std::nullopt;
  }
  // Returns the next frame of this kind, dropping earlier ones.
  std::optional<Frame> Await(FrameKind kind) {
    while (auto frame = AwaitAny()) {
      if (frame->kind == kind) return frame;
    }
    return std::nullopt;
  }

  AttemptResult AwaitResult() {
    const auto frame = Await(FrameKind::kResult);
    EXPECT_TRUE(frame);
    const auto result = frame ? Unpack<AttemptResult>(frame->body) : std::nullopt;
    EXPECT_TRUE(result);
    return result.value_or(AttemptResult{});
  }

  AttemptResult Run(const StartRequest& request) {
    worker_->Send(Pack(request));
    return AwaitResult();
  }

  std::string Text(const char* name) const {
    std::ifstream file(folder_.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Record TheRecord() const {
    auto record = ReadRecord((folder_.path() / "record").string());
    EXPECT_TRUE(record);
    return record.value_or(Record{});
  }

  pid_t AwaitPid() {
    const auto started = Await(FrameKind::kStarted);
    EXPECT_TRUE(started);
    return started ? static_cast<pid_t>(Unpacker(started->body).Take<std::uint32_t>()) : 0;
  }

  // Waits until the process has exited and is not reaped yet.
  static bool AwaitZombie(pid_t pid) {
    const std::string state = "/proc/" + std::to_string(pid) + "/stat";
    for (int i = 0; i < 6000; ++i) {
      if (platform::ReadText(state).value_or("").contains(") Z ")) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  // Waits until the process is reaped.
  static bool AwaitGone(pid_t pid) {
    for (int i = 0; i < 60'000 && kill(pid, 0) == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return kill(pid, 0) != 0;
  }

  void AwaitFile(const char* name) const {
    for (int i = 0; i < 6000 && !std::filesystem::exists(folder_.path() / name); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  platform::TestingDirectory folder_;
  std::vector<Frame> frames_;
  std::optional<Worker> worker_;
};

}  // namespace reveza::jobs
