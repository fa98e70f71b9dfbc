// Fake cards of a test's own, in a folder of their own that goes with everything in it.
#pragma once

#include <string>
#include <vector>

#include "process.h"

namespace reveza::testing {

class FakeCard {
 public:
  // `settings`: environment of the programs beside the defaults (256 MiB, unlimited link, one
  // device, no Reveza).
  explicit FakeCard(Environment settings = {});
  ~FakeCard();
  FakeCard(const FakeCard&) = delete;
  FakeCard& operator=(const FakeCard&) = delete;

  // A program to its end.
  Ended Run(const std::string& program, const std::vector<std::string>& arguments) const;

  const std::string& folder() const { return folder_; }
  // What a program needs to find the cards.
  const Environment& environment() const { return environment_; }

 private:
  std::string folder_;
  Environment environment_;
};

// Where a client's binary is.
std::string ClientPath(const std::string& name);

}  // namespace reveza::testing
