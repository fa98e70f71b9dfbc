#include "fraudgen/report/facts.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fraudgen/check/data_set.h"
#include "fraudgen/check/origin.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/report/events.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/plan.h"
#include "fraudgen/run/prepare.h"
#include "fraudgen/schema/field.h"
#include "fraudgen/values/civil_time.h"

// page_bytes.S
extern "C" const char reveza_report_page_begin[];
extern "C" const char reveza_report_page_end[];

namespace reveza::fraudgen::report {
namespace {

namespace fs = std::filesystem;

// What is made in the first pass over all blocks, and in one for each table of events.
constexpr std::array<std::string_view, 2> kReferenced = {"rings", "customers"};
constexpr std::array<std::string_view, 2> kPayments = {"transactions", "accounts"};
constexpr std::array<std::string_view, 1> kRidesOnly = {"rides"};

// The tables that have files.
Json TablesJson(const check::DataSet& data) {
  Json json = Json::array();
  for (const Table* table : data.tables()) {
    uint64_t files = 0;
    uint64_t bytes = 0;
    for (const FileManifest& file : data.files) {
      if (file.table != table->name) continue;
      ++files;
      bytes += file.bytes;
    }
    if (files == 0) continue;
    json.push_back({{"table", table->name},
                    {"en", table->english},
                    {"pt", table->portuguese},
                    {"files", files},
                    {"rows", data.RowsOf(table->name)},
                    {"bytes", bytes}});
  }
  return json;
}

Json MadeByJson(const MadeBy& made_by, const Settings& settings) {
  Json json = {{"program", made_by.program},
               {"model", made_by.model},
               {"seed", made_by.seed},
               {"configuration", made_by.configuration},
               {"format", NameOf(made_by.format)}};
  if (IsColumnar(made_by.format) || made_by.codec != Codec::kNone) {
    json["codec"] = NameOf(made_by.codec);
  }
  if (made_by.model == "coherent") json["difficulty"] = settings.difficulty / 1000.0;
  return json;
}

Json StatesJson(const People& people) {
  Json json = Json::array();
  for (std::size_t i = 0; i < lists::kStates.size(); ++i) {
    json.push_back({{"code", lists::kStates[i].code},
                    {"name", lists::kStates[i].name},
                    {"customers", people.customers()[i]}});
  }
  return json;
}

// Returns the blocks of which all files are there, unless they span several.
std::vector<uint64_t> BlocksOf(const check::DataSet& data, const Plan& plan) {
  std::unordered_set<std::string_view> files;
  for (const FileManifest& file : data.files) files.insert(file.file);
  std::vector<uint64_t> blocks;
  for (uint64_t block = 0; block < plan.all_blocks(); ++block) {
    const auto planned = plan.FilesOf(block);
    const bool whole = std::ranges::all_of(planned, [&](const PlannedFile& file) {
      return file.blocks > 1 || files.contains(file.name);
    });
    if (whole) blocks.push_back(block);
  }
  return blocks;
}

// Makes the rows of a data set again and collects their facts.
class Collecting {
 public:
  Collecting(const check::DataSet& data, const PreparedRun& run, const OnRows& on_rows)
      : data_(data),
        model_(*run.model),
        blocks_(BlocksOf(data, run.plan)),
        on_rows_(on_rows),
        people_(data.RowsOf("customers")) {}

  // Makes all tables. Returns false if stopped.
  Result<bool> MakeTables() {
    RETURN_IF_ERROR(Make(kReferenced));
    chain_.Choose();
    for (const std::span<const std::string_view> tables :
         {std::span<const std::string_view>(kPayments),
          std::span<const std::string_view>(kRidesOnly)}) {
      const auto made = std::ranges::find(model_.tables(), tables.front(), &Table::name);
      const auto events = std::ranges::find(EventTables(), tables.front(), &EventTable::name);
      if (stopped_ || made == model_.tables().end() || events == EventTables().end()) continue;
      if (data_.RowsOf(tables.front()) == 0) continue;
      events_ = std::make_unique<Events>(*events, **made);
      events_name_ = tables.front();
      People::ByState by_state = people_.events();
      RETURN_IF_ERROR(Make(tables));
      for (std::size_t state = 0; state < by_state.size(); ++state) {
        by_state[state] = {.honest = people_.events()[state].honest - by_state[state].honest,
                           .fraud = people_.events()[state].fraud - by_state[state].fraud};
      }
      events_json_.push_back(events_->ToJson(by_state));
    }
    return !stopped_;
  }

  void AddTo(Json& facts) const {
    facts["tables"] = TablesJson(data_);
    facts["states"] = StatesJson(people_);
    facts["sampled"] = people_.sampled();
    facts["events"] = events_json_;
    facts["chain"] = chain_.ToJson();
  }

 private:
  // Makes those of these tables that the model has.
  Status Make(std::span<const std::string_view> names) {
    std::vector<const Table*> wanted;
    for (const Table* table : model_.tables()) {
      if (std::ranges::find(names, table->name) != names.end()) wanted.push_back(table);
    }
    FunctionSink sink([&](const Batch& batch) -> Status {
      Add(batch);
      rows_ += batch.rows();
      stopped_ = !on_rows_(rows_);
      if (stopped_) return Fail(Error::Code::kUnavailable, "stopped");
      return {};
    });
    for (const uint64_t block : blocks_) {
      if (wanted.empty() || stopped_) break;
      if (auto made = model_.Make(block, wanted, sink); !made && !stopped_) return made;
    }
    return {};
  }

  void Add(const Batch& batch) {
    const std::string_view name = batch.table().name;
    if (name == "rings") chain_.AddRings(batch);
    if (name == "customers") people_.AddCustomers(batch);
    if (name == "accounts") chain_.AddAccounts(batch);
    if (name == "transactions" && data_.coherent()) chain_.AddTransactions(batch);
    if (events_ && name == events_name_) events_->Add(batch, people_);
  }

  const check::DataSet& data_;
  const Model& model_;
  const std::vector<uint64_t> blocks_;
  const OnRows& on_rows_;
  People people_;
  ChainFinder chain_;
  std::unique_ptr<Events> events_;  // of the current table
  std::string_view events_name_;
  uint64_t rows_ = 0;
  bool stopped_ = false;
  Json events_json_ = Json::array();
};

// Empty in builds without the chart library.
std::string_view Page() { return {reveza_report_page_begin, reveza_report_page_end}; }

// Returns the last part of the path or URL.
std::string NameOf(const Destination& place) {
  const std::string path = place.PathOf("");
  if (path.contains("://")) return path;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  return error || whole.filename().empty() ? path : whole.filename().string();
}

}  // namespace

Result<Facts> CollectFacts(const std::shared_ptr<Destination>& place, int threads,
                           const OnRows& on_rows) {
  std::vector<check::Outcome> outcomes;
  ASSIGN_OR_RETURN(const auto data, check::OpenDataSet(place, outcomes));
  Facts facts;
  const auto origin =
      check::FindOrigin(data, threads, [&](uint64_t, uint64_t) { return on_rows(0); });
  facts.stopped = !origin && origin.error().code == Error::Code::kUnavailable;
  if (facts.stopped) return facts;
  if (!origin) return std::unexpected(origin.error());
  if (!origin->run) {
    return Fail(Error::Code::kIncompatible, "{}: {}", place->PathOf(data.settings_name),
                origin->outcome.detail);
  }
  facts.json = {{"language", "en"},
                {"name", NameOf(*place)},
                {"made_by", MadeByJson(data.made_by, origin->run->settings)},
                {"whole", data.complete}};
  Collecting collecting(data, *origin->run, on_rows);
  ASSIGN_OR_RETURN(const auto done, collecting.MakeTables());
  facts.stopped = !done;
  collecting.AddTo(facts.json);
  return facts;
}

std::string ReportJson(Json facts, Language language) {
  facts["language"] = language == Language::kEnglish ? "en" : "pt";
  // Folder names may be invalid UTF-8.
  std::string text = facts.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (auto at = text.find('<'); at != text.npos; at = text.find('<', at)) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

bool HavePage() { return !Page().empty(); }

std::string PageWith(std::string_view json) {
  constexpr std::string_view kMark = "@FACTS@";
  std::string whole(Page());
  whole.replace(whole.find(kMark), kMark.size(), json);
  return whole;
}

void ChainFinder::AddRings(const Batch& rings) {
  const Field ids(rings, "ring_id"), patterns(rings, "pattern"), roles(rings, "role");
  const Field places(rings, "hop"), customers(rings, "customer_id");
  const Field transactions(rings, "transaction_id"), times(rings, "at");
  for (std::size_t row = 0; row < rings.rows(); ++row) {
    if (!patterns.Is(row, "MULE_CHAIN") ||
        !AllHave(row, ids, roles, places, customers, transactions, times)) {
      continue;
    }
    auto found = candidates_.find(ids.Text(row));
    if (found == candidates_.end()) {
      if (candidates_.size() >= kCandidates) continue;
      found = candidates_.emplace(ids.Text(row), std::vector<Member>()).first;
    }
    if (found->second.size() >= kMaxHops) continue;
    found->second.push_back({.transaction = NumberOf(transactions.Text(row)),
                             .hop = {.place = places.Number(row),
                                     .role = std::string(roles.Value(row)),
                                     .customer = std::string(customers.Text(row)),
                                     .at = times.Number(row)}});
  }
}

void ChainFinder::Choose() {
  const auto has = [](const std::vector<Member>& members, std::string_view role) {
    return std::ranges::any_of(members, [&](const Member& each) { return each.hop.role == role; });
  };
  std::vector<Member>* best = nullptr;
  std::tuple<std::size_t, int64_t> best_rank;  // more payments, less time
  for (auto& [ring, members] : candidates_) {
    if (!has(members, "VICTIM") || !has(members, "CASH_OUT")) continue;
    const auto [first, last] = std::ranges::minmax_element(
        members, {}, [](const Member& member) { return member.hop.at; });
    const std::tuple rank(members.size(), first->hop.at - last->hop.at);
    if (best != nullptr && rank <= best_rank) continue;
    best = &members;
    best_rank = rank;
    ring_ = ring;
  }
  if (best != nullptr) {
    for (Member& member : *best) hops_.emplace(member.transaction, std::move(member.hop));
  }
  candidates_.clear();
}

void ChainFinder::AddAccounts(const Batch& accounts) {
  const Field ids(accounts, "account_id"), customers(accounts, "customer_id");
  for (std::size_t row = 0; row < accounts.rows(); ++row) {
    if (!ids.Has(row) || !customers.Has(row)) continue;
    for (auto& [transaction, hop] : hops_) {
      if (hop.customer == customers.Text(row)) hop.account = ids.Text(row);
    }
  }
}

void ChainFinder::AddTransactions(const Batch& transactions) {
  if (paid_.size() == hops_.size()) return;
  const Field ids(transactions, "transaction_id"), amounts(transactions, "amount");
  const Field receivers(transactions, "counterparty_account"), types(transactions, "type");
  for (std::size_t row = 0; row < transactions.rows(); ++row) {
    const uint64_t number = NumberOf(ids.Text(row));
    const auto found = hops_.find(number);
    if (found == hops_.end() || !amounts.Has(row) || !types.Has(row)) continue;
    found->second.centavos = amounts.Number(row);
    found->second.type = types.Value(row);
    if (receivers.Has(row)) found->second.receiver = receivers.Text(row);
    paid_.insert(number);
  }
}

Json ChainFinder::ToJson() const {
  Json json = {{"ring", ""}, {"hops", Json::array()}};
  if (hops_.empty() || paid_.size() != hops_.size()) return json;
  std::vector<Hop> hops;
  for (const auto& [transaction, hop] : hops_) hops.push_back(hop);
  std::ranges::sort(hops, {},
                    [](const Hop& hop) { return std::tuple(hop.at, hop.place, hop.centavos); });
  json["ring"] = ring_;
  for (const Hop& hop : hops) {
    json["hops"].push_back({{"place", hop.place},
                            {"role", hop.role},
                            {"customer", hop.customer},
                            {"account", hop.account},
                            {"receiver", hop.receiver},
                            {"type", hop.type},
                            {"at", FormatTime(hop.at)},
                            {"amount", Reais(static_cast<double>(hop.centavos))}});
  }
  return json;
}

}  // namespace reveza::fraudgen::report
