// For tests: a Ray of scripts (testing_ray/), whose state is files of a folder.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace reveza::jobs {

// Starts its job server and waits until it answers; its state is in folder/ray. Removing that ends
// it, and the queue of what waits.
inline void UseFakeRay(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "ray");
  setenv("FAKE_RAY", (folder / "ray").c_str(), 1);
  unsetenv("RAY_ADDRESS");
  static_cast<void>(
      std::system("python3 -B " REVEZA_FAKE_RAY " < /dev/null > /dev/null 2>&1 &"));  // NOLINT
  std::string port;
  for (int i = 0; i < 3000 && port.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream(folder / "ray/port") >> port;
  }
  setenv("RAY_API_SERVER_ADDRESS", ("http://127.0.0.1:" + port).c_str(), 1);
}

}  // namespace reveza::jobs
