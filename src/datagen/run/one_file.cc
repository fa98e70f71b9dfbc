#include "datagen/run/one_file.h"

#include <array>
#include <memory>

namespace reveza::datagen {
namespace {

class CountingSink final : public ByteSink {
 public:
  explicit CountingSink(ByteSink& next) : next_(next) {}
  Status Append(std::string_view bytes) override {
    bytes_ += bytes.size();
    return next_.Append(bytes);
  }
  Status Finish() override { return next_.Finish(); }
  Bytes bytes() const { return bytes_; }

 private:
  ByteSink& next_;
  Bytes bytes_ = 0;
};

class OneTable final : public BatchSink {
 public:
  OneTable(TableWriter& writer, const CountingSink& sink, const OnOneFileProgress& on_progress)
      : writer_(writer), sink_(sink), on_progress_(on_progress) {}

  Status Put(const Batch& batch) override {
    if (auto written = writer_.Write(batch); !written) return written;
    progress_.rows += batch.rows();
    progress_.bytes = sink_.bytes();
    if (on_progress_(progress_)) return {};
    stopped_ = true;
    return Fail(Error::Code::kUnavailable, "stopped");
  }

  bool stopped() const { return stopped_; }
  OneFileProgress progress() const { return {progress_.rows, sink_.bytes()}; }

 private:
  TableWriter& writer_;
  const CountingSink& sink_;
  const OnOneFileProgress& on_progress_;
  OneFileProgress progress_;
  bool stopped_ = false;
};

}  // namespace

Result<OneFileProgress> WriteOneFile(const Model& model, const Plan& plan, const Table& table,
                                     const TableOptions& options, ByteSink& sink,
                                     const OnOneFileProgress& on_progress) {
  CountingSink counting(sink);
  const auto writer = MakeTableWriter(options, table, counting);
  if (!writer) return std::unexpected(writer.error());
  OneTable rows(**writer, counting, on_progress);
  const std::array<const Table*, 1> wanted = {&table};
  for (uint64_t n = 0; n < plan.blocks(); ++n) {
    const auto made = model.Make(plan.BlockAt(n), wanted, rows);
    if (rows.stopped()) return rows.progress();
    if (!made) return std::unexpected(made.error());
  }
  if (auto finished = (*writer)->Finish(); !finished) return std::unexpected(finished.error());
  if (auto finished = sink.Finish(); !finished) return std::unexpected(finished.error());
  return rows.progress();
}

}  // namespace reveza::datagen
