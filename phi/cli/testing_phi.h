// Test fixture that runs the `phi` binary in a temporary directory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "common/cli/exit_status.h"
#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"

namespace reveza::phi {

// Path of the binary under test.
const char* PhiPath();

class PhiTest : public testing::Test {
 protected:
  platform::Ran Phi(const std::string& arguments) const {
    return platform::Shell("cd " + place_.path().string() + " && " + PhiPath() + " " + arguments);
  }
  void ExpectError(const std::string& arguments, ExitStatus status, const std::string& part) const {
    const platform::Ran ran = Phi(arguments);
    EXPECT_EQ(ran.status, status) << arguments << ": " << ran.output;
    EXPECT_TRUE(ran.output.starts_with("phi: ")) << arguments << ": " << ran.output;
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1) << "one line: " << ran.output;
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(place_ / name, std::ios::binary) << text;
  }

  platform::TestingDirectory place_;
};

}  // namespace reveza::phi
