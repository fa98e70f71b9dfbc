// ParseCsv: names in the first line, then one step per line.
#include <fmt/format.h>

#include <utility>

#include "common/settings/document.h"
#include "reveza/jobs/definition/parameters.h"
#include "reveza/jobs/definition/template.h"

namespace reveza::jobs {
namespace {

struct Field {
  std::string text;
  SourceLocation location;
};

class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view name) : text_(text), name_(name) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  // Returns the fields of the next non-empty line; none at the end.
  Result<std::vector<Field>> Next() {
    std::vector<Field> fields;
    while (at_ < text_.size() && SkipLineEnd()) {
    }
    if (at_ >= text_.size()) return fields;
    for (;;) {
      ASSIGN_OR_RETURN(auto field, ReadField());
      fields.push_back(std::move(field));
      if (at_ >= text_.size() || SkipLineEnd()) return fields;
      Advance();  // the comma
    }
  }

  std::unexpected<Error> ErrorAtField(const SourceLocation& location, std::string_view what) const {
    return ErrorAt(name_, location, what);
  }

 private:
  void Advance() {
    if (text_[at_] == '\n') {
      ++location_.line;
      location_.column = 0;
    }
    ++location_.column;
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
    Field field{.text = {}, .location = location_};
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    if (quoted) Advance();
    for (; at_ < text_.size(); Advance()) {
      const char c = text_[at_];
      if (c == '\0') return ErrorAtField(location_, kNulByteError);
      if (quoted && c == '"') {
        if (!text_.substr(at_).starts_with("\"\"")) break;
        Advance();
      } else if (!quoted && (c == ',' || AtLineEnd())) {
        return field;
      } else if (!quoted && c == '"') {
        return ErrorAtField(location_,
                            "a quote in an unquoted field; quote the field and double the quote");
      }
      field.text += c;
    }
    if (!quoted) return field;
    if (at_ >= text_.size()) {
      return ErrorAtField(field.location, "unterminated quote; end the field with \"");
    }
    Advance();
    if (at_ < text_.size() && text_[at_] != ',' && !AtLineEnd()) {
      return ErrorAtField(location_,
                          "text after a closing quote; write a comma, or \"\" for a quote");
    }
    return field;
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  SourceLocation location_;
};

// Derives a valid parameter name from `name`.
std::string AsIdentifier(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const std::string with = word + c;
    word += IsIdentifier("a" + with) ? c : '_';
  }
  return IsIdentifier(word) && !IsBuiltIn(word) ? word : "my_" + word;
}

}  // namespace

Result<ParameterTable> ParseCsv(std::string_view text, std::string_view name) {
  CsvReader reader(text, name);
  ASSIGN_OR_RETURN(auto header, reader.Next());
  if (header.empty())
    return reader.ErrorAtField({}, "the table is empty; its first line must name the columns");
  for (std::size_t i = 0; i < header.size(); ++i) {
    const Field& field = header[i];
    if (!CheckParameterName(field.text)) {
      const bool other = header.size() == 1 && field.text.find_first_of(";\t") != std::string::npos;
      return reader.ErrorAtField(field.location,
                                 other ? "the fields of a table are separated by commas"
                                       : fmt::format("'{}' is not a valid parameter name; use {}",
                                                     field.text, AsIdentifier(field.text)));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (header[j].text != field.text) continue;
      return reader.ErrorAtField(field.location, fmt::format("duplicate column '{}'", field.text));
    }
  }
  std::vector<TextList> values(header.size());
  for (std::size_t rows = 0;; ++rows) {
    ASSIGN_OR_RETURN(const auto fields, reader.Next());
    if (fields.empty()) {
      ParameterTable table(rows);
      for (std::size_t i = 0; i < header.size(); ++i) {
        table.AddColumn(std::move(header[i].text), std::move(values[i]));
      }
      return table;
    }
    if (fields.size() != header.size()) {
      const bool more = fields.size() > header.size();
      const Field& extra = more ? fields[header.size()] : fields.back();
      return reader.ErrorAtField(
          extra.location, fmt::format("expected {} fields, got {}", header.size(), fields.size()));
    }
    if (rows == kMaxSteps) {
      return reader.ErrorAtField({.line = fields.front().location.line},
                                 fmt::format("a job has at most {} steps", kMaxSteps));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) values[i].Add(fields[i].text);
  }
}

}  // namespace reveza::jobs
