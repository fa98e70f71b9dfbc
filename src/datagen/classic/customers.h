// The rows of the classic table of customers. Immutable, so safe from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/batch.h"
#include "datagen/classic/people.h"
#include "datagen/classic/world.h"
#include "datagen/cpf.h"

namespace reveza::datagen::classic {

// The columns of kCustomers, in their order.
enum class CustomerColumn : std::size_t {
  kCustomerId,
  kName,
  kCpf,
  kEmail,
  kPhone,
  kBirthDate,
  kStreet,
  kNeighborhood,
  kCity,
  kState,
  kPostalCode,
  kMonthlyIncome,
  kProfession,
  kAccountCreatedAt,
  kAccountType,
  kAccountStatus,
  kCreditLimit,
  kCreditScore,
  kRiskLevel,
  kBankCode,
  kBankName,
  kBranch,
  kAccountNumber,
  kBehavioralProfile,
};

class Customers {
 public:
  // The world must outlive it.
  explicit Customers(const World& world);

  // The customers from `first` on, as many as the batch, which is of kCustomers and has begun, has.
  void Fill(uint64_t first, Batch& batch) const;

 private:
  // Each a field of random numbers; the first is that of World's traits.
  enum class Draw : uint32_t {
    kTraits,
    kName,
    kEmail,
    kPhone,
    kPhoneDigits,
    kBirth,
    kStreet,
    kCity,
    kPostalCode,
    kBracket,
    kIncome,
    kProfession,
    kCreated,
    kAccount,
    kLimit,
    kScore,
    kRisk,
    kBank,
    kAccountNumber,
  };
  static constexpr std::size_t kDraws = static_cast<std::size_t>(Draw::kAccountNumber) + 1;

  const FieldRandom& Random(Draw draw) const { return draws_[static_cast<std::size_t>(draw)]; }
  void FillPerson(uint64_t first, Batch& batch) const;
  void FillAddress(uint64_t first, Batch& batch) const;
  void FillMoney(uint64_t first, Batch& batch) const;
  void FillBank(uint64_t first, Batch& batch) const;
  int64_t CreatedAt(uint64_t customer, uint32_t profile) const;
  uint16_t RiskOf(uint64_t customer, uint32_t profile, int64_t age_days) const;

  const World& world_;
  People people_;
  CpfSequence cpfs_;
  std::vector<FieldRandom> draws_;
  WeightedChoice brackets_;
  WeightedChoice digital_account_types_;
  WeightedChoice account_types_;
  WeightedChoice account_statuses_;
  WeightedChoice banks_;
  std::vector<WeightedChoice> risks_;  // young, middle and old account, spender, senior
};

}  // namespace reveza::datagen::classic
