// For tests: runs `reveza jobs` with its own state, runtime and working folder.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"

namespace reveza::cli {

class JobsTest : public testing::Test {
 protected:
  JobsTest() {
    setenv("REVEZA_STATE", (folder_ / "state").c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  }

  platform::Ran Jobs(const std::string& words) {
    return platform::Shell("cd " + folder_.path().string() + " && " REVEZA_PROGRAM " jobs " +
                           words);
  }
  std::string Text(const std::string& name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Await(const std::string& name) {
    for (int i = 0; i < 6000 && !std::filesystem::exists(folder_ / name); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  // Returns the output of a step of a detached job, "JOB STEP", once it has ended.
  std::string AwaitOutput(const std::string& step) {
    platform::Ran logs;
    for (int i = 0; i < 600 && (logs.status != 0 || logs.output.empty()); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      logs = Jobs("logs " + step);
    }
    return logs.output;
  }

  platform::TestingDirectory folder_;
};

}  // namespace reveza::cli
