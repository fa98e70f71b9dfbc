// What people, accounts and devices are called. Each name is a function of a number, so whoever
// asks gets the same. Immutable, so safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "datagen/coherent/fleet.h"
#include "datagen/coherent/naming.h"
#include "datagen/coherent/scramble.h"
#include "datagen/coherent/world.h"
#include "datagen/cpf.h"

namespace reveza::datagen::coherent {

// Who has an account, whether simulated or not.
struct Owner {
  uint64_t key;
  uint64_t family;      // who have the same have the same last name
  uint64_t cpf_number;  // or of a shop, from which its CNPJ is made
  uint8_t state;
  uint8_t bank;
  uint16_t city;
  KeyType key_type;
  uint8_t phones = 0;  // how many the owner had before, and so on
  uint8_t emails = 0;
  uint8_t keys = 0;
};

class Identity {
 public:
  explicit Identity(const World& world);

  // As they are at a time.
  Owner OwnerOf(const Person& person, int64_t time) const;
  // What its PIX key is made from; telephone and e-mail are right only where they are the key.
  Owner OwnerOf(AccountNumber account, int64_t time) const;
  // Their numbers of taxpayers are the last ones.
  Owner OwnerOf(const Driver& driver) const;
  Owner OwnerOfShop(MerchantNumber merchant) const;

  const Naming<5, 12>& customers() const { return customers_; }
  const Naming<4, 15>& accounts() const { return accounts_; }
  const RowNaming<4, 15>& transactions() const { return transactions_; }
  const RowNaming<5, 15>& sessions() const { return sessions_; }
  const Naming<4, 15>& devices() const { return devices_; }
  const Naming<6, 8>& merchants() const { return merchants_; }
  const Naming<5, 15>& rings() const { return rings_; }
  // With the digits of the transaction that they are about.
  const RowNaming<4, 15>& settlements() const { return settlements_; }
  const RowNaming<6, 15>& alerts() const { return alerts_; }
  const RowNaming<5, 15>& disputes() const { return disputes_; }
  const Naming<4, 10>& drivers() const { return drivers_; }
  const RowNaming<5, 12>& rides() const { return rides_; }
  const RowNaming<7, 12>& ride_alerts() const { return ride_alerts_; }

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
  // Street, number, neighbourhood and postal code of somebody who has moved so often.
  std::string AddressOf(const Person& person, uint32_t moves) const;
  static void AppendStreet(std::string& text, uint64_t home_key);
  static std::string_view NeighborhoodOf(uint64_t home_key);
  static char* PutPostalCode(char* out, uint32_t city, uint64_t home_key);

 private:
  const World* world_;
  Scramble cpfs_;
  Naming<5, 12> customers_;
  Naming<4, 15> accounts_;
  RowNaming<4, 15> transactions_;
  RowNaming<5, 15> sessions_;
  Naming<4, 15> devices_;
  Naming<6, 8> merchants_;
  Naming<5, 15> rings_;
  RowNaming<4, 15> settlements_;
  RowNaming<6, 15> alerts_;
  RowNaming<5, 15> disputes_;
  Naming<4, 10> drivers_;
  RowNaming<5, 12> rides_;
  RowNaming<7, 12> ride_alerts_;
  Owner PlainOwnerOf(const Person& person) const;
  Owner OtherOwnerOf(AccountNumber account) const;

  Scramble account_numbers_;
  Scramble cnpjs_;
  Scramble phones_;
  WeightedChoice key_types_;
  WeightedChoice banks_;
  WeightedChoice states_;
};

}  // namespace reveza::datagen::coherent
