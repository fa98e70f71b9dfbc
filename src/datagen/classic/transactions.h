// The rows of the classic table of transactions. Immutable, so safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "datagen/batch.h"
#include "datagen/classic/batch_rows.h"
#include "datagen/classic/world.h"

namespace reveza::datagen::classic {

// The columns of kTransactions, in their order.
enum class TransactionColumn : std::size_t {
  kTransactionId,
  kSessionId,
  kCustomerId,
  kDeviceId,
  kTimestamp,
  kType,
  kAmount,
  kCurrency,
  kChannel,
  kIpAddress,
  kLatitude,
  kLongitude,
  kMerchantId,
  kMerchantName,
  kMerchantCategory,
  kMccCode,
  kMccRiskLevel,
  kCardNumberHash,
  kCardBrand,
  kCardType,
  kInstallments,
  kCardEntry,
  kCvvValidated,
  kAuth3ds,
  kPixKeyType,
  kPixKeyDestination,
  kDestinationBank,
  kDistanceFromLast,
  kTimeSinceLast,
  kTransactionsLast24h,
  kAccumulatedAmount24h,
  kUnusualTime,
  kNewBeneficiary,
  kStatus,
  kRefusalReason,
  kFraudScore,
  kIsFraud,
  kFraudType,
};

class Transactions {
 public:
  // The world must outlive it.
  explicit Transactions(const World& world);

  uint64_t fraud_key() const { return world_.Random(TableKey::kTransactions, 0).Bits(0); }

  // As many rows as the batch, which is of kTransactions and has begun, has.
  void Fill(const BatchRows& rows, Batch& batch) const;
  // When rows are that follow each other, as many as `times`.
  void DrawTimes(uint64_t first, std::span<int64_t> times) const;

 private:
  // Each a field of random numbers. What is drawn together shares the bits of one number.
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
  };
  static constexpr std::size_t kDraws = static_cast<std::size_t>(Draw::kFraudType) + 1;

  // Some of the rows of a batch. To ask each row whether it is one of them costs more than to work
  // on it, for the processor cannot foresee the answer.
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
  // What several columns of a batch depend on, a value for each row.
  struct Scratch {
    std::array<Owner, Batch::kMaxRows> owner;
    std::array<uint8_t, Batch::kMaxRows> state;
    std::array<uint8_t, Batch::kMaxRows> profile;
    std::array<uint8_t, Batch::kMaxRows> category;
    std::array<uint8_t, Batch::kMaxRows> fraud;
    std::array<uint8_t, Batch::kMaxRows> fraud_type;
    RowList cards;  // those that are paid by card
    RowList pixes;  // those that are PIX
  };
  // Amounts of honest rows in cents.
  struct AmountRange {
    int64_t least = 0;
    int64_t most = 0;
    int64_t mean = 0;
    int64_t deviation = 0;
  };
  using Categories = std::array<uint8_t, 32>;  // what an index of a profile's choice stands for

  struct Moment {
    int64_t time;
    uint32_t hour;
  };

  const FieldRandom& Random(Draw draw) const { return draws_[static_cast<std::size_t>(draw)]; }
  void MakeMerchantTables();
  Moment MomentOf(uint64_t day_bits, uint64_t moment_bits) const;

  void FillWho(const BatchRows& rows, Scratch& scratch, Batch& batch) const;
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
  std::vector<FieldRandom> draws_;
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

}  // namespace reveza::datagen::classic
