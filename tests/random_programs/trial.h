// Runs random programs, and other clients that print what they saw, natively on fakecuda and under
// Reveza beside a contender that makes the memory move, and compares.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tests/random_programs/program.h"
#include "tests/support/machine.h"

namespace reveza::random_programs {

struct TrialOptions {
  int devices = 1;
  std::string nvml = "full";                      // FAKECUDA_NVML
  std::string memory = "64MiB";                   // of a device
  std::string budget = "36MiB";                   // of it, for programs and contender
  std::string host_budget = "256MiB";             // for what is swapped out
  std::uint64_t contender_bytes = 24 << 20;       // leaves less than most programs need
  std::chrono::seconds limit{60};                 // after which a program hangs
  std::chrono::milliseconds account_limit{5000};  // after which accounts must be equal
};

// Owns one daemon and one contender for many programs.
class Trial {
 public:
  explicit Trial(TrialOptions options);
  ~Trial();

  // Returns what differs, or nullopt. Throws if the machine does not start.
  std::optional<std::string> Run(const Program& program);

  // The same of a client program that ends its output with "done", and with --wait at SIGTERM only.
  std::optional<std::string> RunClient(const std::string& client,
                                       const std::vector<std::string>& arguments);

  // Handovers so far: without them nothing is tested.
  std::uint64_t Handovers() const;

 private:
  testing::Process StartUnderReveza(const std::string& client,
                                    const std::vector<std::string>& arguments,
                                    const std::string& name);
  void StartContender();
  std::optional<std::string> RunUnderReveza(const std::string& client,
                                            std::vector<std::string> arguments, std::string* text);
  std::optional<std::string> CompareAccounts(pid_t pid) const;

  const TrialOptions options_;
  testing::Machine machine_;
  testing::FakeCard native_;
  std::optional<testing::Process> contender_;
  unsigned started_ = 0;
};

// Removes operations as long as `fails` holds (delta debugging).
Program Shrink(Program program, const std::function<bool(const Program&)>& fails);

}  // namespace reveza::random_programs
