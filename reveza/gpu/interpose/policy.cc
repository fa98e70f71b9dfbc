#include "reveza/gpu/interpose/policy.h"

#include <cstdlib>
#include <cstring>

namespace reveza::interpose {
namespace {

// Returns the part of `text` after `key`, if that is at a beginning of a part.
const char* ValueOf(const char* text, const char* key) {
  const std::size_t length = strlen(key);
  for (const char* part = text; part != nullptr; part = strchr(part, ',')) {
    if (*part == ',') ++part;
    if (strncmp(part, key, length) == 0 && part[length] == '=') return part + length + 1;
  }
  return nullptr;
}

// Stores the number of a part and returns its field; 0 if there is none within the range.
template <typename T>
std::uint32_t Parse(const char* text, const char* key, std::uint64_t min, std::uint64_t max,
                    std::uint32_t field, T* value) {
  const char* found = ValueOf(text, key);
  if (found == nullptr || *found < '0' || *found > '9') return 0;
  const unsigned long long number = strtoull(found, nullptr, 10);
  if (number < min || number > max) return 0;
  *value = static_cast<T>(number);
  return field;
}

}  // namespace

wire::Policy ParsePolicy(const char* text) {
  wire::Policy policy{};
  if (text == nullptr) return policy;
  policy.fields |= Parse(text, "weight", 1, ~std::uint32_t{0}, wire::kPolicyWeight, &policy.weight);
  policy.fields |=
      Parse(text, "priority", 0, wire::kMaxPriority, wire::kPolicyPriority, &policy.priority);
  policy.fields |= Parse(text, "interactive", 0, 1, wire::kPolicyInteractive, &policy.interactive);
  policy.fields |= Parse(text, "request", 0, wire::kMaxBytes, wire::kPolicyMemory, &policy.request);
  policy.fields |= Parse(text, "limit", 0, wire::kMaxBytes, wire::kPolicyMemory, &policy.limit);
  return policy;
}

}  // namespace reveza::interpose
