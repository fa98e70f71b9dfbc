#include "fraudgen/lists/profiles.h"

#include <cstddef>

namespace reveza::fraudgen::lists {
namespace {

consteval CategoryWeight Of(std::string_view code, uint32_t weight) {
  return {static_cast<uint8_t>(CategoryWithCode(code)), weight};
}

// Returns the bit mask of the hours `first` to `last`, inclusive.
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
    {.name = "young_digital",
     .weight = 25,
     .age = {18, 30},
     .income_percent = {50, 150},
     .transaction_types = {60, 25, 10, 0, 5, 0, 0, 0, 0},
     .merchant_categories = kYoungDigital,
     .channels = {85, 10, 0, 0, 5},
     .amount = {15, 300},
     .monthly_transactions = {40, 100},
     .weekend_percent = 130,
     .susceptibility_percent = 120,
     .preferred_hours = Hours(10, 14) | Hours(18, 23),
     .devices = kYoungDevices,
     .device_count = {2, 3}},
    {.name = "traditional_senior",
     .weight = 15,
     .age = {55, 80},
     .income_percent = {100, 300},
     .transaction_types = {25, 15, 25, 15, 0, 0, 10, 10, 0},
     .merchant_categories = kTraditionalSenior,
     .channels = {30, 20, 30, 20, 0},
     .amount = {50, 800},
     .monthly_transactions = {15, 40},
     .weekend_percent = 60,
     .susceptibility_percent = 150,
     .preferred_hours = Hours(8, 11) | Hours(14, 17),
     .devices = kSeniorDevices,
     .device_count = {1, 2}},
    {.name = "business_owner",
     .weight = 10,
     .age = {30, 55},
     .income_percent = {200, 800},
     .transaction_types = {45, 15, 5, 15, 0, 0, 20, 0, 0},
     .merchant_categories = kBusinessOwner,
     .channels = {60, 35, 3, 2, 0},
     .amount = {100, 5000},
     .monthly_transactions = {50, 150},
     .weekend_percent = 40,
     .susceptibility_percent = 130,
     .preferred_hours = Hours(8, 12) | Hours(14, 20),
     .devices = kBusinessDevices,
     .device_count = {1, 3}},
    {.name = "high_spender",
     .weight = 8,
     .age = {30, 60},
     .income_percent = {500, 1500},
     .transaction_types = {30, 50, 10, 0, 0, 0, 10, 0, 0},
     .merchant_categories = kHighSpender,
     .channels = {70, 25, 3, 2, 0},
     .amount = {200, 10000},
     .monthly_transactions = {30, 80},
     .weekend_percent = 150,
     .susceptibility_percent = 140,
     .preferred_hours = Hours(10, 21),
     .devices = kHighDevices,
     .device_count = {1, 3}},
    {.name = "subscription_heavy",
     .weight = 20,
     .age = {22, 45},
     .income_percent = {100, 300},
     .transaction_types = {35, 25, 5, 0, 35, 0, 0, 0, 0},
     .merchant_categories = kSubscriptionHeavy,
     .channels = {75, 20, 0, 0, 5},
     .amount = {10, 500},
     .monthly_transactions = {35, 70},
     .weekend_percent = 120,
     .susceptibility_percent = 110,
     .preferred_hours = Hours(6, 8) | Hours(18, 23),
     .devices = kSubscriptionDevices,
     .device_count = {2, 3}},
    {.name = "family_provider",
     .weight = 22,
     .age = {30, 55},
     .income_percent = {150, 400},
     .transaction_types = {40, 30, 15, 10, 5, 0, 0, 0, 0},
     .merchant_categories = kFamilyProvider,
     .channels = {65, 25, 7, 3, 0},
     .amount = {30, 1500},
     .monthly_transactions = {60, 120},
     .weekend_percent = 140,
     .susceptibility_percent = 100,
     .preferred_hours = Hours(7, 9) | Hours(12, 13) | Hours(17, 21),
     .devices = kSeniorDevices,
     .device_count = {1, 3}},
}};

}  // namespace

std::span<const Profile> Profiles() { return kProfiles; }

}  // namespace reveza::fraudgen::lists
