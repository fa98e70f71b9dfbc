// Simulated GPUs (fakecuda) that belong to one test.
#pragma once

#include <string>
#include <vector>

#include "tests/support/process.h"

namespace reveza::testing {

// Owns a temporary directory, which the destructor removes.
class FakeCard {
 public:
  // `settings` are environment variables for programs. The defaults are 256 MiB of memory, an
  // unlimited link, one device and no Reveza.
  explicit FakeCard(Environment settings = {});
  ~FakeCard();
  FakeCard(const FakeCard&) = delete;
  FakeCard& operator=(const FakeCard&) = delete;

  // Runs a program to completion.
  ProcessResult Run(const std::string& program, const std::vector<std::string>& arguments) const;

  const std::string& folder() const { return folder_; }
  // The environment in which a program finds the simulated GPUs.
  const Environment& environment() const { return environment_; }

 private:
  std::string folder_;
  Environment environment_;
};

// Returns the path of a client binary (tests/clients).
std::string ClientPath(const std::string& name);

}  // namespace reveza::testing
