#include "fraudgen/output/text_plan.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "fraudgen/values/digits.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen {
namespace {

constexpr std::size_t kPageBytes = std::size_t{1} << 15;

std::vector<std::string_view> Segments(std::string_view name) {
  std::vector<std::string_view> segments;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = name.find('.', begin);
    segments.push_back(name.substr(begin, dot - begin));
    if (dot == std::string_view::npos) return segments;
    begin = dot + 1;
  }
}

bool IsQuoted(ColumnType type) {
  return type == ColumnType::kText || type == ColumnType::kDate || type == ColumnType::kTimestamp;
}

// Braces, commas and keys between the values of a JSON record.
class JsonLeads {
 public:
  explicit JsonLeads(bool array) : array_(array) {}

  // Returns the text between the previous value and that of `name`.
  Result<std::string> Next(std::string_view name) {
    const auto segments = Segments(name);
    const std::vector<std::string_view> parents(segments.begin(), segments.end() - 1);
    const auto kept =
        static_cast<std::size_t>(std::ranges::mismatch(open_, parents).in1 - open_.begin());
    std::string lead;
    if (first_) lead = array_ ? ",\n  {" : "{";
    while (open_.size() > kept) {
      open_.pop_back();
      lead += Break() + "}";
    }
    bool comma = !std::exchange(first_, false);
    while (open_.size() < parents.size()) {
      AppendKey(lead, parents[open_.size()], comma);
      lead += '{';
      open_.push_back(parents[open_.size()]);
      if (!groups_.insert(name.substr(0, EndOf(open_.back(), name))).second) {
        return InvalidArgument("the members of '" + std::string(open_.back()) +
                               "' are not adjacent in the table, so JSON cannot nest them");
      }
      comma = false;
    }
    AppendKey(lead, segments.back(), comma);
    return lead;
  }

  std::string End() {
    std::string tail;
    while (!open_.empty()) {
      open_.pop_back();
      tail += Break() + "}";
    }
    return tail + (array_ ? "\n  }" : "}\n");
  }

 private:
  static std::size_t EndOf(std::string_view segment, std::string_view name) {
    return static_cast<std::size_t>(segment.data() + segment.size() - name.data());
  }
  // Line break and indentation.
  std::string Break() const {
    return array_ ? std::string(1, '\n').append(4 + 2 * open_.size(), ' ') : std::string();
  }
  void AppendKey(std::string& lead, std::string_view key, bool comma) const {
    if (comma) lead += ',';
    lead += Break();
    AppendJsonText(lead, key);
    lead += array_ ? ": " : ":";
  }

  bool array_;
  bool first_ = true;
  std::vector<std::string_view> open_;
  std::set<std::string_view> groups_;
};

}  // namespace

Result<TextPlan> TextPlan::Make(const TableOptions& options, const Table& table) {
  TextPlan plan;
  if (options.format == Format::kJsonLines || options.format == Format::kJson) {
    RETURN_IF_ERROR(plan.PlanJson(options, table));
  } else {
    plan.PlanSeparated(options, table);
  }
  for (const TextColumn& column : plan.columns_) {
    // Two quotes, for numbers written as text.
    std::size_t max_bytes = column.lead.size + column.tail.size + kMaxNumberBytes + 2;
    for (const Fragment& choice : column.choices) max_bytes = std::max(max_bytes, choice.size);
    plan.max_row_bytes_ += std::max(max_bytes, column.null.size);
  }
  // Fixed-size copies may write beyond the last row.
  plan.max_row_bytes_ += plan.row_tail_.size + Fragment::kReadable;
  return plan;
}

Fragment TextPlan::Keep(std::string_view text) {
  const std::size_t needed = text.size() + Fragment::kReadable;
  if (page_left_ < needed) {
    page_left_ = std::max(kPageBytes, needed);
    pages_.push_back(std::make_unique<char[]>(page_left_));
    page_begin_ = pages_.back().get();
  }
  std::ranges::copy(text, page_begin_);
  const Fragment kept = {page_begin_, text.size()};
  page_begin_ += text.size();
  page_left_ -= text.size();
  return kept;
}

void TextPlan::AddColumn(const TableOptions& options, const Column& column, std::size_t index,
                         const std::string& lead) {
  const std::string null = lead + (json_ ? "null" : "");
  TextColumn& added = columns_.emplace_back();
  added.index = index;
  added.type = column.type;
  added.places = column.decimal_places;
  added.nullable = column.nullable == Nullable::kYes;
  added.null = Keep(null);
  if (column.type == ColumnType::kBoolean) {
    const bool capitals = options.classic_columns && !json_;
    added.choices = {Keep(lead + (capitals ? "False" : "false")),
                     Keep(lead + (capitals ? "True" : "true"))};
  }
  for (const std::string_view value : column.values) {
    std::string choice = lead;
    if (json_) {
      AppendJsonText(choice, value);
    } else {
      AppendCsvText(choice, value, separator_);
    }
    added.choices.push_back(Keep(choice));
  }
  added.choices.push_back(added.null);
  const bool quoted = json_ && IsQuoted(column.type);
  added.tail = Keep(quoted ? "\"" : "");
  added.lead = Keep(lead + (quoted ? "\"" : ""));
}

Status TextPlan::PlanJson(const TableOptions& options, const Table& table) {
  json_ = true;
  array_ = options.format == Format::kJson;
  JsonLeads leads(array_);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    ASSIGN_OR_RETURN(auto lead, leads.Next(table.columns[i].name));
    AddColumn(options, table.columns[i], i, lead);
  }
  row_tail_ = Keep(leads.End());
  return {};
}

void TextPlan::PlanSeparated(const TableOptions& options, const Table& table) {
  separator_ = options.format == Format::kTsv ? '\t' : ',';
  std::vector<const Column*> columns;
  if (options.classic_columns) {
    columns = CsvColumns(table);
  } else {
    for (const Column& column : table.columns) columns.push_back(&column);
  }
  for (const Column* column : columns) {
    if (!columns_.empty()) file_header_ += separator_;
    const std::string name =
        options.classic_columns ? std::string(column->name) : FlatName(*column);
    AppendCsvText(file_header_, name, separator_);
    AddColumn(options, *column, static_cast<std::size_t>(column - table.columns.data()),
              columns_.empty() ? std::string() : std::string(1, separator_));
  }
  file_header_ += '\n';
  row_tail_ = Keep("\n");
}

}  // namespace reveza::fraudgen
