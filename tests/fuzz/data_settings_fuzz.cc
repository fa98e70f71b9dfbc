// Any text as a file of settings for fraud data: taken, or refused with a message that names the
// place. What is taken can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "datagen/run/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using reveza::datagen::Comments;
  using reveza::datagen::Configuration;
  Configuration configuration;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto added = configuration.AddText(text, "file");
  if (!added && !added.error().message.starts_with("file:")) std::abort();
  if (!added) return 0;
  if (const auto checked = configuration.Check(); !checked) {
    if (checked.error().message.empty()) std::abort();
    return 0;
  }
  const std::string written = ConfigurationText(configuration.settings(), Comments::kYes);
  Configuration again;
  if (!again.AddText(written, "file") || !again.Check()) std::abort();
  if (ConfigurationText(again.settings(), Comments::kYes) != written) std::abort();
  return 0;
}
