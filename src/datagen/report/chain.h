// One chain of mules, as it is told by the tables: who paid whom, when and how much. Rings come
// first, then accounts, then transactions. Not safe from several threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "datagen/batch.h"

namespace reveza::datagen::report {

struct Hop {
  int64_t place = 0;  // in the chain; 0: the victim's
  std::string role = {};
  std::string customer = {};
  std::string account = {};   // of the customer; empty if it is not known
  std::string receiver = {};  // the account that is paid; empty where cash is drawn
  std::string type = {};
  int64_t at = 0;
  int64_t centavos = 0;

  friend bool operator==(const Hop&, const Hop&) = default;
};

class ChainFinder {
 public:
  // Of the first so many chains one is chosen.
  static constexpr std::size_t kCandidates = 4'096;
  // A chain has at most this many payments; more would be damage.
  static constexpr std::size_t kMostHops = 16;

  void LookAtRings(const Batch& rings);
  // All rings went by: takes the chain with the most payments, and of those the quickest.
  void Choose();
  void LookAtAccounts(const Batch& accounts);
  void LookAtTransactions(const Batch& transactions);

  const std::string& ring() const { return ring_; }
  // In order of time; empty where no chain was whole.
  std::vector<Hop> Hops() const;

 private:
  struct Member {
    uint64_t transaction;
    Hop hop;
  };
  std::map<std::string, std::vector<Member>, std::less<>> candidates_;
  std::string ring_;
  std::unordered_map<uint64_t, Hop> hops_;  // of the chosen one, by its transaction
  std::unordered_set<uint64_t> paid_;       // those whose payment went by
};

}  // namespace reveza::datagen::report
