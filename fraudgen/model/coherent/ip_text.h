// IP addresses as texts and as keys of recurring texts. Pure functions.
#pragma once

#include <cstdint>

#include "fraudgen/lists/weights.h"
#include "fraudgen/schema/fixed_text.h"

namespace reveza::fraudgen::coherent {

inline uint32_t FirstOctet(uint32_t ip) {
  return lists::kIpFirstNumbers[(ip >> 24) % lists::kIpFirstNumbers.size()];
}

// Writes the address at `out`, at most 16 bytes, and returns its end.
inline char* PutIp(char* out, uint32_t ip) {
  out = PutOctet(out, FirstOctet(ip));
  for (const int shift : {16, 8, 0}) out = PutOctet(out, ip >> shift & 255);
  return out - 1;
}

// Returns a bijection of the text.
inline uint32_t KeyOfIp(uint32_t ip) { return FirstOctet(ip) << 24 | (ip & 0xff'ffff); }

}  // namespace reveza::fraudgen::coherent
