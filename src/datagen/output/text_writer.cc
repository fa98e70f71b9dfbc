#include "datagen/output/text_writer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "datagen/output/row_text.h"
#include "datagen/output/text_buffer.h"

namespace reveza::datagen {
namespace {

// So many rows are written before the bytes move on: they stay in the processor's cache.
constexpr std::size_t kRowsAtOnce = 256;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 18;

class TextWriter final : public TableWriter {
 public:
  TextWriter(TextPlan plan, ByteSink& sink) : rows_(std::move(plan)), sink_(sink) {
    text_.Append(rows_.plan().file_head());
  }

  Status Write(const Batch& batch) override {
    if (batch.rows() == 0) return {};
    rows_.Begin(batch);
    for (std::size_t first = 0; first < batch.rows(); first += kRowsAtOnce) {
      const std::size_t before = text_.size();
      rows_.Append(first, std::min(first + kRowsAtOnce, batch.rows()), text_);
      if (std::exchange(first_row_, false) && rows_.plan().array()) text_.At(before) = '[';
      if (text_.size() >= kBytesAtOnce) {
        if (auto flushed = Flush(); !flushed) return flushed;
      }
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

Result<std::unique_ptr<TableWriter>> MakeTextWriter(const TableOptions& options, const Table& table,
                                                    ByteSink& sink) {
  auto plan = TextPlan::Make(options, table);
  if (!plan) return std::unexpected(std::move(plan).error());
  return std::make_unique<TextWriter>(*std::move(plan), sink);
}

}  // namespace reveza::datagen
