// Collects everything that a report shows, with bounded memory, and makes its HTML
// page, a single file without external resources. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/output/destination.h"
#include "fraudgen/report/counts.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen::report {

struct Facts {
  Json json;             // the only input of the page
  bool stopped = false;  // by the callback; the rest is invalid
};

// Called periodically. Returning false stops.
using OnRows = std::function<bool(uint64_t rows)>;

// Makes the rows of a data set again from its settings, and counts them. `threads` prepare that.
// kNotFound: no data set; kIncompatible: its rows cannot be made again.
Result<Facts> CollectFacts(const std::shared_ptr<Destination>& place, int threads,
                           const OnRows& on_rows);

enum class Language { kEnglish, kPortuguese };

// Returns one JSON object that is safe to embed in HTML: plain ASCII without '<'.
std::string ReportJson(Json facts, Language language);

// Returns false in builds without the chart library.
bool HavePage();
// Returns the page with the JSON of ReportJson(). Requires HavePage().
std::string PageWith(std::string_view json);

// Reconstructs one mule chain from the tables: who paid whom, when and how much. Rings must come
// before accounts and transactions. Not thread-safe.
class ChainFinder {
 public:
  // The chain is chosen among the first kCandidates.
  static constexpr std::size_t kCandidates = 4'096;
  // Longer chains are ignored as damaged.
  static constexpr std::size_t kMaxHops = 16;

  void AddRings(const Batch& rings);
  // Called after all rings: chooses the longest chain, and the fastest of these.
  void Choose();
  void AddAccounts(const Batch& accounts);
  void AddTransactions(const Batch& transactions);

  // Returns the ring and its payments in order of time; empty if no chain was complete.
  Json ToJson() const;

 private:
  struct Hop {
    int64_t place = 0;  // in the chain; 0: the victim
    std::string role = {};
    std::string customer = {};
    std::string account = {};   // of the customer; empty if unknown
    std::string receiver = {};  // receiving account; empty for cash withdrawals
    std::string type = {};
    int64_t at = 0;
    int64_t centavos = 0;
  };
  struct Member {
    uint64_t transaction;
    Hop hop;
  };
  std::map<std::string, std::vector<Member>, std::less<>> candidates_;
  std::string ring_;
  std::unordered_map<uint64_t, Hop> hops_;  // of the chosen chain, by transaction
  std::unordered_set<uint64_t> paid_;       // transactions seen
};

}  // namespace reveza::fraudgen::report
