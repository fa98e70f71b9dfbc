// The tables of the coherent model, and what their categories may be. Constant data, safe from any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "datagen/schema.h"

namespace reveza::datagen::coherent {

extern const Table kCustomers;
extern const Table kAccounts;
extern const Table kDevices;
extern const Table kTransactions;
extern const Table kSettlements;
extern const Table kAlerts;
extern const Table kDisputes;
extern const Table kChanges;
extern const Table kRings;
extern const Table kDrivers;  // these three only where rides are asked for
extern const Table kRides;
extern const Table kRideAlerts;
// All of them, in this order.
std::span<const Table* const> Tables();

// The enumerators below are the indices of their names, which are the values of a column.

enum class Profile : uint8_t {
  kYoungDigital,
  kTraditionalSenior,
  kBusinessOwner,
  kHighSpender,
  kSubscriptionHeavy,
  kFamilyProvider
};
inline constexpr std::array<std::string_view, 6> kProfileNames = {
    "young_digital", "traditional_senior", "business_owner",
    "high_spender",  "subscription_heavy", "family_provider"};

enum class Kind : uint8_t {
  kPix,
  kCreditCard,
  kDebitCard,
  kBoleto,
  kAutoDebit,
  kMobileTopup,
  kTed,
  kWithdrawal
};
inline constexpr std::array<std::string_view, 8> kKindNames = {
    "PIX",        "CREDIT_CARD",  "DEBIT_CARD", "BOLETO",
    "AUTO_DEBIT", "MOBILE_TOPUP", "TED",        "WITHDRAWAL"};

enum class Channel : uint8_t {
  kMobileApp,
  kWebBanking,
  kAtm,
  kBranch,
  kWhatsappPay,
  kPointOfSale,
  kOnlineShop,
  kStandingOrder
};
inline constexpr std::array<std::string_view, 8> kChannelNames = {
    "MOBILE_APP",   "WEB_BANKING",   "ATM",         "BRANCH",
    "WHATSAPP_PAY", "POINT_OF_SALE", "ONLINE_SHOP", "STANDING_ORDER"};

enum class CardEntry : uint8_t { kChip, kContactless, kManual, kMagnetic };
inline constexpr std::array<std::string_view, 4> kCardEntryNames = {"CHIP", "CONTACTLESS", "MANUAL",
                                                                    "MAGNETIC"};

enum class KeyType : uint8_t { kCpf, kPhone, kEmail, kRandom, kCnpj };
inline constexpr std::array<std::string_view, 5> kKeyTypeNames = {"CPF", "TELEFONE", "EMAIL",
                                                                  "ALEATORIA", "CNPJ"};

enum class PaymentStatus : uint8_t { kApproved, kDeclined, kPending, kBlocked };
inline constexpr std::array<std::string_view, 4> kStatusNames = {"APPROVED", "DECLINED", "PENDING",
                                                                 "BLOCKED"};

enum class Refusal : uint8_t {
  kInsufficientBalance,
  kFraudSuspect,
  kLimitExceeded,
  kCardBlocked,
  kCvvError,
  kCardExpired,
  kInvalidPin,
  kAccountBlocked
};
inline constexpr std::array<std::string_view, 8> kRefusalNames = {
    "INSUFFICIENT_BALANCE", "FRAUD_SUSPECT", "LIMIT_EXCEEDED", "CARD_BLOCKED", "CVV_ERROR",
    "CARD_EXPIRED",         "INVALID_PIN",   "ACCOUNT_BLOCKED"};

enum class FraudType : uint8_t {
  kSocialEngineering,
  kAccountTakeover,
  kClonedCard,
  kFalseIdentity,
  kFirstPartyFraud,
  kWhatsappScam,
  kPhishing,
  kFriendlyFraud,
  kMoneyLaundering,
  kTriangulation,
  kSimSwap,
  kFalseBoleto,
  kFalseQrCode
};
inline constexpr std::array<std::string_view, 13> kFraudTypeNames = {
    "ENGENHARIA_SOCIAL", "CONTA_TOMADA", "CARTAO_CLONADO",  "IDENTIDADE_FALSA", "AUTOFRAUDE",
    "GOLPE_WHATSAPP",    "PHISHING",     "FRAUDE_AMIGAVEL", "LAVAGEM_DINHEIRO", "TRIANGULACAO",
    "SIM_SWAP",          "BOLETO_FALSO", "QR_CODE_FALSO"};

enum class FraudRole : uint8_t {
  kVictim,
  kTakeover,
  kTest,
  kMuleHop,
  kCashOut,
  kStructuring,
  kFirstParty
};
inline constexpr std::array<std::string_view, 7> kFraudRoleNames = {
    "VICTIM", "TAKEOVER", "TEST", "MULE_HOP", "CASH_OUT", "STRUCTURING", "FIRST_PARTY"};

// Merchant categories; two of them share a code.
inline constexpr std::array<std::string_view, 24> kMccCodes = {
    "5411", "5812", "5814", "5541", "5499", "4121", "5912", "4131", "4900", "5311", "5651", "4814",
    "7941", "6011", "5815", "8299", "5995", "8011", "5732", "5977", "5944", "7995", "7011", "4511"};

enum class RingPattern : uint8_t { kMuleChain, kSharedDevice };
inline constexpr std::array<std::string_view, 2> kRingPatternNames = {"MULE_CHAIN",
                                                                      "SHARED_DEVICE"};
enum class RingRole : uint8_t { kVictim, kMule, kCashOut, kMember };
inline constexpr std::array<std::string_view, 4> kRingRoleNames = {"VICTIM", "MULE", "CASH_OUT",
                                                                   "MEMBER"};

enum class AlertRule : uint8_t { kNewReceiver, kNewDevice, kFarAway, kManyInADay, kHighAmount };
inline constexpr std::array<std::string_view, 5> kAlertRuleNames = {
    "NEW_RECEIVER", "NEW_DEVICE", "FAR_AWAY", "MANY_IN_A_DAY", "HIGH_AMOUNT"};
inline constexpr std::array<std::string_view, 2> kAlertActionNames = {"REVIEW", "BLOCK"};

enum class SettlementOutcome : uint8_t { kSettled, kReturned, kReversed };
inline constexpr std::array<std::string_view, 3> kSettlementOutcomeNames = {"SETTLED", "RETURNED",
                                                                            "REVERSED"};
enum class SettlementReason : uint8_t {
  kReceiverNotFound,
  kNotCleared,
  kShopCancelled,
  kDuplicateCharge,
  kReceiverReturned
};
inline constexpr std::array<std::string_view, 5> kSettlementReasonNames = {
    "RECEIVER_NOT_FOUND", "NOT_CLEARED", "SHOP_CANCELLED", "DUPLICATE_CHARGE", "RECEIVER_RETURNED"};

enum class DisputeKind : uint8_t { kMed, kChargeback };
inline constexpr std::array<std::string_view, 2> kDisputeKindNames = {"MED", "CHARGEBACK"};
enum class DisputeOutcome : uint8_t { kRefunded, kPartlyRefunded, kRefused };
inline constexpr std::array<std::string_view, 3> kDisputeOutcomeNames = {
    "REFUNDED", "PARTLY_REFUNDED", "REFUSED"};

// In the order of what happens at the same time.
enum class ChangeKind : uint8_t {
  kAccountOpened,
  kAddressChanged,
  kPhoneChanged,
  kEmailChanged,
  kIncomeChanged,
  kLimitChanged,
  kSimChanged,
  kPixKeyRemoved,
  kPixKeyAdded,
  kDeviceRemoved,
  kDeviceReplaced,
  kDeviceAdded,
  kAccountClosed
};
inline constexpr std::array<std::string_view, 13> kChangeKindNames = {
    "ACCOUNT_OPENED",  "ADDRESS_CHANGED", "PHONE_CHANGED",   "EMAIL_CHANGED", "INCOME_CHANGED",
    "LIMIT_CHANGED",   "SIM_CHANGED",     "PIX_KEY_REMOVED", "PIX_KEY_ADDED", "DEVICE_REMOVED",
    "DEVICE_REPLACED", "DEVICE_ADDED",    "ACCOUNT_CLOSED"};
inline constexpr std::array<std::string_view, 2> kAccountRoleNames = {"MULE", "FALSE_IDENTITY"};

enum class Shift : uint8_t { kDay, kEvening, kNight };
inline constexpr std::array<std::string_view, 3> kShiftNames = {"DAY", "EVENING", "NIGHT"};
enum class RidePlaceKind : uint8_t { kHome, kWork, kAirport, kHotel, kNightlife, kShop, kStreet };
inline constexpr std::array<std::string_view, 7> kRidePlaceNames = {
    "HOME", "WORK", "AIRPORT", "HOTEL", "NIGHTLIFE", "SHOP", "STREET"};
enum class RideStatus : uint8_t {
  kCompleted,
  kCancelledByPassenger,
  kCancelledByDriver,
  kNoDriver
};
enum class RideFraudType : uint8_t {
  kGpsSpoofing,
  kPromoAbuse,
  kGhostRide,
  kSurgeAbuse,
  kMultiAccountDriver,
  kRatingFraud,
  kSplitFareFraud
};
enum class RideFraudRole : uint8_t { kDriver, kPassenger, kBoth };
inline constexpr std::array<std::string_view, 3> kRideFraudRoleNames = {"DRIVER", "PASSENGER",
                                                                        "BOTH"};
enum class RideRule : uint8_t {
  kLongWay,
  kSamePair,
  kDiscount,
  kSurge,
  kNewDevice,
  kNotPaid,
  kOverlap
};
inline constexpr std::array<std::string_view, 7> kRideRuleNames = {
    "LONG_WAY", "SAME_PAIR", "DISCOUNT", "SURGE", "NEW_DEVICE", "NOT_PAID", "OVERLAP"};

}  // namespace reveza::datagen::coherent
