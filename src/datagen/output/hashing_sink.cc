#include "datagen/output/hashing_sink.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace reveza::datagen {
namespace {

std::string Text(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

void HashingSink::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

HashingSink::HashingSink(ByteSink& next) : next_(next), state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

Status HashingSink::Append(std::string_view bytes) {
  auto appended = next_.Append(bytes);
  if (!appended) return appended;
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  bytes_ += bytes.size();
  return {};
}

std::string HashingSink::Hash() const { return Text(XXH3_128bits_digest(state_.get())); }

std::string HashOf(std::string_view bytes) {
  return Text(XXH3_128bits(bytes.data(), bytes.size()));
}

}  // namespace reveza::datagen
