// A table in a file: names in the first line, then one step a line.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runner/definition/parameters.h"
#include "runner/definition/template.h"

namespace reveza::runner {
namespace {

struct Field {
  std::string text;
  std::size_t line = 1, column = 1;
};

class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view name) : text_(text), name_(name) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  // The fields of the next line that has any; none at the end.
  Result<std::vector<Field>> Next() {
    std::vector<Field> fields;
    while (at_ < text_.size() && SkipLineEnd()) {
    }
    if (at_ >= text_.size()) return fields;
    for (;;) {
      auto field = ReadField();
      if (!field) return std::unexpected(field.error());
      fields.push_back(*std::move(field));
      if (at_ >= text_.size() || SkipLineEnd()) return fields;
      Advance();  // the comma
    }
  }

  std::unexpected<Error> Wrong(std::size_t line, std::size_t column, std::string_view what) const {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("{}:{}:{}: {}", name_, line, column, what));
  }

 private:
  void Advance() {
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 0;
    }
    ++column_;
    ++at_;
  }

  bool AtLineEnd() const { return text_[at_] == '\n' || text_.substr(at_).starts_with("\r\n"); }

  bool SkipLineEnd() {
    if (!AtLineEnd()) return false;
    if (text_[at_] == '\r') Advance();
    Advance();
    return true;
  }

  Result<Field> ReadField() {
    Field field{.text = {}, .line = line_, .column = column_};
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    if (quoted) Advance();
    for (; at_ < text_.size(); Advance()) {
      const char c = text_[at_];
      if (c == '\0') return Wrong(line_, column_, "a zero byte cannot be part of a command");
      if (quoted && c == '"') {
        if (!text_.substr(at_).starts_with("\"\"")) break;
        Advance();
      } else if (!quoted && (c == ',' || AtLineEnd())) {
        return field;
      } else if (!quoted && c == '"') {
        return Wrong(line_, column_,
                     "a quote inside a field; write \"...\" around it and \"\" for it");
      }
      field.text += c;
    }
    if (!quoted) return field;
    if (at_ >= text_.size()) {
      return Wrong(field.line, field.column,
                   "a quote that is not closed; write \" at the end of the field");
    }
    Advance();
    if (at_ < text_.size() && text_[at_] != ',' && !AtLineEnd()) {
      return Wrong(line_, column_,
                   "text behind a closing quote; write a comma, or \"\" for a quote");
    }
    return field;
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0, line_ = 1, column_ = 1;
};

std::string AsIdentifier(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const std::string with = word + c;
    word += IsIdentifier("a" + with) ? c : '_';
  }
  return IsIdentifier(word) && !IsBuiltIn(word) ? word : "my_" + word;
}

}  // namespace

Result<ParameterRows> ParseCsv(std::string_view text, std::string_view name) {
  CsvReader reader(text, name);
  auto header = reader.Next();
  if (!header) return std::unexpected(header.error());
  if (header->empty())
    return reader.Wrong(1, 1, "the table is empty; write names in its first line");
  for (std::size_t i = 0; i < header->size(); ++i) {
    const Field& field = (*header)[i];
    if (!CheckParameterName(field.text)) {
      const bool other =
          header->size() == 1 && field.text.find_first_of(";\t") != std::string::npos;
      return reader.Wrong(field.line, field.column,
                          other ? "the fields of a table have commas between them"
                                : fmt::format("'{}' cannot name a parameter; write {}", field.text,
                                              AsIdentifier(field.text)));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if ((*header)[j].text != field.text) continue;
      return reader.Wrong(field.line, field.column, fmt::format("'{}' is named twice", field.text));
    }
  }
  ParameterRows rows;
  for (;;) {
    auto fields = reader.Next();
    if (!fields) return std::unexpected(fields.error());
    if (fields->empty()) return rows;
    if (fields->size() != header->size()) {
      const bool more = fields->size() > header->size();
      const Field& place = more ? (*fields)[header->size()] : fields->back();
      return reader.Wrong(
          place.line, place.column,
          fmt::format("{} fields, but the first line has {}", fields->size(), header->size()));
    }
    if (rows.size() == kMostSteps) {
      return reader.Wrong(fields->front().line, 1,
                          fmt::format("a job has at most {} steps", kMostSteps));
    }
    auto& row = rows.emplace_back();
    row.reserve(fields->size());
    for (std::size_t i = 0; i < fields->size(); ++i) {
      row.push_back({(*header)[i].text, std::move((*fields)[i].text)});
    }
  }
}

}  // namespace reveza::runner
