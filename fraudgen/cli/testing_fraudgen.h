// A fixture for tests that run the program in a temporary folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "fraudgen/cli/commands.h"

namespace reveza::fraudgen::cli {

using platform::Ran;

// Returns the path of the program.
const char* FraudgenPath();

class FraudgenTest : public testing::Test {
 protected:
  // Runs the program in the temporary folder; `before` precedes the command.
  Ran Fraudgen(const std::string& arguments, const std::string& before = "") const {
    return platform::Shell("cd " + place_.path().string() + " && " + before + " " + FraudgenPath() +
                           " " + arguments);
  }
  void ExpectError(const std::string& arguments, ExitStatus status, const std::string& part,
                   const std::string& before = "") const {
    const Ran ran = Fraudgen(arguments, before);
    EXPECT_EQ(ran.status, status) << arguments << ": " << ran.output;
    EXPECT_TRUE(ran.output.starts_with("fraudgen: ")) << arguments << ": " << ran.output;
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1) << "one line: " << ran.output;
  }
  std::map<std::string, std::string> Contents(const std::string& folder) const {
    return platform::ContentsOf(place_ / folder);
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(place_ / name); }

  platform::TestingDirectory place_;
};

}  // namespace reveza::fraudgen::cli
