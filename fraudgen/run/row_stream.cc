#include "fraudgen/run/row_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/nearest.h"

namespace reveza::fraudgen {
namespace {

// Batches that wait for the reader.
constexpr std::size_t kMaxWaiting = 2;

// A CArray, which is released unless it was handed over.
class HeldArray {
 public:
  HeldArray() = default;
  HeldArray(HeldArray&& other) noexcept : array_(std::exchange(other.array_, {})) {}
  HeldArray(const HeldArray&) = delete;
  HeldArray& operator=(const HeldArray&) = delete;
  HeldArray& operator=(HeldArray&&) = delete;
  ~HeldArray() {
    if (array_.release != nullptr) array_.release(&array_);
  }

  CArray& get() { return array_; }
  CArray TakeOut() { return std::exchange(array_, {}); }

 private:
  CArray array_ = {};
};

class RowStream {
 public:
  RowStream(PreparedModel prepared, Shard shard, const Table& table,
            std::vector<std::size_t> columns)
      : prepared_(std::move(prepared)),
        blocks_(prepared_.model->blocks(), shard),
        layout_{.table = &table, .columns = std::move(columns), .money = prepared_.settings.money},
        thread_([this](const std::stop_token&) { Produce(); }) {}
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;
  ~RowStream() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }

  const CLayout& layout() const { return layout_; }

  // Returns the next batch; an empty one, with no `release`, at the end.
  Result<CArray> Next() {
    MutexLock lock(mutex_);
    while (waiting_.empty() && !ended_) changed_.Wait(mutex_);
    if (waiting_.empty()) {
      if (error_) return std::unexpected(*error_);
      return CArray{};
    }
    const CArray next = waiting_.front().TakeOut();
    waiting_.pop_front();
    changed_.NotifyAll();
    return next;
  }

  const char* last_error() const { return last_error_.empty() ? nullptr : last_error_.c_str(); }
  void SetLastError(std::string message) { last_error_ = std::move(message); }

 private:
  void Produce() {
    const Status made = MakeRows();
    const MutexLock lock(mutex_);
    if (!made) error_ = made.error();
    ended_ = true;
    changed_.NotifyAll();
  }

  Status MakeRows() {
    CRows rows(layout_, kStreamBatchRows);
    FunctionSink sink([&](const Batch& batch) -> Status {
      for (std::size_t first = 0; first < batch.rows();) {
        const std::size_t count = std::min(batch.rows() - first, kStreamBatchRows - rows.rows());
        rows.Append(batch, first, count);
        first += count;
        if (rows.rows() == kStreamBatchRows) RETURN_IF_ERROR(Put(rows));
      }
      return {};
    });
    for (uint64_t n = 0; n < blocks_.blocks(); ++n) {
      RETURN_IF_ERROR(
          prepared_.model->Make(blocks_.BlockAt(n), std::span(&layout_.table, 1), sink));
    }
    return rows.rows() == 0 ? Status() : Put(rows);
  }

  // Hands rows over once there is room.
  Status Put(CRows& rows) {
    HeldArray array;
    rows.Export(array.get());
    MutexLock lock(mutex_);
    while (waiting_.size() == kMaxWaiting && !stopped_) changed_.Wait(mutex_);
    if (stopped_) return Fail(Error::Code::kUnavailable, "stopped");
    waiting_.push_back(std::move(array));
    changed_.NotifyAll();
    return {};
  }

  PreparedModel prepared_;
  ShardBlocks blocks_;
  CLayout layout_;
  std::string last_error_;  // of the reader's thread
  Mutex mutex_;
  CondVar changed_;
  std::deque<HeldArray> waiting_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: it uses the other members
};

RowStream& StreamOf(CStream* stream) { return *static_cast<RowStream*>(stream->private_data); }

int GetSchema(CStream* stream, CSchema* to) {
  ExportSchema(StreamOf(stream).layout(), *to);
  return 0;
}

int GetNext(CStream* stream, CArray* to) {
  RowStream& rows = StreamOf(stream);
  const auto next = rows.Next();
  if (!next) {
    rows.SetLastError(next.error().message);
    return next.error().code == Error::Code::kExhausted ? ENOMEM : EIO;
  }
  *to = *next;
  return 0;
}

const char* GetLastError(CStream* stream) { return StreamOf(stream).last_error(); }

void ReleaseStream(CStream* stream) {
  delete static_cast<RowStream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

Result<std::vector<std::size_t>> FindColumns(const Table& table,
                                             const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Column& column : table.columns) known.push_back(FlatName(column));
  std::vector<std::size_t> found(names.empty() ? known.size() : 0);
  std::iota(found.begin(), found.end(), std::size_t{0});
  for (const std::string& name : names) {
    const auto index = static_cast<std::size_t>(std::ranges::find(known, name) - known.begin());
    if (index == known.size()) {
      const std::vector<std::string_view> views(known.begin(), known.end());
      return InvalidArgument(
          "--columns: '{}' is not a column of {}{}; `fraudgen schema` lists them", name, table.name,
          DidYouMean(name, views));
    }
    if (std::ranges::find(found, index) != found.end()) {
      return InvalidArgument("--columns: '{}' is listed twice", name);
    }
    found.push_back(index);
  }
  return found;
}

void OpenStream(PreparedModel prepared, Shard shard, const Table& table,
                std::vector<std::size_t> columns, CStream& to) {
  to = {.get_schema = GetSchema,
        .get_next = GetNext,
        .get_last_error = GetLastError,
        .release = ReleaseStream,
        .private_data = new RowStream(std::move(prepared), shard, table, std::move(columns))};
}

}  // namespace reveza::fraudgen
