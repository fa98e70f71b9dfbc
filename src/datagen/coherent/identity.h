// What people, accounts and devices are called. Each name is a function of a number, so whoever
// asks gets the same. Immutable, so safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datagen/coherent/fleet.h"
#include "datagen/coherent/naming.h"
#include "datagen/coherent/scramble.h"
#include "datagen/coherent/world.h"
#include "datagen/cpf.h"

namespace reveza::datagen::coherent {

// Who has an account, whether simulated or not.
struct Owner {
  uint64_t key;
  uint64_t family;  // who have the same have the same last name
  uint64_t cpf_number;
  uint8_t state;
  uint8_t bank;
  uint16_t city;
  KeyType key_type;
};

class Identity {
 public:
  explicit Identity(const World& world);

  Owner OwnerOf(const Person& person) const;
  Owner OwnerOf(AccountNumber account) const;
  // Their numbers of taxpayers are the last ones.
  Owner OwnerOf(const Driver& driver) const;
  Owner OwnerOfShop(AccountNumber account, uint32_t city) const;

  const Naming<5, 12>& customers() const { return customers_; }
  const Naming<4, 15>& accounts() const { return accounts_; }
  const Naming<4, 15>& transactions() const { return transactions_; }
  const Naming<5, 15>& sessions() const { return sessions_; }
  const Naming<4, 15>& devices() const { return devices_; }
  const Naming<6, 8>& merchants() const { return merchants_; }
  const Naming<5, 15>& rings() const { return rings_; }
  // With the digits of the transaction that they are about.
  const Naming<4, 15>& settlements() const { return settlements_; }
  const Naming<6, 15>& alerts() const { return alerts_; }
  const Naming<5, 15>& disputes() const { return disputes_; }
  const Naming<4, 10>& drivers() const { return drivers_; }
  const Naming<5, 12>& rides() const { return rides_; }
  const Naming<7, 12>& ride_alerts() const { return ride_alerts_; }

  // Its index in the list of names.
  uint16_t MerchantName(MerchantNumber merchant) const;
  // Each writes at `out`, where there must be room for kMostText bytes, and returns where its text
  // ends; what is behind it there may be overwritten.
  static constexpr std::size_t kMostText = 96;
  char* PutAccountNumber(char* out, uint64_t customer) const;
  char* PutName(char* out, const Owner& owner) const;
  char* PutEmail(char* out, const Owner& owner) const;
  char* PutPhone(char* out, const Owner& owner) const;
  char* PutCpf(char* out, const Owner& owner) const;
  char* PutPixKey(char* out, const Owner& owner) const;

 private:
  const World* world_;
  CpfSequence cpfs_;
  Naming<5, 12> customers_;
  Naming<4, 15> accounts_;
  Naming<4, 15> transactions_;
  Naming<5, 15> sessions_;
  Naming<4, 15> devices_;
  Naming<6, 8> merchants_;
  Naming<5, 15> rings_;
  Naming<4, 15> settlements_;
  Naming<6, 15> alerts_;
  Naming<5, 15> disputes_;
  Naming<4, 10> drivers_;
  Naming<5, 12> rides_;
  Naming<7, 12> ride_alerts_;
  Scramble account_numbers_;
  WeightedChoice banks_;
  WeightedChoice states_;
};

}  // namespace reveza::datagen::coherent
