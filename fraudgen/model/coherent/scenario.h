// Kinds of fraud as data: who pays whom, when, from which device, how the money moves on, and how
// the fraud is reported. Value types and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "common/settings/document.h"
#include "fraudgen/schema/schema_coherent.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {

inline constexpr std::size_t kKinds = kKindNames.size();
inline constexpr std::size_t kMaxScenarios = 200;

enum class AccountUse : uint8_t { kCustomer, kMule, kSynthetic };  // who pays
enum class DeviceUse : uint8_t { kOwn, kFraudster };               // whose device is used
enum class HourUse : uint8_t { kAny, kOffice, kNight };
enum class Goods : uint8_t { kUsual, kSellable, kDigital };  // bought by card

// Who takes part when money moves on: an index into Scenario::groups, or one of these.
using Party = uint8_t;
inline constexpr Party kPayer = 254;
inline constexpr Party kOutside = 255;  // the money leaves the bank

// Log-ins before a victim's first payment, in the table `sessions` only.
struct LogInSigns {
  Range<uint32_t> log_in_minutes = {5, 240};  // how long before
  uint32_t password_reset_thousandths = 0;
  uint32_t limit_request_thousandths = 0;
  uint32_t remote_access_thousandths = 0;   // in the victim's own session
  Range<uint32_t> failed_log_ins = {0, 0};  // wrong passwords
  Range<uint32_t> tried_accounts = {0, 0};  // of others, at which the same devices fail

  bool Any() const {
    return password_reset_thousandths + limit_request_thousandths + remote_access_thousandths +
               failed_log_ins.max + tried_accounts.max !=
           0;
  }
};

// Accounts of mules.
struct MuleGroup {
  std::string name;
  Range<uint32_t> size = {1, 1};
};

// All accounts of `from` pass on what they received, less a fee, to those of `to`.
struct Move {
  std::vector<Party> from;
  std::vector<Party> to;
  Range<uint32_t> delay_minutes = {2, 25};
  Range<uint32_t> fee_thousandths = {30, 100};
};

struct Scenario {
  std::string name;     // the value of fraud_type
  uint32_t weight = 0;  // share of the fraud rows
  FraudRole role = FraudRole::kVictim;
  AccountUse account = AccountUse::kCustomer;
  // An episode: each of its victims makes some payments.
  Range<uint32_t> victims = {1, 1};
  uint32_t within_hours = 24;  // all victims begin
  bool same_quarter = false;   // the victims are neighbours, who buy at the same shops
  Range<uint32_t> rows = {1, 1};
  uint32_t test_rows = 0;                    // initial small payments that test a card
  Range<uint32_t> gap_minutes = {1, 1};      // between a victim's payments
  std::array<uint32_t, kKinds> kinds = {1};  // weights of the kinds of payment; default only PIX
  uint32_t shop_thousandths = 0;             // of the PIX: pay a shop by QR code
  bool false_shop = false;                   // all victims of an episode pay one shop
  DeviceUse device = DeviceUse::kOwn;
  bool web = false;                         // in the browser
  bool sim_swap = false;                    // the fraudster's phone has the victim's number
  Range<uint32_t> before_minutes = {0, 0};  // the device is added before the first payment
  HourUse hours = HourUse::kAny;
  Goods goods = Goods::kUsual;
  bool far_away = false;                    // the card is used in another city
  Range<uint32_t> income_thousandths = {};  // amount relative to the monthly income
  Range<int64_t> amount = {};               // or, if its maximum is not 0, in cents
  bool chains = false;                      // some episodes start a mule chain across blocks
  // Otherwise the money may move on within the block.
  std::vector<MuleGroup> groups = {};
  Party pays = kOutside;
  RingPattern pattern = RingPattern::kMuleChain;
  std::vector<Move> moves = {};
  uint32_t report_hours = 24;           // median delay of the report
  uint32_t reported_thousandths = 900;  // reported frauds, at difficulty 0
  int32_t drift_thousandths = 0;        // -1000 to 1000: change of frequency, see Drift
  LogInSigns signs = {};

  bool MovesMoney() const { return pays != kOutside; }
};

// A key of a scenario, and its valid numbers, of a Range those of both ends.
struct ScenarioField {
  using Value = std::variant<uint32_t*, int32_t*, bool*, AccountUse*, DeviceUse*, HourUse*, Goods*,
                             FraudRole*, RingPattern*, Range<uint32_t>*, Range<int64_t>*>;
  std::string_view key;
  Value value;
  int64_t min = 0;
  int64_t max = 0;
};

// Return the keys in display order, without those of names, kinds, accounts and moves. They point
// into the argument.
std::vector<ScenarioField> FieldsOf(Scenario& scenario);
std::vector<ScenarioField> FieldsOf(Move& move);

// Validates a scenario; kInvalidArgument names the key and its valid range.
Status Validate(const Scenario& scenario);

// The scenarios that are part of the program, as TOML.
struct BuiltInScenario {
  std::string_view name;
  std::string_view text;
};
std::span<const BuiltInScenario> BuiltInScenarioTexts();
const std::vector<Scenario>& BuiltInScenarios();

// Reads a table of TOML. kInvalidArgument messages begin with "file:line:column: ", and say what
// was expected.
Result<Scenario> ReadScenario(const Node& table, std::string_view file);
// Returns the text from which ReadScenario() reads this scenario, without keys that have their
// default, as element of an array of tables `scenario`.
std::string ScenarioText(const Scenario& scenario);

}  // namespace reveza::fraudgen::coherent
