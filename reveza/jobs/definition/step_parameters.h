// The parameters of steps. A job may have a million steps, so a step only refers to a row of a
// table that many steps share; a table of a grid has each value once. Tables are immutable while
// steps share them, and safe to read from several threads.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reveza::jobs {

struct Parameter {
  std::string name;
  std::string value;

  bool operator==(const Parameter&) const = default;
};

// A parameter in a table.
struct ParameterView {
  std::string_view name;
  std::string_view value;

  bool operator==(const ParameterView&) const = default;
};

// Texts, stored back to back.
class TextList {
 public:
  TextList() = default;
  explicit TextList(std::span<const std::string> texts);

  void Add(std::string_view text);
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(bytes_).substr(begin, ends_[index] - begin);
  }
  std::size_t MemoryBytes() const {
    return bytes_.capacity() + ends_.capacity() * sizeof(std::size_t);
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

// Rows of values of named parameters.
class ParameterTable {
 public:
  // Makes a table without parameters.
  explicit ParameterTable(std::size_t rows = 1) : rows_(rows) {}

  // Adds a parameter: each value, in turn, is that of the next `block` rows, from the first again
  // after the last one.
  void AddColumn(std::string name, TextList values, std::size_t block = 1);
  // Adds a row to a table that consists of such rows.
  void AddRow(std::span<const Parameter> row);
  // Returns whether the table has the parameters of this row, in this order.
  bool HasNamesOf(std::span<const Parameter> row) const;

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_.size(); }
  ParameterView At(std::size_t row, std::size_t column) const {
    const Column& one = columns_[column];
    return {one.name, one.values[row / one.block % one.values.size()]};
  }
  bool HasSameNames(const ParameterTable& other) const;
  std::size_t MemoryBytes() const;

  // Returns the cross product; the rows of `right` vary faster.
  friend ParameterTable Cross(ParameterTable left, ParameterTable right);

 private:
  struct Column {
    std::string name;
    TextList values;
    std::size_t block = 1;
  };
  std::vector<Column> columns_;
  std::size_t rows_ = 1;
};

// The parameters of one step, in declaration order.
class Parameters {
 public:
  class Iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = ParameterView;
    using difference_type = std::ptrdiff_t;
    using reference = ParameterView;
    using pointer = void;

    Iterator() = default;
    Iterator(const Parameters* all, difference_type index) : all_(all), index_(index) {}

    ParameterView operator*() const { return (*all_)[static_cast<std::size_t>(index_)]; }
    ParameterView operator[](difference_type offset) const { return *(*this + offset); }
    Iterator& operator++() { return *this += 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator& operator--() { return *this += -1; }
    Iterator operator--(int) { return std::exchange(*this, *this + -1); }
    Iterator& operator+=(difference_type offset) {
      index_ += offset;
      return *this;
    }
    Iterator& operator-=(difference_type offset) { return *this += -offset; }
    friend Iterator operator+(Iterator at, difference_type offset) { return at += offset; }
    friend Iterator operator+(difference_type offset, Iterator at) { return at += offset; }
    friend Iterator operator-(Iterator at, difference_type offset) { return at -= offset; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return a.index_ - b.index_;
    }
    friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.index_ <=> b.index_; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }

   private:
    const Parameters* all_ = nullptr;
    difference_type index_ = 0;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;
  using value_type = ParameterView;

  Parameters() = default;
  Parameters(std::shared_ptr<const ParameterTable> table, std::size_t row)
      : table_(std::move(table)), row_(static_cast<std::uint32_t>(row)) {}
  // Implicit, as parameters may be written as a list of names and values.
  Parameters(std::initializer_list<Parameter> all);
  Parameters(const std::vector<Parameter>& all);  // NOLINT(google-explicit-constructor)

  std::size_t size() const { return table_ == nullptr ? 0 : table_->columns(); }
  bool empty() const { return size() == 0; }
  ParameterView operator[](std::size_t index) const { return table_->At(row_, index); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, static_cast<std::ptrdiff_t>(size())}; }

  // Returns whether the other step has the same names in the same order; constant time for steps of
  // the same table.
  bool HasSameNames(const Parameters& other) const;

  friend bool operator==(const Parameters& a, const Parameters& b);

 private:
  std::shared_ptr<const ParameterTable> table_;  // null: no parameters
  std::uint32_t row_ = 0;
};

// Makes the parameters of steps that come one after another; those with the same names share a
// table. Not thread-safe.
class ParametersBuilder {
 public:
  Parameters Add(std::span<const Parameter> row);

 private:
  std::shared_ptr<ParameterTable> table_;
};

}  // namespace reveza::jobs
