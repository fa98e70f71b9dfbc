// Fills the text columns of transactions, and those that are null for most kinds of payment.
#include <algorithm>
#include <array>
#include <cstring>

#include "fraudgen/lists/weights.h"
#include "fraudgen/model/classic/transactions.h"
#include "fraudgen/schema/fixed_text.h"

namespace reveza::fraudgen::classic {
namespace {

using Type = TransactionType;

constexpr bool IsPix(uint16_t type) { return type == static_cast<uint16_t>(Type::kPix); }
constexpr bool HasBank(uint16_t type) {
  constexpr uint32_t kTypes =
      1u << static_cast<uint32_t>(Type::kPix) | 1u << static_cast<uint32_t>(Type::kTed) |
      1u << static_cast<uint32_t>(Type::kBoleto) | 1u << static_cast<uint32_t>(Type::kDoc);
  return (kTypes >> type & 1) != 0;
}

}  // namespace

void Transactions::FillIdentifiers(const BatchRows& rows, const Scratch& scratch,
                                   Batch& batch) const {
  constexpr Identifier<4, 15> kTransaction = {"TXN_"};
  constexpr Identifier<5, 15> kSession = {"SESS_"};
  constexpr Identifier<5, 12> kCustomer = {"CUST_"};
  constexpr Identifier<4, 12> kDevice = {"DEV_"};
  constexpr Identifier<6, 6> kMerchant = {"MERCH_"};
  const std::size_t count = rows.size();
  char* transaction = BeginFixedTexts(Texts(batch, kTransactionId), count, kTransaction.kWidth);
  char* session = BeginFixedTexts(Texts(batch, kSessionId), count, kSession.kWidth);
  char* customer = BeginFixedTexts(Texts(batch, kCustomerId), count, kCustomer.kWidth);
  char* device = BeginFixedTexts(Texts(batch, kDeviceId), count, kDevice.kWidth);
  char* merchant = BeginFixedTexts(Texts(batch, kMerchantId), count, kMerchant.kWidth);
  const Drawn drawn(random_[Draw::kMerchantId], rows);
  SixteenDigits row_digits;
  SixteenDigits customer_digits;
  SixteenDigits device_digits;
  for (std::size_t i = 0; i < count; ++i) {
    row_digits.Set(rows[i]);
    kTransaction.Write(transaction + i * kTransaction.kWidth, row_digits);
    kSession.Write(session + i * kSession.kWidth, row_digits);
    const Owner& owner = scratch.owner[i];
    customer_digits.Set(owner.customer + 1);
    kCustomer.Write(customer + i * kCustomer.kWidth, customer_digits);
    device_digits.Set(World::DeviceNumber(owner.customer, owner.device));
    kDevice.Write(device + i * kDevice.kWidth, device_digits);
    kMerchant.Write(merchant + i * kMerchant.kWidth, 1 + UpperProduct(drawn[i], 100'000));
  }
}

void Transactions::FillIp(const BatchRows& rows, Batch& batch) const {
  constexpr std::size_t kLongest = sizeof("255.255.255.255.") - 1;
  ColumnValues& column = Texts(batch, kIpAddress);
  const std::size_t count = rows.size();
  column.bytes.resize(count * kLongest);
  column.ends.resize(count);
  const Drawn drawn(random_[Draw::kIp], rows);
  char* const begin = column.bytes.data();
  char* at = begin;
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t bits = drawn[i];
    at = PutOctet(at, lists::kIpFirstNumbers[UpperProduct(bits, lists::kIpFirstNumbers.size())]);
    at = PutOctet(at, bits >> 16 & 0xff);
    at = PutOctet(at, bits >> 8 & 0xff);
    at = PutOctet(at, bits & 0xff) - 1;
    column.ends[i] = static_cast<int32_t>(at - begin);
  }
  column.bytes.resize(static_cast<std::size_t>(at - begin));
}

// Sizes the column for a text of `width` bytes in each row of the list; other rows are null.
char* Transactions::BeginTextsOf(const RowList& list, std::size_t width, ColumnValues& column) {
  const std::size_t rows = column.present.size();
  column.bytes.resize(list.count * width);
  column.ends.resize(rows);
  std::size_t end = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    column.present[i] = list.is_in[i];
    end += list.is_in[i] != 0 ? width : 0;
    column.ends[i] = static_cast<int32_t>(end);
  }
  return column.bytes.data();
}

void Transactions::FillCard(const BatchRows& rows, const RowList& cards, Batch& batch) const {
  const std::size_t count = rows.size();
  const uint16_t* const types = Codes(batch, kType);
  const auto [brands, card_types, entries] = Codes(batch, kCardBrand, kCardType, kCardEntry);
  const auto installments = Numbers(batch, kInstallments);
  const auto [validated, secured] = Flags(batch, kCvvValidated, kAuth3ds);
  for (const TransactionsColumn column :
       {kCardBrand, kCardType, kInstallments, kCardEntry, kCvvValidated, kAuth3ds}) {
    std::copy_n(cards.is_in.data(), count, Present(batch, column));
  }
  for (uint16_t* const codes : {brands, card_types, entries}) std::fill_n(codes, count, 0);
  for (uint8_t* const flags : {validated, secured}) std::fill_n(flags, count, 0);
  std::fill_n(installments, count, 0);

  const Drawn card_drawn(random_[Draw::kCard], rows, std::span(cards.rows).first(cards.count));
  const Drawn use_drawn(random_[Draw::kCardUse], rows, std::span(cards.rows).first(cards.count));
  for (std::size_t k = 0; k < cards.count; ++k) {
    const std::size_t i = cards.rows[k];
    const bool debit = types[i] == static_cast<uint16_t>(Type::kDebitCard);
    uint64_t bits = card_drawn[k];
    brands[i] = static_cast<uint16_t>(brands_.Of(bits));
    entries[i] = static_cast<uint16_t>(entries_.Of(LowerHalf(bits)));
    card_types[i] = debit;
    bits = use_drawn[k];
    installments[i] = debit ? 1 : lists::kInstallments[installments_.Of(bits)];
    validated[i] = Percent(bits << 24) < 95;
    secured[i] = Percent(bits << 44) < 70;
  }
}

void Transactions::FillCardHash(const BatchRows& rows, const RowList& cards, Batch& batch) const {
  constexpr std::size_t kWidth = 16;
  ColumnValues& column = Texts(batch, kCardNumberHash);
  char* const to = BeginTextsOf(cards, kWidth, column);
  const Drawn drawn(random_[Draw::kCardHash], rows, std::span(cards.rows).first(cards.count));
  for (std::size_t k = 0; k < cards.count; ++k) {
    WriteHex(to + k * kWidth, drawn[k]);
  }
}

void Transactions::FillReceiver(const BatchRows& rows, Batch& batch) const {
  const uint16_t* const types = Codes(batch, kType);
  const auto [keys, banks] = Codes(batch, kPixKeyType, kDestinationBank);
  const auto [key_present, bank_present] = Present(batch, kPixKeyType, kDestinationBank);
  const Drawn drawn(random_[Draw::kReceiver], rows);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const uint64_t bits = drawn[i];
    key_present[i] = IsPix(types[i]);
    keys[i] = key_present[i] != 0 ? static_cast<uint16_t>(pix_key_types_.Of(bits)) : uint16_t{0};
    bank_present[i] = HasBank(types[i]);
    banks[i] =
        bank_present[i] != 0 ? static_cast<uint16_t>(banks_.Of(LowerHalf(bits))) : uint16_t{0};
  }
}

void Transactions::FillPixKey(const BatchRows& rows, const RowList& pixes, Batch& batch) const {
  constexpr std::size_t kWidth = 32;
  ColumnValues& column = Texts(batch, kPixKeyDestination);
  char* const to = BeginTextsOf(pixes, kWidth, column);
  const Drawn upper(random_[Draw::kPixKeyUpper], rows, std::span(pixes.rows).first(pixes.count));
  const Drawn lower(random_[Draw::kPixKeyLower], rows, std::span(pixes.rows).first(pixes.count));
  for (std::size_t k = 0; k < pixes.count; ++k) {
    WriteHex(to + k * kWidth, upper[k]);
    WriteHex(to + k * kWidth + kWidth / 2, lower[k]);
  }
}

}  // namespace reveza::fraudgen::classic
