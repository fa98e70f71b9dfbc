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
    {.name = "young_digital",
     .weight = 25,
     .least_age = 18,
     .most_age = 30,
     .least_income_percent = 50,
     .most_income_percent = 150,
     .transaction_types = {60, 25, 10, 0, 5, 0, 0, 0, 0},
     .merchant_categories = kYoungDigital,
     .channels = {85, 10, 0, 0, 5},
     .least_amount = 15,
     .most_amount = 300,
     .least_monthly_transactions = 40,
     .most_monthly_transactions = 100,
     .weekend_percent = 130,
     .susceptibility_percent = 120,
     .preferred_hours = Hours(10, 14) | Hours(18, 23),
     .devices = kYoungDevices,
     .least_devices = 2,
     .most_devices = 3},
    {.name = "traditional_senior",
     .weight = 15,
     .least_age = 55,
     .most_age = 80,
     .least_income_percent = 100,
     .most_income_percent = 300,
     .transaction_types = {25, 15, 25, 15, 0, 0, 10, 10, 0},
     .merchant_categories = kTraditionalSenior,
     .channels = {30, 20, 30, 20, 0},
     .least_amount = 50,
     .most_amount = 800,
     .least_monthly_transactions = 15,
     .most_monthly_transactions = 40,
     .weekend_percent = 60,
     .susceptibility_percent = 150,
     .preferred_hours = Hours(8, 11) | Hours(14, 17),
     .devices = kSeniorDevices,
     .least_devices = 1,
     .most_devices = 2},
    {.name = "business_owner",
     .weight = 10,
     .least_age = 30,
     .most_age = 55,
     .least_income_percent = 200,
     .most_income_percent = 800,
     .transaction_types = {45, 15, 5, 15, 0, 0, 20, 0, 0},
     .merchant_categories = kBusinessOwner,
     .channels = {60, 35, 3, 2, 0},
     .least_amount = 100,
     .most_amount = 5000,
     .least_monthly_transactions = 50,
     .most_monthly_transactions = 150,
     .weekend_percent = 40,
     .susceptibility_percent = 130,
     .preferred_hours = Hours(8, 12) | Hours(14, 20),
     .devices = kBusinessDevices,
     .least_devices = 1,
     .most_devices = 3},
    {.name = "high_spender",
     .weight = 8,
     .least_age = 30,
     .most_age = 60,
     .least_income_percent = 500,
     .most_income_percent = 1500,
     .transaction_types = {30, 50, 10, 0, 0, 0, 10, 0, 0},
     .merchant_categories = kHighSpender,
     .channels = {70, 25, 3, 2, 0},
     .least_amount = 200,
     .most_amount = 10000,
     .least_monthly_transactions = 30,
     .most_monthly_transactions = 80,
     .weekend_percent = 150,
     .susceptibility_percent = 140,
     .preferred_hours = Hours(10, 21),
     .devices = kHighDevices,
     .least_devices = 1,
     .most_devices = 3},
    {.name = "subscription_heavy",
     .weight = 20,
     .least_age = 22,
     .most_age = 45,
     .least_income_percent = 100,
     .most_income_percent = 300,
     .transaction_types = {35, 25, 5, 0, 35, 0, 0, 0, 0},
     .merchant_categories = kSubscriptionHeavy,
     .channels = {75, 20, 0, 0, 5},
     .least_amount = 10,
     .most_amount = 500,
     .least_monthly_transactions = 35,
     .most_monthly_transactions = 70,
     .weekend_percent = 120,
     .susceptibility_percent = 110,
     .preferred_hours = Hours(6, 8) | Hours(18, 23),
     .devices = kSubscriptionDevices,
     .least_devices = 2,
     .most_devices = 3},
    {.name = "family_provider",
     .weight = 22,
     .least_age = 30,
     .most_age = 55,
     .least_income_percent = 150,
     .most_income_percent = 400,
     .transaction_types = {40, 30, 15, 10, 5, 0, 0, 0, 0},
     .merchant_categories = kFamilyProvider,
     .channels = {65, 25, 7, 3, 0},
     .least_amount = 30,
     .most_amount = 1500,
     .least_monthly_transactions = 60,
     .most_monthly_transactions = 120,
     .weekend_percent = 140,
     .susceptibility_percent = 100,
     .preferred_hours = Hours(7, 9) | Hours(12, 13) | Hours(17, 21),
     .devices = kSeniorDevices,
     .least_devices = 1,
     .most_devices = 3},
}};

}  // namespace

std::span<const Profile> Profiles() { return kProfiles; }

}  // namespace reveza::datagen::lists
