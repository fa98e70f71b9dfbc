#include "fraudgen/lists/profiles.h"

#include <cstddef>

namespace reveza::fraudgen::lists {
namespace {

consteval CategoryWeight Of(std::string_view code, uint32_t weight) {
  return {static_cast<uint8_t>(CategoryWithCode(code)), weight};
}

constexpr auto kYoungDigital =
    std::to_array({Of("5812_delivery", 25), Of("5812", 20), Of("5815", 20), Of("4121", 15),
                   Of("7941", 10), Of("5814", 10)});
constexpr auto kTraditionalSenior =
    std::to_array({Of("5411", 25), Of("5912", 15), Of("4900", 15), Of("6011", 15), Of("8011", 10),
                   Of("4814", 10), Of("5499", 10)});
constexpr auto kBusinessOwner =
    std::to_array({Of("5541", 15), Of("5812", 15), Of("4121", 14), Of("5411", 10), Of("5732", 10),
                   Of("4814", 10), Of("8299", 10), Of("7011", 8), Of("4511", 8)});
constexpr auto kHighSpender =
    std::to_array({Of("5651", 15), Of("7011", 15), Of("4511", 15), Of("5812", 15), Of("5944", 10),
                   Of("5977", 10), Of("5732", 10), Of("5311", 10)});
constexpr auto kSubscriptionHeavy = std::to_array({Of("5815", 35), Of("7941", 15), Of("4814", 15),
                                                   Of("5812", 15), Of("8299", 10), Of("5411", 10)});
constexpr auto kFamilyProvider =
    std::to_array({Of("5411", 25), Of("5912", 10), Of("8299", 10), Of("4900", 10), Of("5541", 10),
                   Of("5651", 10), Of("5814", 10), Of("5499", 10), Of("5995", 5)});

constexpr std::array kYoungDevices = {DeviceKind::kAndroidPhone, DeviceKind::kIosPhone};
constexpr std::array kSeniorDevices = {DeviceKind::kAndroidPhone, DeviceKind::kWindowsDesktop};
constexpr std::array kBusinessDevices = {DeviceKind::kIosPhone, DeviceKind::kWindowsDesktop,
                                         DeviceKind::kMacDesktop};
constexpr std::array kHighDevices = {DeviceKind::kIosPhone, DeviceKind::kMacDesktop};
constexpr std::array kSubscriptionDevices = {DeviceKind::kAndroidPhone, DeviceKind::kIosPhone,
                                             DeviceKind::kAndroidTablet};

constexpr std::array<std::span<const CategoryWeight>, 6> kCategories = {
    kYoungDigital, kTraditionalSenior, kBusinessOwner,
    kHighSpender,  kSubscriptionHeavy, kFamilyProvider};
constexpr std::array<std::span<const DeviceKind>, 6> kDevices = {
    kYoungDevices, kSeniorDevices,       kBusinessDevices,
    kHighDevices,  kSubscriptionDevices, kSeniorDevices};

constexpr auto kProfiles = [] {
  auto profiles = std::to_array<Profile>({
#include "generated/fraudgen/lists/profiles.inc"
  });
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    profiles[i].merchant_categories = kCategories.at(i);
    profiles[i].devices = kDevices.at(i);
  }
  return profiles;
}();

}  // namespace

std::span<const Profile> Profiles() { return kProfiles; }

}  // namespace reveza::fraudgen::lists
