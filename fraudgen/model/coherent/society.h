// Whom a customer pays: relatives, friends, colleagues, and receivers whom many pay. A tie between
// two customers is a function of (seed, their numbers), the same from both ends. Immutable and
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fraudgen/model/coherent/draws.h"
#include "fraudgen/model/coherent/world.h"

namespace reveza::fraudgen::coherent {

// Draws an account at another bank that many people of the city, or of the country, pay.
AccountNumber PopularReceiver(const World& world, uint32_t city, Draws& draws);

class Society {
 public:
  // Customers of other blocks are not paid, since their balance is not at hand.
  Society(const World& world, uint64_t block);

  // Returns the accounts that the customer pays, the most frequent first: at most kMaxContacts,
  // about `wanted`, and never the customer's own.
  std::vector<AccountNumber> ContactsOf(const Person& person, std::size_t wanted) const;
  // Returns whether a customer pays another of the same town as a relative, friend or colleague.
  bool Pays(uint64_t number, uint64_t other) const;

 private:
  struct Tie {
    AccountNumber account;
    uint64_t rank;  // low: frequent
  };

  bool IsInBlock(uint64_t number) const { return number - first_ < count_; }
  uint64_t ChanceOf(uint64_t first, uint64_t second) const;
  static void AddNew(const Tie& tie, std::vector<Tie>& ties);
  void AddTown(uint64_t number, std::vector<Tie>& ties) const;
  void AddOutsiders(uint64_t number, std::vector<Tie>& ties) const;
  void AddFarAway(uint64_t number, Draws& draws, std::vector<Tie>& ties) const;
  AccountNumber AnyProfessional(const Person& person, Draws& draws) const;
  AccountNumber AnyCustomer(uint64_t number, Draws& draws) const;

  const World* world_;
  uint64_t first_;
  uint64_t count_;
  uint64_t inside_;      // share of the contacts that are customers, in millionths
  Permutation popular_;  // the block's customers by popularity
};

}  // namespace reveza::fraudgen::coherent
