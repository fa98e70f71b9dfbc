// Identifiers, names and contact data of people, accounts and devices, as functions of their
// numbers. Immutable and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fraudgen/model/coherent/fleet.h"
#include "fraudgen/model/coherent/id_generator.h"
#include "fraudgen/model/coherent/world.h"
#include "fraudgen/values/cpf.h"

namespace reveza::fraudgen::coherent {

// The holder of an account, whether a customer or not.
struct Owner {
  uint64_t key;
  uint64_t family;      // determines the surname
  uint64_t cpf_number;  // for a shop: the number of its CNPJ
  uint8_t state;
  uint8_t bank;
  uint16_t city;
  KeyType key_type;
  uint8_t phones = 0;  // number of changes so far; likewise below
  uint8_t emails = 0;
  uint8_t keys = 0;
};

class Identity {
 public:
  explicit Identity(const World& world);

  const World& world() const { return *world_; }

  // As of `time`.
  Owner OwnerOf(const Person& person, int64_t time) const;
  // Sufficient for the PIX key; telephone and e-mail are valid only if they are the key.
  Owner OwnerOf(AccountNumber account, int64_t time) const;
  // Drivers have the CPF numbers after those of all others.
  Owner OwnerOf(const Driver& driver) const;
  Owner OwnerOfShop(MerchantNumber merchant) const;

  // Generators of identifiers. Those of settlements, alerts and disputes have the digits of the
  // transaction that they refer to, those of ride alerts the digits of the ride.
  const IdGenerator<5, 12> customers;
  const IdGenerator<4, 15> accounts;
  const RowIdGenerator<4, 15> transactions;
  const RowIdGenerator<5, 15> sessions;
  const IdGenerator<4, 15> devices;
  const IdGenerator<6, 8> merchants;
  const IdGenerator<5, 15> rings;
  const IdGenerator<4, 15> entries;
  const RowIdGenerator<4, 15> settlements;
  const RowIdGenerator<6, 15> alerts;
  const RowIdGenerator<5, 15> disputes;
  const IdGenerator<4, 10> drivers;
  const RowIdGenerator<5, 12> rides;
  const RowIdGenerator<7, 12> ride_alerts;

  // Returns the index of the merchant's name in lists::kMerchantNames.
  uint16_t MerchantName(MerchantNumber merchant) const;
  // Each writes at `out`, may overwrite up to kMaxText bytes there, and returns the end of its
  // text.
  static constexpr std::size_t kMaxText = 96;
  char* PutAccountNumber(char* out, uint64_t customer) const;
  char* PutName(char* out, const Owner& owner) const;
  char* PutEmail(char* out, const Owner& owner) const;
  char* PutPhone(char* out, const Owner& owner) const;
  char* PutCpf(char* out, const Owner& owner) const;
  char* PutPixKey(char* out, const Owner& owner) const;
  // Returns the full address after `moves` moves.
  std::string AddressOf(const Person& person, uint32_t moves) const;
  static void AppendStreet(std::string& text, uint64_t home_key);
  static std::string_view NeighborhoodOf(uint64_t home_key);
  static char* PutPostalCode(char* out, uint32_t city, uint64_t home_key);

 private:
  Owner PlainOwnerOf(const Person& person) const;
  Owner OtherOwnerOf(AccountNumber account) const;
  uint8_t CountChanges(uint64_t customer, LifeChange kind, int64_t time) const {
    return static_cast<uint8_t>(world_->CountChanges(customer, kind, world_->begin() - 1, time));
  }

  const World* world_;
  Scramble cpfs_;
  Scramble account_numbers_;
  Scramble cnpjs_;
  Scramble phones_;
  Scramble emails_;  // the digits in them
  WeightedChoice key_types_;
  WeightedChoice banks_;
  WeightedChoice states_;
};

}  // namespace reveza::fraudgen::coherent
