#include <algorithm>

#include "datagen/check/people_rules.h"
#include "datagen/check/row_rules.h"
#include "datagen/civil_time.h"
#include "datagen/lists/commerce.h"
#include "datagen/lists/rides.h"

namespace reveza::datagen::check {
namespace {

using Fields = std::span<const Field>;

constexpr int64_t kMinute = 60 * kMicrosecondsPerSecond;
constexpr int64_t kHour = 60 * kMinute;

bool IsCard(const Field& type, std::size_t row) {
  return type.Is(row, "CREDIT_CARD") || type.Is(row, "DEBIT_CARD");
}

// All columns from the second on have a value, or none has.
bool AllAre(bool there, Fields fields, std::size_t row) {
  for (const Field& field : fields.subspan(1)) {
    if (field.Has(row) != there) return false;
  }
  return true;
}

bool HasCard(Fields fields, std::size_t row) { return AllAre(IsCard(fields[0], row), fields, row); }
bool HasPix(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "PIX"), fields, row);
}
bool HasBank(Fields fields, std::size_t row) {
  const Field& type = fields[0];
  return AllAre(
      type.Is(row, "PIX") || type.Is(row, "TED") || type.Is(row, "BOLETO") || type.Is(row, "DOC"),
      fields, row);
}
bool HasReason(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "DECLINED"), fields, row);
}
bool HasFraudType(Fields fields, std::size_t row) {
  return AllAre(fields[0].Flag(row), fields, row);
}

bool CardIsOfType(Fields fields, std::size_t row) {
  if (!IsCard(fields[0], row)) return true;
  const bool credit = fields[0].Is(row, "CREDIT_CARD");
  return fields[1].Is(row, credit ? "CREDIT" : "DEBIT") &&
         (credit || (fields[2].Has(row) && fields[2].Number(row) == 1));
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
  return fields[1].Flag(row) == (fields[0].Number(row) % kMicrosecondsPerDay < 6 * kHour);
}

bool ScoreShowsLabel(Fields fields, std::size_t row) {
  const int64_t score = fields[1].Number(row);
  return fields[0].Flag(row) ? score >= 6'500 && score <= 10'000 : score >= 0 && score <= 3'500;
}

bool LimitFollowsIncome(Fields fields, std::size_t row) {
  const int64_t income = fields[0].Number(row);
  const int64_t limit = fields[1].Number(row);
  return income > 0 && limit >= 2 * income - 1 && limit <= 8 * income + 1;
}

bool BankAgrees(Fields fields, std::size_t row) {
  return fields[0].Code(row) == fields[1].Code(row);
}

bool IsCompletedRide(Fields fields, std::size_t row) {
  const bool completed = fields[0].Is(row, "COMPLETED");
  return AllAre(completed, fields, row);
}

bool TimesOfRide(Fields fields, std::size_t row) {
  if (!fields[1].Has(row) || !fields[2].Has(row) || !fields[3].Has(row)) return true;
  const int64_t accepted = fields[1].Number(row) - fields[0].Number(row);
  return accepted >= 10 * kMicrosecondsPerSecond && accepted <= 60 * kMicrosecondsPerSecond &&
         fields[2].Number(row) - fields[1].Number(row) == fields[4].Number(row) * kMinute &&
         fields[3].Number(row) - fields[2].Number(row) == fields[5].Number(row) * kMinute;
}

bool FareAddsUp(Fields fields, std::size_t row) {
  const int64_t base = fields[1].Number(row);
  const int64_t fare = fields[3].Number(row);
  if (!fields[0].Is(row, "COMPLETED")) {
    return base == 0 && fare == 0 && fields[4].Number(row) == 0 && fields[5].Number(row) == 0;
  }
  const int64_t surged = (base * fields[2].Number(row) + 50) / 100;
  return fare == std::max<int64_t>(800, surged) &&
         fields[4].Number(row) + fields[5].Number(row) == fare;
}

bool HasRideReason(Fields fields, std::size_t row) {
  return AllAre(fields[0].Is(row, "CANCELLED_PASSENGER") || fields[0].Is(row, "CANCELLED_DRIVER"),
                fields, row);
}

}  // namespace

std::vector<RowRule> ClassicRules() {
  return {
      {"customers", "CPFs are of the state's region", {"cpf", "address.state"}, IsCpfOfState},
      {"customers", "e-mail addresses are at example domains", {"email"}, IsExampleAddress},
      {"customers",
       "credit_limit is 2 to 8 incomes",
       {"monthly_income", "credit_limit"},
       LimitFollowsIncome},
      {"customers", "bank_name belongs to bank_code", {"bank_code", "bank_name"}, BankAgrees},
      {"transactions",
       "session_id has the digits of transaction_id",
       {"transaction_id", "session_id"},
       SameDigits},
      {"transactions",
       "what cards have is there for cards only",
       {"type", "card_number_hash", "card_brand", "card_type", "installments", "card_entry",
        "cvv_validated", "auth_3ds"},
       HasCard},
      {"transactions",
       "card_type and installments belong to type",
       {"type", "card_type", "installments"},
       CardIsOfType},
      {"transactions",
       "PIX keys are there for PIX only",
       {"type", "pix_key_type", "pix_key_destination"},
       HasPix},
      {"transactions",
       "destination_bank is there for PIX, TED, BOLETO and DOC only",
       {"type", "destination_bank"},
       HasBank},
      {"transactions",
       "merchant, category and risk belong together",
       {"mcc_code", "merchant_category", "mcc_risk_level", "merchant_name"},
       MerchantAgrees},
      {"transactions", "unusual_time says before six", {"timestamp", "unusual_time"}, IsNightFlag},
      {"transactions",
       "refusal_reason is there if declined only",
       {"status", "refusal_reason"},
       HasReason},
      {"transactions",
       "fraud_type is there for frauds only",
       {"is_fraud", "fraud_type"},
       HasFraudType},
      {"transactions",
       "fraud_score is that of its label",
       {"is_fraud", "fraud_score"},
       ScoreShowsLabel},
      {"rides",
       "what completed rides have is there for them only",
       {"status", "accept_datetime", "pickup_datetime", "dropoff_datetime", "wait_time_minutes",
        "driver_rating", "passenger_rating"},
       IsCompletedRide},
      {"rides",
       "times follow from wait and duration",
       {"request_datetime", "accept_datetime", "pickup_datetime", "dropoff_datetime",
        "wait_time_minutes", "duration_minutes"},
       TimesOfRide},
      {"rides",
       "fare, pay and fee add up",
       {"status", "base_fare", "surge_multiplier", "final_fare", "driver_pay", "platform_fee"},
       FareAddsUp},
      {"rides",
       "cancellation_reason is there if cancelled only",
       {"status", "cancellation_reason"},
       HasRideReason},
      {"rides", "fraud_type is there for frauds only", {"is_fraud", "fraud_type"}, HasFraudType},
  };
}

}  // namespace reveza::datagen::check
