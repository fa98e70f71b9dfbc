// Splits the rows of one block into its files, writes those that do not exist yet, and finishes
// them on other threads. Not thread-safe unless stated otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/mutex.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/plan.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen {

// A bounded task queue with its own threads. Files are finished (synced, uploaded) on it while the
// worker threads make the next ones. Thread-safe.
class Finisher {
 public:
  using Work = std::move_only_function<Status()>;

  struct Limits {
    std::size_t threads = 1;
    // Of tasks submitted and not yet completed.
    std::size_t max_tasks = 1;
    uint64_t max_bytes = UINT64_MAX;
  };

  explicit Finisher(const Limits& limits);
  // Completes the submitted tasks, unless one failed.
  ~Finisher();
  Finisher(const Finisher&) = delete;
  Finisher& operator=(const Finisher&) = delete;

  // Queues a task that holds `bytes` of memory; blocks until the limits allow it. A task above the
  // limits runs alone. Returns the error of an earlier task, after which no other starts.
  Status Submit(uint64_t bytes, Work work);
  // Waits for all tasks and returns the first error. Called once, after the last Submit().
  Status Drain();

 private:
  struct Task {
    uint64_t bytes;
    Work work;
  };

  void Loop();
  // Returns nullopt once the queue is closed and empty.
  std::optional<Task> Next();
  bool HasRoomFor(uint64_t bytes) const REQUIRES(mutex_);
  void Close();

  const Limits limits_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> queue_ GUARDED_BY(mutex_);
  std::size_t tasks_ GUARDED_BY(mutex_) = 0;  // queued and running
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: they use the other members
};

struct BlockFile {
  PlannedFile planned;
  bool kept = false;  // exists already; its rows are skipped
};

// A file whose bytes were all appended to its sink, which is not finished yet.
struct WrittenFile {
  PlannedFile planned;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  std::string hash;
  std::vector<uint64_t> rows_of_blocks;  // if it spans several
  std::unique_ptr<ByteSink> sink;
};

class BlockFiles final : public BatchSink {
 public:
  // Makes the writer of a file, whose rows are of the table `stored`.
  using MakeWriter = std::function<Result<std::unique_ptr<TableWriter>>(
      const PlannedFile& file, const Table& stored, ByteSink& sink)>;

  struct Calls {
    std::function<Result<std::unique_ptr<ByteSink>>(const PlannedFile&)> create;
    MakeWriter make_writer = nullptr;  // null: MakeTableWriter()
    std::function<Status(WrittenFile)> finish;
    // Called after each batch and after the last file with the rows (of tables whose count is
    // known) and bytes written since the previous call. An error aborts the block.
    std::function<Status(uint64_t rows, uint64_t bytes)> progress;
  };

  // `files` of one block, or those that span the same blocks, grouped by table and in row order.
  BlockFiles(const TableOptions& options, std::vector<BlockFile> files, Calls calls);

  // Returns the tables with files to write.
  std::vector<const Table*> Wanted() const;
  bool Has(const Table& table) const;
  Status Put(const Batch& batch) override;
  // Ends the rows of a block, if the files span several.
  void EndBlock() { ++block_; }
  // Closes the files after the last row. kInternal: other row counts than planned.
  Status End();

 private:
  struct Open {
    explicit Open(std::unique_ptr<ByteSink> to) : sink(std::move(to)), hashing(*sink) {}
    std::unique_ptr<ByteSink> sink;
    HashingSink hashing;
    std::unique_ptr<TableWriter> writer;
    uint64_t rows = 0;
    std::vector<uint64_t> rows_of_blocks;
  };
  // State of a partitioned table.
  struct FolderRows {
    explicit FolderRows(std::shared_ptr<const TablePartition> its)
        : partition(std::move(its)), slice(partition->stored()) {}
    std::shared_ptr<const TablePartition> partition;
    std::vector<uint32_t> of_rows;   // folder of each row of the batch
    std::vector<std::size_t> order;  // row indexes sorted by folder
    std::vector<std::size_t> rows;   // rows of the current folder
    std::map<std::size_t, std::unique_ptr<Open>> open;
    std::vector<bool> done;  // by folder: written or kept
    bool ordered = true;     // rows are in order of time
    std::size_t span = 0;    // if ordered, folders of earlier spans are closed
    std::size_t newest = 0;  // span of the latest row so far
    // Spans that have begun, with the row count after which earlier spans are complete.
    std::deque<std::pair<std::size_t, uint64_t>> begun;
    Batch slice;
  };
  // The rows of one table on their way into its files.
  struct Stream {
    explicit Stream(const Table& its_table) : table(&its_table), slice(its_table) {}
    const Table* table;
    std::vector<BlockFile> files;
    std::size_t current = 0;
    uint64_t row = 0;      // rows received so far
    uint64_t counted = 0;  // rows and bytes of the current batch, for `progress`
    uint64_t bytes = 0;
    std::unique_ptr<Open> open;
    Batch slice;
    std::unique_ptr<FolderRows> folders;  // if partitioned
  };

  Status PutIntoFolders(Stream& stream, const Batch& batch);
  Status WriteFolder(Stream& stream, std::size_t folder);
  Status CloseLateFolders(Stream& stream);
  Status CloseFolders(Stream& stream, std::size_t span);
  Status EndFolders(Stream& stream);
  Status EndLast(Stream& stream);
  Status Write(Stream& stream, const Batch& batch, std::size_t first, std::size_t count);
  Result<std::unique_ptr<Open>> OpenFile(Stream& stream, const PlannedFile& file);
  Status CloseFile(Stream& stream, const PlannedFile& file, std::unique_ptr<Open> open);

  TableOptions options_;
  Calls calls_;
  std::vector<Stream> streams_;
  std::size_t block_ = 0;  // among those that the files span
};

}  // namespace reveza::fraudgen
