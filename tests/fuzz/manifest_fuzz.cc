// Parses arbitrary text as a manifest, of a file and of a data set. An error must name the file; a
// valid manifest must round-trip exactly.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fraudgen/output/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reveza::fraudgen;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = ReadFileManifest(text, "file");
  if (file && WriteFileManifest(*file) != text) std::abort();
  if (!file && !file.error().message.starts_with("file:")) std::abort();
  const auto all = ReadManifest(text, "file");
  if (all && *WriteManifest(*all) != text) std::abort();
  if (!all && !all.error().message.starts_with("file:")) std::abort();
  return 0;
}
