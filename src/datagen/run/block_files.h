// The files of one block: takes its rows as a model makes them, cuts them into files and writes
// those that are not there yet. Not safe from several threads.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "datagen/batch.h"
#include "datagen/model.h"
#include "datagen/output/byte_sink.h"
#include "datagen/output/hashing_sink.h"
#include "datagen/output/table_writer.h"
#include "datagen/run/plan.h"

namespace reveza::datagen {

struct BlockFile {
  PlannedFile planned;
  bool kept = false;  // it is there already: its rows are passed over
};

// A file whose bytes are all in its sink, which is still to be finished.
struct WrittenFile {
  PlannedFile planned;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  std::string hash;
  std::unique_ptr<ByteSink> sink;
};

class BlockFiles final : public BatchSink {
 public:
  struct Calls {
    std::function<Result<std::unique_ptr<ByteSink>>(const PlannedFile&)> create;
    std::function<Status(WrittenFile)> finish;
    // After each batch, and after the last file: what it brought into files, in rows of tables
    // whose count is known, and in bytes. An error ends the block.
    std::function<Status(uint64_t rows, uint64_t bytes)> progress;
  };

  // `files` of one block, those of a table together and in the order of their rows.
  BlockFiles(const TableOptions& options, std::vector<BlockFile> files, Calls calls);

  // The tables that have anything left to write.
  std::vector<const Table*> Wanted() const;
  Status Put(const Batch& batch) override;
  // When the model has made all rows: they must be as many as planned.
  Status End();

 private:
  struct Open {
    explicit Open(std::unique_ptr<ByteSink> to) : sink(std::move(to)), hashing(*sink) {}
    std::unique_ptr<ByteSink> sink;
    HashingSink hashing;
    std::unique_ptr<TableWriter> writer;
    uint64_t rows = 0;
  };
  // A batch's rows by folder, and the folders' files.
  struct FolderRows {
    explicit FolderRows(std::shared_ptr<const TablePartition> its)
        : partition(std::move(its)), slice(partition->stored()) {}
    std::shared_ptr<const TablePartition> partition;
    std::vector<uint32_t> of_rows;   // the folder of each row of the batch
    std::vector<std::size_t> order;  // its rows by folder
    std::vector<std::size_t> rows;   // those of the folder in work
    std::map<std::size_t, std::unique_ptr<Open>> open;
    std::vector<bool> done;  // files that are written
    bool ordered = true;     // rows come in order of time
    std::size_t span = 0;    // if so, folders of earlier days are closed
    std::size_t newest = 0;  // the days of the latest row so far
    // Days that have begun, and after how many rows the ones before can have no more.
    std::deque<std::pair<std::size_t, uint64_t>> begun;
    Batch slice;
  };
  // One table's rows on their way into its files.
  struct Stream {
    explicit Stream(const Table& its_table) : table(&its_table), slice(its_table) {}
    const Table* table;
    std::vector<BlockFile> files;
    std::size_t current = 0;
    uint64_t row = 0;      // of the block's
    uint64_t counted = 0;  // rows and bytes of the batch in work, for `progress`
    uint64_t bytes = 0;
    std::unique_ptr<Open> open;
    Batch slice;
    std::unique_ptr<FolderRows> folders;  // where it has folders; then a file for each is open
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
};

}  // namespace reveza::datagen
