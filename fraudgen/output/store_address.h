// Location and credentials of a bucket, from a URL (s3://bucket/prefix, minio://bucket/prefix),
// flags and the environment. Pure functions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/base/error.h"
#include "common/table/arrow.h"
#include "fraudgen/output/destination.h"
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

// Buckets of S3-compatible object stores as destinations, with the file names of a folder behind a
// key prefix. In builds without Arrow, StoreSession::Begin returns kUnavailable.
//
// Memory of uploads: one part and kPieces pieces per object, and MaxTotalPieces() pieces of all
// objects.
struct UploadLimits {
  // Size of upload parts. Constant, as some stores require, and equal to Arrow's part size.
  static constexpr std::size_t kPartBytes = std::size_t{10} << 20;
  // While Arrow uploads a part, the next one is buffered in pieces, plus one that is being filled.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  static constexpr std::size_t kPieces = kPartBytes / kPieceBytes + 1;
  static std::size_t MaxTotalPieces() {
    return std::max<std::size_t>(kPieces - 1, 5 * std::thread::hardware_concurrency());
  }
};

// The S3 library, which can be initialised only once per process and must be shut down before exit.
// Must outlive everything that uses it.
class StoreSession {
 public:
  // Initialises the library. Modifies the environment, so call it before starting threads.
  static Result<std::unique_ptr<StoreSession>> Begin(const StoreAddress& address);

  virtual ~StoreSession() = default;

  // Returns a bucket, which must outlive its sinks and sources. Its errors: kNotFound: no such
  // bucket; kPermission: wrong credentials; kUnavailable: no response.
  virtual Result<std::unique_ptr<Destination>> Connect(const StoreAddress& address,
                                                       RetryPolicy policy) = 0;
};

// Implements StoreSession::Begin() in builds with Arrow.
Result<std::unique_ptr<StoreSession>> BeginS3Session(const StoreAddress& address);

inline Result<std::unique_ptr<StoreSession>> StoreSession::Begin(const StoreAddress& address) {
  if constexpr (kHaveArrow) {
    return BeginS3Session(address);
  } else {
    return WithoutArrow("buckets", "write to a folder");
  }
}

}  // namespace reveza::fraudgen
