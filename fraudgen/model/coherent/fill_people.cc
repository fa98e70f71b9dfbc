#include <algorithm>
#include <array>

#include "fraudgen/lists/devices.h"
#include "fraudgen/lists/people.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/profiles.h"
#include "fraudgen/model/coherent/fill_columns.h"
#include "fraudgen/model/coherent/tables.h"
#include "fraudgen/schema/fixed_text.h"
#include "fraudgen/values/digits.h"
#include "fraudgen/values/random.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen::coherent {
namespace {

int64_t CreditScore(const Person& person, int64_t begin) {
  const int64_t months = std::max<int64_t>(0, (begin - person.opened_at) / (30 * kDay));
  const int64_t rich = person.income > 1'000'000 ? 100 : person.income > 500'000 ? 50 : 0;
  const int64_t luck = 100 + NormalOf(Mix(person.key + 5)) * 50 / kOne;
  return std::clamp<int64_t>(300 + 5 * months + rich + luck, 300, 900);
}

// Returns HIGH, MEDIUM or LOW by the age of the account.
int RiskLevel(const Person& person, int64_t begin) {
  const uint64_t percent = Mix(person.key + 6) % 100;
  const bool young = begin - person.opened_at < 180 * kDay;
  if (percent < (young ? 10 : 5)) return 0;
  return percent < (young ? 50 : 30) ? 1 : 2;
}

// The properties of a device, derived from its number.
struct DeviceTraits {
  lists::DeviceKind kind = lists::DeviceKind::kAndroidPhone;
  uint64_t bits = 0;
  uint16_t manufacturer = 0;
};
DeviceTraits TraitsOf(const DeviceUseRow& row) {
  DeviceTraits traits;
  traits.bits = Mix(row.device ^ 0x646576696365u);
  const auto& kinds = lists::Profiles()[static_cast<std::size_t>(row.profile)].devices;
  // The first device is of the profile's preferred kind, the second for the browser, later ones
  // replace the first. Fraudsters use phones.
  const uint64_t slot = row.device % kDevicesPerCustomer;
  const bool second = (slot == 1 || slot == kTerminalSlot) && kinds.size() > 1;
  if (!World::IsFraudsterDevice(row.device)) traits.kind = kinds[second ? 1 : 0];
  const auto makers = lists::ManufacturersOf(traits.kind);
  traits.manufacturer = makers[traits.bits % makers.size()];
  return traits;
}

}  // namespace

void FillCustomers(const Identity& identity, std::span<const AccountRow> rows, Batch& batch) {
  const World& world = identity.world();
  ColumnFiller<AccountRow> fill(rows, batch);
  const int64_t begin = world.begin();
  const auto owner = [&](const AccountRow& row) {
    return identity.OwnerOf(row.person, std::max(begin - 1, row.person.opened_at));
  };
  fill.Identifier("customer_id", identity.customers,
                  [](const AccountRow& row) { return row.person.number; });
  const auto of_owner = [&](auto put) {
    return [&, put](char* out, const AccountRow& row) { return (identity.*put)(out, owner(row)); };
  };
  fill.Text("name", of_owner(&Identity::PutName));
  fill.Text("cpf", of_owner(&Identity::PutCpf));
  fill.Text("email", of_owner(&Identity::PutEmail));
  fill.Text("phone", of_owner(&Identity::PutPhone));
  fill.Number("birth_date", [](const AccountRow& row) { return row.person.birth_day; });
  fill.LongText("address.street", [](std::string& text, const AccountRow& row) {
    Identity::AppendStreet(text, row.person.home_key);
  });
  fill.LongText("address.neighborhood", [](std::string& text, const AccountRow& row) {
    text += Identity::NeighborhoodOf(row.person.home_key);
  });
  fill.LongText("address.city", [](std::string& text, const AccountRow& row) {
    text += lists::kCities[row.person.city].name;
  });
  fill.Code("address.state", [](const AccountRow& row) { return row.person.state; });
  fill.Text("address.postal_code", [](char* out, const AccountRow& row) {
    return Identity::PutPostalCode(out, row.person.city, row.person.home_key);
  });
  fill.Number("monthly_income", [](const AccountRow& row) { return row.person.income; });
  fill.Code("profession", [](const AccountRow& row) {
    return Mix(row.person.key + 11) % lists::kProfessions.size();
  });
  fill.Number("credit_score",
              [&](const AccountRow& row) { return CreditScore(row.person, begin); });
  fill.Code("risk_level", [&](const AccountRow& row) { return RiskLevel(row.person, begin); });
  fill.Code("behavioral_profile", [](const AccountRow& row) { return row.person.profile; });
}

void FillAccounts(const Identity& identity, std::span<const AccountRow> rows, Batch& batch) {
  const World& world = identity.world();
  ColumnFiller<AccountRow> fill(rows, batch);
  fill.Identifier("account_id", identity.accounts,
                  [](const AccountRow& row) { return row.person.number; });
  fill.Identifier("customer_id", identity.customers,
                  [](const AccountRow& row) { return row.person.number; });
  fill.Code("bank_code", [](const AccountRow& row) { return row.person.bank; });
  fill.Text("branch", [](char* out, const AccountRow& row) {
    return PutLastDigits(out, Mix(row.person.key + 12) % 9'999 + 1, 4);
  });
  fill.Text("account_number", [&](char* out, const AccountRow& row) {
    return identity.PutAccountNumber(out, row.person.number);
  });
  fill.Code("account_type", [](const AccountRow& row) { return row.person.account_type; });
  fill.Number("opened_at", [](const AccountRow& row) { return row.person.opened_at; });
  fill.Number("opening_balance", &AccountRow::opening_balance);
  fill.Number("credit_limit", [](const AccountRow& row) { return row.person.credit_limit; });
  fill.Number("pix_night_limit",
              [&](const AccountRow&) { return world.parameters().limits.pix_night; });
  fill.CodeIf("fraud_role",
              fill.Where([](const AccountRow& row) { return row.role != AccountRole::kHonest; }),
              [](const AccountRow& row) { return row.role == AccountRole::kMule ? 0 : 1; });
}

void FillDevices(const Identity& identity, std::span<const DeviceUseRow> rows, Batch& batch) {
  ColumnFiller<DeviceUseRow> fill(rows, batch);
  fill.Identifier("device_id", identity.devices, &DeviceUseRow::device);
  fill.Identifier("customer_id", identity.customers, &DeviceUseRow::customer);
  fill.Code("type", [](const DeviceUseRow& row) {
    return lists::kTypeOfDeviceKind[static_cast<std::size_t>(TraitsOf(row).kind)];
  });
  fill.Code("manufacturer", [](const DeviceUseRow& row) { return TraitsOf(row).manufacturer; });
  fill.Code("model", [](const DeviceUseRow& row) {
    const DeviceTraits traits = TraitsOf(row);
    const lists::Slice models = lists::ModelsOf(traits.manufacturer, traits.kind);
    return models.first + (traits.bits >> 16) % models.count;
  });
  fill.Code("operating_system", [](const DeviceUseRow& row) {
    const DeviceTraits traits = TraitsOf(row);
    const lists::Slice systems =
        lists::kOperatingSystemsOfKind[static_cast<std::size_t>(traits.kind)];
    return systems.first + (traits.bits >> 32) % systems.count;
  });
  fill.Text("fingerprint", [](char* out, const DeviceUseRow& row) {
    const uint64_t bits = Mix(row.device ^ 0x7072696e74u);
    WriteHex(out, bits);
    WriteHex(out + 16, Mix(bits));
    return out + 32;
  });
  fill.Number("first_use", &DeviceUseRow::since);
  fill.Flag("is_rooted_jailbroken",
            [](const DeviceUseRow& row) { return Mix(row.device + 13) % 100 < 3; });
}

}  // namespace reveza::fraudgen::coherent
