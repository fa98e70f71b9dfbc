#include "datagen/run/block_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "datagen/run/batch_slice.h"

namespace reveza::datagen {
namespace {

std::unexpected<Error> WrongCount(const PlannedFile& file, uint64_t rows) {
  return Fail(Error::Code::kInternal, fmt::format("block {} has {} rows of {}, other than planned",
                                                  file.block, rows, file.table->name));
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

Status BlockFiles::Put(const Batch& batch) {
  const auto stream = std::ranges::find(streams_, &batch.table(), &Stream::table);
  assert(stream != streams_.end());
  stream->counted = 0;
  stream->bytes = 0;
  if (stream->folders) {
    if (auto put = PutIntoFolders(*stream, batch); !put) return put;
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
    if (auto written = Write(*stream, batch, done, count); !written) return written;
    done += count;
    stream->row += count;
    if (planned.rows && stream->row == planned.first_row + *planned.rows) {
      if (stream->open) {
        auto closed = CloseFile(*stream, planned, std::move(stream->open));
        if (!closed) return closed;
      }
      ++stream->current;
    }
  }
  return calls_.progress(stream->counted, stream->bytes);
}

Status BlockFiles::Write(Stream& stream, const Batch& batch, std::size_t first, std::size_t count) {
  const BlockFile& file = stream.files[stream.current];
  if (file.kept) return {};
  if (!stream.open) {
    auto opened = OpenFile(stream, file.planned);
    if (!opened) return std::unexpected(opened.error());
    stream.open = *std::move(opened);
  }
  Open& open = *stream.open;
  const uint64_t before = open.hashing.bytes();
  open.rows += count;
  if (file.planned.rows) stream.counted += count;
  Status written;
  if (count == batch.rows()) {
    written = open.writer->Write(batch);
  } else {
    CopyRows(batch, first, count, stream.slice);
    written = open.writer->Write(stream.slice);
  }
  stream.bytes += open.hashing.bytes() - before;
  return written;
}

Result<std::unique_ptr<BlockFiles::Open>> BlockFiles::OpenFile(Stream& stream,
                                                               const PlannedFile& file) {
  auto sink = calls_.create(file);
  if (!sink) return std::unexpected(sink.error());
  auto open = std::make_unique<Open>(*std::move(sink));
  const Table& table = file.partition ? file.partition->stored() : *file.table;
  auto writer = MakeTableWriter(options_, table, open->hashing);
  if (!writer) return std::unexpected(writer.error());
  open->writer = *std::move(writer);
  stream.bytes += open->hashing.bytes();
  return open;
}

Status BlockFiles::CloseFile(Stream& stream, const PlannedFile& file, std::unique_ptr<Open> open) {
  // A writer of columns may keep most of its bytes until now.
  const uint64_t before = open->hashing.bytes();
  if (auto finished = open->writer->Finish(); !finished) return finished;
  open->writer.reset();
  stream.bytes += open->hashing.bytes() - before;
  return calls_.finish({.planned = file,
                        .rows = open->rows,
                        .bytes = open->hashing.bytes(),
                        .hash = open->hashing.Hash(),
                        .sink = std::move(open->sink)});
}

Status BlockFiles::PutIntoFolders(Stream& stream, const Batch& batch) {
  FolderRows& folders = *stream.folders;
  if (auto found = folders.partition->FoldersOf(batch, folders.of_rows); !found) return found;
  const auto span_of = [&](std::size_t folder) { return folders.partition->SpanOf(folder); };
  const bool late = stream.files.front().planned.most_late > 0;
  // The first rows show it: a model makes them in order of time, or in none.
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
      return Fail(Error::Code::kInternal,
                  fmt::format("the rows of {} are not in order of time", stream.table->name));
    }
    folders.newest = std::max(folders.newest, span);
    if (span > folders.span && !late) {
      if (auto closed = CloseFolders(stream, span); !closed) return closed;
    }
    if (stream.files[folder].kept) continue;
    CopyRows(batch, folders.rows, folders.partition->sources(), folders.slice);
    if (auto written = WriteFolder(stream, folder); !written) return written;
  }
  stream.row += batch.rows();
  return late ? CloseLateFolders(stream) : Status();
}

// Where rows are late, folders stay open until none can come any more.
Status BlockFiles::CloseLateFolders(Stream& stream) {
  FolderRows& folders = *stream.folders;
  const std::size_t before = folders.begun.empty() ? folders.span : folders.begun.back().first;
  if (folders.newest > before) {
    folders.begun.emplace_back(folders.newest, stream.row + stream.files.front().planned.most_late);
  }
  while (!folders.begun.empty() && folders.begun.front().second <= stream.row) {
    if (auto closed = CloseFolders(stream, folders.begun.front().first); !closed) return closed;
    folders.begun.pop_front();
  }
  return {};
}

Status BlockFiles::WriteFolder(Stream& stream, std::size_t folder) {
  FolderRows& folders = *stream.folders;
  const PlannedFile& planned = stream.files[folder].planned;
  std::unique_ptr<Open>& open = folders.open[folder];
  if (!open) {
    const bool late = planned.most_late > 0;
    const std::size_t most = late ? TablePartition::kMostOpenLate : TablePartition::kMostOpen;
    if (folders.open.size() > most) {
      return Fail(
          Error::Code::kInvalidArgument,
          fmt::format("partition: {} would have more than {} folders in work, as its rows "
                      "are {}; leave a key, or {}",
                      stream.table->name, most, late ? "late on purpose" : "in no order of time",
                      late ? "--defects late" : "take a shorter time"));
    }
    auto opened = OpenFile(stream, planned);
    if (!opened) return std::unexpected(opened.error());
    open = *std::move(opened);
  }
  const uint64_t before = open->hashing.bytes();
  const std::size_t rows = folders.slice.rows();
  open->rows += rows;
  if (planned.block_rows > 0) stream.counted += rows;
  auto written = open->writer->Write(folders.slice);
  stream.bytes += open->hashing.bytes() - before;
  return written;
}

// Those before this folder of days are whole.
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
    if (auto closed = CloseFile(stream, stream.files[folder].planned, std::move(open)); !closed) {
      return closed;
    }
  }
  return {};
}

Status BlockFiles::EndFolders(Stream& stream) {
  FolderRows& folders = *stream.folders;
  const PlannedFile& any = stream.files.front().planned;
  if (any.block_rows > 0 && stream.row != any.block_rows) return WrongCount(any, stream.row);
  if (auto closed = CloseFolders(stream, stream.files.size()); !closed) return closed;
  for (std::size_t folder = 0; folder < stream.files.size(); ++folder) {
    if (folders.done[folder]) continue;
    const PlannedFile& planned = stream.files[folder].planned;
    auto opened = OpenFile(stream, planned);
    if (!opened) return std::unexpected(opened.error());
    if (auto closed = CloseFile(stream, planned, *std::move(opened)); !closed) return closed;
  }
  return {};
}

// A file without rows is still a file.
Status BlockFiles::EndLast(Stream& stream) {
  if (stream.current == stream.files.size()) return {};
  const BlockFile& file = stream.files[stream.current];
  if (file.planned.rows) return WrongCount(file.planned, stream.row);
  if (file.kept) return {};
  if (!stream.open) {
    auto opened = OpenFile(stream, file.planned);
    if (!opened) return std::unexpected(opened.error());
    stream.open = *std::move(opened);
  }
  return CloseFile(stream, file.planned, std::move(stream.open));
}

Status BlockFiles::End() {
  for (Stream& stream : streams_) {
    if (std::ranges::all_of(stream.files, &BlockFile::kept)) continue;
    stream.bytes = 0;
    if (auto ended = stream.folders ? EndFolders(stream) : EndLast(stream); !ended) return ended;
    if (auto counted = calls_.progress(0, stream.bytes); !counted) return counted;
  }
  return {};
}

}  // namespace reveza::datagen
