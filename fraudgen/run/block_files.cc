#include "fraudgen/run/block_files.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <span>
#include <utility>

namespace reveza::fraudgen {
namespace {

template <typename T>
void CopyThese(const std::vector<T>& from, std::span<const std::size_t> rows, std::vector<T>& to) {
  // Vectors that the column type does not use are empty.
  if (from.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) to[i] = from[rows[i]];
}

// Replaces the rows of `to` by these rows of `from`, in this order. Column i of `to` is column
// sources[i] of `from`.
void CopyRows(const Batch& from, std::span<const std::size_t> rows,
              std::span<const std::size_t> sources, Batch& to) {
  assert(sources.size() == to.table().columns.size());
  to.Begin(rows.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ColumnValues& source = from.column(sources[i]);
    ColumnValues& copy = to.column(i);
    CopyThese(source.present, rows, copy.present);
    CopyThese(source.numbers, rows, copy.numbers);
    CopyThese(source.codes, rows, copy.codes);
    CopyThese(source.flags, rows, copy.flags);
    if (to.table().columns[i].type != ColumnType::kText) continue;
    for (const std::size_t row : rows) copy.AppendText(source.TextAt(row));
    if (!source.HasKeys()) continue;
    for (const std::size_t row : rows) copy.keys.push_back(source.keys[row]);
  }
}

std::unexpected<Error> WrongCount(const PlannedFile& file, uint64_t rows) {
  return Fail(Error::Code::kInternal, "block {} has {} rows of {}, not the planned number",
              file.block, rows, file.table->name);
}

}  // namespace

BlockFiles::BlockFiles(const TableOptions& options, std::vector<BlockFile> files, Calls calls)
    : options_(options), calls_(std::move(calls)) {
  for (BlockFile& file : files) {
    const Table& table = *file.planned.table;
    if (streams_.empty() || streams_.back().table != &table) {
      streams_.emplace_back(table);
      if (file.planned.partition) {
        streams_.back().folders = std::make_unique<FolderRows>(file.planned.partition);
      }
    }
    streams_.back().files.push_back(std::move(file));
  }
  for (Stream& stream : streams_) {
    if (!stream.folders) continue;
    assert(stream.files.size() == stream.folders->partition->folders());
    for (const BlockFile& file : stream.files) stream.folders->done.push_back(file.kept);
  }
}

std::vector<const Table*> BlockFiles::Wanted() const {
  std::vector<const Table*> wanted;
  for (const Stream& stream : streams_) {
    if (!std::ranges::all_of(stream.files, &BlockFile::kept)) wanted.push_back(stream.table);
  }
  return wanted;
}

bool BlockFiles::Has(const Table& table) const {
  return std::ranges::find(streams_, &table, &Stream::table) != streams_.end();
}

Status BlockFiles::Put(const Batch& batch) {
  const auto stream = std::ranges::find(streams_, &batch.table(), &Stream::table);
  assert(stream != streams_.end());
  stream->counted = 0;
  stream->bytes = 0;
  if (stream->folders) {
    RETURN_IF_ERROR(PutIntoFolders(*stream, batch));
    return calls_.progress(stream->counted, stream->bytes);
  }
  for (std::size_t done = 0; done < batch.rows();) {
    if (stream->current == stream->files.size()) {
      return WrongCount(stream->files.back().planned, stream->row + batch.rows() - done);
    }
    const PlannedFile& planned = stream->files[stream->current].planned;
    std::size_t count = batch.rows() - done;
    if (planned.rows) {
      const uint64_t left = planned.first_row + *planned.rows - stream->row;
      count = static_cast<std::size_t>(std::min<uint64_t>(count, left));
    }
    RETURN_IF_ERROR(Write(*stream, batch, done, count));
    done += count;
    stream->row += count;
    if (planned.rows && stream->row == planned.first_row + *planned.rows) {
      if (stream->open) RETURN_IF_ERROR(CloseFile(*stream, planned, std::move(stream->open)));
      ++stream->current;
    }
  }
  return calls_.progress(stream->counted, stream->bytes);
}

Status BlockFiles::Write(Stream& stream, const Batch& batch, std::size_t first, std::size_t count) {
  const BlockFile& file = stream.files[stream.current];
  if (file.kept) return {};
  if (!stream.open) {
    ASSIGN_OR_RETURN(stream.open, OpenFile(stream, file.planned));
  }
  Open& open = *stream.open;
  const uint64_t before = open.hashing.bytes();
  open.rows += count;
  if (open.rows_of_blocks.size() <= block_) open.rows_of_blocks.resize(block_ + 1);
  open.rows_of_blocks[block_] += count;
  if (file.planned.rows) stream.counted += count;
  Status written;
  if (count == batch.rows()) {
    written = open.writer->Write(batch);
  } else {
    stream.slice.Begin(count);
    AppendRows(batch, first, count, stream.slice, 0);
    written = open.writer->Write(stream.slice);
  }
  stream.bytes += open.hashing.bytes() - before;
  return written;
}

Result<std::unique_ptr<BlockFiles::Open>> BlockFiles::OpenFile(Stream& stream,
                                                               const PlannedFile& file) {
  ASSIGN_OR_RETURN(auto sink, calls_.create(file));
  auto open = std::make_unique<Open>(std::move(sink));
  const Table& table = file.partition ? file.partition->stored() : *file.table;
  ASSIGN_OR_RETURN(open->writer, calls_.make_writer
                                     ? calls_.make_writer(file, table, open->hashing)
                                     : MakeTableWriter(options_, table, open->hashing));
  stream.bytes += open->hashing.bytes();
  return open;
}

Status BlockFiles::CloseFile(Stream& stream, const PlannedFile& file, std::unique_ptr<Open> open) {
  // Columnar writers buffer most bytes until Finish().
  const uint64_t before = open->hashing.bytes();
  RETURN_IF_ERROR(open->writer->Finish());
  open->writer.reset();
  stream.bytes += open->hashing.bytes() - before;
  // Files of one block, and those in partition folders, tell no more than their rows.
  open->rows_of_blocks.resize(file.blocks > 1 ? file.blocks : 0);
  return calls_.finish({.planned = file,
                        .rows = open->rows,
                        .bytes = open->hashing.bytes(),
                        .hash = open->hashing.Hash(),
                        .rows_of_blocks = std::move(open->rows_of_blocks),
                        .sink = std::move(open->sink)});
}

Status BlockFiles::PutIntoFolders(Stream& stream, const Batch& batch) {
  FolderRows& folders = *stream.folders;
  RETURN_IF_ERROR(folders.partition->FoldersOf(batch, folders.of_rows));
  const auto span_of = [&](std::size_t folder) { return folders.partition->SpanOf(folder); };
  const bool late = stream.files.front().planned.max_late > 0;
  // The first batch tells: a model makes rows in order of time, or in no order.
  if (stream.row == 0) {
    folders.ordered = late || std::ranges::is_sorted(folders.of_rows, {}, span_of);
  }
  folders.order.resize(batch.rows());
  std::iota(folders.order.begin(), folders.order.end(), std::size_t{0});
  // Within a folder the rows stay in order.
  std::ranges::sort(folders.order, {},
                    [&](std::size_t row) { return std::pair(folders.of_rows[row], row); });
  for (auto row = folders.order.begin(); row != folders.order.end();) {
    const std::size_t folder = folders.of_rows[*row];
    const auto end = std::find_if(row, folders.order.end(), [&](std::size_t each) {
      return folders.of_rows[each] != folder;
    });
    folders.rows.assign(row, end);
    row = end;
    const std::size_t span = folders.ordered ? span_of(folder) : 0;
    if (span < folders.span) {
      return Fail(Error::Code::kInternal, "rows of {} are not in order of time",
                  stream.table->name);
    }
    folders.newest = std::max(folders.newest, span);
    if (span > folders.span && !late) RETURN_IF_ERROR(CloseFolders(stream, span));
    if (stream.files[folder].kept) continue;
    CopyRows(batch, folders.rows, folders.partition->sources(), folders.slice);
    RETURN_IF_ERROR(WriteFolder(stream, folder));
  }
  stream.row += batch.rows();
  return late ? CloseLateFolders(stream) : Status();
}

// With displaced rows, folders stay open until no more of their rows can arrive.
Status BlockFiles::CloseLateFolders(Stream& stream) {
  FolderRows& folders = *stream.folders;
  const std::size_t before = folders.begun.empty() ? folders.span : folders.begun.back().first;
  if (folders.newest > before) {
    folders.begun.emplace_back(folders.newest, stream.row + stream.files.front().planned.max_late);
  }
  while (!folders.begun.empty() && folders.begun.front().second <= stream.row) {
    RETURN_IF_ERROR(CloseFolders(stream, folders.begun.front().first));
    folders.begun.pop_front();
  }
  return {};
}

Status BlockFiles::WriteFolder(Stream& stream, std::size_t folder) {
  FolderRows& folders = *stream.folders;
  const PlannedFile& planned = stream.files[folder].planned;
  std::unique_ptr<Open>& open = folders.open[folder];
  if (!open) {
    const bool late = planned.max_late > 0;
    const std::size_t max = late ? TablePartition::kMaxOpenLate : TablePartition::kMaxOpen;
    if (folders.open.size() > max) {
      return InvalidArgument(
          "partition: {} would need more than {} open folders, because its rows are {}; remove a "
          "key or {}",
          stream.table->name, max, late ? "displaced by --defects late" : "not in order of time",
          late ? "that defect" : "shorten the period");
    }
    ASSIGN_OR_RETURN(open, OpenFile(stream, planned));
  }
  const uint64_t before = open->hashing.bytes();
  const std::size_t rows = folders.slice.rows();
  open->rows += rows;
  if (planned.block_rows > 0) stream.counted += rows;
  auto written = open->writer->Write(folders.slice);
  stream.bytes += open->hashing.bytes() - before;
  return written;
}

// Closes the folders of all spans before `span`.
Status BlockFiles::CloseFolders(Stream& stream, std::size_t span) {
  FolderRows& folders = *stream.folders;
  folders.span = span;
  while (!folders.open.empty()) {
    auto first = folders.open.begin();
    const std::size_t folder = first->first;
    if (folders.partition->SpanOf(folder) >= span) break;
    std::unique_ptr<Open> open = std::move(first->second);
    folders.open.erase(first);
    folders.done[folder] = true;
    RETURN_IF_ERROR(CloseFile(stream, stream.files[folder].planned, std::move(open)));
  }
  return {};
}

Status BlockFiles::EndFolders(Stream& stream) {
  FolderRows& folders = *stream.folders;
  const PlannedFile& any = stream.files.front().planned;
  if (any.block_rows > 0 && stream.row != any.block_rows) return WrongCount(any, stream.row);
  RETURN_IF_ERROR(CloseFolders(stream, stream.files.size()));
  for (std::size_t folder = 0; folder < stream.files.size(); ++folder) {
    if (folders.done[folder]) continue;
    const PlannedFile& planned = stream.files[folder].planned;
    ASSIGN_OR_RETURN(auto opened, OpenFile(stream, planned));
    RETURN_IF_ERROR(CloseFile(stream, planned, std::move(opened)));
  }
  return {};
}

// Also writes a file without rows.
Status BlockFiles::EndLast(Stream& stream) {
  if (stream.current == stream.files.size()) return {};
  const BlockFile& file = stream.files[stream.current];
  if (file.planned.rows) return WrongCount(file.planned, stream.row);
  if (file.kept) return {};
  if (!stream.open) {
    ASSIGN_OR_RETURN(stream.open, OpenFile(stream, file.planned));
  }
  return CloseFile(stream, file.planned, std::move(stream.open));
}

Status BlockFiles::End() {
  for (Stream& stream : streams_) {
    if (std::ranges::all_of(stream.files, &BlockFile::kept)) continue;
    stream.bytes = 0;
    RETURN_IF_ERROR(stream.folders ? EndFolders(stream) : EndLast(stream));
    RETURN_IF_ERROR(calls_.progress(0, stream.bytes));
  }
  return {};
}

Finisher::Finisher(const Limits& limits) : limits_(limits) {
  for (std::size_t i = 0; i < limits.threads; ++i) threads_.emplace_back([this] { Loop(); });
}

Finisher::~Finisher() { Close(); }

Status Finisher::Submit(uint64_t bytes, Work work) {
  const MutexLock lock(mutex_);
  while (!HasRoomFor(bytes) && !error_) changed_.Wait(mutex_);
  if (error_) return std::unexpected(*error_);
  queue_.push_back({bytes, std::move(work)});
  ++tasks_;
  bytes_ += bytes;
  changed_.NotifyAll();
  return {};
}

bool Finisher::HasRoomFor(uint64_t bytes) const {
  if (tasks_ == 0) return true;
  return tasks_ < limits_.max_tasks && bytes_ < limits_.max_bytes &&
         bytes <= limits_.max_bytes - bytes_;
}

Status Finisher::Drain() {
  Close();
  threads_.clear();
  const MutexLock lock(mutex_);
  if (error_) return std::unexpected(*error_);
  return {};
}

void Finisher::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

void Finisher::Loop() {
  while (std::optional<Task> task = Next()) {
    Status done = task->work();
    task->work = nullptr;      // closes its files before waiters are notified
    std::deque<Task> dropped;  // destroyed without the lock: aborting an upload is a request
    const MutexLock lock(mutex_);
    --tasks_;
    bytes_ -= task->bytes;
    if (!done && !error_) {
      error_ = std::move(done.error());
      dropped.swap(queue_);
    }
    changed_.NotifyAll();
  }
}

std::optional<Finisher::Task> Finisher::Next() {
  const MutexLock lock(mutex_);
  while (queue_.empty() && !closed_) changed_.Wait(mutex_);
  if (queue_.empty()) return std::nullopt;
  Task task = std::move(queue_.front());
  queue_.pop_front();
  return task;
}

}  // namespace reveza::fraudgen
