// Scenarios as TOML.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "common/base/parse_number.h"
#include "common/settings/layered_settings.h"
#include "fraudgen/model/coherent/scenario.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr std::array<std::string_view, 3> kAccountUses = {"customer", "mule", "synthetic"};
constexpr std::array<std::string_view, 2> kDeviceUses = {"own", "thief"};
constexpr std::array<std::string_view, 3> kHourUses = {"any", "office", "night"};
constexpr std::array<std::string_view, 3> kGoods = {"usual", "sellable", "digital"};
constexpr std::string_view kCommand = "fraudgen scenarios PHISHING";
constexpr std::size_t kMaxGroups = 12;
constexpr std::size_t kMaxMoves = 24;

std::span<const std::string_view> WordsOf(AccountUse) { return kAccountUses; }
std::span<const std::string_view> WordsOf(DeviceUse) { return kDeviceUses; }
std::span<const std::string_view> WordsOf(HourUse) { return kHourUses; }
std::span<const std::string_view> WordsOf(Goods) { return kGoods; }
std::span<const std::string_view> WordsOf(FraudRole) { return kFraudRoleNames; }
std::span<const std::string_view> WordsOf(RingPattern) { return kRingPatternNames; }

// Reads one table; errors name the place.
class ScenarioReader {
 public:
  ScenarioReader(const Node& table, std::string_view file) : table_(&table), file_(file) {}

  std::unexpected<Error> Wrong(const Member& member, std::string_view what) const {
    return ErrorAt(file_, member.value.location, fmt::format("{}: {}", member.key, what));
  }
  const Member* Find(std::string_view key) const {
    const auto found = std::ranges::find(table_->members, key, &Member::key);
    return found == table_->members.end() ? nullptr : &*found;
  }
  Result<std::string> Text(std::string_view key) const {
    const Member* const member = Find(key);
    if (member == nullptr) {
      return ErrorAt(file_, table_->location, fmt::format("{} is missing", key));
    }
    if (member->value.kind == Node::Kind::kString) return member->value.text;
    return Wrong(*member, "expected a \"quoted name\"");
  }
  // Sets the fields that are present. `others` are keys that the caller reads.
  Status Read(std::span<const ScenarioField> fields,
              std::span<const std::string_view> others) const {
    for (const Member& member : table_->members) {
      if (std::ranges::find(others, member.key) != others.end()) continue;
      const auto field = std::ranges::find(fields, member.key, &ScenarioField::key);
      if (field == fields.end()) {
        std::vector<std::string_view> keys(others.begin(), others.end());
        for (const ScenarioField& each : fields) keys.push_back(each.key);
        return ErrorAt(file_, member.location,
                       UnknownKey(member.key, keys, kCommand).error().message);
      }
      RETURN_IF_ERROR(
          std::visit([&](auto* value) { return ReadValue(member, *field, *value); }, field->value));
    }
    return {};
  }
  // Reads a number, or two in order.
  Result<Range<int64_t>> ReadRange(const Member& member, int64_t min, int64_t max) const {
    const Node& value = member.value;
    const auto number = [&](const Node& node) -> std::optional<int64_t> {
      if (node.kind != Node::Kind::kInteger) return std::nullopt;
      const std::optional<int64_t> found = ParseNumber<int64_t>(node.text);
      return found && *found >= min && *found <= max ? found : std::nullopt;
    };
    std::optional<int64_t> first = number(value);
    std::optional<int64_t> last = first;
    if (value.kind == Node::Kind::kArray && value.items.size() == 2) {
      first = number(value.items[0]);
      last = number(value.items[1]);
    }
    if (first && last && *first <= *last) return Range<int64_t>{*first, *last};
    return Wrong(member,
                 fmt::format("expected a whole number or [least, most], from {} to {}", min, max));
  }

 private:
  template <typename T>
  Status ReadValue(const Member& member, const ScenarioField& field, T& to) const {
    const Node& value = member.value;
    if constexpr (std::is_same_v<T, bool>) {
      if (value.kind != Node::Kind::kBoolean) return Wrong(member, "expected true or false");
      to = value.text == "true";
    } else if constexpr (std::is_enum_v<T>) {
      const std::span<const std::string_view> words = WordsOf(T{});
      const auto found = std::ranges::find(words, value.text);
      if (value.kind != Node::Kind::kString || found == words.end()) {
        return Wrong(member, fmt::format("expected \"{}\"", fmt::join(words, "\", \"")));
      }
      to = static_cast<T>(found - words.begin());
    } else if constexpr (requires { to.min; }) {
      ASSIGN_OR_RETURN(const auto range, ReadRange(member, field.min, field.max));
      to.min = static_cast<decltype(to.min)>(range.min);
      to.max = static_cast<decltype(to.max)>(range.max);
    } else {
      const auto number = ParseNumber<int64_t>(value.text);
      if (value.kind != Node::Kind::kInteger || !number || *number < field.min ||
          *number > field.max) {
        return Wrong(member,
                     fmt::format("expected a whole number from {} to {}", field.min, field.max));
      }
      to = static_cast<T>(*number);
    }
    return {};
  }

  const Node* table_;
  std::string_view file_;
};

Status ReadKinds(const Member& member, std::string_view file, Scenario& scenario) {
  if (member.value.kind != Node::Kind::kTable) {
    return ErrorAt(file, member.value.location,
                   "kinds: expected weights of kinds of payment, such as { PIX = 3, TED = 1 }");
  }
  std::vector<ScenarioField> fields;
  scenario.kinds = {};
  for (std::size_t i = 0; i < kKinds; ++i) {
    fields.push_back({kKindNames[i], &scenario.kinds[i], 0, 1'000'000});
  }
  return ScenarioReader(member.value, file).Read(fields, {});
}

Status ReadGroups(const Member& member, std::string_view file, Scenario& scenario) {
  if (member.value.kind != Node::Kind::kTable || member.value.members.size() > kMaxGroups) {
    return ErrorAt(file, member.value.location,
                   fmt::format("accounts: expected up to {} names of mules with their numbers, "
                               "such as {{ first = 1, runner = [3, 5] }}",
                               kMaxGroups));
  }
  const ScenarioReader reader(member.value, file);
  for (const Member& each : member.value.members) {
    if (each.key == "payer" || each.key == "outside") {
      return ErrorAt(file, each.location, fmt::format("accounts: {} is reserved", each.key));
    }
    ASSIGN_OR_RETURN(const auto size, reader.ReadRange(each, 1, 8));
    scenario.groups.push_back(
        {each.key, {static_cast<uint32_t>(size.min), static_cast<uint32_t>(size.max)}});
  }
  return {};
}

// Reads a name of accounts, or several.
Result<std::vector<Party>> ReadParties(const ScenarioReader& reader, std::string_view key,
                                       const Node& table, std::string_view file,
                                       const Scenario& scenario, Party special) {
  const Member* const member = reader.Find(key);
  if (member == nullptr) return ErrorAt(file, table.location, fmt::format("{} is missing", key));
  std::vector<std::string_view> names;
  for (const MuleGroup& group : scenario.groups) names.push_back(group.name);
  const std::string_view special_name = special == kPayer ? "payer" : "outside";
  std::vector<Party> parties;
  const auto add = [&](const Node& node) {
    const auto found = std::ranges::find(names, node.text);
    if (node.kind != Node::Kind::kString) return false;
    if (found != names.end()) {
      parties.push_back(static_cast<Party>(found - names.begin()));
    } else if (node.text == "payer" && key == "to") {
      parties.push_back(kPayer);
    } else if (node.text == special_name && special == kOutside) {
      parties.push_back(kOutside);
    } else {
      return false;
    }
    return true;
  };
  const bool list = member->value.kind == Node::Kind::kArray;
  const bool valid =
      list ? !member->value.items.empty() && std::ranges::all_of(member->value.items, add)
           : add(member->value);
  const bool mixed = parties.size() > 1 && std::ranges::any_of(parties, [](Party party) {
                       return party == kOutside || party == kPayer;
                     });
  if (valid && !mixed) return parties;
  if (key == "to") names.insert(names.end(), {"payer", "outside"});
  return reader.Wrong(
      *member, fmt::format("expected one of the accounts: \"{}\"", fmt::join(names, "\", \"")));
}

Status ReadMoves(const Member& member, std::string_view file, Scenario& scenario) {
  const bool tables =
      member.value.kind == Node::Kind::kArray && member.value.items.size() <= kMaxMoves &&
      std::ranges::all_of(member.value.items,
                          [](const Node& item) { return item.kind == Node::Kind::kTable; });
  if (!tables) {
    return ErrorAt(file, member.value.location,
                   fmt::format("move: expected up to {} tables [[move]]", kMaxMoves));
  }
  static constexpr std::array<std::string_view, 2> kEnds = {"from", "to"};
  for (const Node& table : member.value.items) {
    const ScenarioReader reader(table, file);
    Move move;
    RETURN_IF_ERROR(reader.Read(FieldsOf(move), kEnds));
    ASSIGN_OR_RETURN(move.from, ReadParties(reader, "from", table, file, scenario, kPayer));
    ASSIGN_OR_RETURN(move.to, ReadParties(reader, "to", table, file, scenario, kOutside));
    scenario.moves.push_back(std::move(move));
  }
  return {};
}

std::string NameOfParty(Party party, const Scenario& scenario) {
  if (party == kPayer) return "payer";
  return party == kOutside ? "outside" : scenario.groups[party].name;
}

std::string ShowParties(const std::vector<Party>& parties, const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Party party : parties)
    names.push_back(fmt::format("\"{}\"", NameOfParty(party, scenario)));
  return names.size() == 1 ? names.front() : fmt::format("[{}]", fmt::join(names, ", "));
}

template <typename Number>
std::string ShowRange(const Range<Number>& range) {
  return range.min == range.max ? fmt::format("{}", range.min)
                                : fmt::format("[{}, {}]", range.min, range.max);
}

template <typename T>
std::string ShowValue(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return fmt::format("\"{}\"", WordsOf(value)[static_cast<std::size_t>(value)]);
  } else if constexpr (requires { value.min; }) {
    return ShowRange(value);
  } else {
    return fmt::format("{}", value);
  }
}

// Appends the keys whose values are not the default.
template <typename Of>
void AppendFields(const Of& of, std::string& text) {
  Of copy = of;
  Of defaults;
  const auto fields = FieldsOf(copy);
  const auto usual = FieldsOf(defaults);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto show = [](const auto* value) { return ShowValue(*value); };
    const std::string value = std::visit(show, fields[i].value);
    if (value == std::visit(show, usual[i].value) && fields[i].key != "weight") continue;
    fmt::format_to(std::back_inserter(text), "{} = {}\n", fields[i].key, value);
  }
}

}  // namespace

Result<Scenario> ReadScenario(const Node& table, std::string_view file) {
  static constexpr std::array<std::string_view, 5> kOthers = {"name", "kinds", "accounts", "pays",
                                                              "move"};
  const ScenarioReader reader(table, file);
  Scenario scenario;
  ASSIGN_OR_RETURN(scenario.name, reader.Text("name"));
  if (reader.Find("weight") == nullptr) {
    return ErrorAt(file, table.location,
                   "weight is missing; expected a whole number (the built-in scenarios have 2 to "
                   "20 each)");
  }
  RETURN_IF_ERROR(reader.Read(FieldsOf(scenario), kOthers));
  if (const Member* kinds = reader.Find("kinds")) {
    RETURN_IF_ERROR(ReadKinds(*kinds, file, scenario));
  }
  if (const Member* accounts = reader.Find("accounts")) {
    RETURN_IF_ERROR(ReadGroups(*accounts, file, scenario));
  }
  if (reader.Find("pays") != nullptr) {
    ASSIGN_OR_RETURN(const auto pays, ReadParties(reader, "pays", table, file, scenario, kPayer));
    if (pays.size() != 1) return reader.Wrong(*reader.Find("pays"), "expected a single name");
    scenario.pays = pays.front();
  }
  if (const Member* moves = reader.Find("move")) {
    RETURN_IF_ERROR(ReadMoves(*moves, file, scenario));
  }
  if (const Status valid = Validate(scenario); !valid) {
    return ErrorAt(file, table.location, valid.error().message);
  }
  return scenario;
}

std::string ScenarioText(const Scenario& scenario) {
  std::string text = fmt::format("\n[[scenario]]\nname = \"{}\"\n", scenario.name);
  const auto out = std::back_inserter(text);
  AppendFields(scenario, text);
  if (scenario.kinds != Scenario().kinds) {
    std::vector<std::string> kinds;
    for (std::size_t i = 0; i < kKinds; ++i) {
      if (scenario.kinds[i] == 0) continue;
      kinds.push_back(fmt::format("{} = {}", kKindNames[i], scenario.kinds[i]));
    }
    fmt::format_to(out, "kinds = {{ {} }}\n", fmt::join(kinds, ", "));
  }
  if (!scenario.groups.empty()) {
    std::vector<std::string> groups;
    for (const MuleGroup& group : scenario.groups) {
      groups.push_back(fmt::format("{} = {}", group.name, ShowRange(group.size)));
    }
    fmt::format_to(out, "accounts = {{ {} }}\n", fmt::join(groups, ", "));
  }
  if (scenario.MovesMoney()) {
    fmt::format_to(out, "pays = \"{}\"\n", NameOfParty(scenario.pays, scenario));
  }
  for (const Move& move : scenario.moves) {
    fmt::format_to(out, "\n[[scenario.move]]\nfrom = {}\nto = {}\n",
                   ShowParties(move.from, scenario), ShowParties(move.to, scenario));
    AppendFields(move, text);
  }
  return text;
}

}  // namespace reveza::fraudgen::coherent
