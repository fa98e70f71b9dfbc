// Parquet and Arrow IPC. The library that does it may be missing from a build: then all but
// HaveArrow gives an error that says so.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "datagen/output/byte_sink.h"
#include "datagen/output/table_writer.h"

namespace reveza::datagen {

// Whether this build can write them.
bool HaveArrow();
// The versions that decide the bytes; empty without Arrow.
std::string_view ArrowVersion();
std::string_view ZstdVersion();

// `options.format` is one of the two. What MakeTableWriter gives for them.
Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink);

// Gives back the memory that writers which are gone have left for the next ones.
void ReleaseWriterMemory();

}  // namespace reveza::datagen
