#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/table/arrow.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/output/testing_rows.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen {
namespace arrow_writer_test {

constexpr uint64_t kRows = 40'000;

std::string Bytes(const TableOptions& options, const Table& table = kTestingTable,
                  std::size_t batch_rows = Batch::kMaxRows, uint64_t rows = kRows) {
  return WriteTestingRows(options, table, rows, batch_rows, TestingTexts::kAwkward);
}

std::shared_ptr<arrow::io::BufferReader> Reader(const std::string& bytes) {
  return std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes));
}

std::shared_ptr<parquet::FileMetaData> MetadataOf(const std::string& bytes) {
  return parquet::ParquetFileReader::Open(Reader(bytes))->metadata();
}

std::shared_ptr<arrow::Table> ReadParquet(const std::string& bytes) {
  auto reader = parquet::arrow::OpenFile(Reader(bytes), arrow::default_memory_pool());
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  auto table = *(*reader)->ReadTable();
  EXPECT_TRUE(table->ValidateFull().ok());
  return table;
}

std::shared_ptr<arrow::Table> ReadArrow(const std::string& bytes) {
  auto reader = *arrow::ipc::RecordBatchFileReader::Open(Reader(bytes));
  arrow::RecordBatchVector batches;
  for (int i = 0; i < reader->num_record_batches(); ++i) {
    batches.push_back(*reader->ReadRecordBatch(i));
    EXPECT_TRUE(batches.back()->ValidateFull().ok());
  }
  return *arrow::Table::FromRecordBatches(reader->schema(), batches);
}

TEST(ArrowWriter, BytesDoNotDependOnBatches) {
  std::vector<TableOptions> all;
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    for (const Money money : {Money::kFloat, Money::kDecimal, Money::kCents}) {
      for (const bool nested : {false, true}) {
        all.push_back(
            {.format = format, .row_group_rows = 20'000, .money = money, .nested = nested});
      }
    }
  }
  for (const TableOptions& options : all) {
    const std::string whole = Bytes(options);
    EXPECT_EQ(DifferenceOf(whole, Bytes(options, kTestingTable, 1'000)), "");
    EXPECT_EQ(DifferenceOf(whole, Bytes(options, kTestingTable, 4'095)), "");
  }
  EXPECT_EQ(DifferenceOf(Bytes(all[0]), Bytes(all[0], kTestingTable, 7)), "");
}

TEST(ArrowWriter, BytesDoNotDependOnValuesBehindNulls) {
  const auto bytes = [](const TableOptions& options, bool changed) {
    Batch batch(kTestingTable);
    FillTestingRows(batch, 0, 1'000, TestingTexts::kPlain);
    for (std::size_t i = 0; changed && i < kTestingTable.columns.size(); ++i) {
      ColumnValues& values = batch.column(i);
      for (std::size_t row = 0; row < batch.rows(); ++row) {
        if (!batch.IsNull(i, row)) continue;
        if (!values.numbers.empty()) values.numbers[row] = 4'711;
        if (!values.codes.empty()) values.codes[row] = 1;
        if (!values.flags.empty()) values.flags[row] ^= 1;
      }
    }
    MemorySink sink;
    auto writer = MakeTableWriter(options, kTestingTable, sink);
    EXPECT_TRUE(writer && (*writer)->Write(batch) && (*writer)->Finish());
    return sink.bytes();
  };
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    for (const Money money : {Money::kFloat, Money::kDecimal, Money::kCents}) {
      const TableOptions options = {.format = format, .money = money};
      EXPECT_EQ(DifferenceOf(bytes(options, false), bytes(options, true)), "");
    }
  }
}

TEST(ArrowWriter, RowGroupsHaveRequestedRows) {
  const auto groups = [](int64_t row_group_rows, uint64_t rows) {
    const std::string bytes = Bytes({.format = Format::kParquet, .row_group_rows = row_group_rows},
                                    kTestingTable, Batch::kMaxRows, rows);
    const auto metadata = MetadataOf(bytes);
    std::vector<int64_t> found;
    for (int i = 0; i < metadata->num_row_groups(); ++i) {
      found.push_back(metadata->RowGroup(i)->num_rows());
    }
    return found;
  };
  EXPECT_EQ(groups(262'144, 40'000), std::vector<int64_t>({40'000}));
  EXPECT_EQ(groups(16'384, 40'000), std::vector<int64_t>({16'384, 16'384, 7'232}));
  EXPECT_EQ(groups(20'000, 40'000), std::vector<int64_t>({20'000, 20'000}));
  EXPECT_EQ(groups(1'000, 2'500), std::vector<int64_t>({1'000, 1'000, 500}));
  EXPECT_EQ(groups(1'000, 0), std::vector<int64_t>());
}

TEST(ArrowWriter, UsesEncodingsByTypeAndSelectedStatistics) {
  const std::string bytes =
      Bytes({.format = Format::kParquet, .created_by = "fraudgen version 0.1.0 (build test)"},
            kTransactions);
  const auto metadata = MetadataOf(bytes);
  EXPECT_EQ(metadata->created_by(), "fraudgen version 0.1.0 (build test)");
  // The format that readers require to trust statistics.
  EXPECT_EQ(metadata->writer_version().application_, "fraudgen");
  EXPECT_EQ(metadata->writer_version().version.major, 0);
  EXPECT_EQ(metadata->writer_version().version.minor, 1);

  const auto group = metadata->RowGroup(0);
  std::set<std::string> with_statistics;
  for (int i = 0; i < group->num_columns(); ++i) {
    const auto chunk = group->ColumnChunk(i);
    const Column& column = kTransactions.columns[static_cast<std::size_t>(i)];
    const bool category = column.type == ColumnType::kCategory;
    const bool dictionary = category || column.recurs;
    EXPECT_EQ(chunk->has_dictionary_page(), dictionary) << column.name;
    const std::set<parquet::Encoding::type> encodings(chunk->encodings().begin(),
                                                      chunk->encodings().end());
    if (dictionary) {
      EXPECT_TRUE(encodings.contains(parquet::Encoding::RLE_DICTIONARY)) << column.name;
      // All data pages are dictionary-encoded.
      for (const auto& pages : chunk->encoding_stats()) {
        if (pages.page_type == parquet::PageType::DATA_PAGE) {
          EXPECT_EQ(pages.encoding, parquet::Encoding::RLE_DICTIONARY) << column.name;
        }
      }
    }
    if (column.type == ColumnType::kDecimal && !column.recurs) {
      EXPECT_TRUE(encodings.contains(parquet::Encoding::BYTE_STREAM_SPLIT)) << column.name;
    }
    const bool delta = column.type == ColumnType::kInteger || column.type == ColumnType::kTimestamp;
    if (delta) {
      EXPECT_TRUE(encodings.contains(parquet::Encoding::DELTA_BINARY_PACKED)) << column.name;
    }
    const bool packed = category || delta || column.type == ColumnType::kBoolean;
    EXPECT_EQ(chunk->compression(),
              packed ? parquet::Compression::UNCOMPRESSED : parquet::Compression::ZSTD)
        << column.name;
    if (chunk->is_stats_set()) with_statistics.insert(std::string(column.name));
  }
  EXPECT_EQ(with_statistics, (std::set<std::string>{"amount", "customer_id", "is_fraud",
                                                    "timestamp", "transaction_id"}));
}

TEST(ArrowWriter, PagesHaveAtMostTheirRows) {
  constexpr uint64_t kMany = 100'000;
  const std::string bytes =
      Bytes({.format = Format::kParquet}, kTransactions, Batch::kMaxRows, kMany);
  const auto reader = parquet::ParquetFileReader::Open(Reader(bytes));
  const auto group = reader->RowGroup(0);
  for (int i = 0; i < group->metadata()->num_columns(); ++i) {
    int64_t rows = 0;
    const auto pages = group->GetColumnPageReader(i);
    while (const auto page = pages->NextPage()) {
      if (page->type() != parquet::PageType::DATA_PAGE) continue;
      const int64_t in_page = static_cast<const parquet::DataPage&>(*page).num_values();
      EXPECT_LE(in_page, 32'768) << kTransactions.columns[static_cast<std::size_t>(i)].name;
      rows += in_page;
    }
    EXPECT_EQ(rows, int64_t{kMany});
  }
}

TEST(ArrowWriter, StatisticsAreThoseOfTheRowGroup) {
  const std::string bytes =
      Bytes({.format = Format::kParquet, .row_group_rows = 1'000}, kTransactions);
  const auto metadata = MetadataOf(bytes);
  const auto reader = *parquet::arrow::OpenFile(Reader(bytes), arrow::default_memory_pool());
  const int column = metadata->schema()->ColumnIndex("amount");
  for (int i = 0; i < metadata->num_row_groups(); ++i) {
    const auto read = *reader->ReadRowGroup(i, {column});
    double least = HUGE_VAL;
    double greatest = -HUGE_VAL;
    for (const auto& chunk : read->column(0)->chunks()) {
      const auto& values = static_cast<const arrow::DoubleArray&>(*chunk);
      for (int64_t row = 0; row < values.length(); ++row) {
        least = std::min(least, values.Value(row));
        greatest = std::max(greatest, values.Value(row));
      }
    }
    const auto chunk = metadata->RowGroup(i)->ColumnChunk(column);
    const auto statistics =
        std::static_pointer_cast<parquet::DoubleStatistics>(chunk->statistics());
    EXPECT_EQ(statistics->min(), least) << i;
    EXPECT_EQ(statistics->max(), greatest) << i;
  }
}

TEST(ArrowWriter, UsesDictionaries) {
  const auto with_dictionary = [](Money money, ColumnType type) {
    const auto metadata =
        MetadataOf(Bytes({.format = Format::kParquet, .money = money}, coherent::kTransactions));
    const auto group = metadata->RowGroup(0);
    std::set<std::string> names;
    for (int i = 0; i < group->num_columns(); ++i) {
      const Column& column = coherent::kTransactions.columns[static_cast<std::size_t>(i)];
      if (column.type != type) continue;
      const auto chunk = group->ColumnChunk(i);
      if (chunk->has_dictionary_page()) names.emplace(column.name);
      EXPECT_EQ(chunk->compression(), parquet::Compression::ZSTD) << column.name;
    }
    return names;
  };
  EXPECT_EQ(
      with_dictionary(Money::kFloat, ColumnType::kText),
      (std::set<std::string>{"card_number_hash", "counterparty_account", "customer_id", "device_id",
                             "fraud_type", "ip_address", "merchant_id", "pix_key_destination"}));
  EXPECT_EQ(with_dictionary(Money::kFloat, ColumnType::kDecimal),
            (std::set<std::string>{"amount", "distance_from_last_txn_km", "risk_score"}));
  // Scaled integers are smaller without.
  EXPECT_EQ(with_dictionary(Money::kDecimal, ColumnType::kDecimal),
            (std::set<std::string>{"distance_from_last_txn_km", "risk_score"}));
}

// Compares value by value.
TEST(ArrowWriter, ValuesRoundTrip) {
  Batch batch(kTestingTable);
  FillTestingRows(batch, 0, 1'000, TestingTexts::kAwkward);
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    for (const Money money : {Money::kFloat, Money::kDecimal, Money::kCents}) {
      const std::string bytes =
          Bytes({.format = format, .money = money}, kTestingTable, 999, 1'000);
      const auto table = format == Format::kParquet ? ReadParquet(bytes) : ReadArrow(bytes);
      ASSERT_EQ(table->num_rows(), 1'000);
      ASSERT_EQ(table->num_columns(), static_cast<int>(kTestingTable.columns.size()));
      for (std::size_t i = 0; i < kTestingTable.columns.size(); ++i) {
        const Column& column = kTestingTable.columns[i];
        const ColumnValues& values = batch.column(i);
        EXPECT_EQ(table->field(static_cast<int>(i))->name(), FlatName(column));
        EXPECT_EQ(table->field(static_cast<int>(i))->nullable(), column.nullable == Nullable::kYes);
        for (int64_t row = 0; row < 1'000; ++row) {
          const auto index = static_cast<std::size_t>(row);
          const auto scalar = *table->column(static_cast<int>(i))->GetScalar(row);
          ASSERT_EQ(scalar->is_valid, !batch.IsNull(i, index)) << column.name << " " << row;
          if (!scalar->is_valid) continue;
          const std::string text = scalar->ToString();
          switch (column.type) {
            case ColumnType::kText:
              ASSERT_EQ(text, values.TextAt(index));
              break;
            case ColumnType::kCategory: {
              const auto& coded = static_cast<const arrow::DictionaryScalar&>(*scalar);
              ASSERT_EQ((*coded.GetEncodedValue())->ToString(), column.values[values.codes[index]]);
              break;
            }
            case ColumnType::kBoolean:
              ASSERT_EQ(text, values.flags[index] != 0 ? "true" : "false");
              break;
            case ColumnType::kDecimal:
              if (money == Money::kCents && column.unit == "BRL") {
                ASSERT_EQ(text, std::to_string(values.numbers[index]));
              } else if (money == Money::kFloat || column.unit != "BRL") {
                std::string decimal = std::to_string(values.numbers[index]);
                const double expected =
                    std::stod(decimal + "e-" + std::to_string(column.decimal_places));
                ASSERT_EQ(static_cast<const arrow::DoubleScalar&>(*scalar).value, expected);
              } else {
                const auto& decimal = static_cast<const arrow::Decimal128Scalar&>(*scalar);
                ASSERT_EQ(decimal.value.ToIntegerString(), std::to_string(values.numbers[index]));
              }
              break;
            case ColumnType::kDate:
              ASSERT_EQ(static_cast<const arrow::Date32Scalar&>(*scalar).value,
                        values.numbers[index]);
              break;
            case ColumnType::kInteger:
              ASSERT_EQ(static_cast<const arrow::Int64Scalar&>(*scalar).value,
                        values.numbers[index]);
              break;
            case ColumnType::kTimestamp:
              ASSERT_EQ(static_cast<const arrow::TimestampScalar&>(*scalar).value,
                        values.numbers[index]);
              break;
          }
        }
      }
    }
  }
}

TEST(ArrowWriter, NestedHasSameValuesInStructs) {
  const auto flat = ReadParquet(Bytes({.format = Format::kParquet}));
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    const std::string bytes = Bytes({.format = format, .nested = true});
    const auto nested = format == Format::kParquet ? ReadParquet(bytes) : ReadArrow(bytes);
    EXPECT_EQ(nested->schema()->field(2)->ToString(/*show_metadata=*/false),
              "place: struct<street: string, point: struct<lat: double not null, lon: double> not "
              "null, colour: dictionary<values=string, indices=int16, ordered=0>> not null");
    auto flattened = *(*nested->Flatten())->Flatten();
    ASSERT_EQ(flattened->num_columns(), flat->num_columns());
    for (int i = 0; i < flat->num_columns(); ++i) {
      EXPECT_TRUE(flat->column(i)->Equals(flattened->column(i))) << flat->field(i)->name();
    }
  }
}

TEST(ArrowWriter, ReturnsErrorOfSink) {
  class Full final : public ByteSink {
   public:
    Status Append(std::string_view bytes) override {
      seen_ += bytes.size();
      if (seen_ < 2'000) return {};
      refused_ += 1;
      return Fail(Error::Code::kExhausted, "full");
    }
    Status Finish() override { return {}; }
    std::size_t seen_ = 0;
    int refused_ = 0;
  };
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    Full sink;
    {
      auto writer =
          MakeTableWriter({.format = format, .row_group_rows = 1'000}, kTestingTable, sink);
      ASSERT_TRUE(writer) << writer.error().message;
      Batch batch(kTestingTable);
      Status status;
      for (uint64_t first = 0; status && first < 100'000; first += Batch::kMaxRows) {
        FillTestingRows(batch, first, Batch::kMaxRows, TestingTexts::kPlain);
        status = (*writer)->Write(batch);
      }
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, Error::Code::kExhausted);
      EXPECT_EQ(status.error().message, "full");
    }
    EXPECT_EQ(sink.refused_, 1) << "no writes after an error";
  }
}

TEST(ArrowWriter, UnfinishedWriterWritesNoFooter) {
  for (const auto& [format, magic] :
       {std::pair(Format::kParquet, "PAR1"), std::pair(Format::kArrow, "ARROW1")}) {
    MemorySink sink;
    {
      auto writer = MakeTableWriter({.format = format}, kTestingTable, sink);
      ASSERT_TRUE(writer);
      Batch batch(kTestingTable);
      FillTestingRows(batch, 0, 100, TestingTexts::kPlain);
      ASSERT_TRUE((*writer)->Write(batch));
    }
    EXPECT_TRUE(sink.bytes().size() <= 4 || !sink.bytes().ends_with(magic)) << magic;
  }
}

TEST(ArrowWriter, RejectsInvalidOptions) {
  const auto error = [](const TableOptions& options) {
    MemorySink sink;
    const auto writer = MakeTableWriter(options, kTestingTable, sink);
    EXPECT_TRUE(writer || writer.error().code == Error::Code::kInvalidArgument);
    return writer ? "none" : writer.error().message;
  };
  EXPECT_EQ(error({.format = Format::kParquet, .codec = Codec::kZstd, .level = 23}),
            "invalid level 23 of zstd; expected 1 to 22");
  EXPECT_EQ(error({.format = Format::kParquet, .codec = Codec::kGzip, .level = 0}),
            "invalid level 0 of gzip; expected 1 to 9");
  EXPECT_EQ(error({.format = Format::kParquet, .codec = Codec::kSnappy, .level = 99}), "none");
  EXPECT_EQ(error({.format = Format::kParquet, .row_group_rows = 0}),
            "invalid row group size 0; expected at least 1");
  EXPECT_EQ(error({.format = Format::kArrow, .codec = Codec::kSnappy}),
            "Arrow files support only zstd, lz4 and none");
}

TEST(ArrowWriter, AllCodecsRoundTrip) {
  const auto plain = ReadParquet(Bytes({.format = Format::kParquet, .codec = Codec::kNone}));
  for (const Codec codec :
       {Codec::kSnappy, Codec::kZstd, Codec::kGzip, Codec::kBrotli, Codec::kLz4}) {
    const std::string bytes = Bytes({.format = Format::kParquet, .codec = codec, .level = 3});
    EXPECT_TRUE(ReadParquet(bytes)->Equals(*plain));
  }
  // Row groups that end in the middle of a batch.
  EXPECT_TRUE(
      ReadParquet(Bytes({.format = Format::kParquet, .row_group_rows = 20'000}))->Equals(*plain));
  EXPECT_TRUE(ReadArrow(Bytes({.format = Format::kArrow, .codec = Codec::kNone}))
                  ->Equals(*ReadArrow(Bytes({.format = Format::kArrow}))));
}

TEST(ArrowWriter, ZstdVersionMatchesLibrary) {
  std::ifstream file(REVEZA_ARROW_LIBRARY, std::ios::binary);
  ASSERT_TRUE(file) << REVEZA_ARROW_LIBRARY;
  const std::string library((std::istreambuf_iterator<char>(file)), {});
  const std::string version = '\0' + std::string(kZstdVersion) + '\0';
  EXPECT_NE(library.find(version), std::string::npos) << kZstdVersion;
}

}  // namespace arrow_writer_test
}  // namespace reveza::fraudgen
