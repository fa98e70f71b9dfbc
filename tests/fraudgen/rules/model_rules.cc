// The rules of both models.
#include <algorithm>
#include <utility>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/devices.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/values/civil_time.h"
#include "tests/fraudgen/rules/table_check.h"

namespace reveza::fraudgen::rules {
namespace {

// Returns true if all fields but the first are set (`set`) or null (not `set`).
bool OthersAre(bool set, Fields fields, std::size_t row) {
  return std::ranges::all_of(fields.subspan(1),
                             [&](const Field& field) { return field.Has(row) == set; });
}

// The other columns are set exactly if the first has one of these values.
Holds SetFor(std::vector<std::string_view> values) {
  return [values = std::move(values)](Fields fields, std::size_t row) {
    const bool set = std::ranges::any_of(
        values, [&](std::string_view value) { return fields[0].Is(row, value); });
    return OthersAre(set, fields, row);
  };
}
// The other columns are set exactly if the first is true.
bool SetIfTrue(Fields fields, std::size_t row) {
  return OthersAre(fields[0].Flag(row), fields, row);
}
bool SetTogether(Fields fields, std::size_t row) {
  return OthersAre(fields[0].Has(row), fields, row);
}

bool IsCard(const Field& type, std::size_t row) {
  return type.Is(row, "CREDIT_CARD") || type.Is(row, "DEBIT_CARD");
}

// The ninth digit is the fiscal region; CheckCpfs verifies the check digits.
bool IsCpfOfState(Fields fields, std::size_t row) {
  const std::string_view cpf = fields[0].Text(row);
  return cpf.size() == 14 &&
         static_cast<uint32_t>(cpf[10] - '0') == lists::kStates[fields[1].Code(row)].fiscal_region;
}

bool IsExampleAddress(Fields fields, std::size_t row) {
  const std::string_view email = fields[0].Text(row);
  const std::size_t at = email.find('@');
  if (at == 0 || at == std::string_view::npos) return false;
  const std::string_view domain = email.substr(at + 1);
  return domain == "example.com" || domain == "example.net" || domain == "example.org";
}

// The city is in the state, and area code and postal code belong to the city.
bool AddressAgrees(Fields fields, std::size_t row) {
  const std::string_view city = fields[0].Text(row);
  const uint64_t area = NumberOf(fields[2].Text(row).substr(0, 5));
  const std::string_view phone = fields[3].Text(row);
  return std::ranges::any_of(
      lists::CitiesOf(fields[1].Code(row)), [&](const lists::City& candidate) {
        return candidate.name == city && area >= candidate.first_postal_area &&
               area <= candidate.last_postal_area &&
               phone.contains(fmt::format("{}", candidate.area_code));
      });
}

bool LimitFollowsIncome(Fields fields, std::size_t row) {
  const int64_t income = fields[0].Number(row);
  const int64_t limit = fields[1].Number(row);
  return income > 0 && limit >= 2 * income - 1 && limit <= 8 * income + 1;
}

bool BankAgrees(Fields fields, std::size_t row) {
  return fields[0].Code(row) == fields[1].Code(row);
}

// The model is the manufacturer's, of this type, with a compatible operating system.
bool IsDevice(Fields fields, std::size_t row) {
  const lists::DeviceModel& model = lists::kDeviceModels.at(fields[2].Code(row));
  const auto kind = static_cast<std::size_t>(model.kind);
  const lists::Slice systems = lists::kOperatingSystemsOfKind.at(kind);
  const std::size_t system = fields[3].Code(row);
  return lists::kTypeOfDeviceKind.at(kind) == fields[0].Code(row) &&
         lists::kManufacturers.at(fields[1].Code(row)) == model.manufacturer &&
         system >= systems.first && system < systems.first + systems.count;
}

bool CardIsOfType(Fields fields, std::size_t row) {
  if (!IsCard(fields[0], row)) return true;
  const bool credit = fields[0].Is(row, "CREDIT_CARD");
  return fields[1].Is(row, credit ? "CREDIT" : "DEBIT") &&
         (credit || (fields[2].Has(row) && fields[2].Number(row) == 1));
}

bool ChannelFits(Fields fields, std::size_t row) {
  const Field& type = fields[0];
  const Field& channel = fields[1];
  return IsCard(type, row) ==
             (channel.Is(row, "POINT_OF_SALE") || channel.Is(row, "ONLINE_SHOP")) &&
         type.Is(row, "WITHDRAWAL") == channel.Is(row, "ATM") &&
         type.Is(row, "AUTO_DEBIT") == channel.Is(row, "STANDING_ORDER");
}

bool MerchantAgrees(Fields fields, std::size_t row) {
  const uint16_t category = fields[0].Code(row);
  const lists::Merchant& merchant = lists::kMerchants[fields[3].Code(row)];
  return fields[1].Code(row) == category &&
         fields[2].Code(row) == static_cast<uint16_t>(lists::kMerchantCategories[category].risk) &&
         merchant.category == lists::kMerchantCategories[category].code;
}

bool SameDigits(Fields fields, std::size_t row) {
  return NumberOf(fields[0].Text(row)) == NumberOf(fields[1].Text(row));
}

bool IsNightFlag(Fields fields, std::size_t row) {
  return fields[1].Flag(row) ==
         (fields[0].Number(row) % kMicrosecondsPerDay < 6 * kMicrosecondsPerHour);
}

bool ScoreShowsLabel(Fields fields, std::size_t row) {
  const int64_t score = fields[1].Number(row);
  return fields[0].Flag(row) ? score >= 6'500 && score <= 10'000 : score >= 0 && score <= 3'500;
}

bool IsScore(Fields fields, std::size_t row) {
  return fields[0].Number(row) >= 0 && fields[0].Number(row) <= 10'000;
}

bool IsPositive(Fields fields, std::size_t row) { return fields[0].Number(row) > 0; }

bool BalanceHolds(Fields fields, std::size_t row) {
  if (fields[0].Number(row) < 0) return false;
  return !fields[2].Is(row, "INSUFFICIENT_BALANCE") ||
         fields[1].Number(row) > fields[0].Number(row);
}

bool MovementFits(Fields fields, std::size_t row) {
  const bool leaves = fields[0].Is(row, "SAVINGS_DEPOSIT") || fields[0].Is(row, "CARD_BILL") ||
                      fields[0].Is(row, "ACCOUNT_CLOSED");
  const int64_t amount = fields[1].Number(row);
  return amount != 0 && leaves == (amount < 0) && fields[2].Number(row) >= 0;
}

bool ReportedLater(Fields fields, std::size_t row) {
  return !fields[1].Has(row) || fields[1].Number(row) > fields[0].Number(row);
}

bool DecidedLater(Fields fields, std::size_t row) {
  const int64_t claimed = fields[2].Number(row);
  const int64_t refunded = fields[3].Number(row);
  const std::string_view outcome = refunded == 0         ? "REFUSED"
                                   : refunded == claimed ? "REFUNDED"
                                                         : "PARTLY_REFUNDED";
  return fields[1].Number(row) > fields[0].Number(row) && refunded >= 0 && refunded <= claimed &&
         fields[4].Is(row, outcome);
}

// Settled payments return nothing, returned payments return the full amount.
bool ReturnsMatch(Fields fields, std::size_t row) {
  const int64_t amount = fields[2].Number(row);
  const int64_t returned = fields[3].Number(row);
  if (fields[0].Is(row, "SETTLED")) return !fields[1].Has(row) && returned == 0;
  const bool whole = fields[0].Is(row, "RETURNED");
  const bool of_pending =
      fields[1].Is(row, "RECEIVER_NOT_FOUND") || fields[1].Is(row, "NOT_CLEARED");
  return fields[1].Has(row) && of_pending == whole && returned > 0 &&
         (whole ? returned == amount : returned <= amount);
}

bool ChangeHasItsValues(Fields fields, std::size_t row) {
  const std::string_view change = fields[0].Value(row);
  const bool sim = change == "SIM_CHANGED";
  const bool added = change == "ACCOUNT_OPENED" || change.ends_with("_ADDED");
  const bool removed = change == "ACCOUNT_CLOSED" || change.ends_with("_REMOVED");
  return fields[1].Has(row) == change.starts_with("DEVICE_") &&
         fields[2].Has(row) == (!sim && !added) && fields[3].Has(row) == (!sim && !removed);
}

bool HasDriver(Fields fields, std::size_t row) {
  return OthersAre(!fields[0].Is(row, "NO_DRIVER"), fields, row);
}

bool TimesFollow(Fields fields, std::size_t row) {
  if (!AllHave(row, fields[1], fields[2], fields[3])) return true;
  const int64_t accepted = fields[1].Number(row) - fields[0].Number(row);
  return accepted >= 10 * kMicrosecondsPerSecond && accepted <= 60 * kMicrosecondsPerSecond &&
         fields[2].Number(row) - fields[1].Number(row) ==
             fields[4].Number(row) * kMicrosecondsPerMinute &&
         fields[3].Number(row) - fields[2].Number(row) ==
             fields[5].Number(row) * kMicrosecondsPerMinute;
}

bool ClassicFareAddsUp(Fields fields, std::size_t row) {
  const int64_t base = fields[1].Number(row);
  const int64_t fare = fields[3].Number(row);
  if (!fields[0].Is(row, "COMPLETED")) {
    return base == 0 && fare == 0 && fields[4].Number(row) == 0 && fields[5].Number(row) == 0;
  }
  const int64_t surged = (base * fields[2].Number(row) + 50) / 100;
  return fare == std::max<int64_t>(800, surged) &&
         fields[4].Number(row) + fields[5].Number(row) == fare;
}

// Returns the app's category of this name; null if it has none.
const lists::RideCategory* CategoryOf(const Field& app, const Field& category, std::size_t row) {
  const auto found =
      std::ranges::find_if(lists::kRideCategories, [&](const lists::RideCategory& offered) {
        return offered.app == app.Code(row) && offered.name == category.Value(row);
      });
  return found == lists::kRideCategories.end() ? nullptr : &*found;
}

bool IsOfApp(Fields fields, std::size_t row) {
  return CategoryOf(fields[0], fields[1], row) != nullptr;
}

bool RideFareAddsUp(Fields fields, std::size_t row) {
  const auto number = [&](std::size_t field) { return fields[field].Number(row); };
  const int64_t base = number(4);
  const int64_t discount = number(6);
  if (!fields[2].Has(row)) {
    return base == 0 && discount == 0 && number(7) == 0 && number(8) == 0 && number(9) == 0;
  }
  const lists::RideCategory* category = CategoryOf(fields[0], fields[1], row);
  if (category == nullptr) return true;  // reported by another rule
  const int64_t expected = category->base + (number(2) * category->per_kilometre + 50) / 100 +
                           number(3) * category->per_minute;
  const int64_t whole = std::max<int64_t>(800, (base * number(5) + 50) / 100);
  const int64_t fee = (whole * lists::kRideApps[category->app].fee_percent + 50) / 100;
  return base == expected && number(7) == whole - discount && number(9) == fee &&
         number(8) == whole - fee && discount >= 0 && discount < whole;
}

}  // namespace

std::unique_ptr<TableCheck> CheckClassicRules() {
  return CheckRules({
      {"customers",
       {{"CPFs match the state's region", {"cpf", "address.state"}, IsCpfOfState},
        {"e-mail addresses use example domains", {"email"}, IsExampleAddress},
        {"credit_limit is 2 to 8 times the income",
         {"monthly_income", "credit_limit"},
         LimitFollowsIncome},
        {"bank_name matches bank_code", {"bank_code", "bank_name"}, BankAgrees}}},
      {"transactions",
       {{"session_id matches transaction_id", {"transaction_id", "session_id"}, SameDigits},
        {"card columns are set for cards only",
         {"type", "card_number_hash", "card_brand", "card_type", "installments", "card_entry",
          "cvv_validated", "auth_3ds"},
         SetFor({"CREDIT_CARD", "DEBIT_CARD"})},
        {"card_type and installments match type",
         {"type", "card_type", "installments"},
         CardIsOfType},
        {"PIX keys are set for PIX only",
         {"type", "pix_key_type", "pix_key_destination"},
         SetFor({"PIX"})},
        {"destination_bank is set for PIX, TED, BOLETO and DOC only",
         {"type", "destination_bank"},
         SetFor({"PIX", "TED", "BOLETO", "DOC"})},
        {"merchant, category and risk match",
         {"mcc_code", "merchant_category", "mcc_risk_level", "merchant_name"},
         MerchantAgrees},
        {"unusual_time is correct before six only", {"timestamp", "unusual_time"}, IsNightFlag},
        {"refusal_reason is set for declined payments only",
         {"status", "refusal_reason"},
         SetFor({"DECLINED"})},
        {"fraud_type is set for frauds only", {"is_fraud", "fraud_type"}, SetIfTrue},
        {"fraud_score matches the label", {"is_fraud", "fraud_score"}, ScoreShowsLabel}}},
      {"rides",
       {{"completion columns are set for completed rides only",
         {"status", "accept_datetime", "pickup_datetime", "dropoff_datetime", "wait_time_minutes",
          "driver_rating", "passenger_rating"},
         SetFor({"COMPLETED"})},
        {"times follow from wait and duration",
         {"request_datetime", "accept_datetime", "pickup_datetime", "dropoff_datetime",
          "wait_time_minutes", "duration_minutes"},
         TimesFollow},
        {"fare, pay and fee add up",
         {"status", "base_fare", "surge_multiplier", "final_fare", "driver_pay", "platform_fee"},
         ClassicFareAddsUp},
        {"cancellation_reason is set for cancelled rides only",
         {"status", "cancellation_reason"},
         SetFor({"CANCELLED_PASSENGER", "CANCELLED_DRIVER"})},
        {"fraud_type is set for frauds only", {"is_fraud", "fraud_type"}, SetIfTrue}}},
  });
}

std::unique_ptr<TableCheck> CheckCoherentRules() {
  return CheckRules({
      {"customers",
       {{"CPFs match the state's region", {"cpf", "address.state"}, IsCpfOfState},
        {"e-mail addresses use example domains", {"email"}, IsExampleAddress},
        {"city, postal code and area code match",
         {"address.city", "address.state", "address.postal_code", "phone"},
         AddressAgrees}}},
      {"devices",
       {{"model and operating system match type and manufacturer",
         {"type", "manufacturer", "model", "operating_system"},
         IsDevice}}},
      {"transactions",
       {{"amounts are positive", {"amount"}, IsPositive},
        {"channel matches the payment type", {"type", "channel"}, ChannelFits},
        {"card columns are set for cards only",
         {"type", "card_number_hash", "card_brand", "card_type", "installments", "card_entry"},
         SetFor({"CREDIT_CARD", "DEBIT_CARD"})},
        {"card-not-present columns are set for manual entry only",
         {"card_entry", "cvv_validated", "auth_3ds"},
         SetFor({"MANUAL"})},
        {"card_type and installments match type",
         {"type", "card_type", "installments"},
         CardIsOfType},
        {"PIX keys are set for PIX only",
         {"type", "pix_key_type", "pix_key_destination"},
         SetFor({"PIX"})},
        {"counterparty_account is set for PIX and TED only",
         {"type", "counterparty_account"},
         SetFor({"PIX", "TED"})},
        {"destination_bank is set for PIX, TED and BOLETO only",
         {"type", "destination_bank"},
         SetFor({"PIX", "TED", "BOLETO"})},
        {"merchant columns are set together",
         {"merchant_id", "merchant_name", "merchant_category", "mcc_code", "mcc_risk_level"},
         SetTogether},
        {"latitude and longitude are set together",
         {"geolocation_lat", "geolocation_lon"},
         SetTogether},
        {"refusal_reason is set for declined payments only",
         {"status", "refusal_reason"},
         SetFor({"DECLINED"})},
        {"risk_score is 0 to 100", {"risk_score"}, IsScore},
        {"balances are not negative, and refusals only for low balances",
         {"balance_after", "amount", "refusal_reason"},
         BalanceHolds},
        {"fraud_type and fraud_role are set for frauds only",
         {"is_fraud", "fraud_type", "fraud_role"},
         SetIfTrue},
        {"fraud_reported_at is later than the payment",
         {"timestamp", "fraud_reported_at"},
         ReportedLater}}},
      {"settlements",
       {{"outcome, reason and returned_amount match",
         {"outcome", "reason", "amount", "returned_amount"},
         ReturnsMatch}}},
      {"alerts",
       {{"reviewed_at is later than the alert", {"alerted_at", "reviewed_at"}, ReportedLater},
        {"reviewed_at and decision are set together", {"reviewed_at", "decision"}, SetTogether}}},
      {"disputes",
       {{"decided after opening, refunded at most the claim",
         {"opened_at", "decided_at", "claimed_amount", "refunded_amount", "outcome"},
         DecidedLater}}},
      {"changes",
       {{"device_id, old_value and new_value are set as the change requires",
         {"change", "device_id", "old_value", "new_value"},
         ChangeHasItsValues}}},
      {"rings",
       {{"hop, payment and time are set where money moves on only",
         {"pattern", "hop", "transaction_id", "at"},
         SetFor({"MULE_CHAIN", "FAN_IN", "FAN_OUT", "SCATTER_GATHER", "CYCLE", "SPLIT_MERGE"})}}},
      {"entries",
       {{"transaction_id is set for what comes back only",
         {"kind", "transaction_id"},
         SetFor({"PAYMENT_RETURNED", "PAYMENT_REVERSED", "DISPUTE_REFUND"})},
        {"counterparty columns are set for what is received only",
         {"kind", "counterparty_account", "counterparty_bank"},
         SetFor({"PIX_RECEIVED", "TED_RECEIVED"})},
        {"balances fall for what leaves the account only, and are not negative",
         {"kind", "amount", "balance_after"},
         MovementFits}}},
      {"drivers",
       {{"CPFs match the state's region", {"cpf", "operating_state"}, IsCpfOfState},
        {"e-mail addresses use example domains", {"email"}, IsExampleAddress}}},
      {"rides",
       {{"completion columns are set for completed rides only",
         {"status", "accept_datetime", "pickup_datetime", "dropoff_datetime", "distance_km",
          "duration_minutes", "wait_time_minutes", "driver_rating", "passenger_rating"},
         SetFor({"COMPLETED"})},
        {"driver_id is null for rides without driver only", {"status", "driver_id"}, HasDriver},
        {"cancellation_reason is set for cancelled rides only",
         {"status", "cancellation_reason"},
         SetFor({"CANCELLED_PASSENGER", "CANCELLED_DRIVER"})},
        {"times follow from wait and duration",
         {"timestamp", "accept_datetime", "pickup_datetime", "dropoff_datetime",
          "wait_time_minutes", "duration_minutes"},
         TimesFollow},
        {"category belongs to the app", {"app", "category"}, IsOfApp},
        {"fare, discount, pay and fee follow from distance, duration and surge",
         {"app", "category", "distance_km", "duration_minutes", "base_fare", "surge_multiplier",
          "promo_discount", "final_fare", "driver_pay", "platform_fee"},
         RideFareAddsUp},
        {"risk_score is 0 to 100", {"risk_score"}, IsScore},
        {"fraud_type and fraud_role are set for frauds only",
         {"is_fraud", "fraud_type", "fraud_role"},
         SetIfTrue},
        {"fraud_reported_at is later than the ride",
         {"timestamp", "fraud_reported_at"},
         ReportedLater}}},
  });
}

}  // namespace reveza::fraudgen::rules
