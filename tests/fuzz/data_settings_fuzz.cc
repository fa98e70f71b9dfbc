// Parses arbitrary text as fraudgen settings. An error must name its location; valid settings must
// round-trip.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fraudgen/run/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using reveza::fraudgen::Comments;
  using reveza::fraudgen::SettingsBuilder;
  SettingsBuilder builder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto added = builder.AddText(text, "file");
  if (!added && !added.error().message.starts_with("file:")) std::abort();
  if (!added) return 0;
  const auto settings = builder.Build();
  if (!settings) {
    if (settings.error().message.empty()) std::abort();
    return 0;
  }
  const std::string written = ConfigurationText(*settings, Comments::kYes);
  SettingsBuilder again;
  if (!again.AddText(written, "file")) std::abort();
  const auto read = again.Build();
  if (!read || ConfigurationText(*read, Comments::kYes) != written) std::abort();
  return 0;
}
