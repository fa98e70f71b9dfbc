// How often, and after which pauses, a request to a store is made again. Safe from several threads.
#pragma once

#include <arrow/filesystem/s3fs.h>

#include <atomic>
#include <cstdint>

#include "datagen/output/store_address.h"

namespace reveza::datagen {

class S3Retries final : public arrow::fs::S3RetryStrategy {
 public:
  explicit S3Retries(StorePatience patience) : patience_(patience) {}

  bool ShouldRetry(const AWSErrorDetail& error, int64_t attempted_retries) override;
  int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail& error,
                                        int64_t attempted_retries) override;

  // Somebody is there: from now on it is worth waiting for.
  void Answered() { answered_ = true; }

 private:
  const StorePatience patience_;
  std::atomic<bool> answered_ = false;
  // After one request has failed for good the work ends: what is still to be cleared away is not
  // worth the same wait again.
  std::atomic<bool> given_up_ = false;
};

}  // namespace reveza::datagen
