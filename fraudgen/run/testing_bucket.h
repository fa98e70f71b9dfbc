// A fixture for tests that write to a bucket of a local S3 server.
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

#include "fraudgen/output/store_address.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/testing_s3_server.h"

namespace reveza::fraudgen {

class BucketTest : public testing::Test {
 protected:
  using Kind = Fault::Kind;
  static constexpr uint64_t kRows = 130'000;
  static constexpr uint64_t kBlockRows =
      110'000;  // the first file is uploaded in two parts, the second in one
  static constexpr std::size_t kMiB = std::size_t{1} << 20;
  // Short pauses, and more retries than faults.
  static constexpr RetryPolicy kRetries = {.initial_backoff = std::chrono::milliseconds(10),
                                           .max_backoff = std::chrono::milliseconds(200),
                                           .max_attempts = 8,
                                           .max_initial_attempts = 2,
                                           .stall_timeout = std::chrono::seconds(20)};

  void SetUp() override;

  std::unique_ptr<Destination> Connect(RetryPolicy retries = kRetries);
  Result<RunResult> RunOnce(
      uint64_t seed = 1, const OnProgress& on_progress = [](const Progress&) { return true; });
  static Result<RunResult> RunInto(
      Destination& destination, uint64_t seed = 1,
      const OnProgress& on_progress = [](const Progress&) { return true; });
  // Number of multipart uploads that were neither completed nor aborted.
  int PendingUploads() const;
  std::string ExpectError(const StoreAddress& address, Error::Code code);

  // Expects the bucket to have the same files as a folder.
  void ExpectComplete();
  static const std::map<std::string, std::string>& ExpectedContents();
  // Removes the entity tag from a manifest.
  static std::string WithoutEtag(std::string text);

  // Keeps the server running until the S3 library has shut down; `abandoned` must not exist then.
  void KeepServer();

  std::unique_ptr<TestingS3Server> server_;
};

}  // namespace reveza::fraudgen
