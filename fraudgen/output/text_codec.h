// Compression of text files: .jsonl.zst, .csv.gz. The bytes of a compressed file depend only on its
// text, not on how it is appended. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/table_writer.h"

namespace reveza::fraudgen {

// Returns true for the codecs of text files: none, zstd, gzip and lz4.
constexpr bool CompressesText(Codec codec) {
  return codec == Codec::kNone || codec == Codec::kZstd || codec == Codec::kGzip ||
         codec == Codec::kLz4;
}

// Returns what the names of such files end with: parquet, jsonl, csv.gz.
std::string ExtensionOf(Format format, Codec text_codec);

// Returns a sink that compresses to `next`, which must outlive it. Finish() ends the compressed
// text and does not finish `next`. kUnavailable: the codec is not in this build.
Result<std::unique_ptr<ByteSink>> MakeCompressingSink(Codec codec, int level, ByteSink& next);

// Returns the text of a compressed file, which must be read in order; its size() is that of the
// compressed file. kInvalidArgument, from ReadAt(): the file is damaged. kUnavailable: the codec is
// not in this build.
Result<std::unique_ptr<ByteSource>> OpenCompressed(Codec codec, std::unique_ptr<ByteSource> bytes);

// The same. Only in builds with Arrow (common/table/arrow.h).
Result<std::unique_ptr<ByteSink>> MakeArrowCompressor(Codec codec, int level, ByteSink& next);
Result<std::unique_ptr<ByteSource>> OpenArrowDecompressor(Codec codec,
                                                          std::unique_ptr<ByteSource> bytes);

}  // namespace reveza::fraudgen
