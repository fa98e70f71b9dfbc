#include "fraudgen/output/text_codec.h"

#include <array>
#include <utility>

#include "common/table/arrow.h"

namespace reveza::fraudgen {
namespace {

// By Codec; empty for those that text files do not have.
constexpr std::array<std::string_view, kCodecNames.size()> kSuffixes = {"",    "", ".zst",
                                                                        ".gz", "", ".lz4"};

std::unexpected<Error> Unavailable() {
  return WithoutArrow("compressed text files", "use --compression none");
}

}  // namespace

std::string ExtensionOf(Format format, Codec text_codec) {
  std::string extension(NameOf(format));
  if (!IsColumnar(format)) extension += kSuffixes[static_cast<std::size_t>(text_codec)];
  return extension;
}

Result<std::unique_ptr<ByteSink>> MakeCompressingSink(Codec codec, int level, ByteSink& next) {
  if constexpr (kHaveArrow) return MakeArrowCompressor(codec, level, next);
  return Unavailable();
}

Result<std::unique_ptr<ByteSource>> OpenCompressed(Codec codec, std::unique_ptr<ByteSource> bytes) {
  if constexpr (kHaveArrow) return OpenArrowDecompressor(codec, std::move(bytes));
  return Unavailable();
}

}  // namespace reveza::fraudgen
