#include "reveza/jobs/definition/step_parameters.h"

#include <algorithm>

namespace reveza::jobs {

TextList::TextList(std::span<const std::string> texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  bytes_.reserve(bytes);
  ends_.reserve(texts.size());
  for (const std::string& text : texts) Add(text);
}

void TextList::Add(std::string_view text) {
  bytes_ += text;
  ends_.push_back(bytes_.size());
}

void ParameterTable::AddColumn(std::string name, TextList values, std::size_t block) {
  columns_.push_back({std::move(name), std::move(values), block});
}

void ParameterTable::AddRow(std::span<const Parameter> row) {
  if (columns_.empty()) {
    rows_ = 0;
    for (const Parameter& parameter : row) AddColumn(parameter.name, {});
  }
  for (std::size_t i = 0; i < row.size(); ++i) columns_[i].values.Add(row[i].value);
  ++rows_;
}

bool ParameterTable::HasNamesOf(std::span<const Parameter> row) const {
  return std::ranges::equal(columns_, row, {}, &Column::name, &Parameter::name);
}

bool ParameterTable::HasSameNames(const ParameterTable& other) const {
  return std::ranges::equal(columns_, other.columns_, {}, &Column::name, &Column::name);
}

std::size_t ParameterTable::MemoryBytes() const {
  std::size_t bytes = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) bytes += column.values.MemoryBytes();
  return bytes;
}

ParameterTable Cross(ParameterTable left, ParameterTable right) {
  for (auto& column : left.columns_) column.block *= right.rows_;
  left.rows_ *= right.rows_;
  std::ranges::move(right.columns_, std::back_inserter(left.columns_));
  return left;
}

Parameters::Parameters(std::initializer_list<Parameter> all)
    : Parameters(std::vector<Parameter>(all)) {}

Parameters::Parameters(const std::vector<Parameter>& all) {
  if (all.empty()) return;
  const auto table = std::make_shared<ParameterTable>();
  table->AddRow(all);
  table_ = table;
}

bool Parameters::HasSameNames(const Parameters& other) const {
  if (table_ == other.table_) return true;
  if (empty() || other.empty()) return empty() && other.empty();
  return table_->HasSameNames(*other.table_);
}

bool operator==(const Parameters& a, const Parameters& b) { return std::ranges::equal(a, b); }

Parameters ParametersBuilder::Add(std::span<const Parameter> row) {
  if (row.empty()) return {};
  if (table_ == nullptr || !table_->HasNamesOf(row)) table_ = std::make_shared<ParameterTable>();
  table_->AddRow(row);
  return {table_, table_->rows() - 1};
}

}  // namespace reveza::jobs
