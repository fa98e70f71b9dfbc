#include <arrow/util/compression.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/table/arrow_status.h"
#include "fraudgen/output/text_codec.h"

namespace reveza::fraudgen {
namespace {

// Text is compressed in pieces of this size, so that its division does not matter.
constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
constexpr std::size_t kOutputBytes = std::size_t{1} << 17;

// By Codec.
constexpr std::array kTypes = {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY,
                               arrow::Compression::ZSTD,         arrow::Compression::GZIP,
                               arrow::Compression::BROTLI,       arrow::Compression::LZ4_FRAME};

arrow::Result<std::unique_ptr<arrow::util::Codec>> CodecOf(Codec codec, int level) {
  const auto type = kTypes[static_cast<std::size_t>(codec)];
  if (MaxLevel(codec) == 0) return arrow::util::Codec::Create(type);
  return arrow::util::Codec::Create(type, level);
}

const uint8_t* BytesOf(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

std::unexpected<Error> ErrorOf(const arrow::Status& status) {
  return Fail(status.IsOutOfMemory() ? Error::Code::kExhausted : Error::Code::kInternal,
              "could not compress: {}", status.message());
}

class CompressingSink final : public ByteSink {
 public:
  CompressingSink(std::shared_ptr<arrow::util::Compressor> compressor, ByteSink& next)
      : compressor_(std::move(compressor)), next_(next), output_(kOutputBytes) {
    piece_.reserve(kPieceBytes);
  }

  Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), kPieceBytes - piece_.size());
      piece_ += bytes.substr(0, count);
      bytes.remove_prefix(count);
      if (piece_.size() == kPieceBytes) RETURN_IF_ERROR(Compress());
    }
    return {};
  }

  Status Finish() override {
    RETURN_IF_ERROR(Compress());
    for (bool more = true; more;) {
      const auto ended = compressor_->End(size(), output_.data());
      if (!ended.ok()) return ErrorOf(ended.status());
      RETURN_IF_ERROR(Pass(ended->bytes_written));
      more = ended->should_retry;
      if (ended->bytes_written == 0) output_.resize(2 * output_.size());
    }
    return {};
  }

 private:
  int64_t size() const { return static_cast<int64_t>(output_.size()); }

  Status Pass(int64_t bytes) {
    if (bytes == 0) return {};
    return next_.Append(std::string_view(reinterpret_cast<const char*>(output_.data()),
                                         static_cast<std::size_t>(bytes)));
  }

  Status Compress() {
    std::string_view left = piece_;
    while (!left.empty()) {
      const auto done = compressor_->Compress(static_cast<int64_t>(left.size()), BytesOf(left),
                                              size(), output_.data());
      if (!done.ok()) return ErrorOf(done.status());
      RETURN_IF_ERROR(Pass(done->bytes_written));
      left.remove_prefix(static_cast<std::size_t>(done->bytes_read));
      // Some compressors want room for the worst case.
      if (done->bytes_read == 0 && done->bytes_written == 0) output_.resize(2 * output_.size());
    }
    piece_.clear();
    return {};
  }

  std::shared_ptr<arrow::util::Compressor> compressor_;
  ByteSink& next_;
  std::string piece_;
  std::vector<uint8_t> output_;
};

class DecompressedSource final : public ByteSource {
 public:
  DecompressedSource(std::shared_ptr<arrow::util::Decompressor> decompressor,
                     std::unique_ptr<ByteSource> bytes)
      : decompressor_(std::move(decompressor)), bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_->size(); }
  std::size_t step() const override { return bytes_->step(); }

  Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) override {
    if (position != position_) {
      return Fail(Error::Code::kInternal, "a compressed file was not read in order");
    }
    std::size_t got = 0;
    while (got < to.size()) {
      ASSIGN_OR_RETURN(const bool more, Fill());
      if (!more) break;
      ASSIGN_OR_RETURN(const std::size_t count, Decompress(to.subspan(got)));
      got += count;
    }
    position_ += got;
    return got;
  }

 private:
  // Reads compressed bytes if there are none. Returns false at the end of the file.
  Result<bool> Fill() {
    if (!left_.empty()) return true;
    input_.resize(bytes_->step());
    ASSIGN_OR_RETURN(const std::size_t got, bytes_->ReadAt(read_, input_));
    read_ += got;
    left_ = std::string_view(input_.data(), got);
    if (got > 0 || more_output_) return true;
    if (decompressor_->IsFinished()) return false;
    return Fail(Error::Code::kInvalidArgument, "the compressed file is truncated");
  }

  Result<std::size_t> Decompress(std::span<char> to) {
    // A file may consist of several compressed texts.
    if (decompressor_->IsFinished()) {
      if (const auto status = decompressor_->Reset(); !status.ok()) return DamagedText(status);
    }
    const auto done = decompressor_->Decompress(static_cast<int64_t>(left_.size()), BytesOf(left_),
                                                static_cast<int64_t>(to.size()),
                                                reinterpret_cast<uint8_t*>(to.data()));
    if (!done.ok()) return DamagedText(done.status());
    left_.remove_prefix(static_cast<std::size_t>(done->bytes_read));
    more_output_ = done->need_more_output;
    if (done->bytes_read == 0 && done->bytes_written == 0 && !decompressor_->IsFinished()) {
      return Fail(Error::Code::kInvalidArgument, "the compressed file is truncated");
    }
    return static_cast<std::size_t>(done->bytes_written);
  }

  static std::unexpected<Error> DamagedText(const arrow::Status& status) {
    return Fail(Error::Code::kInvalidArgument, "the compressed file is damaged: {}",
                status.message());
  }

  std::shared_ptr<arrow::util::Decompressor> decompressor_;
  std::unique_ptr<ByteSource> bytes_;
  std::vector<char> input_;
  std::string_view left_;     // of `input_`
  uint64_t read_ = 0;         // compressed bytes
  uint64_t position_ = 0;     // in the text
  bool more_output_ = false;  // the last output was too small
};

}  // namespace

Result<std::unique_ptr<ByteSink>> MakeArrowCompressor(Codec codec, int level, ByteSink& next) {
  auto made = CodecOf(codec, level);
  if (!made.ok()) return ErrorOf(made.status());
  auto compressor = (*made)->MakeCompressor();
  if (!compressor.ok()) return ErrorOf(compressor.status());
  return std::make_unique<CompressingSink>(*std::move(compressor), next);
}

Result<std::unique_ptr<ByteSource>> OpenArrowDecompressor(Codec codec,
                                                          std::unique_ptr<ByteSource> bytes) {
  auto made = CodecOf(codec, 1);
  if (!made.ok()) return ErrorOf(made.status());
  auto decompressor = (*made)->MakeDecompressor();
  if (!decompressor.ok()) return ErrorOf(decompressor.status());
  return std::make_unique<DecompressedSource>(*std::move(decompressor), std::move(bytes));
}

}  // namespace reveza::fraudgen
