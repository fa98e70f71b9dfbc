// The Brazilian taxpayer number (CPF): eight digits, the digit of the fiscal region, two check
// digits. Unique by construction, and on demand such that it can belong to nobody.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "datagen/permutation.h"

namespace reveza::datagen {

enum class Identities {
  kValid,  // check digits hold, so a number may be somebody's
  kSafe,   // both check digits are wrong, so it is nobody's
};

// Written ddd.ddd.ddd-dd.
using Cpf = std::array<char, 14>;
inline std::string_view View(const Cpf& cpf) { return {cpf.data(), cpf.size()}; }

// Whether it is written ddd.ddd.ddd-dd, with check digits that hold and not all digits the same.
bool IsValidCpf(std::string_view text);

// One number for each person below kPeople; no two are the same, whatever their regions. Safe from
// any thread.
class CpfSequence {
 public:
  // All of eight digits but the one number that gives nine equal digits.
  static constexpr uint64_t kPeople = 99'999'999;

  CpfSequence(uint64_t seed, Identities identities)
      : order_(seed, kPeople), identities_(identities) {}

  // `region`: the fiscal region of the person's state, 0 to 9.
  Cpf At(uint64_t person, uint32_t region) const;

 private:
  Permutation order_;
  Identities identities_;
};

}  // namespace reveza::datagen
