// Counts and hashes bytes on their way into another sink. Not safe from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "datagen/output/byte_sink.h"

struct XXH3_state_s;

namespace reveza::datagen {

class HashingSink final : public ByteSink {
 public:
  // `next` must outlive it.
  explicit HashingSink(ByteSink& next);

  // Counts only what `next` has taken.
  Status Append(std::string_view bytes) override;
  Status Finish() override { return next_.Finish(); }

  uint64_t bytes() const { return bytes_; }
  // XXH3-128 of all bytes so far: 32 hexadecimal digits, as `xxhsum -H2` prints them.
  std::string Hash() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };

  ByteSink& next_;
  std::unique_ptr<XXH3_state_s, Free> state_;
  uint64_t bytes_ = 0;
};

// The same of bytes that are all there.
std::string HashOf(std::string_view bytes);

}  // namespace reveza::datagen
