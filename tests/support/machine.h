// A machine for end-to-end tests: fake cards of its own, a socket of its own, a daemon, programs.
//
// In a sanitized build the programs have the library linked in; else they are preloaded with it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fake_card.h"
#include "process.h"

namespace reveza::testing {

class Machine {
 public:
  struct Options {
    std::string memory = "256MiB";
    std::string link = "2GB";
    int devices = 1;
    Environment environment;                    // of the programs, beside the machine's own
    std::vector<std::string> daemon_arguments;  // beside --socket
  };

  explicit Machine(Options options);
  Machine() : Machine(Options{}) {}
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Starts revezad and waits until it answers.
  void StartDaemon();
  Process& daemon() { return *daemon_; }
  bool DaemonRuns() { return daemon_ != nullptr && daemon_->Running(); }

  // A client program (tests/clients) that takes its turns. `job` 0: a job of its own.
  Process Start(const std::string& program, const std::vector<std::string>& arguments,
                const Environment& more = {}, unsigned job = 0);
  // The same without Reveza, to its end.
  Ended Native(const std::string& program, const std::vector<std::string>& arguments);

  // The daemon's status; null when it does not answer.
  nlohmann::json Status() const;
  // Waits until `condition` holds of the status. false: not within `limit`.
  bool WaitFor(const std::function<bool(const nlohmann::json&)>& condition,
               std::chrono::seconds limit = std::chrono::seconds(60)) const;

  // Bytes of all fake cards in use, as the cards themselves count; and a counter of them.
  std::uint64_t GpuBytesInUse() const;
  std::uint64_t BytesCopiedFromCards() const;
  // Waits until nothing is in use any more.
  bool GpuIsEmpty(std::chrono::seconds limit = std::chrono::seconds(20)) const;

  const std::string& folder() const { return card_.folder(); }
  std::string socket() const { return folder() + "/revezad.sock"; }
  const Environment& ProgramEnvironment() const { return card_.environment(); }

 private:
  nlohmann::json CardStatistics() const;

  Options options_;
  FakeCard card_;
  int started_ = 0;
  std::unique_ptr<Process> daemon_;
};

// What programs that take turns are preloaded with; nothing where they have it linked in.
Environment Preload();

// The client of `pid` in a status, or null.
nlohmann::json ClientOf(const nlohmann::json& status, pid_t pid);

}  // namespace reveza::testing
