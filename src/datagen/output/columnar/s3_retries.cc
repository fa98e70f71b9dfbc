#include "datagen/output/columnar/s3_retries.h"

#include <algorithm>

namespace reveza::datagen {

bool S3Retries::ShouldRetry(const AWSErrorDetail& error, int64_t attempted_retries) {
  if (!error.should_retry || given_up_) return false;
  const int tries = answered_ ? patience_.tries : patience_.first_tries;
  if (attempted_retries + 1 < tries) return true;
  given_up_ = answered_.load();
  return false;
}

int64_t S3Retries::CalculateDelayBeforeNextRetry(const AWSErrorDetail&, int64_t attempted_retries) {
  const auto doubled =
      patience_.first_pause * (int64_t{1} << std::min<int64_t>(attempted_retries, 20));
  return std::min(doubled, patience_.longest_pause).count();
}

}  // namespace reveza::datagen
