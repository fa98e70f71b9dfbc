// A small model for tests with two tables, only one of which has a known row count. Batches of both
// are interleaved and have odd sizes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "fraudgen/model/model.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen {

inline constexpr std::array<std::string_view, 3> kTestingKinds = {"PIX", "TED", "DOC"};
inline constexpr std::array<Column, 2> kTestingPeopleColumns = {{
    {"person_id", ColumnType::kText, 0, "", Nullable::kNo, "", "", "", {}},
    {"home.city", ColumnType::kText, 0, "", Nullable::kYes, "", "", "", {}},
}};
inline constexpr std::array<Column, 5> kTestingPaymentsColumns = {{
    {"payment_id", ColumnType::kText, 0, "", Nullable::kNo, "", "", "", {}},
    {"timestamp", ColumnType::kTimestamp, 0, "", Nullable::kNo, "", "", "", {}},
    {"amount", ColumnType::kDecimal, 2, "BRL", Nullable::kNo, "", "", "", {}},
    {"kind", ColumnType::kCategory, 0, "", Nullable::kNo, "", "", "", kTestingKinds},
    {"is_fraud", ColumnType::kBoolean, 0, "", Nullable::kYes, "", "", "", {}},
}};
inline constexpr Table kTestingPeople = {"people", "", "", kTestingPeopleColumns};
inline constexpr Table kTestingPayments = {"payments", "", "", kTestingPaymentsColumns};

class TestingModel final : public Model {
 public:
  TestingModel(uint64_t seed, uint64_t rows, uint64_t rows_per_block)
      : seed_(seed), rows_(rows), rows_per_block_(rows_per_block) {}

  std::span<const Table* const> tables() const override {
    static constexpr std::array<const Table*, 2> kTables = {&kTestingPeople, &kTestingPayments};
    return kTables;
  }
  uint64_t blocks() const override { return (rows_ + rows_per_block_ - 1) / rows_per_block_; }
  uint64_t RowsOf(const Table& table, uint64_t block) const override {
    if (&table != &kTestingPayments) return 0;
    return std::min(rows_per_block_, rows_ - block * rows_per_block_);
  }
  bool IsSmall(const Table& table) const override { return &table == &kTestingPeople; }
  Status Make(uint64_t block, std::span<const Table* const> wanted,
              BatchSink& sink) const override {
    ++made;
    const uint64_t people = 7 + block % 3;
    const uint64_t payments = RowsOf(kTestingPayments, block) + excess_rows;
    Batch batch_of_people(kTestingPeople);
    Batch batch_of_payments(kTestingPayments);
    uint64_t person = 0;
    uint64_t payment = 0;
    while (person < people || payment < payments) {
      if (person < people) {
        const uint64_t rows = std::min<uint64_t>(2, people - person);
        FillPeople(batch_of_people, block, person, rows);
        if (auto put = PutIfWanted(wanted, sink, batch_of_people); !put) return put;
        person += rows;
      }
      if (payment < payments) {
        const uint64_t rows = std::min<uint64_t>(3 + payment % 1021, payments - payment);
        FillPayments(batch_of_payments, block * rows_per_block_ + payment, rows);
        if (auto put = PutIfWanted(wanted, sink, batch_of_payments); !put) return put;
        payment += rows;
      }
    }
    return {};
  }

  mutable std::atomic<int> made = 0;  // blocks
  uint64_t excess_rows = 0;           // rows that a block has beyond RowsOf()

 private:
  static Status PutIfWanted(std::span<const Table* const> wanted, BatchSink& sink,
                            const Batch& batch) {
    if (std::ranges::find(wanted, &batch.table()) == wanted.end()) return {};
    return sink.Put(batch);
  }
  void FillPeople(Batch& batch, uint64_t block, uint64_t first, uint64_t rows) const {
    batch.Begin(rows);
    for (uint64_t row = 0; row < rows; ++row) {
      const uint64_t person = block * 10 + first + row;
      batch.column(0).AppendText("P" + std::to_string(person));
      batch.column(1).present[row] = person % 4 != 0;
      batch.column(1).AppendText(person % 4 != 0 ? "São Luís" : "");
    }
  }
  void FillPayments(Batch& batch, uint64_t first, uint64_t rows) const {
    const FieldRandom amounts(seed_, 1, 1);
    batch.Begin(rows);
    for (uint64_t row = 0; row < rows; ++row) {
      const uint64_t payment = first + row;
      batch.column(0).AppendText(Id(payment));
      batch.column(1).numbers[row] = static_cast<int64_t>(payment) * 1'000'000;
      batch.column(2).numbers[row] = amounts.Between(1, 1'000'000, payment);
      batch.column(3).codes[row] = static_cast<uint16_t>(payment % kTestingKinds.size());
      batch.column(4).present[row] = payment % 5 != 0;
      batch.column(4).flags[row] = payment % 7 == 0;
    }
  }

  // Fixed length, so that blocks have similar sizes.
  static std::string Id(uint64_t payment) {
    const std::string digits = std::to_string(payment);
    return "TXN_" + std::string(8 - digits.size(), '0') + digits;
  }

  uint64_t seed_;
  uint64_t rows_;
  uint64_t rows_per_block_;
};

}  // namespace reveza::fraudgen
