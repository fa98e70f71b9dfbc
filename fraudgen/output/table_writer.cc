#include "fraudgen/output/table_writer.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/table/arrow.h"
#include "fraudgen/output/row_text.h"
#include "fraudgen/output/text_buffer.h"

namespace reveza::fraudgen {
namespace {

// Rows formatted at a time, so that the text stays in the cache.
constexpr std::size_t kRowsAtOnce = 256;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 18;

class TextWriter final : public TableWriter {
 public:
  TextWriter(TextPlan plan, ByteSink& sink) : rows_(std::move(plan)), sink_(sink) {
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
    return Flush();
  }

 private:
  Status Flush() {
    auto appended = sink_.Append(text_.view());
    text_.Clear();
    return appended;
  }

  RowText rows_;
  TextBuffer text_;
  ByteSink& sink_;
  bool first_row_ = true;
};

}  // namespace

Result<std::unique_ptr<TableWriter>> MakeTableWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink) {
  if (!IsColumnar(options.format)) {
    ASSIGN_OR_RETURN(auto plan, TextPlan::Make(options, table));
    return std::make_unique<TextWriter>(std::move(plan), sink);
  }
  if constexpr (kHaveArrow) {
    return MakeArrowWriter(options, table, sink);
  } else {
    return WithoutArrow("Parquet and Arrow files", "use jsonl, json, csv or tsv");
  }
}

void ReleaseWriterMemory() {
  if constexpr (kHaveArrow) ReleaseArrowMemory();
  malloc_trim(0);
}

}  // namespace reveza::fraudgen
