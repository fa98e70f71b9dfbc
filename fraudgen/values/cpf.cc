#include "fraudgen/values/cpf.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace reveza::fraudgen {
namespace {

constexpr size_t kDigits = 11;
using Digits = std::array<uint32_t, kDigits>;

// Weights decrease to 2 at the digit before the check digit.
uint32_t CheckDigit(std::span<const uint32_t> digits) {
  uint32_t sum = 0;
  uint32_t weight = static_cast<uint32_t>(digits.size()) + 1;
  for (const uint32_t digit : digits) sum += digit * weight--;
  const uint32_t remainder = sum % 11;
  return remainder < 2 ? 0 : 11 - remainder;
}

constexpr std::string_view kShape = "ddd.ddd.ddd-dd";

}  // namespace

bool IsValidCpf(std::string_view text) {
  if (text.size() != kShape.size()) return false;
  Digits digits{};
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kShape[i] != 'd') {
      if (text[i] != kShape[i]) return false;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return false;
    digits[count++] = static_cast<uint32_t>(text[i] - '0');
  }
  const std::span<const uint32_t> all(digits);
  return std::ranges::adjacent_find(all, std::ranges::not_equal_to()) != all.end() &&
         digits[9] == CheckDigit(all.first(9)) && digits[10] == CheckDigit(all.first(10));
}

Cpf CpfOf(uint64_t number, uint32_t region, Identities identities) {
  assert(number < kMaxCpfs && region < 10);
  uint64_t base = number;
  // Skip the base that would give nine equal digits, which depends on the region. CPFs stay unique:
  // within a region each base is used once, and between regions the ninth digit differs.
  if (base >= uint64_t{11'111'111} * region) ++base;

  Digits digits{};
  for (int place = 7; place >= 0; --place, base /= 10) {
    digits[place] = static_cast<uint32_t>(base % 10);
  }
  digits[8] = region;
  const std::span<const uint32_t> all(digits);
  digits[9] = CheckDigit(all.first(9));
  digits[10] = CheckDigit(all.first(10));
  if (identities == Identities::kSafe) {
    digits[9] = (digits[9] + 5) % 10;
    digits[10] = (digits[10] + 5) % 10;
  }

  Cpf cpf{};
  size_t next = 0;
  for (size_t i = 0; i < kShape.size(); ++i) {
    cpf[i] = kShape[i] == 'd' ? static_cast<char>('0' + digits[next++]) : kShape[i];
  }
  return cpf;
}

}  // namespace reveza::fraudgen
