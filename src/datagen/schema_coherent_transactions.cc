#include <array>

#include "datagen/lists/commerce.h"
#include "datagen/schema_coherent.h"
#include "datagen/schema_column.h"

namespace reveza::datagen::coherent {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kCurrency = {"BRL"sv};
constexpr std::array kMccRisk = {"low"sv, "medium"sv, "high"sv};
constexpr std::array kCardBrand = {"VISA"sv, "MASTERCARD"sv, "ELO"sv, "HIPERCARD"sv, "AMEX"sv};
constexpr std::array kCardType = {"CREDIT"sv, "DEBIT"sv};

constexpr auto kColumns = std::to_array<Column>({
    TextColumn("transaction_id", kNeverNull, "Identifier", "Identificador",
               "`TXN_` and 15 digits, a permutation of the rows' numbers"),
    TextColumn("session_id", kNeverNull, "Session", "Sessão",
               "`SESS_` and 15 digits, the same for rows of one device less than 15 minutes apart"),
    RecurringColumn("customer_id", kNeverNull, "Who pays", "Quem paga",
                    "`CUST_` and 12 digits, a permutation of the customers' numbers"),
    RecurringColumn(
        "device_id", kMayBeNull, "With which device", "Aparelho usado",
        "the one in use; null at terminals, shops, machines, branches and for standing orders"),
    TimeColumn("timestamp", kNeverNull, "When", "Data e hora",
               "the customer's days, paydays and hours; rows of a block are in this order"),
    CategoryColumn("type", kNeverNull, kKindNames, "Kind of payment", "Tipo de transação",
                   "by the profile"),
    MoneyColumn("amount", kNeverNull, "Amount", "Valor",
                "log-normal around what customer and merchant category spend"),
    CategoryColumn("currency", kNeverNull, kCurrency, "Currency", "Moeda", "always BRL"),
    CategoryColumn("channel", kNeverNull, kChannelNames, "Channel", "Canal",
                   "belongs to the kind of payment, then by the profile"),
    TextColumn("ip_address", kMayBeNull, "IP address", "Endereço IP",
               "at home or of the mobile network; null at terminals and without device"),
    DecimalColumn("geolocation_lat", kMayBeNull, 6, "degree", "Latitude", "Latitude",
                  "the merchant's, or where the customer is; null in flight and for standing "
                  "orders"),
    DecimalColumn("geolocation_lon", kMayBeNull, 6, "degree", "Longitude", "Longitude",
                  "as the latitude"),
    TextColumn("merchant_id", kMayBeNull, "Merchant", "Estabelecimento",
               "`MERCH_` and eight digits; null where nobody sells anything"),
    CategoryColumn("merchant_name", kMayBeNull, lists::kMerchantNames, "Name of the merchant",
                   "Nome do estabelecimento", "belongs to `merchant_id`"),
    CategoryColumn("merchant_category", kMayBeNull, lists::kMerchantCategoryNames,
                   "Merchant category", "Categoria do estabelecimento", "belongs to `merchant_id`"),
    CategoryColumn("mcc_code", kMayBeNull, kMccCodes, "Merchant category code", "Código MCC",
                   "by the profile"),
    CategoryColumn("mcc_risk_level", kMayBeNull, kMccRisk, "Risk of the category",
                   "Risco da categoria", "belongs to the category"),
    RecurringColumn("card_number_hash", kMayBeNull, "Hash of the card number", "Hash do cartão",
                    "only for cards; the customer's debit or credit card"),
    CategoryColumn("card_brand", kMayBeNull, kCardBrand, "Brand of the card", "Bandeira",
                   "belongs to the card"),
    CategoryColumn("card_type", kMayBeNull, kCardType, "Credit or debit", "Crédito ou débito",
                   "by the kind of payment"),
    CountColumn("installments", kMayBeNull, "", "Instalments", "Parcelas",
                "only for cards; credit above 100 BRL by weight, else 1"),
    CategoryColumn("card_entry", kMayBeNull, kCardEntryNames, "How the card was read",
                   "Forma de leitura", "only for cards; online always MANUAL"),
    FlagColumn("cvv_validated", kMayBeNull, "Whether the CVV was right", "CVV validado",
               "only for cards typed in"),
    FlagColumn("auth_3ds", kMayBeNull, "Whether 3-D Secure was used", "Autenticação 3DS",
               "only for cards typed in"),
    CategoryColumn("pix_key_type", kMayBeNull, kKeyTypeNames, "Kind of PIX key",
                   "Tipo de chave PIX", "only for PIX; the receiver's choice"),
    TextColumn("pix_key_destination", kMayBeNull, "PIX key of the receiver", "Chave PIX de destino",
               "only for PIX; belongs to the receiver"),
    CategoryColumn("destination_bank", kMayBeNull, lists::kBankCodes, "Bank of the receiver",
                   "Banco de destino", "only for PIX, TED and BOLETO; belongs to the receiver"),
    TextColumn("counterparty_account", kMayBeNull, "Account of the receiver", "Conta de destino",
               "only for PIX and TED; `ACC_` and 15 digits, as in `accounts`"),
    DecimalColumn("distance_from_last_txn_km", kMayBeNull, 2, "km",
                  "Distance from the customer's last row with a position",
                  "Distância da última transação com posição", "flat map"),
    CountColumn("time_since_last_txn_min", kMayBeNull, "min", "Time since the customer's last row",
                "Tempo desde a última transação", "whole minutes; null in the first row"),
    CountColumn("transactions_last_24h", kNeverNull, "", "Rows of the customer in 24 hours",
                "Transações em 24 horas", "those before this one"),
    MoneyColumn("accumulated_amount_24h", kNeverNull, "Amount in 24 hours", "Valor em 24 horas",
                "approved rows before this one"),
    FlagColumn("unusual_time", kNeverNull, "Whether the customer is rarely active at this hour",
               "Horário incomum", "less than 2 % of the rows so far, after 30 rows"),
    FlagColumn("new_beneficiary", kNeverNull, "Whether the receiver is new", "Beneficiário novo",
               "the account was never paid by this customer; false where there is none"),
    CategoryColumn("status", kNeverNull, kStatusNames, "What became of it", "Situação",
                   "by balance, limits and risk score"),
    CategoryColumn("refusal_reason", kMayBeNull, kRefusalNames, "Why it was declined",
                   "Motivo da recusa", "only if declined"),
    DecimalColumn("risk_score", kNeverNull, 2, "", "Opinion of the bank, 0 to 100",
                  "Score de risco do banco, 0 a 100",
                  "noisy, from what was known; it does not see the label"),
    MoneyColumn("balance_after", kNeverNull, "Balance of the account after it",
                "Saldo depois da transação", "what was there and came in, less what went out"),
    FlagColumn("is_fraud", kNeverNull, "Label: whether it is fraud", "Rótulo: é fraude",
               "the truth; an exact share of the rows of a block"),
    CategoryColumn("fraud_type", kMayBeNull, kFraudTypeNames, "Label: kind of fraud",
                   "Rótulo: tipo de fraude", "only of frauds; each has its pattern"),
    CategoryColumn("fraud_role", kMayBeNull, kFraudRoleNames, "Label: part in the fraud",
                   "Rótulo: papel na fraude", "only of frauds"),
    TimeColumn("fraud_reported_at", kMayBeNull, "Label: when it was reported as fraud",
               "Rótulo: quando foi denunciada",
               "later than the payment; null if never; some honest rows are reported too"),
});

}  // namespace

const Table kTransactions = {"transactions", "One row a payment, in order of time in each block.",
                             "Uma linha por transação, em ordem de tempo em cada bloco.", kColumns};

}  // namespace reveza::datagen::coherent
