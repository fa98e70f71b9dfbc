#include "reveza/jobs/report/parquet_table.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace reveza::jobs {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "Parquet's plain encoding");

constexpr std::string_view kMagic = "PAR1";

// Values of the enumerations of parquet.thrift.
enum class Physical : std::int8_t { kInt64 = 2, kDouble = 5, kByteArray = 6 };
constexpr int kUtf8 = 0;           // ConvertedType
constexpr int kOptional = 1;       // FieldRepetitionType
constexpr int kPlainEncoding = 0;  // Encoding
constexpr int kRleEncoding = 3;    // Encoding
constexpr int kUncompressed = 0;
constexpr int kDataPage = 0;

template <typename T>
void AppendLittleEndian(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

void AppendVarint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

// Writes Thrift's compact protocol, of which Parquet's metadata consists. Fields are written in the
// order of their numbers, and Begin and End of structs nest.
class CompactWriter {
 public:
  void Integer(int field, std::int64_t value) {
    Header(field, kI64);
    Zigzag(value);
  }
  // For fields of 32 bits and enumerations.
  void Small(int field, std::int64_t value) {
    Header(field, kI32);
    Zigzag(value);
  }
  void Text(int field, std::string_view text) {
    Header(field, kBinary);
    Bytes(text);
  }
  void BeginStruct(int field) {
    Header(field, kStruct);
    Enter();
  }
  void EndStruct() {
    bytes_ += '\0';
    last_.pop_back();
  }
  void SmallList(int field, std::initializer_list<int> values) {
    ListHeader(field, values.size(), kI32);
    for (const int value : values) Zigzag(value);
  }
  void TextList(int field, std::string_view only) {
    ListHeader(field, 1, kBinary);
    Bytes(only);
  }
  // Its elements follow, each between Enter() and EndStruct().
  void StructList(int field, std::size_t size) { ListHeader(field, size, kStruct); }
  void Enter() { last_.push_back(0); }

  const std::string& bytes() const { return bytes_; }

 private:
  static constexpr int kI32 = 5, kI64 = 6, kBinary = 8, kList = 9, kStruct = 12;
  static constexpr std::size_t kMaxShortList = 14;

  void Header(int field, int type) {
    const int delta = field - std::exchange(last_.back(), field);
    bytes_ += static_cast<char>(delta << 4 | type);  // no gap between our fields exceeds 15
  }
  void ListHeader(int field, std::size_t size, int type) {
    Header(field, kList);
    if (size <= kMaxShortList) {
      bytes_ += static_cast<char>(size << 4 | static_cast<unsigned>(type));
      return;
    }
    bytes_ += static_cast<char>(0xF0 | type);
    AppendVarint(bytes_, size);
  }
  void Zigzag(std::int64_t value) {
    AppendVarint(bytes_,
                 static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void Bytes(std::string_view text) {
    AppendVarint(bytes_, text.size());
    bytes_ += text;
  }

  std::string bytes_;
  std::vector<int> last_{0};  // number of the last field, by depth
};

// Returns the number that a text denotes, if it is written as a program would write it.
std::optional<double> PlainNumber(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return {};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> IntegerOf(const json& cell) {
  if (cell.is_number_unsigned() &&
      cell.get<std::uint64_t>() > static_cast<std::uint64_t>(std::int64_t{-1} ^ INT64_MIN)) {
    return std::nullopt;
  }
  if (cell.is_number_integer()) return cell.get<std::int64_t>();
  if (!cell.is_string()) return std::nullopt;
  const auto& text = cell.get_ref<const std::string&>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || std::to_string(value) != text) return std::nullopt;
  return value;
}

std::optional<double> DoubleOf(const json& cell) {
  if (cell.is_number()) return cell.get<double>();
  return cell.is_string() ? PlainNumber(cell.get_ref<const std::string&>()) : std::nullopt;
}

Physical TypeOf(const StepTable& table, std::size_t column) {
  bool known = false, integers = true;
  for (const auto& row : table.rows) {
    const json& cell = row[column];
    if (cell.is_null()) continue;
    known = true;
    integers = integers && IntegerOf(cell);
    if (!integers && !DoubleOf(cell)) return Physical::kByteArray;
  }
  if (!known) return Physical::kByteArray;
  return integers ? Physical::kInt64 : Physical::kDouble;
}

void AppendValue(std::string& page, Physical type, const json& cell) {
  switch (type) {
    case Physical::kInt64:
      AppendLittleEndian(page, IntegerOf(cell).value_or(0));
      return;
    case Physical::kDouble:
      AppendLittleEndian(page, DoubleOf(cell).value_or(0));
      return;
    case Physical::kByteArray: {
      const std::string text = cell.is_string() ? cell.get<std::string>() : cell.dump();
      AppendLittleEndian(page, static_cast<std::uint32_t>(text.size()));
      page += text;
    }
  }
}

// Returns a page: which values are not null, as one bit-packed run, and those values.
std::string Page(std::span<const std::vector<json>> rows, std::size_t column, Physical type) {
  const std::size_t groups = (rows.size() + 7) / 8;
  std::string levels;
  AppendVarint(levels, groups << 1 | 1);
  const std::size_t begin = levels.size();
  levels.resize(begin + groups);
  std::string values;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json& cell = rows[i][column];
    if (cell.is_null()) continue;
    levels[begin + i / 8] = static_cast<char>(levels[begin + i / 8] | 1 << i % 8);
    AppendValue(values, type, cell);
  }
  std::string page;
  AppendLittleEndian(page, static_cast<std::uint32_t>(levels.size()));
  return page + levels + values;
}

std::string PageHeader(std::size_t rows, std::size_t bytes) {
  CompactWriter header;
  header.Small(1, kDataPage);
  header.Small(2, static_cast<std::int64_t>(bytes));
  header.Small(3, static_cast<std::int64_t>(bytes));
  header.BeginStruct(5);
  header.Small(1, static_cast<std::int64_t>(rows));
  header.Small(2, kPlainEncoding);
  header.Small(3, kRleEncoding);  // of definition levels
  header.Small(4, kRleEncoding);  // of repetition levels, of which there are none
  header.EndStruct();
  return header.bytes() + '\0';
}

struct Chunk {
  std::size_t offset = 0;
  std::size_t bytes = 0;  // with the header
};

struct RowGroup {
  std::size_t rows = 0;
  std::vector<Chunk> chunks;
};

RowGroup AppendRowGroup(std::string& file, std::span<const std::vector<json>> rows,
                        std::span<const Physical> types) {
  RowGroup group{rows.size(), {}};
  for (std::size_t column = 0; column < types.size(); ++column) {
    const std::string page = Page(rows, column, types[column]);
    const std::string header = PageHeader(rows.size(), page.size());
    group.chunks.push_back({file.size(), header.size() + page.size()});
    file += header;
    file += page;
  }
  return group;
}

void WriteSchema(CompactWriter& footer, const StepTable& table, std::span<const Physical> types) {
  footer.StructList(2, types.size() + 1);
  footer.Enter();
  footer.Text(4, "schema");
  footer.Small(5, static_cast<std::int64_t>(types.size()));
  footer.EndStruct();
  for (std::size_t column = 0; column < types.size(); ++column) {
    footer.Enter();
    footer.Small(1, static_cast<int>(types[column]));
    footer.Small(3, kOptional);
    footer.Text(4, table.columns[column]);
    if (types[column] == Physical::kByteArray) footer.Small(6, kUtf8);
    footer.EndStruct();
  }
}

void WriteChunk(CompactWriter& footer, std::string_view name, Physical type, std::size_t rows,
                const Chunk& chunk) {
  const auto offset = static_cast<std::int64_t>(chunk.offset);
  const auto bytes = static_cast<std::int64_t>(chunk.bytes);
  footer.Enter();
  footer.Integer(2, offset);
  footer.BeginStruct(3);
  footer.Small(1, static_cast<int>(type));
  footer.SmallList(2, {kPlainEncoding, kRleEncoding});
  footer.TextList(3, name);
  footer.Small(4, kUncompressed);
  footer.Integer(5, static_cast<std::int64_t>(rows));
  footer.Integer(6, bytes);
  footer.Integer(7, bytes);
  footer.Integer(9, offset);
  footer.EndStruct();
  footer.EndStruct();
}

std::string Footer(const StepTable& table, std::span<const Physical> types,
                   std::span<const RowGroup> groups) {
  CompactWriter footer;
  footer.Small(1, 1);  // version of the format
  WriteSchema(footer, table, types);
  footer.Integer(3, static_cast<std::int64_t>(table.rows.size()));
  footer.StructList(4, groups.size());
  for (const RowGroup& group : groups) {
    footer.Enter();
    footer.StructList(1, types.size());
    std::size_t bytes = 0;
    for (std::size_t column = 0; column < types.size(); ++column) {
      WriteChunk(footer, table.columns[column], types[column], group.rows, group.chunks[column]);
      bytes += group.chunks[column].bytes;
    }
    footer.Integer(2, static_cast<std::int64_t>(bytes));
    footer.Integer(3, static_cast<std::int64_t>(group.rows));
    footer.EndStruct();
  }
  footer.Text(6, "reveza");
  return footer.bytes() + '\0';
}

}  // namespace

std::string ParquetFile(const StepTable& table, std::size_t rows_per_group) {
  std::vector<Physical> types;
  for (std::size_t i = 0; i < table.columns.size(); ++i) types.push_back(TypeOf(table, i));
  std::string file(kMagic);
  std::vector<RowGroup> groups;
  const std::span<const std::vector<json>> rows(table.rows);
  for (std::size_t begin = 0; begin < rows.size(); begin += rows_per_group) {
    const std::size_t count = std::min(rows_per_group, rows.size() - begin);
    groups.push_back(AppendRowGroup(file, rows.subspan(begin, count), types));
  }
  const std::string footer = Footer(table, types, groups);
  file += footer;
  AppendLittleEndian(file, static_cast<std::uint32_t>(footer.size()));
  return file += kMagic;
}

}  // namespace reveza::jobs
