// A local S3 server for tests, which verifies signatures, behind a FaultProxy. Its buckets are
// folders. Built by `tools/setup.sh test`; otherwise Available() is false and tests are skipped.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "common/platform/testing_directory.h"
#include "fraudgen/output/store_address.h"
#include "fraudgen/run/testing_fault_proxy.h"

namespace reveza::fraudgen {

class TestingS3Server {
 public:
  static constexpr const char* kMissing =
      "no S3 server at " REVEZA_S3_SERVER
      "; `tools/setup.sh test` builds it (requires Go); skipping S3 tests";
  static bool Available() { return std::filesystem::exists(REVEZA_S3_SERVER); }

  TestingS3Server() {
    std::filesystem::create_directories(place_ / "buckets" / "bucket");
    std::filesystem::create_directories(place_ / "metadata");
    const std::string socket = place_ / "socket";
    const std::string buckets = place_ / "buckets";
    const std::string metadata = place_ / "metadata";
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      setenv("ROOT_ACCESS_KEY", "testing", 1);
      setenv("ROOT_SECRET_KEY", "testing-secret", 1);
      const int nowhere = open("/dev/null", O_RDWR);
      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
      execl(REVEZA_S3_SERVER, "versitygw", "--quiet", "--port", socket.c_str(), "posix",
            "--sidecar", metadata.c_str(), buckets.c_str(), nullptr);
      _exit(127);
    }
    while (!std::filesystem::exists(socket) && waitpid(process_, nullptr, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    proxy_ = std::make_unique<FaultProxy>(socket);
  }
  ~TestingS3Server() {
    proxy_.reset();
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  TestingS3Server(const TestingS3Server&) = delete;
  TestingS3Server& operator=(const TestingS3Server&) = delete;

  FaultProxy& proxy() { return *proxy_; }
  std::filesystem::path Folder(const std::string& bucket) const {
    return place_ / "buckets" / bucket;
  }
  StoreAddress Address(std::string prefix) const {
    return {.bucket = "bucket",
            .prefix = std::move(prefix),
            .endpoint = proxy_->endpoint(),
            .tls = false,
            .region = "us-east-1",
            .access_key = "testing",
            .secret_key = "testing-secret",
            .session_token = "",
            .profile = ""};
  }

 private:
  platform::TestingDirectory place_;
  pid_t process_ = -1;
  std::unique_ptr<FaultProxy> proxy_;
};

}  // namespace reveza::fraudgen
