#include "fraudgen/output/columnar/column_pages.h"

#include <parquet/types.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

#include "fraudgen/output/column_buffers.h"
#include "fraudgen/output/columnar/page_encoding.h"

namespace reveza::fraudgen {
namespace {

constexpr std::size_t kPageRows = 32'768;
constexpr std::size_t kPageBytes = std::size_t{1} << 18;

// The fields of a page's header that matter, in Thrift's compact protocol.
class Header {
 public:
  Header(std::size_t uncompressed, std::size_t compressed, bool dictionary) {
    Add(dictionary ? int{parquet::PageType::DICTIONARY_PAGE} : int{parquet::PageType::DATA_PAGE});
    Add(static_cast<int64_t>(uncompressed));
    Add(static_cast<int64_t>(compressed));
  }
  void BeginStruct(int field_after) { bytes_[size_++] = static_cast<char>(field_after << 4 | 12); }
  // Adds the next field.
  void Add(int64_t number) {
    bytes_[size_++] = 1 << 4 | 5;
    auto rest = static_cast<uint64_t>(number) << 1;  // no field is negative
    for (; rest >= 0x80; rest >>= 7) bytes_[size_++] = static_cast<char>(rest | 0x80);
    bytes_[size_++] = static_cast<char>(rest);
  }
  void End() { bytes_[size_++] = 0; }
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 64> bytes_;
  std::size_t size_ = 0;
};

parquet::Encoding::type EncodingOf(const ArrowColumn& column) {
  if (column.grouped) return parquet::Encoding::RLE_DICTIONARY;
  switch (column.column->type) {
    case ColumnType::kCategory:
      return parquet::Encoding::RLE_DICTIONARY;
    case ColumnType::kDecimal:
      return parquet::Encoding::BYTE_STREAM_SPLIT;
    case ColumnType::kInteger:
    case ColumnType::kTimestamp:
      return parquet::Encoding::DELTA_BINARY_PACKED;
    default:
      return parquet::Encoding::PLAIN;
  }
}

// Appends the values that are present, converted to `To`.
template <typename To, typename From>
void AppendPresent(const From* from, const uint8_t* present, std::size_t count, PageBytes& bytes) {
  To* const to = bytes.RoomFor<To>(count);
  std::size_t kept = 0;
  if (present == nullptr) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
    kept = count;
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      to[kept] = static_cast<To>(from[i]);
      kept += present[i] != 0 ? 1 : 0;
    }
  }
  bytes.Advance(kept * sizeof(To));
}

// Returns as many bits as indices below `size` need, at least one.
int WidthOf(std::size_t size) {
  return std::max(1, static_cast<int>(std::bit_width(std::max<std::size_t>(size, 1) - 1)));
}

template <typename T>
std::string BytesOf(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

void AppendText(std::string_view text, PageBytes& to) {
  const auto size = static_cast<uint32_t>(text.size());
  to.Append(&size, sizeof size);
  to.Append(text.data(), text.size());
}

// Appends the definition levels of a page. Returns the number of nulls.
int64_t AppendLevels(std::span<const uint8_t> present, PageBytes& to) {
  const std::size_t begin = to.size();
  uint32_t bytes = 0;
  to.Append(&bytes, sizeof bytes);
  AppendRuns(present, 1, to);
  bytes = static_cast<uint32_t>(to.size() - begin - sizeof bytes);
  std::memcpy(to.data() + begin, &bytes, sizeof bytes);
  return std::ranges::count(present, uint8_t{0});
}

// Appends indices of a dictionary.
template <typename T>
void AppendIndices(std::span<const T> indices, int width, PageBytes& to) {
  const auto byte = static_cast<uint8_t>(width);
  to.Append(&byte, sizeof byte);
  AppendRuns(indices, width, to);
}

// Includes values in a range.
template <typename T>
void Widen(std::optional<std::pair<T, T>>& range, const auto& least, const auto& greatest) {
  if (!range) {
    range.emplace(least, greatest);
    return;
  }
  if (least < range->first) range->first = least;
  if (range->second < greatest) range->second = greatest;
}

}  // namespace

ColumnPages::ColumnPages(const ArrowColumn& column, const Options& options)
    : column_(column),
      options_(options),
      units_(static_cast<double>(
          kPowersOfTen[static_cast<std::size_t>(column.column->decimal_places)])),
      nullable_(column.column->nullable == Nullable::kYes) {
  if (column.grouped) dictionary_.emplace(*column.column, options.group_rows);
}

void ColumnPages::Clear() {
  pages_.Clear();
  chunk_rows_ = nulls_ = uncompressed_ = data_pages_ = data_begin_ = 0;
  numbers_.reset();
  texts_.reset();
  if (dictionary_) dictionary_->Clear();
}

void ColumnPages::SeeTexts(const ColumnValues& values, std::size_t first, std::size_t count) {
  const uint8_t* const present = nullable_ ? values.present.data() : nullptr;
  std::string_view least;
  std::string_view greatest;
  bool any = false;
  for (std::size_t row = first; row < first + count; ++row) {
    if (present != nullptr && present[row] == 0) continue;
    const std::string_view text = values.TextAt(row);
    if (!any) least = greatest = text;
    any = true;
    if (text < least) {
      least = text;
    } else if (greatest < text) {
      greatest = text;
    }
  }
  if (any) Widen(texts_, least, greatest);
}

template <typename T>
void ColumnPages::SeeNumbers(std::span<const T> numbers) {
  if (!options_.statistics || numbers.empty()) return;
  const auto [least, greatest] = std::ranges::minmax(numbers);
  Widen(numbers_, int64_t{least}, int64_t{greatest});
}

void ColumnPages::AppendTexts(const ColumnValues& values, std::size_t first, std::size_t count) {
  constexpr std::size_t kStep = 32;  // bytes copied at a time
  int32_t begin = first == 0 ? 0 : values.ends[first - 1];
  const auto bytes = static_cast<std::size_t>(values.ends[first + count - 1] - begin);
  uint8_t* const room = values_.Room(bytes + count * sizeof(uint32_t) + kStep);
  uint8_t* to = room;
  const char* from = values.bytes.data() + begin;
  const char* const end = values.bytes.data() + values.bytes.size();
  const uint8_t* const present = nullable_ ? values.present.data() : nullptr;
  for (std::size_t row = first; row < first + count; ++row) {
    const auto size = static_cast<uint32_t>(values.ends[row] - begin);
    begin = values.ends[row];
    if (present == nullptr || present[row] != 0) {
      std::memcpy(to, &size, sizeof size);
      to += sizeof size;
      if (size <= kStep && static_cast<std::size_t>(end - from) >= kStep) {
        std::memcpy(to, from, kStep);  // faster than a copy of any size
      } else {
        std::memcpy(to, from, size);
      }
      to += size;
    }
    from += size;
  }
  values_.Advance(static_cast<std::size_t>(to - room));
}

void ColumnPages::Append(const ColumnValues& values, std::size_t first, std::size_t count) {
  if (count == 0) return;
  chunk_rows_ += static_cast<int64_t>(count);
  if (dictionary_) return dictionary_->Append(values, first, count);
  rows_ += count;
  const uint8_t* present = nullptr;
  if (nullable_) {
    present = values.present.data() + first;
    uint8_t* const to = present_.Room(count);
    for (std::size_t i = 0; i < count; ++i) to[i] = present[i] != 0 ? 1 : 0;
    present_.Advance(count);
  }
  switch (column_.form) {
    case ColumnForm::kText:
      AppendTexts(values, first, count);
      if (options_.statistics) SeeTexts(values, first, count);
      break;
    case ColumnForm::kCodes:
      AppendPresent<uint16_t>(values.codes.data() + first, present, count, values_);
      break;
    case ColumnForm::kFlags:
      AppendPresent<uint8_t>(values.flags.data() + first, present, count, values_);
      break;
    case ColumnForm::kDays:
      AppendPresent<int32_t>(values.numbers.data() + first, present, count, values_);
      break;
    default:
      AppendPresent<int64_t>(values.numbers.data() + first, present, count, values_);
  }
}

arrow::Status ColumnPages::EndFullPage(Scratch& scratch) {
  if (rows_ < kPageRows && values_.size() < kPageBytes) return arrow::Status::OK();
  return EndPage(scratch);
}

void ColumnPages::EncodeValues(Scratch& scratch) {
  PageBytes& to = scratch.encoded;
  switch (column_.form) {
    case ColumnForm::kCodes:
      AppendIndices(values_.as<uint16_t>(), WidthOf(column_.column->values.size()), to);
      break;
    case ColumnForm::kFlags:
      SeeNumbers(values_.as<uint8_t>());
      AppendBits(values_.as<uint8_t>(), to);
      break;
    case ColumnForm::kWhole:
    case ColumnForm::kDecimal128:
    case ColumnForm::kFloat:
      SeeNumbers(values_.as<int64_t>());
      if (column_.column->type != ColumnType::kDecimal) {
        AppendDeltas(values_.as<int64_t>(), to);
        break;
      }
      if (column_.form == ColumnForm::kFloat) {
        const auto numbers = values_.as<int64_t>();
        scratch.doubles.Clear();
        DivideNumbers(numbers, units_, scratch.doubles.RoomFor<double>(numbers.size()));
        AppendSplit(scratch.doubles.data(), numbers.size(), to);
      } else {
        AppendSplit(values_.data(), values_.size() / sizeof(int64_t), to);
      }
      break;
    default:
      to.Append(values_.data(), values_.size());
  }
}

arrow::Status ColumnPages::AddCategories(Scratch& scratch) {
  const auto values = column_.column->values;
  PageBytes& page = scratch.encoded;
  page.Clear();
  for (const std::string_view value : values) AppendText(value, page);
  return AddPage({page.data(), page.size()}, values.size(), /*dictionary=*/true,
                 scratch.compressed);
}

arrow::Status ColumnPages::EndPage(Scratch& scratch) {
  if (column_.form == ColumnForm::kCodes && pages_.size() == 0) {
    ARROW_RETURN_NOT_OK(AddCategories(scratch));
  }
  std::span<const uint8_t> page(values_.data(), values_.size());
  // Texts without nulls are already a page.
  if (nullable_ || column_.form != ColumnForm::kText) {
    PageBytes& to = scratch.encoded;
    to.Clear();
    if (nullable_) nulls_ += AppendLevels(present_.as<uint8_t>(), to);
    EncodeValues(scratch);
    page = {to.data(), to.size()};
  }
  ARROW_RETURN_NOT_OK(AddPage(page, rows_, /*dictionary=*/false, scratch.compressed));
  rows_ = 0;
  present_.Clear();
  values_.Clear();
  return arrow::Status::OK();
}

arrow::Status ColumnPages::AddPage(std::span<const uint8_t> page, std::size_t rows, bool dictionary,
                                   PageBytes& compressed) {
  std::span<const uint8_t> stored = page;
  if (options_.codec != nullptr) {
    const auto size = static_cast<int64_t>(page.size());
    const int64_t most = options_.codec->MaxCompressedLen(size, page.data());
    compressed.Clear();
    uint8_t* const to = compressed.Room(static_cast<std::size_t>(most));
    ARROW_ASSIGN_OR_RAISE(const int64_t got, options_.codec->Compress(size, page.data(), most, to));
    stored = {to, static_cast<std::size_t>(got)};
  }
  Header header(page.size(), stored.size(), dictionary);
  header.BeginStruct(dictionary ? 4 : 2);
  header.Add(static_cast<int64_t>(rows));
  header.Add(dictionary ? parquet::Encoding::PLAIN : EncodingOf(column_));
  if (!dictionary) {
    header.Add(parquet::Encoding::RLE);
    header.Add(parquet::Encoding::RLE);
  }
  header.End();
  header.End();
  pages_.Append(header.view().data(), header.view().size());
  pages_.Append(stored.data(), stored.size());
  uncompressed_ += static_cast<int64_t>(header.view().size() + page.size());
  if (dictionary) {
    data_begin_ = static_cast<int64_t>(pages_.size());
  } else {
    ++data_pages_;
  }
  return arrow::Status::OK();
}

arrow::Status ColumnPages::EndChunk(Scratch& scratch) {
  if (dictionary_) return EndDictionary(scratch);
  if (rows_ > 0) ARROW_RETURN_NOT_OK(EndPage(scratch));
  return arrow::Status::OK();
}

arrow::Status ColumnPages::EndDictionary(Scratch& scratch) {
  ARROW_RETURN_NOT_OK(AddDistinct(scratch));
  const std::span<const int32_t> indices = dictionary_->indices();
  for (std::size_t first = 0; first < indices.size(); first += kPageRows) {
    const auto rows = indices.subspan(first, std::min(kPageRows, indices.size() - first));
    ARROW_RETURN_NOT_OK(AddIndices(rows, scratch));
  }
  return arrow::Status::OK();
}

arrow::Status ColumnPages::AddDistinct(Scratch& scratch) {
  PageBytes& page = scratch.encoded;
  page.Clear();
  const std::size_t size = dictionary_->size();
  if (column_.form == ColumnForm::kText) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::string_view text = dictionary_->TextAt(static_cast<int32_t>(i));
      AppendText(text, page);
      if (options_.statistics) Widen(texts_, text, text);
    }
  } else {
    const auto numbers = dictionary_->numbers();
    DivideNumbers(numbers, units_, page.RoomFor<double>(size));
    page.Advance(size * sizeof(double));
    SeeNumbers(numbers);
  }
  return AddPage({page.data(), page.size()}, size, /*dictionary=*/true, scratch.compressed);
}

arrow::Status ColumnPages::AddIndices(std::span<const int32_t> indices, Scratch& scratch) {
  PageBytes& page = scratch.encoded;
  page.Clear();
  values_.Clear();
  const uint8_t* present = nullptr;
  if (nullable_) {
    present_.Clear();
    uint8_t* const to = present_.Room(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      to[i] = indices[i] == GroupDictionary::kNone ? 0 : 1;
    }
    present_.Advance(indices.size());
    present = to;
    nulls_ += AppendLevels(present_.as<uint8_t>(), page);
  }
  AppendPresent<uint32_t>(indices.data(), present, indices.size(), values_);
  const auto kept = values_.as<uint32_t>();
  // In order of their first rows, values of earlier pages have smaller indices.
  const std::size_t used = kept.empty() ? 0 : std::size_t{*std::ranges::max_element(kept)} + 1;
  AppendIndices(kept, WidthOf(used), page);
  ARROW_RETURN_NOT_OK(AddPage({page.data(), page.size()}, indices.size(), /*dictionary=*/false,
                              scratch.compressed));
  present_.Clear();
  values_.Clear();
  return arrow::Status::OK();
}

parquet::EncodedStatistics ColumnPages::StatisticsOf() const {
  parquet::EncodedStatistics statistics;
  statistics.set_null_count(nulls_);
  if (texts_) {
    statistics.set_min(texts_->first);
    statistics.set_max(texts_->second);
  } else if (numbers_) {
    const auto [least, greatest] = *numbers_;
    switch (column_.form) {
      case ColumnForm::kFlags:
        statistics.set_min(BytesOf(static_cast<uint8_t>(least)));
        statistics.set_max(BytesOf(static_cast<uint8_t>(greatest)));
        break;
      case ColumnForm::kFloat:
        // The order of readers may have two zeros.
        statistics.set_min(BytesOf(least == 0 ? -0.0 : static_cast<double>(least) / units_));
        statistics.set_max(BytesOf(static_cast<double>(greatest) / units_));
        break;
      default:
        statistics.set_min(BytesOf(least));
        statistics.set_max(BytesOf(greatest));
    }
  }
  return statistics;
}

void ColumnPages::Describe(int64_t offset, parquet::ColumnChunkMetaDataBuilder& to) const {
  const bool dictionary = EncodingOf(column_) == parquet::Encoding::RLE_DICTIONARY;
  if (options_.statistics) to.SetStatistics(StatisticsOf());
  const std::map<parquet::Encoding::type, int32_t> none;
  const std::map<parquet::Encoding::type, int32_t> dictionaries = {{parquet::Encoding::PLAIN, 1}};
  const std::map<parquet::Encoding::type, int32_t> data = {
      {EncodingOf(column_), static_cast<int32_t>(data_pages_)}};
  to.Finish(chunk_rows_, dictionary ? offset : 0, /*index_page_offset=*/-1, offset + data_begin_,
            static_cast<int64_t>(pages_.size()), uncompressed_, dictionary,
            /*dictionary_fallback=*/false, dictionary ? dictionaries : none, data);
}

}  // namespace reveza::fraudgen
