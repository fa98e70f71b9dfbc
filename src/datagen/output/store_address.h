// Where a bucket is and who may write to it, from what a person says: the address
// s3://bucket/prefix or minio://bucket/prefix, flags, the environment. Pure functions.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace reveza::datagen {

struct StoreAddress {
  std::string bucket = {};
  std::string prefix = {};    // without a slash at either end
  std::string endpoint = {};  // host:port; empty: Amazon's
  bool tls = true;
  std::string region = {};  // empty: the bucket's own
  // Empty: as AWS's own tools find them (profile, role of the machine).
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};
  std::string profile = {};  // empty: the default one

  // s3://bucket/prefix
  std::string Url() const;
};

// How long to try before it is an error.
struct StorePatience {
  std::chrono::milliseconds first_pause{100};  // doubled each time, up to longest_pause
  std::chrono::milliseconds longest_pause{10'000};
  int tries = 10;
  int first_tries = 3;               // until somebody has answered
  std::chrono::seconds silence{30};  // a request that moves nothing for so long has failed
};

struct StoreFlags {
  std::string endpoint = {};
  std::string region = {};
  std::string access_key = {};
  std::string secret_key = {};
  std::string profile = {};

  friend bool operator==(const StoreFlags&, const StoreFlags&) = default;
};

// Whether an output is meant as a bucket.
bool IsStoreUrl(std::string_view output);

using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> ProcessEnvironment(const char* name);

// What is said nearer wins: flags, then AWS_*, then MINIO_*; for minio:// MINIO_* before AWS_*, and
// without any of them a server on this machine as it comes out of the box.
Result<StoreAddress> ParseStoreAddress(std::string_view url, const StoreFlags& flags,
                                       const Environment& environment);

}  // namespace reveza::datagen
