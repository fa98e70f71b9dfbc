// An isolated environment for end-to-end tests: simulated GPUs, a daemon on a private socket, and
// client programs.
//
// Clients preload libreveza.so; in sanitized builds the library is linked into them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/fake_card.h"
#include "tests/support/process.h"

namespace reveza::testing {

class Machine {
 public:
  struct Options {
    std::string memory = "256MiB";
    std::string link = "2GB";
    int devices = 1;
    Environment environment;                    // additional variables for programs
    std::vector<std::string> daemon_arguments;  // in addition to --socket
  };

  explicit Machine(Options options);
  Machine() : Machine(Options{}) {}
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Makes StartDaemon() start this program, which knows the protocol up to `version`.
  void UseDaemon(const std::string& program, std::uint16_t version);
  // Starts revezad and waits until it answers.
  void StartDaemon(const std::string& configuration = "/dev/null");
  Process& daemon() { return *daemon_; }
  bool DaemonIsRunning() { return daemon_ != nullptr && daemon_->Running(); }

  // Starts a client program (tests/clients) under Reveza. If `job` is 0, the program is a job of
  // its own.
  Process Start(const std::string& program, const std::vector<std::string>& arguments,
                const Environment& more = {}, unsigned job = 0);
  // Runs a client program without Reveza to completion.
  ProcessResult RunNative(const std::string& program, const std::vector<std::string>& arguments);

  // Returns the daemon's status, or null if it does not respond.
  nlohmann::json Status() const;
  // Waits until the status satisfies `condition`. Returns false after `limit`.
  bool WaitFor(const std::function<bool(const nlohmann::json&)>& condition,
               std::chrono::seconds limit = std::chrono::seconds(60)) const;

  // What fakecuda-stat reports; null if no program has initialized fakecuda yet.
  nlohmann::json CardStatistics() const;
  // Device memory in use on all simulated GPUs, and bytes copied from them, as fakecuda counts.
  std::uint64_t GpuBytesInUse() const;
  std::uint64_t BytesCopiedFromGpus() const;
  // Waits until no device memory is in use. Returns false after `limit`.
  bool GpuIsEmpty(std::chrono::seconds limit = std::chrono::seconds(20)) const;

  const std::string& folder() const { return card_.folder(); }
  std::string socket() const { return folder() + "/revezad.sock"; }
  const Environment& ProgramEnvironment() const { return card_.environment(); }

 private:
  Options options_;
  FakeCard card_;
  int started_ = 0;
  std::unique_ptr<Process> daemon_;
  std::string daemon_program_;
  std::uint16_t version_;  // in which the daemon is asked for its status
};

// Returns LD_PRELOAD for clients; empty in sanitized builds.
Environment Preload();

// Returns the entry of the client `pid` in a status, or null.
nlohmann::json ClientOf(const nlohmann::json& status, pid_t pid);

}  // namespace reveza::testing
