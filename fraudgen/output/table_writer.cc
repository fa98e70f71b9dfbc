#include "fraudgen/output/table_writer.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/table/arrow.h"
#include "fraudgen/output/row_text.h"
#include "fraudgen/output/text_buffer.h"
#include "fraudgen/output/text_codec.h"

namespace reveza::fraudgen {
namespace {

// Rows formatted at a time, so that the text stays in the cache.
constexpr std::size_t kRowsAtOnce = 256;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 18;

class TextWriter final : public TableWriter {
 public:
  // `compressor`, if any, appends to `sink`.
  TextWriter(TextPlan plan, std::unique_ptr<ByteSink> compressor, ByteSink& sink)
      : rows_(std::move(plan)),
        compressor_(std::move(compressor)),
        sink_(compressor_ ? *compressor_ : sink) {
    text_.Append(rows_.plan().file_header());
  }

  Status Write(const Batch& batch) override {
    if (batch.rows() == 0) return {};
    rows_.Begin(batch);
    for (std::size_t first = 0; first < batch.rows(); first += kRowsAtOnce) {
      const std::size_t before = text_.size();
      rows_.Append(first, std::min(first + kRowsAtOnce, batch.rows()), text_);
      if (std::exchange(first_row_, false) && rows_.plan().array()) text_.At(before) = '[';
      if (text_.size() >= kBytesAtOnce) RETURN_IF_ERROR(Flush());
    }
    return {};
  }

  Status Finish() override {
    if (rows_.plan().array()) text_.Append(first_row_ ? "[]\n" : "\n]\n");
    RETURN_IF_ERROR(Flush());
    return compressor_ ? compressor_->Finish() : Status();
  }

 private:
  Status Flush() {
    auto appended = sink_.Append(text_.view());
    text_.Clear();
    return appended;
  }

  RowText rows_;
  TextBuffer text_;
  std::unique_ptr<ByteSink> compressor_;
  ByteSink& sink_;
  bool first_row_ = true;
};

}  // namespace

Result<std::unique_ptr<TableWriter>> MakeTableWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink) {
  if (!IsColumnar(options.format)) {
    ASSIGN_OR_RETURN(auto plan, TextPlan::Make(options, table));
    std::unique_ptr<ByteSink> compressor;
    if (options.text_codec != Codec::kNone) {
      ASSIGN_OR_RETURN(compressor, MakeCompressingSink(options.text_codec, options.level, sink));
    }
    return std::make_unique<TextWriter>(std::move(plan), std::move(compressor), sink);
  }
  if constexpr (kHaveArrow) return MakeArrowWriter(options, table, sink);
  return std::unexpected(CheckSupported(options).error());
}

Status CheckSupported(const TableOptions& options) {
  if (kHaveArrow) return {};
  if (IsColumnar(options.format)) {
    return WithoutArrow("Parquet and Arrow files", "use jsonl, json, csv or tsv");
  }
  if (options.text_codec == Codec::kNone) return {};
  return WithoutArrow("compressed text files", "use --compression none");
}

void ReleaseWriterMemory() {
  if constexpr (kHaveArrow) ReleaseArrowMemory();
  malloc_trim(0);
}

}  // namespace reveza::fraudgen
