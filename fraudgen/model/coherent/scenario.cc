// The keys of scenarios, and their validation.
#include "fraudgen/model/coherent/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <variant>

#include "common/settings/document.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr int64_t kMaxNumber = 1'000'000'000;

constexpr auto kBuiltIn = std::to_array<BuiltInScenario>({
#include "generated/fraudgen/model/coherent/scenarios.inc"
});

Status Require(bool met, const Scenario& scenario, std::string_view what, std::string_view rule) {
  if (met) return {};
  return InvalidArgument("{} of {} must {}", what, scenario.name, rule);
}

template <typename Of>
Status CheckFieldsOf(Of of, const std::string& name) {
  for (const ScenarioField& field : FieldsOf(of)) {
    if (field.max == 0) continue;
    const auto check = [&](int64_t min, int64_t max) -> Status {
      if (min >= field.min && max >= min && max <= field.max) return {};
      return InvalidArgument("{} of {} must be {}from {} to {}", field.key, name,
                             min > max ? "in order and " : "", field.min, field.max);
    };
    RETURN_IF_ERROR(std::visit(
        [&](const auto* value) -> Status {
          if constexpr (requires { value->min; }) {
            return check(value->min, value->max);
          } else {
            return check(static_cast<int64_t>(*value), static_cast<int64_t>(*value));
          }
        },
        field.value));
  }
  return {};
}

bool IsName(std::string_view name) {
  constexpr std::size_t kMaxName = 32;
  return !name.empty() && name.size() <= kMaxName && name.front() >= 'A' && name.front() <= 'Z' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

Status CheckPayments(const Scenario& scenario) {
  const uint64_t kinds = std::accumulate(scenario.kinds.begin(), scenario.kinds.end(), uint64_t{0});
  const Range<uint32_t>& income = scenario.income_thousandths;
  const Range<int64_t>& amount = scenario.amount;
  RETURN_IF_ERROR(Require(kinds != 0 && kinds < uint64_t{1} << 32, scenario, "kinds",
                          "have a weight above 0, and a sum below 2^32"));
  RETURN_IF_ERROR(Require(scenario.test_rows < scenario.rows.min, scenario, "test_rows",
                          "be less than its least rows"));
  const bool has_amount = amount.max != 0 || income.max != 0;
  // A file that removes a scenario has its name and weight only.
  RETURN_IF_ERROR(Require(has_amount || scenario.weight == 0, scenario, "the amounts",
                          "not be all 0: set amount or income_thousandths"));
  RETURN_IF_ERROR(Require(amount.max == 0 || income.max == 0, scenario, "the amounts",
                          "be a part of the income or in cents, not both: set one of amount and "
                          "income_thousandths"));
  const bool thief = scenario.device == DeviceUse::kFraudster;
  RETURN_IF_ERROR(Require(!scenario.web || thief, scenario, "web",
                          "be false unless the fraudster's device is used (device thief)"));
  RETURN_IF_ERROR(Require(!scenario.sim_swap || thief, scenario, "sim_swap",
                          "be false unless the fraudster's device is used (device thief)"));
  RETURN_IF_ERROR(Require(scenario.before_minutes.max == 0 || thief, scenario, "before_minutes",
                          "be 0 unless the fraudster's device is used (device thief)"));
  RETURN_IF_ERROR(Require(scenario.signs.tried_accounts.max == 0 || thief, scenario,
                          "tried_accounts",
                          "be 0 unless the fraudster's device is used (device thief)"));
  return Require(scenario.victims.max == 1 || scenario.account == AccountUse::kCustomer, scenario,
                 "victims", "be 1 unless account is customer");
}

Status CheckMoves(const Scenario& scenario) {
  const uint64_t kinds = std::accumulate(scenario.kinds.begin(), scenario.kinds.end(), uint64_t{0});
  RETURN_IF_ERROR(Require(!scenario.chains || (scenario.kinds[0] != 0 && scenario.rows.min <= 3),
                          scenario, "chains",
                          "be false unless PIX is among its kinds and its least rows at most 3"));
  if (!scenario.MovesMoney()) {
    return Require(scenario.groups.empty() && scenario.moves.empty(), scenario, "accounts and move",
                   "be absent unless pays names one of its accounts");
  }
  RETURN_IF_ERROR(Require(!scenario.chains, scenario, "chains", "be false if pays is set"));
  RETURN_IF_ERROR(Require(kinds == scenario.kinds[0], scenario, "kinds",
                          "be only PIX if pays is set: the money moves on"));
  RETURN_IF_ERROR(Require(!scenario.false_shop && scenario.shop_thousandths == 0, scenario,
                          "false_shop and shop_thousandths", "be absent if pays is set"));
  const bool thief = scenario.device == DeviceUse::kFraudster;
  RETURN_IF_ERROR(Require(!thief || scenario.rows.max <= 3, scenario, "rows",
                          "be at most 3 from a fraudster's device if pays is set"));
  for (const MuleGroup& group : scenario.groups) {
    RETURN_IF_ERROR(
        Require(group.size.min >= 1 && group.size.max >= group.size.min && group.size.max <= 8,
                scenario, fmt::format("account {}", group.name), "be from 1 to 8"));
  }
  const auto exists = [&](Party party) {
    return party < scenario.groups.size() || party == kPayer || party == kOutside;
  };
  RETURN_IF_ERROR(
      Require(scenario.pays < scenario.groups.size(), scenario, "pays", "be one of its accounts"));
  for (const Move& move : scenario.moves) {
    const bool known =
        !move.from.empty() && !move.to.empty() &&
        std::ranges::all_of(move.from,
                            [&](Party party) { return party < scenario.groups.size(); }) &&
        std::ranges::all_of(move.to, exists);
    RETURN_IF_ERROR(Require(known, scenario, "a move", "be between its accounts"));
    RETURN_IF_ERROR(CheckFieldsOf(move, fmt::format("a move of {}", scenario.name)));
  }
  return {};
}

}  // namespace

std::vector<ScenarioField> FieldsOf(Scenario& scenario) {
  return {{"weight", &scenario.weight, 0, 1'000'000},
          {"role", &scenario.role},
          {"account", &scenario.account},
          {"victims", &scenario.victims, 1, 16},
          {"within_hours", &scenario.within_hours, 1, 1'000},
          {"same_quarter", &scenario.same_quarter},
          {"rows", &scenario.rows, 1, 16},
          {"test_rows", &scenario.test_rows, 0, 15},
          {"gap_minutes", &scenario.gap_minutes, 1, 10'000},
          {"shop_thousandths", &scenario.shop_thousandths, 0, 1'000},
          {"false_shop", &scenario.false_shop},
          {"device", &scenario.device},
          {"web", &scenario.web},
          {"sim_swap", &scenario.sim_swap},
          {"before_minutes", &scenario.before_minutes, 0, 10'000},
          {"log_in_minutes", &scenario.signs.log_in_minutes, 0, 10'000},
          {"password_reset_thousandths", &scenario.signs.password_reset_thousandths, 0, 1'000},
          {"limit_request_thousandths", &scenario.signs.limit_request_thousandths, 0, 1'000},
          {"remote_access_thousandths", &scenario.signs.remote_access_thousandths, 0, 1'000},
          {"failed_log_ins", &scenario.signs.failed_log_ins, 0, 10},
          {"tried_accounts", &scenario.signs.tried_accounts, 0, 1'000},
          {"hours", &scenario.hours},
          {"goods", &scenario.goods},
          {"far_away", &scenario.far_away},
          {"income_thousandths", &scenario.income_thousandths, 0, 100'000},
          {"amount", &scenario.amount, 0, kMaxNumber},
          {"chains", &scenario.chains},
          {"pattern", &scenario.pattern},
          {"report_hours", &scenario.report_hours, 1, 100'000},
          {"reported_thousandths", &scenario.reported_thousandths, 0, 1'000},
          {"drift_thousandths", &scenario.drift_thousandths, -1'000, 1'000}};
}

std::vector<ScenarioField> FieldsOf(Move& move) {
  return {{"delay_minutes", &move.delay_minutes, 0, 100'000},
          {"fee_thousandths", &move.fee_thousandths, 0, 500}};
}

Status Validate(const Scenario& scenario) {
  RETURN_IF_ERROR(Require(IsName(scenario.name), scenario, "name",
                          "be up to 32 capital letters, digits and underscores, a letter first"));
  RETURN_IF_ERROR(CheckFieldsOf(scenario, scenario.name));
  RETURN_IF_ERROR(CheckPayments(scenario));
  return CheckMoves(scenario);
}

std::span<const BuiltInScenario> BuiltInScenarioTexts() { return kBuiltIn; }

const std::vector<Scenario>& BuiltInScenarios() {
  static const std::vector<Scenario> scenarios = [] {
    std::vector<Scenario> all;
    for (const BuiltInScenario& each : kBuiltIn) {
      const auto document = ParseToml(each.text, each.name);
      // The tests read each of them.
      if (auto read = ReadScenario(document.value(), each.name)) all.push_back(*std::move(read));
    }
    return all;
  }();
  return scenarios;
}

}  // namespace reveza::fraudgen::coherent
