// Location and credentials of a bucket, from a URL (s3://bucket/prefix, minio://bucket/prefix),
// flags and the environment. Pure functions.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen {

struct StoreAddress {
  std::string bucket = {};
  std::string prefix = {};    // without leading or trailing slash
  std::string endpoint = {};  // host:port; empty: Amazon
  bool tls = true;
  std::string region = {};  // empty: detected
  // Empty: the default credential chain of AWS (profile, instance role).
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};
  std::string profile = {};  // empty: default profile

  // s3://bucket/prefix
  std::string Url() const;
};

// Retries of failed requests.
struct RetryPolicy {
  std::chrono::milliseconds initial_backoff{100};  // doubled each time, up to max_backoff
  std::chrono::milliseconds max_backoff{10'000};
  int max_attempts = 10;
  int max_initial_attempts = 3;            // before the first response
  std::chrono::seconds stall_timeout{30};  // without any transfer
};

struct StoreFlags {
  std::string endpoint = {};
  std::string region = {};
  std::string access_key = {};
  std::string secret_key = {};
  std::string profile = {};

  friend bool operator==(const StoreFlags&, const StoreFlags&) = default;
};

// Returns PREFIX/YYYY/MM/DD.
std::string PrefixOfDay(std::string_view prefix, CivilDate day);

// Returns true for the URL of a bucket.
bool IsStoreUrl(std::string_view output);

using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> ProcessEnvironment(const char* name);

// Resolves an address. Precedence: flags, AWS_*, MINIO_*; for minio:// flags, MINIO_*, AWS_*, then
// the defaults of a local MinIO. kInvalidArgument: malformed or incomplete.
Result<StoreAddress> ParseStoreAddress(std::string_view url, const StoreFlags& flags,
                                       const Environment& environment);

}  // namespace reveza::fraudgen
