// What people, accounts and devices are called. Each name is a function of a number, so whoever
// asks gets the same. Immutable, so safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datagen/coherent/scramble.h"
#include "datagen/coherent/world.h"
#include "datagen/cpf.h"

namespace reveza::datagen::coherent {

// Who has an account, whether simulated or not.
struct Owner {
  uint64_t key = 0;
  uint64_t cpf_number = 0;
  uint8_t state = 0;
  uint8_t bank = 0;
  uint16_t city = 0;
  KeyType key_type = KeyType::kCpf;
};

class Identity {
 public:
  explicit Identity(const World& world);

  Owner OwnerOf(const Person& person) const;
  Owner OwnerOf(AccountNumber account) const;
  Owner OwnerOfShop(AccountNumber account, uint32_t city) const;

  // Each appends to `text`.
  void AppendCustomer(std::string& text, uint64_t number) const;
  void AppendAccount(std::string& text, AccountNumber account) const;
  void AppendAccountNumber(std::string& text, uint64_t customer) const;
  void AppendTransaction(std::string& text, uint64_t row) const;
  void AppendSession(std::string& text, uint64_t row) const;
  void AppendDevice(std::string& text, DeviceNumber device) const;
  void AppendMerchant(std::string& text, MerchantNumber merchant) const;
  void AppendRing(std::string& text, uint64_t ring) const;
  // An identifier with the digits of a transaction.
  void AppendOfTransaction(std::string& text, std::string_view prefix, uint64_t row) const;

  // Its index in the list of names.
  uint16_t MerchantName(MerchantNumber merchant) const;
  void AppendName(std::string& text, const Owner& owner) const;
  void AppendEmail(std::string& text, const Owner& owner) const;
  void AppendPhone(std::string& text, const Owner& owner) const;
  void AppendCpf(std::string& text, const Owner& owner) const;
  void AppendPixKey(std::string& text, const Owner& owner) const;

 private:
  const World* world_;
  CpfSequence cpfs_;
  Scramble customers_;
  Scramble accounts_;
  Scramble transactions_;
  Scramble sessions_;
  Scramble devices_;
  Scramble merchants_;
  Scramble rings_;
  Scramble account_numbers_;
  WeightedChoice banks_;
  WeightedChoice states_;
};

void AppendDigits(std::string& text, uint64_t value, int digits);
void AppendHexadecimal(std::string& text, uint64_t value, int digits);

}  // namespace reveza::datagen::coherent
