#include "datagen/run/block_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
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
    if (streams_.empty() || streams_.back().table != &table) streams_.emplace_back(table);
    streams_.back().files.push_back(std::move(file));
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
        if (auto closed = CloseFile(*stream); !closed) return closed;
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
    if (auto opened = OpenFile(stream); !opened) return opened;
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

Status BlockFiles::OpenFile(Stream& stream) {
  auto sink = calls_.create(stream.files[stream.current].planned);
  if (!sink) return std::unexpected(sink.error());
  stream.open = std::make_unique<Open>(*std::move(sink));
  auto writer = MakeTableWriter(options_, *stream.table, stream.open->hashing);
  if (!writer) return std::unexpected(writer.error());
  stream.open->writer = *std::move(writer);
  stream.bytes += stream.open->hashing.bytes();
  return {};
}

Status BlockFiles::CloseFile(Stream& stream) {
  const std::unique_ptr<Open> open = std::move(stream.open);
  // A writer of columns may keep most of its bytes until now.
  const uint64_t before = open->hashing.bytes();
  if (auto finished = open->writer->Finish(); !finished) return finished;
  open->writer.reset();
  stream.bytes += open->hashing.bytes() - before;
  return calls_.finish({.planned = stream.files[stream.current].planned,
                        .rows = open->rows,
                        .bytes = open->hashing.bytes(),
                        .hash = open->hashing.Hash(),
                        .sink = std::move(open->sink)});
}

Status BlockFiles::End() {
  for (Stream& stream : streams_) {
    if (std::ranges::all_of(stream.files, &BlockFile::kept)) continue;
    if (stream.current == stream.files.size()) continue;
    const BlockFile& file = stream.files[stream.current];
    if (file.planned.rows) return WrongCount(file.planned, stream.row);
    if (file.kept) continue;
    stream.bytes = 0;
    // A file without rows is still a file.
    if (!stream.open) {
      if (auto opened = OpenFile(stream); !opened) return opened;
    }
    if (auto closed = CloseFile(stream); !closed) return closed;
    if (auto counted = calls_.progress(0, stream.bytes); !counted) return counted;
  }
  return {};
}

}  // namespace reveza::datagen
