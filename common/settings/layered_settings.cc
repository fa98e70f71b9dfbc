#include "common/settings/layered_settings.h"

#include <fmt/format.h>

#include "common/base/nearest.h"

namespace reveza {

std::unexpected<Error> UnknownKey(std::string_view key, const std::vector<std::string_view>& keys,
                                  std::string_view command) {
  const auto nearest = Nearest(key, keys);
  return InvalidArgument(nearest
                             ? fmt::format("unknown key '{}'; did you mean '{}'?", key, *nearest)
                             : fmt::format("unknown key '{}'; `{}` lists all keys", key, command));
}

std::string OptionOf(std::string_view key) {
  std::string option = fmt::format("--{}", key);
  std::ranges::replace(option, '_', '-');
  return option;
}

Status WithPlace(std::string_view place, Status status) {
  if (!status) status.error().message = fmt::format("{}: {}", place, status.error().message);
  return status;
}

}  // namespace reveza
