// Buckets of S3-compatible object stores as destinations, with the file names of a folder behind a
// key prefix. In builds without Arrow, StoreSession::Begin returns kUnavailable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>

#include "common/base/error.h"
#include "common/table/arrow.h"
#include "fraudgen/output/destination.h"
#include "fraudgen/output/store_address.h"

namespace reveza::fraudgen {

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
