// Brazilian taxpayer numbers (CPF): eight digits, the fiscal region's digit, two check digits.
// Generated numbers are unique by construction and optionally invalid, so that they identify no
// real person.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen {

enum class Identities {
  kValid,  // check digits match, so a number may coincide with a real one
  kSafe,   // both check digits are wrong, so no real person has it
};

// Formatted as ddd.ddd.ddd-dd.
using Cpf = std::array<char, 14>;
inline std::string_view View(const Cpf& cpf) { return {cpf.data(), cpf.size()}; }

// Returns whether `text` is ddd.ddd.ddd-dd with matching check digits, and not one digit repeated.
bool IsValidCpf(std::string_view text);

// How many distinct CPFs CpfOf() can return: all eight-digit bases except the one that would give
// nine equal digits.
inline constexpr uint64_t kMaxCpfs = 99'999'999;
// Returns the CPF for `number`, which is below kMaxCpfs. Distinct numbers give distinct CPFs, also
// across regions. `region` is the fiscal region of the person's state, 0 to 9.
Cpf CpfOf(uint64_t number, uint32_t region, Identities identities);

// A CPF for each person below kPeople, in shuffled order. Thread-safe.
class CpfSequence {
 public:
  static constexpr uint64_t kPeople = kMaxCpfs;

  CpfSequence(uint64_t seed, Identities identities)
      : order_(seed, kPeople), identities_(identities) {}

  Cpf At(uint64_t person, uint32_t region) const {
    return CpfOf(order_.At(person), region, identities_);
  }

 private:
  Permutation order_;
  Identities identities_;
};

}  // namespace reveza::fraudgen
