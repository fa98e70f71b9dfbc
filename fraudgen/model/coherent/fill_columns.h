// Fills the columns of a batch in the order of the schema. Not thread-safe.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "fraudgen/model/coherent/identity.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen::coherent {

// Which rows have a value.
class Presence {
 public:
  template <typename Row, typename Has>
  Presence(std::span<const Row> rows, Has has) {
    for (std::size_t i = 0; i < rows.size(); ++i) present_[i] = std::invoke(has, rows[i]) ? 1 : 0;
  }
  const uint8_t* data() const { return present_.data(); }

 private:
  std::array<uint8_t, Batch::kMaxRows> present_;  // only the first rows.size() are initialised
};

template <typename Row>
class ColumnFiller {
 public:
  ColumnFiller(std::span<const Row> rows, Batch& batch) : rows_(rows), batch_(&batch) {
    batch.Begin(rows.size());
  }
  // Requires that every column was filled.
  ~ColumnFiller() { assert(next_ == batch_->table().columns.size()); }
  ColumnFiller(const ColumnFiller&) = delete;
  ColumnFiller& operator=(const ColumnFiller&) = delete;

  template <typename Has>
  Presence Where(Has has) const {
    return Presence(rows_, has);
  }

  // Fills a text column; `append(bytes, row)` appends the value.
  template <typename Append>
  void LongText(std::string_view name, Append append) {
    ColumnValues& values = Next(name);
    for (const Row& row : rows_) {
      append(values.bytes, row);
      values.ends.push_back(static_cast<int32_t>(values.bytes.size()));
    }
  }
  // Fills a text column; `put(out, row)` writes the value, at most Identity::kMaxText bytes, and
  // returns its end.
  template <typename Put>
  void Text(std::string_view name, Put put) {
    const Row* const rows = rows_.data();
    Write(Next(name), [=](char* out, std::size_t i) { return put(out, rows[i]); });
  }
  template <typename Put>
  void TextIf(std::string_view name, const Presence& presence, Put put) {
    ColumnValues& values = Next(name);
    const Row* const rows = rows_.data();
    const uint8_t* const present = Mark(values, presence);
    Write(values,
          [=](char* out, std::size_t i) { return present[i] != 0 ? put(out, rows[i]) : out; });
  }
  // Fills a column of identifiers, many rows at a time; `number(row)` is the number to format.
  template <typename Ids, typename Number>
  void Identifier(std::string_view name, const Ids& ids, Number number) {
    ColumnValues& values = Next(name);
    MakeDigits(values, ids, number);
    const uint64_t* const upper = upper_.data();
    const uint64_t* const lower = lower_.data();
    const Ids put = ids;
    Write(values, [=](char* out, std::size_t i) { return put.Put(out, upper[i], lower[i]); });
  }
  // `number` must be callable for rows without a value.
  template <typename Ids, typename Number>
  void IdentifierIf(std::string_view name, const Ids& ids, const Presence& presence,
                    Number number) {
    ColumnValues& values = Next(name);
    const uint8_t* const present = Mark(values, presence);
    MakeDigits(values, ids, number, present);
    const uint64_t* const upper = upper_.data();
    const uint64_t* const lower = lower_.data();
    const Ids put = ids;
    Write(values, [=](char* out, std::size_t i) {
      put.Put(out, upper[i], lower[i]);
      return out + put.kWidth * present[i];
    });
  }
  // For a text that can be written for any row, which costs less than an unpredictable branch.
  // `key(row)` is a bijection of the text, which recurs.
  template <typename Put, typename Key>
  void ShortTextIf(std::string_view name, const Presence& presence, Put put, Key key) {
    ColumnValues& values = Next(name);
    const Row* const rows = rows_.data();
    values.keys.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) values.keys[i] = key(rows[i]);
    const uint8_t* const present = Mark(values, presence);
    Write(values,
          [=](char* out, std::size_t i) { return out + present[i] * (put(out, rows[i]) - out); });
  }
  // In the functions below, `get` must be callable for rows without a value: that is cheaper than a
  // branch.
  template <typename Get>
  void Code(std::string_view name, Get get) {
    Each(Next(name).codes, get);
  }
  template <typename Get>
  void CodeIf(std::string_view name, const Presence& presence, Get get) {
    ColumnValues& values = Next(name);
    EachIf(Mark(values, presence), values.codes, get);
  }
  template <typename Get>
  void Number(std::string_view name, Get get) {
    Each(Next(name).numbers, get);
  }
  template <typename Get>
  void NumberIf(std::string_view name, const Presence& presence, Get get) {
    ColumnValues& values = Next(name);
    EachIf(Mark(values, presence), values.numbers, get);
  }
  template <typename Get>
  void Flag(std::string_view name, Get get) {
    Each(Next(name).flags, get);
  }
  template <typename Get>
  void FlagIf(std::string_view name, const Presence& presence, Get get) {
    ColumnValues& values = Next(name);
    EachIf(Mark(values, presence), values.flags, get);
  }

 private:
  // Byte stores may alias anything, so the loops below work on local copies of pointers and sizes.
  template <typename Value, typename Get>
  void Each(std::vector<Value>& values, Get get) {
    const Row* const rows = rows_.data();
    Value* const out = values.data();
    const std::size_t count = rows_.size();
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Value>(std::invoke(get, rows[i]));
  }
  template <typename Value, typename Get>
  void EachIf(const uint8_t* present, std::vector<Value>& values, Get get) {
    const Row* const rows = rows_.data();
    Value* const out = values.data();
    const std::size_t count = rows_.size();
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = static_cast<Value>(static_cast<Value>(std::invoke(get, rows[i])) * present[i]);
    }
  }
  const uint8_t* Mark(ColumnValues& values, const Presence& presence) const {
    if (!rows_.empty()) std::memcpy(values.present.data(), presence.data(), rows_.size());
    return presence.data();
  }

  template <typename Ids, typename Number>
  void MakeDigits(ColumnValues& values, const Ids& ids, Number number,
                  const uint8_t* present = nullptr) {
    const Row* const rows = rows_.data();
    const std::size_t count = rows_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const uint64_t value = std::invoke(number, rows[i]);
      lower_[i] = present == nullptr ? value : value * present[i];
    }
    if (recurs_) values.keys.assign(lower_.data(), lower_.data() + count);
    ids.Digits(std::span(lower_).first(count), {upper_, lower_});
  }

  // Fills the texts; `write(out, i)` writes that of row `i` and returns its end.
  template <typename OfRow>
  void Write(ColumnValues& values, OfRow write) {
    values.ends.resize(rows_.size());
    int32_t* const ends = values.ends.data();
    values.bytes.resize_and_overwrite(rows_.size() * Identity::kMaxText,
                                      [&](char* begin, std::size_t /*size*/) {
                                        char* out = begin;
                                        for (std::size_t i = 0; i < rows_.size(); ++i) {
                                          out = write(out, i);
                                          ends[i] = static_cast<int32_t>(out - begin);
                                        }
                                        return static_cast<std::size_t>(out - begin);
                                      });
  }

  // Returns the next column. The name documents, and asserts, that code and schema agree.
  ColumnValues& Next([[maybe_unused]] std::string_view name) {
    assert(batch_->table().columns[next_].name == name);
    recurs_ = batch_->table().columns[next_].recurs;
    return batch_->column(next_++);
  }

  std::span<const Row> rows_;
  Batch* batch_;
  std::size_t next_ = 0;
  bool recurs_ = false;  // the values of the current column
  // Digits of identifiers; uninitialised until used.
  std::array<uint64_t, Batch::kMaxRows> upper_;
  std::array<uint64_t, Batch::kMaxRows> lower_;
};

}  // namespace reveza::fraudgen::coherent
