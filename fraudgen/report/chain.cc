#include "fraudgen/report/chain.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "fraudgen/check/table_check.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::report {

using check::Field;

void ChainFinder::AddRings(const Batch& rings) {
  const Field ids(rings, "ring_id"), patterns(rings, "pattern"), roles(rings, "role");
  const Field places(rings, "hop"), customers(rings, "customer_id");
  const Field transactions(rings, "transaction_id"), times(rings, "at");
  for (std::size_t row = 0; row < rings.rows(); ++row) {
    if (!patterns.Is(row, "MULE_CHAIN") ||
        !check::AllHave(row, ids, roles, places, customers, transactions, times)) {
      continue;
    }
    auto found = candidates_.find(ids.Text(row));
    if (found == candidates_.end()) {
      if (candidates_.size() >= kCandidates) continue;
      found = candidates_.emplace(ids.Text(row), std::vector<Member>()).first;
    }
    if (found->second.size() >= kMaxHops) continue;
    found->second.push_back({.transaction = check::NumberOf(transactions.Text(row)),
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
    const uint64_t number = check::NumberOf(ids.Text(row));
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
