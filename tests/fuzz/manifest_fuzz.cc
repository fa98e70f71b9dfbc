// Any text as a manifest, of one file and of all: read, and then it is exactly what would be
// written, or refused with a message that names the file.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "datagen/output/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reveza::datagen;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = ReadFileManifest(text, "file");
  if (file && WriteFileManifest(*file) != text) std::abort();
  if (!file && !file.error().message.starts_with("file:")) std::abort();
  const auto all = ReadManifest(text, "file");
  if (all && *WriteManifest(*all) != text) std::abort();
  if (!all && !all.error().message.starts_with("file:")) std::abort();
  return 0;
}
