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

// So many people have one: all of eight digits but the one number that gives nine equal digits.
inline constexpr uint64_t kMostCpfs = 99'999'999;
// Each number below kMostCpfs gives another one, whatever the regions. `region`: the fiscal
// region of the person's state, 0 to 9.
Cpf CpfOf(uint64_t number, uint32_t region, Identities identities);

// One number for each person below kPeople, in no order. Safe from any thread.
class CpfSequence {
 public:
  static constexpr uint64_t kPeople = kMostCpfs;

  CpfSequence(uint64_t seed, Identities identities)
      : order_(seed, kPeople), identities_(identities) {}

  Cpf At(uint64_t person, uint32_t region) const {
    return CpfOf(order_.At(person), region, identities_);
  }

 private:
  Permutation order_;
  Identities identities_;
};

}  // namespace reveza::datagen
