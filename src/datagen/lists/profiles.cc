#include "datagen/lists/profiles.h"

#include <cstddef>

namespace reveza::datagen::lists {
namespace {

consteval CategoryWeight Of(std::string_view code, uint32_t weight) {
  for (std::size_t i = 0; i < kMerchantCategories.size(); ++i) {
    if (kMerchantCategories[i].code == code) return {static_cast<uint8_t>(i), weight};
  }
  throw "no such merchant category";
}

// From the first to the last hour, both of them preferred.
consteval uint32_t Hours(int first, int last) {
  uint32_t hours = 0;
  for (int hour = first; hour <= last; ++hour) hours |= 1u << hour;
  return hours;
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

// Transaction types: PIX, CREDIT_CARD, DEBIT_CARD, BOLETO, AUTO_DEBIT, MOBILE_TOPUP, TED,
// WITHDRAWAL, DOC. Channels: MOBILE_APP, WEB_BANKING, ATM, BRANCH, WHATSAPP_PAY.
constexpr std::array<Profile, 6> kProfiles = {{
    {"young_digital",
     25,
     18,
     30,
     50,
     150,
     {60, 25, 10, 0, 5, 0, 0, 0, 0},
     kYoungDigital,
     {85, 10, 0, 0, 5},
     15,
     300,
     40,
     100,
     130,
     120,
     Hours(10, 14) | Hours(18, 23),
     kYoungDevices,
     2,
     3},
    {"traditional_senior",
     15,
     55,
     80,
     100,
     300,
     {25, 15, 25, 15, 0, 0, 10, 10, 0},
     kTraditionalSenior,
     {30, 20, 30, 20, 0},
     50,
     800,
     15,
     40,
     60,
     150,
     Hours(8, 11) | Hours(14, 17),
     kSeniorDevices,
     1,
     2},
    {"business_owner",
     10,
     30,
     55,
     200,
     800,
     {45, 15, 5, 15, 0, 0, 20, 0, 0},
     kBusinessOwner,
     {60, 35, 3, 2, 0},
     100,
     5000,
     50,
     150,
     40,
     130,
     Hours(8, 12) | Hours(14, 20),
     kBusinessDevices,
     1,
     3},
    {"high_spender",
     8,
     30,
     60,
     500,
     1500,
     {30, 50, 10, 0, 0, 0, 10, 0, 0},
     kHighSpender,
     {70, 25, 3, 2, 0},
     200,
     10000,
     30,
     80,
     150,
     140,
     Hours(10, 21),
     kHighDevices,
     1,
     3},
    {"subscription_heavy",
     20,
     22,
     45,
     100,
     300,
     {35, 25, 5, 0, 35, 0, 0, 0, 0},
     kSubscriptionHeavy,
     {75, 20, 0, 0, 5},
     10,
     500,
     35,
     70,
     120,
     110,
     Hours(6, 8) | Hours(18, 23),
     kSubscriptionDevices,
     2,
     3},
    {"family_provider",
     22,
     30,
     55,
     150,
     400,
     {40, 30, 15, 10, 5, 0, 0, 0, 0},
     kFamilyProvider,
     {65, 25, 7, 3, 0},
     30,
     1500,
     60,
     120,
     140,
     100,
     Hours(7, 9) | Hours(12, 13) | Hours(17, 21),
     kSeniorDevices,
     1,
     3},
}};

}  // namespace

std::span<const Profile> Profiles() { return kProfiles; }

}  // namespace reveza::datagen::lists
