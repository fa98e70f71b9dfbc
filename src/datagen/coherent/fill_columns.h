// Fills one column after the other, in the order of the schema. Not safe from several threads.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "datagen/batch.h"
#include "datagen/coherent/identity.h"

namespace reveza::datagen::coherent {

// In which rows a value is there.
class Presence {
 public:
  template <typename Row, typename Has>
  Presence(std::span<const Row> rows, Has has) {
    for (std::size_t i = 0; i < rows.size(); ++i) there_[i] = has(rows[i]) ? 1 : 0;
  }
  const uint8_t* data() const { return there_.data(); }

 private:
  std::array<uint8_t, Batch::kMaxRows> there_;  // as many as there are rows are written
};

template <typename Row>
class ColumnFiller {
 public:
  ColumnFiller(std::span<const Row> rows, Batch& batch) : rows_(rows), batch_(&batch) {
    batch.Begin(rows.size());
  }
  // Every column has to be filled.
  ~ColumnFiller() { assert(next_ == batch_->table().columns.size()); }
  ColumnFiller(const ColumnFiller&) = delete;
  ColumnFiller& operator=(const ColumnFiller&) = delete;

  template <typename Has>
  Presence Where(Has has) const {
    return Presence(rows_, has);
  }

  // `append(bytes, row)` appends the value.
  template <typename Append>
  void LongText(std::string_view name, Append append) {
    ColumnValues& values = Next(name);
    for (const Row& row : rows_) {
      append(values.bytes, row);
      values.ends.push_back(static_cast<int32_t>(values.bytes.size()));
    }
  }
  // `put(out, row)` writes the value at `out` and returns where it ends. There is room for
  // Identity::kMostText bytes.
  template <typename Put>
  void Text(std::string_view name, Put put) {
    const Row* const rows = rows_.data();
    Write(Next(name), [=](char* out, std::size_t i) { return put(out, rows[i]); });
  }
  template <typename Put>
  void TextIf(std::string_view name, const Presence& there, Put put) {
    ColumnValues& values = Next(name);
    const Row* const rows = rows_.data();
    const uint8_t* const present = Mark(values, there);
    Write(values,
          [=](char* out, std::size_t i) { return present[i] != 0 ? put(out, rows[i]) : out; });
  }
  // `number(row)` is what the identifier is made from, of many rows at once.
  template <typename Names, typename Number>
  void Identifier(std::string_view name, const Names& naming, Number number) {
    ColumnValues& values = Next(name);
    MakeDigits(naming, number);
    const uint64_t* const upper = upper_.data();
    const uint64_t* const lower = lower_.data();
    const Names put = naming;
    Write(values, [=](char* out, std::size_t i) { return put.Put(out, upper[i], lower[i]); });
  }
  // `number` must do with a row without it, as `get` below.
  template <typename Names, typename Number>
  void IdentifierIf(std::string_view name, const Names& naming, const Presence& there,
                    Number number) {
    ColumnValues& values = Next(name);
    const uint8_t* const present = Mark(values, there);
    MakeDigits(naming, number, present);
    const uint64_t* const upper = upper_.data();
    const uint64_t* const lower = lower_.data();
    const Names put = naming;
    Write(values, [=](char* out, std::size_t i) {
      put.Put(out, upper[i], lower[i]);
      return out + put.kWidth * present[i];
    });
  }
  // One that can be written for any row: that costs less than a branch that nobody can foresee.
  template <typename Put>
  void ShortTextIf(std::string_view name, const Presence& there, Put put) {
    ColumnValues& values = Next(name);
    const Row* const rows = rows_.data();
    const uint8_t* const present = Mark(values, there);
    Write(values,
          [=](char* out, std::size_t i) { return out + present[i] * (put(out, rows[i]) - out); });
  }
  // `get` of these must do with a row that does not have the value, too: to branch would take
  // longer.
  template <typename Get>
  void Code(std::string_view name, Get get) {
    Each(Next(name).codes, get);
  }
  template <typename Get>
  void CodeIf(std::string_view name, const Presence& there, Get get) {
    ColumnValues& values = Next(name);
    EachIf(Mark(values, there), values.codes, get);
  }
  template <typename Get>
  void Number(std::string_view name, Get get) {
    Each(Next(name).numbers, get);
  }
  template <typename Get>
  void NumberIf(std::string_view name, const Presence& there, Get get) {
    ColumnValues& values = Next(name);
    EachIf(Mark(values, there), values.numbers, get);
  }
  template <typename Get>
  void Flag(std::string_view name, Get get) {
    Each(Next(name).flags, get);
  }
  template <typename Get>
  void FlagIf(std::string_view name, const Presence& there, Get get) {
    ColumnValues& values = Next(name);
    EachIf(Mark(values, there), values.flags, get);
  }

 private:
  // Bytes that are written may be anything's, as the compiler sees it; so what the loops need is
  // taken out of its objects first.
  template <typename Value, typename Get>
  void Each(std::vector<Value>& values, Get get) {
    const Row* const rows = rows_.data();
    Value* const out = values.data();
    const std::size_t count = rows_.size();
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Value>(get(rows[i]));
  }
  template <typename Value, typename Get>
  void EachIf(const uint8_t* present, std::vector<Value>& values, Get get) {
    const Row* const rows = rows_.data();
    Value* const out = values.data();
    const std::size_t count = rows_.size();
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = static_cast<Value>(static_cast<Value>(get(rows[i])) * present[i]);
    }
  }
  const uint8_t* Mark(ColumnValues& values, const Presence& there) const {
    if (!rows_.empty()) std::memcpy(values.present.data(), there.data(), rows_.size());
    return there.data();
  }

  template <typename Names, typename Number>
  void MakeDigits(const Names& naming, Number number, const uint8_t* present = nullptr) {
    const Row* const rows = rows_.data();
    const std::size_t count = rows_.size();
    for (std::size_t i = 0; i < count; ++i) {
      lower_[i] = present == nullptr ? number(rows[i]) : number(rows[i]) * present[i];
    }
    naming.Digits(std::span(lower_).first(count), {upper_, lower_});
  }

  // `write(out, i)` writes the text of row `i` and returns its end.
  template <typename OfRow>
  void Write(ColumnValues& values, OfRow write) {
    values.ends.resize(rows_.size());
    int32_t* const ends = values.ends.data();
    values.bytes.resize_and_overwrite(rows_.size() * Identity::kMostText,
                                      [&](char* begin, std::size_t /*size*/) {
                                        char* out = begin;
                                        for (std::size_t i = 0; i < rows_.size(); ++i) {
                                          out = write(out, i);
                                          ends[i] = static_cast<int32_t>(out - begin);
                                        }
                                        return static_cast<std::size_t>(out - begin);
                                      });
  }

  // The name is said again so that code and schema are seen to agree.
  ColumnValues& Next([[maybe_unused]] std::string_view name) {
    assert(batch_->table().columns[next_].name == name);
    return batch_->column(next_++);
  }

  std::span<const Row> rows_;
  Batch* batch_;
  std::size_t next_ = 0;
  // Of an identifier; those in use are written first.
  std::array<uint64_t, Batch::kMaxRows> upper_;
  std::array<uint64_t, Batch::kMaxRows> lower_;
};

}  // namespace reveza::datagen::coherent
