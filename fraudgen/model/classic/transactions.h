// Generates rows of the classic transactions table. Immutable and thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fraudgen/model/classic/tables.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen::classic {

class Transactions final : public TableRows {
 public:
  explicit Transactions(const World& world);
  uint64_t fraud_key() const override { return random_[Draw::kFrauds].Bits(0); }
  void Fill(const BatchRows& rows, Batch& batch) const override;
  void DrawTimes(uint64_t first, std::span<int64_t> times) const override;

 private:
  using enum TransactionsColumn;

  // Fields of random numbers; their order is part of the output. Related values share the bits of
  // one number.
  enum class Draw : uint32_t {
    kFrauds,  // of the table, not of a row
    kOwner,
    kDayAndHour,
    kMoment,
    kTypeAndChannel,
    kMerchant,
    kMerchantId,
    kIp,
    kPlace,
    kPlaceOfFraud,
    kAmount,
    kCardHash,
    kCard,
    kCardUse,
    kPixKeyUpper,
    kPixKeyLower,
    kReceiver,
    kDistance,
    kSinceLast,
    kLast24Hours,
    kOutcome,
    kRefusal,
    kScore,
    kFraudType,
    kEnd
  };

  // A subset of the rows of a batch. Testing each row instead would cost more than the work on it,
  // because the branch is unpredictable.
  struct RowList {
    std::array<uint8_t, Batch::kMaxRows> is_in;
    std::array<uint16_t, Batch::kMaxRows> rows;
    std::size_t count = 0;

    void Append(std::size_t row, bool in) {
      is_in[row] = in;
      rows[count] = static_cast<uint16_t>(row);
      count += in ? 1 : 0;
    }
  };
  // Per-row values that several columns depend on.
  struct Scratch {
    std::array<Owner, Batch::kMaxRows> owner;
    std::array<uint8_t, Batch::kMaxRows> state;
    std::array<uint8_t, Batch::kMaxRows> profile;
    std::array<uint8_t, Batch::kMaxRows> category;
    std::array<uint8_t, Batch::kMaxRows> fraud;
    std::array<uint8_t, Batch::kMaxRows> fraud_type;
    RowList cards;  // card payments
    RowList pixes;  // PIX payments
  };
  // Amounts of honest rows in cents.
  struct AmountRange {
    int64_t min = 0;
    int64_t max = 0;
    int64_t mean = 0;
    int64_t deviation = 0;
  };
  using Categories = std::array<uint8_t, 32>;  // by the index of a profile's choice

  void MakeMerchantTables();
  void FillParties(const BatchRows& rows, Scratch& scratch, Batch& batch) const;
  void FillIdentifiers(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  void FillTime(const BatchRows& rows, Batch& batch) const;
  void FillMerchant(const BatchRows& rows, Scratch& scratch, Batch& batch) const;
  void FillPlace(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  void FillIp(const BatchRows& rows, Batch& batch) const;
  void FillAmount(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  static char* BeginTextsOf(const RowList& list, std::size_t width, ColumnValues& column);
  void FillCard(const BatchRows& rows, const RowList& cards, Batch& batch) const;
  void FillCardHash(const BatchRows& rows, const RowList& cards, Batch& batch) const;
  void FillReceiver(const BatchRows& rows, Batch& batch) const;
  void FillPixKey(const BatchRows& rows, const RowList& pixes, Batch& batch) const;
  void FillHistory(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  void FillOutcome(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;

  const World& world_;
  Fields<Draw> random_;
  WeightedChoice hours_;
  std::vector<WeightedChoice> types_;     // of each profile
  std::vector<WeightedChoice> channels_;  // of each profile
  std::vector<WeightedChoice> category_choices_;
  std::array<Categories, World::kProfileRows> categories_{};
  std::array<std::array<AmountRange, 32>, World::kProfileRows> amounts_{};
  WeightedChoice states_;
  WeightedChoice brands_;
  WeightedChoice entries_;
  WeightedChoice installments_;
  WeightedChoice pix_key_types_;
  WeightedChoice banks_;
  WeightedChoice honest_statuses_;
  WeightedChoice fraud_statuses_;
  WeightedChoice fraud_types_;
};

}  // namespace reveza::fraudgen::classic
