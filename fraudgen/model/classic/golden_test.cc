// Golden rows. A change here changes every data set and must be recorded in the changelog.
#include <gtest/gtest.h>

#include <string>

#include "fraudgen/model/classic/testing_rows.h"

namespace reveza::fraudgen::classic {
namespace golden_test {

// Returns the first row of a table that contains `text`.
std::string Find(const Table& table, std::string_view text) {
  const Rows& rows = TestRows().Of(table);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::string line = rows.Line(row);
    if (line.find(text) != std::string::npos) return line;
  }
  return {};
}

TEST(ClassicGolden, Customers) {
  EXPECT_EQ(Find(kCustomers, "CUST_000000000001"),
            "CUST_000000000001|Hélio Vaz|416.198.118-04|fabioconceicao85@example.net|"
            "(037) 7516 3917|1998-01-12|Rua Primeiro de Maio, 2969|Setor Bueno|"
            "Cavalcanti Verde|SP|95171-104|2484.55|Ourives|2022-07-17T15:42:58.688522|DIGITAL|"
            "ACTIVE|11397.62|640|MEDIUM|237|Bradesco|1626|837014-8|young_digital");
  EXPECT_EQ(Find(kCustomers, "CUST_000000000777"),
            "CUST_000000000777|Felipe Veloso|295.971.948-48|ciroqueiroz85@example.com|"
            "052 3228 3809|1991-07-09|Avenida Santos Dumont, 2440|Lagoinha|Santos da Praia|"
            "SP|69532758|2529.84|Esteticista|2025-09-25T22:50:35.287287|CHECKING|ACTIVE|5771.58|"
            "330|MEDIUM|001|Banco do Brasil|2546|864828-1|family_provider");
}

TEST(ClassicGolden, Devices) {
  EXPECT_EQ(Find(kDevices, "DEV_000000000001"),
            "DEV_000000000001|CUST_000000000001|SMARTPHONE|Arandu|Arandu A12 Pro|Android 11|"
            "32b727ad9944ba90495dafef77566ce4|2024-07-27|0|0");
  EXPECT_EQ(Find(kDevices, "CUST_000000000777"),
            "DEV_000000002329|CUST_000000000777|SMARTPHONE|Kairu|Kairu K3 Zoom|Android 13|"
            "908ff9fc5eac89961951d9266cd1d919|2024-04-18|1|0");
}

TEST(ClassicGolden, Transactions) {
  EXPECT_EQ(Find(kTransactions, "TXN_000000000000000"),
            "TXN_000000000000000|SESS_000000000000000|CUST_000000000855|DEV_000000002563|"
            "2025-02-10T03:58:17.409979|DEBIT_CARD|83.39|BRL|WHATSAPP_PAY|191.70.97.58|"
            "-11.286331|-37.358585|MERCH_003507|Lanches do Tonhão|Fast Food|5814|low|"
            "2876e04b59d3bdf7|MASTERCARD|DEBIT|1|MAGNETIC|1|1|||||1407|12|1668.44|1|0|APPROVED||"
            "13.21|0|");
  EXPECT_EQ(Find(kTransactions, "CREDIT_CARD"),
            "TXN_000000000000008|SESS_000000000000008|CUST_000000000038|DEV_000000000112|"
            "2025-04-27T23:14:29.084892|CREDIT_CARD|328.41|BRL|ATM|188.67.133.96|-23.403366|"
            "-43.149907|MERCH_034621|Beleza Natural da Mata|Cosmetics|5977|medium|"
            "118565de9bd49b0e|MASTERCARD|CREDIT|1|CONTACTLESS|1|1||||||12|1252.86|0|0|APPROVED||"
            "28.02|0|");
  EXPECT_EQ(Find(kTransactions, "CONTA_TOMADA"),
            "TXN_000000000000304|SESS_000000000000304|CUST_000000000006|DEV_000000000016|"
            "2025-10-27T19:07:32.420962|CREDIT_CARD|1053.72|BRL|MOBILE_APP|152.155.216.87|"
            "-9.538809|-36.197450|MERCH_076605|Coxinharia Boa Mordida|Fast Food|5814|low|"
            "f8c12f39f2fbe01c|ELO|CREDIT|6|MANUAL|1|1||||||16|2989.18|0|1|APPROVED||73.12|1|"
            "CONTA_TOMADA");
  EXPECT_EQ(Find(kTransactions, "TXN_000000000054321"),
            "TXN_000000000054321|SESS_000000000054321|CUST_000000000588|DEV_000000001762|"
            "2025-08-26T10:22:56.428451|PIX|305.06|BRL|MOBILE_APP|186.1.206.157|-12.543687|"
            "-38.521228|MERCH_048160|Fibra Rápida do Sul|Telecommunications|4814|low||||||||"
            "TELEFONE|1c26116603643cc253b39a1249af66f7|077||673|5|3952.48|0|0|APPROVED||0.85|0|");
}

TEST(ClassicGolden, Drivers) {
  EXPECT_EQ(Find(kDrivers, "DRV_0000000001"),
            "DRV_0000000001|Stella Pires|0500 374 4952|angela.lacerda45@example.net|"
            "987.953.192-20|24909879101|AB|2028-12-31|HLB-7813|Tapir|Trilha|2018|AZUL|4.90|97|"
            "2025-09-06|CABIFY|MG|Belo Horizonte|Lite|1");
  EXPECT_EQ(Find(kDrivers, "DRV_0000000400"),
            "DRV_0000000400|Daniel Nascimento|+55 (067) 1178 7351|renatonascimento45@example.org|"
            "939.547.932-96|32534431061|B|2027-01-01|BLQ9R48|Jangada|Vela|2019|BEGE|5.00|605|"
            "2025-02-15|CABIFY|SP|São Paulo|Lite|1");
}

TEST(ClassicGolden, Rides) {
  EXPECT_EQ(Find(kRides, "RIDE_000000000000"),
            "RIDE_000000000000|2025-11-10T09:14:22.093243|UBER|Flash|DRV_0000000375|"
            "CUST_000000000659|-19.871000|-43.966000|Campus Pampulha|UNIVERSITY|Belo Horizonte|"
            "MG|-19.932000|-43.938000|Praça da Liberdade|TOURIST_SPOT|Belo Horizonte|MG|"
            "2025-11-10T09:14:22.093243|2025-11-10T09:14:39.093243|2025-11-10T09:28:39.093243|"
            "2025-11-10T09:57:39.093243|10.13|29|14|26.28|2.00|52.56|39.42|13.14|0.00|"
            "CREDIT_CARD|COMPLETED|5|5||HEAVY_RAIN|19.1|0|");
  EXPECT_EQ(Find(kRides, "CANCELLED_DRIVER"),
            "RIDE_000000000007|2025-09-14T18:25:34.475198|99|Pop|DRV_0000000363|"
            "CUST_000000000206|-23.559000|-46.731000|Cidade Universitária|UNIVERSITY|Teresina|PI|"
            "-23.561000|-46.656000|Avenida Paulista|BUSINESS_CENTER|Teresina|PI|"
            "2025-09-14T18:25:34.475198||||10.94|41||0.00|1.64|0.00|0.00|0.00|0.00|CREDIT_CARD|"
            "CANCELLED_DRIVER|||PASSENGER_MISBEHAVED|CLOUDY|25.2|0|");
  EXPECT_EQ(Find(kRides, "GPS_SPOOFING"),
            "RIDE_000000000034|2025-10-10T19:09:51.815323|UBER|Black|DRV_0000000102|"
            "CUST_000000000134|-23.559000|-46.731000|Cidade Universitária|UNIVERSITY|Manaus|AM|"
            "-23.542000|-46.630000|Mercado Municipal de São Paulo|MARKET|Manaus|AM|"
            "2025-10-10T19:09:51.815323||||15.45|41||0.00|1.70|0.00|0.00|0.00|0.00|CREDIT_CARD|"
            "CANCELLED_PASSENGER|||PRICE_TOO_HIGH|LIGHT_RAIN|26.4|1|GPS_SPOOFING");
}

}  // namespace golden_test
}  // namespace reveza::fraudgen::classic
