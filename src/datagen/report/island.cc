#include "datagen/report/island.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "datagen/civil_time.h"
#include "datagen/output/format.h"

namespace reveza::datagen::report {
namespace {

using Json = nlohmann::ordered_json;

std::string DayText(int64_t day) {
  const DateText text = FormatDate(DateOf(day));
  return {text.begin(), text.end()};
}

std::string TimeText(int64_t time) {
  const datagen::TimeText text = FormatTime(time);
  return {text.begin(), text.end()};
}

double Reais(double centavos) { return centavos / 100; }

template <typename Pairs>
Json PairsJson(const Pairs& pairs) {
  Json honest = Json::array();
  Json fraud = Json::array();
  for (const Pair& pair : pairs) {
    honest.push_back(pair.honest);
    fraud.push_back(pair.fraud);
  }
  return {{"honest", honest}, {"fraud", fraud}};
}

double Mean(int64_t sum, uint64_t count) {
  return count == 0 ? 0 : Reais(static_cast<double>(sum) / static_cast<double>(count));
}

Json AmountsJson(const Amounts& amounts, const Pair& rows) {
  Json json = PairsJson(amounts.bins());
  json["bins_per_decade"] = Amounts::kBinsPerDecade;
  json["below"] = {{"honest", amounts.below().honest}, {"fraud", amounts.below().fraud}};
  json["mean"] = {{"honest", Mean(amounts.honest_sum(), rows.honest)},
                  {"fraud", Mean(amounts.fraud_sum(), rows.fraud)}};
  json["median"] = {{"honest", Reais(amounts.Median(&Pair::honest))},
                    {"fraud", Reais(amounts.Median(&Pair::fraud))}};
  return json;
}

Json CategoriesJson(const std::vector<Category>& categories) {
  Json json = Json::array();
  for (const Category& category : categories) {
    Json values = Json::array();
    for (std::size_t i = 0; i < category.values.size(); ++i) {
      const Pair& pair = category.values[i];
      if (pair.all() == 0) continue;
      values.push_back(
          {{"value", category.column->values[i]}, {"honest", pair.honest}, {"fraud", pair.fraud}});
    }
    json.push_back({{"column", category.column->name},
                    {"en", category.column->english},
                    {"pt", category.column->portuguese},
                    {"values", values}});
  }
  return json;
}

Json SeparationJson(const std::vector<Separation>& separations) {
  Json json = Json::array();
  for (const Separation& each : separations) {
    json.push_back({{"column", each.column},
                    {"en", each.described->english},
                    {"pt", each.described->portuguese},
                    {"area", each.area}});
  }
  return json;
}

Json DaysJson(const Days& days) {
  Json json = Json::array();
  for (const auto& [day, pair] : days.all()) {
    json.push_back(Json::array({DayText(day), pair.honest, pair.fraud}));
  }
  return json;
}

Json EventsJson(const EventFacts& facts) {
  const Events& events = *facts.events;
  Json types = Json::array();
  for (const FraudType& type : events.FraudTypes()) {
    types.push_back({{"type", type.name},
                     {"rows", type.rows},
                     {"amount", Reais(static_cast<double>(type.centavos))},
                     {"delays", type.delays}});
  }
  return {{"table", events.events().name},
          {"rows", events.rows().all()},
          {"frauds", events.rows().fraud},
          {"days", DaysJson(events.days())},
          {"hours", PairsJson(events.hours())},
          {"amounts", AmountsJson(events.amounts(), events.rows())},
          {"categories", CategoriesJson(events.categories())},
          {"states", PairsJson(facts.by_state)},
          {"fraud_types", types},
          {"has_delays", events.has_delays()},
          {"delay_hours", kDelayHours},
          {"false_reports", events.false_reports()},
          {"separation", SeparationJson(events.Separations())}};
}

Json ChainJson(const Facts& facts) {
  Json hops = Json::array();
  for (const Hop& hop : facts.chain) {
    hops.push_back({{"place", hop.place},
                    {"role", hop.role},
                    {"customer", hop.customer},
                    {"account", hop.account},
                    {"receiver", hop.receiver},
                    {"type", hop.type},
                    {"at", TimeText(hop.at)},
                    {"amount", Reais(static_cast<double>(hop.centavos))}});
  }
  return {{"ring", facts.ring}, {"hops", hops}};
}

Json MadeByJson(const Facts& facts) {
  const MadeBy& made_by = facts.made_by;
  Json json = {{"program", made_by.program},
               {"model", made_by.model},
               {"seed", made_by.seed},
               {"configuration", made_by.configuration},
               {"format", NameOf(made_by.format)}};
  if (made_by.format == Format::kParquet || made_by.format == Format::kArrow) {
    json["codec"] = NameOf(made_by.codec);
  }
  if (facts.difficulty) json["difficulty"] = *facts.difficulty / 1000.0;
  return json;
}

Json StatesJson(const Facts& facts) {
  Json json = Json::array();
  for (std::size_t i = 0; i < lists::kStates.size(); ++i) {
    json.push_back({{"code", lists::kStates[i].code},
                    {"name", lists::kStates[i].name},
                    {"customers", facts.customers[i]}});
  }
  return json;
}

}  // namespace

std::string IslandOf(const Facts& facts, Language language) {
  Json tables = Json::array();
  for (const TableFacts& each : facts.tables) {
    tables.push_back({{"table", each.table->name},
                      {"en", each.table->english},
                      {"pt", each.table->portuguese},
                      {"files", each.files},
                      {"rows", each.rows},
                      {"bytes", each.bytes}});
  }
  Json events = Json::array();
  for (const EventFacts& each : facts.events) events.push_back(EventsJson(each));
  const Json island = {{"language", language == Language::kEnglish ? "en" : "pt"},
                       {"name", facts.name},
                       {"made_by", MadeByJson(facts)},
                       {"whole", facts.whole},
                       {"unreadable_values", facts.unreadable_values},
                       {"tables", tables},
                       {"states", StatesJson(facts)},
                       {"sampled", facts.sampled},
                       {"events", events},
                       {"chain", ChainJson(facts)}};
  // A folder may be called anything, also by what is no UTF-8.
  std::string text = island.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace reveza::datagen::report
