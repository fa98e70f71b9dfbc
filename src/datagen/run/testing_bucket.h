// For tests: runs into a bucket of a real server.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "datagen/run/bucket.h"
#include "datagen/run/runner.h"
#include "datagen/run/testing_s3_server.h"

namespace reveza::datagen {

class BucketTest : public testing::Test {
 protected:
  using Kind = Fault::Kind;
  static constexpr uint64_t kRows = 130'000;
  static constexpr uint64_t kBlockRows = 110'000;  // the first file has two parts, the second one
  static constexpr std::size_t kMiB = std::size_t{1} << 20;
  // Pauses short enough for a test, and more tries than faults.
  static constexpr StorePatience kPatience = {.first_pause = std::chrono::milliseconds(10),
                                              .longest_pause = std::chrono::milliseconds(200),
                                              .tries = 8,
                                              .first_tries = 2,
                                              .silence = std::chrono::seconds(20)};

  void SetUp() override;

  std::unique_ptr<ObjectStore> Connect(StorePatience patience = kPatience);
  Result<RunResult> RunOnce(
      uint64_t seed = 1, const OnProgress& on_progress = [](const Progress&) { return true; });
  static Result<RunResult> RunInto(
      Destination& destination, uint64_t seed = 1,
      const OnProgress& on_progress = [](const Progress&) { return true; });
  static Status WriteSmall(ObjectStore& store, const std::string& name, std::string_view text);
  // Uploads that were begun and neither finished nor aborted, as the server keeps them.
  int Unfinished() const;
  std::string RefusalOf(const StoreAddress& address, Error::Code code);

  // The bucket has what a folder gets.
  void ExpectWhole();
  static const std::map<std::string, std::string>& Whole();
  static std::map<std::string, std::string> Contents(const std::filesystem::path& path);
  // What a file says of a manifest that stands beside it, but for the store's own name of its
  // bytes.
  static std::string WithoutEtag(std::string text);

  // The server stays until after the library has ended. `given-up` must not be there then.
  void KeepServer();

  std::unique_ptr<TestingS3Server> server_;
};

}  // namespace reveza::datagen
