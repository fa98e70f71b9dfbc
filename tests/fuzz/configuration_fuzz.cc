// Parses arbitrary text as a daemon configuration. An error must name its location.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "reveza/gpu/daemon/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using reveza::daemon::AllSettings;
  using reveza::daemon::Configuration;
  Configuration configuration;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto added = configuration.AddText(text, "file");
  if (!added && !added.error().message.starts_with("file:")) std::abort();
  for (const auto& info : AllSettings()) {
    if (configuration.ValueOf(info.key).empty()) std::abort();
    if (configuration.OriginOf(info.key).empty()) std::abort();
  }
  const auto checked = configuration.Check();
  if (!checked && checked.error().message.empty()) std::abort();
  return 0;
}
