// One column of a Parquet file: collects rows, encodes and compresses them in pages, and holds the
// pages of a row group until it ends, since they must be contiguous. Not thread-safe.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/compression.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fraudgen/output/columnar/arrow_columns.h"
#include "fraudgen/output/columnar/group_dictionary.h"
#include "fraudgen/output/columnar/page_bytes.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen {

class ColumnPages {
 public:
  // Memory that several columns may share.
  struct Scratch {
    PageBytes encoded;
    PageBytes compressed;
    PageBytes doubles;
  };
  struct Options {
    arrow::util::Codec* codec = nullptr;  // null: not compressed
    bool statistics = false;
    int64_t group_rows = 0;  // at most
  };

  // `column` must outlive it.
  ColumnPages(const ArrowColumn& column, const Options& options);

  // Adds `count` rows from `first` on.
  void Append(const ColumnValues& values, std::size_t first, std::size_t count);
  // Ends the page if it is large.
  arrow::Status EndFullPage(Scratch& scratch);
  // Ends the column chunk, whose pages are then in bytes(), until Clear().
  arrow::Status EndChunk(Scratch& scratch);
  std::string_view bytes() const { return pages_.view(); }
  // Describes the chunk, which begins at `offset` in the file.
  void Describe(int64_t offset, parquet::ColumnChunkMetaDataBuilder& to) const;
  void Clear();

  int64_t uncompressed_bytes() const { return uncompressed_; }

 private:
  void AppendTexts(const ColumnValues& values, std::size_t first, std::size_t count);
  // Include values in the statistics.
  template <typename T>
  void SeeNumbers(std::span<const T> numbers);
  void SeeTexts(const ColumnValues& values, std::size_t first, std::size_t count);
  arrow::Status EndPage(Scratch& scratch);
  // Adds the page of all categories.
  arrow::Status AddCategories(Scratch& scratch);
  // Encodes the rows of the page behind their levels.
  void EncodeValues(Scratch& scratch);
  // Encodes all pages of a grouped column.
  arrow::Status EndDictionary(Scratch& scratch);
  arrow::Status AddDistinct(Scratch& scratch);
  arrow::Status AddIndices(std::span<const int32_t> indices, Scratch& scratch);
  arrow::Status AddPage(std::span<const uint8_t> page, std::size_t rows, bool dictionary,
                        PageBytes& compressed);
  parquet::EncodedStatistics StatisticsOf() const;

  const ArrowColumn& column_;
  Options options_;
  double units_;
  bool nullable_;

  std::optional<GroupDictionary> dictionary_;  // of a grouped column

  // The page that is not complete.
  std::size_t rows_ = 0;
  PageBytes present_;  // a byte per row, 0 or 1
  PageBytes values_;   // those present: encoded texts, else one after another

  // The chunk.
  PageBytes pages_;
  int64_t chunk_rows_ = 0;
  int64_t nulls_ = 0;
  int64_t uncompressed_ = 0;
  int64_t data_pages_ = 0;
  int64_t data_begin_ = 0;  // behind the page of the dictionary
  // The least and the greatest value, if any, as Parquet stores them.
  std::optional<std::pair<int64_t, int64_t>> numbers_;
  std::optional<std::pair<std::string, std::string>> texts_;
};

}  // namespace reveza::fraudgen
