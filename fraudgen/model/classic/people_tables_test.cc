// Tests of customers, devices and drivers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fraudgen/lists/devices.h"
#include "fraudgen/lists/people.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/classic/tables.h"
#include "fraudgen/model/classic/testing_rows.h"

namespace reveza::fraudgen::classic {
namespace people_tables_test {

// A large population.
Collector& Crowd() {
  static Collector rows = [] {
    Options options = TestOptions();
    options.kind = Kind::kAll;
    options.transactions = 10;
    options.rides = 200'000;
    options.customers = 20'000;
    options.rows_per_block = 50'000;
    const auto model = ModelOf(options);
    Collector collector;
    for (uint64_t block = 0; block < model->blocks(); ++block) {
      EXPECT_TRUE(model->Make(block, std::array{&kCustomers, &kDevices, &kDrivers}, collector));
    }
    return collector;
  }();
  return rows;
}

const Rows& Persons() { return Crowd().Of(kCustomers); }
const lists::Profile& ProfileOf(std::size_t row) {
  return lists::Profiles()[static_cast<std::size_t>(
      Persons()[CustomersColumn::kBehavioralProfile].numbers[row])];
}

TEST(ClassicCustomers, HaveConsecutiveIdsAndUniqueCpfs) {
  const Rows& rows = Persons();
  ASSERT_EQ(rows.size(), 20'000u);
  EXPECT_EQ(rows[CustomersColumn::kCustomerId].texts.front(), "CUST_000000000001");
  EXPECT_EQ(rows[CustomersColumn::kCustomerId].texts.back(), "CUST_000000020000");
  std::set<std::string> cpfs;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string& cpf = rows[CustomersColumn::kCpf].texts[row];
    ASSERT_TRUE(IsValidCpf(cpf)) << cpf;
    const auto state = static_cast<std::size_t>(rows[CustomersColumn::kAddressState].numbers[row]);
    ASSERT_EQ(static_cast<uint32_t>(cpf[10] - '0'), lists::kStates[state].fiscal_region);
    cpfs.insert(cpf);
  }
  const Rows& drivers = Crowd().Of(kDrivers);
  for (const std::string& cpf : drivers[DriversColumn::kCpf].texts) {
    ASSERT_TRUE(IsValidCpf(cpf)) << cpf;
    cpfs.insert(cpf);
  }
  EXPECT_EQ(cpfs.size(), rows.size() + drivers.size()) << "CPFs are unique";
}

TEST(ClassicCustomers, SafeIdentitiesHaveInvalidCpfs) {
  Options options = TestOptions();
  options.identities = Identities::kSafe;
  Collector rows = MakeAll(*ModelOf(options));
  for (const std::string& cpf : rows.Of(kCustomers)[CustomersColumn::kCpf].texts) {
    ASSERT_FALSE(IsValidCpf(cpf)) << cpf;
  }
  for (const std::string& cpf : rows.Of(kDrivers)[DriversColumn::kCpf].texts) {
    ASSERT_FALSE(IsValidCpf(cpf)) << cpf;
  }
}

TEST(ClassicCustomers, StatesAndProfilesFollowTheWeights) {
  ExpectFits(CountsOf(Persons()[CustomersColumn::kAddressState], 27),
             lists::MemberOf<uint32_t>(lists::kStates, &lists::State::weight));
  std::vector<uint32_t> profiles;
  for (const lists::Profile& profile : lists::Profiles()) profiles.push_back(profile.weight);
  ExpectFits(CountsOf(Persons()[CustomersColumn::kBehavioralProfile], 6), profiles);
  ExpectFits(CountsOf(Persons()[CustomersColumn::kBankCode], 24),
             lists::MemberOf<uint32_t>(lists::kBanks, &lists::Bank::weight));
  EXPECT_EQ(Persons()[CustomersColumn::kBankCode].numbers,
            Persons()[CustomersColumn::kBankName].numbers);
  ExpectUniform(CountsOf(Persons()[CustomersColumn::kProfession], lists::kProfessions.size()));
  ExpectFits(CountsOf(Persons()[CustomersColumn::kAccountStatus], 3),
             std::vector<uint32_t>{95, 3, 2});
}

TEST(ClassicCustomers, AgesAreInTheRangeOfTheProfile) {
  for (std::size_t row = 0; row < Persons().size(); ++row) {
    const CivilDate birth = DateOf(Persons()[CustomersColumn::kBirthDate].numbers[row]);
    // As of 1 January, everyone else has not had a birthday this year.
    const int32_t age = 2026 - birth.year - (birth == CivilDate{birth.year, 1, 1} ? 0 : 1);
    ASSERT_GE(age, ProfileOf(row).age.min);
    ASSERT_LE(age, ProfileOf(row).age.max);
  }
}

TEST(ClassicCustomers, IncomeFollowsBracketAndProfile) {
  Options options = TestOptions();
  options.profiles = false;
  options.customers = 20'000;
  Collector collector = MakeAll(*ModelOf(options));
  std::vector<uint64_t> brackets(4, 0);
  for (const int64_t income : collector.Of(kCustomers)[CustomersColumn::kMonthlyIncome].numbers) {
    ASSERT_GE(income, 150'000);
    ASSERT_LE(income, 5'000'000);
    ++brackets[income < 300'000 ? 0 : income < 700'000 ? 1 : income < 1'500'000 ? 2 : 3];
  }
  ExpectFits(brackets, lists::kIncomeBracketWeights);
  for (std::size_t row = 0; row < Persons().size(); ++row) {
    const int64_t income = Persons()[CustomersColumn::kMonthlyIncome].numbers[row];
    ASSERT_GE(income, 1'500 * ProfileOf(row).income_percent.min);
    ASSERT_LE(income, 50'000 * ProfileOf(row).income_percent.max);
    const int64_t limit = Persons()[CustomersColumn::kCreditLimit].numbers[row];
    ASSERT_GE(limit, income * 2);
    ASSERT_LE(limit, income * 8);
  }
}

TEST(ClassicCustomers, AccountAgeAndRiskFollowTheProfile) {
  std::map<bool, Range> created;
  std::map<bool, std::vector<uint64_t>> digital_types;
  std::map<int64_t, std::vector<uint64_t>> risks;
  for (std::size_t row = 0; row < Persons().size(); ++row) {
    const int64_t profile = Persons()[CustomersColumn::kBehavioralProfile].numbers[row];
    const int64_t at = Persons()[CustomersColumn::kAccountCreatedAt].numbers[row];
    created[profile == 1].Add(at);
    auto& types = digital_types[profile == 0 || profile == 4];
    types.resize(3);
    ++types.at(static_cast<std::size_t>(Persons()[CustomersColumn::kAccountType].numbers[row]));
    // Only old accounts of profiles without their own risk weights.
    const int64_t days = DaysOf({2026, 1, 1}) - at / kMicrosecondsPerDay;
    if (profile != 1 && profile != 3 && days < 200) continue;
    auto& risk = risks[profile == 1 || profile == 3 ? profile : 0];
    risk.resize(3);
    ++risk.at(static_cast<std::size_t>(Persons()[CustomersColumn::kRiskLevel].numbers[row]));
  }
  const auto at = [](CivilDate date) { return DaysOf(date) * kMicrosecondsPerDay; };
  ExpectUniform(created[true], at({2016, 1, 1}), at({2024, 1, 1}));
  ExpectUniform(created[false], at({2021, 1, 1}), at({2025, 12, 1}));
  ExpectFits(digital_types[true], std::vector<uint32_t>{25, 5, 70});
  ExpectFits(digital_types[false], std::vector<uint32_t>{40, 20, 40});
  ExpectFits(risks[0], std::vector<uint32_t>{5, 25, 70});
  ExpectFits(risks[1], std::vector<uint32_t>{20, 40, 40});
  ExpectFits(risks[3], std::vector<uint32_t>{15, 35, 50});
}

TEST(ClassicCustomers, ScoreRisesWithAccountAgeAndIncome) {
  Range range;
  std::map<int, double> sums;
  std::map<int, double> counts;
  for (std::size_t row = 0; row < Persons().size(); ++row) {
    const int64_t score = Persons()[CustomersColumn::kCreditScore].numbers[row];
    range.Add(score);
    const int64_t income = Persons()[CustomersColumn::kMonthlyIncome].numbers[row];
    const int64_t days =
        DaysOf({2026, 1, 1}) -
        Persons()[CustomersColumn::kAccountCreatedAt].numbers[row] / kMicrosecondsPerDay;
    if (days > 1'500) continue;
    const int group = income > 1'000'000 ? 2 : income > 500'000 ? 1 : 0;
    sums[group] += static_cast<double>(score) - 5.0 * static_cast<double>(days) / 30;
    ++counts[group];
  }
  EXPECT_GE(range.min, 300);
  EXPECT_LE(range.max, 900);
  EXPECT_NEAR(sums[0] / counts[0], 399, 4);
  EXPECT_NEAR(sums[1] / counts[1], 449, 4);
  EXPECT_NEAR(sums[2] / counts[2], 499, 4);
}

TEST(ClassicCustomers, TextsMatchTheirFormats) {
  const auto digits = [](const std::string& text) {
    return std::ranges::count_if(text, [](char sign) { return sign >= '0' && sign <= '9'; });
  };
  std::size_t titled = 0;
  std::size_t dashes = 0;
  std::size_t services = 0;
  for (std::size_t row = 0; row < Persons().size(); ++row) {
    titled += Persons()[CustomersColumn::kName].texts[row].find(". ") != std::string::npos ? 1 : 0;
    const std::string& email = Persons()[CustomersColumn::kEmail].texts[row];
    const std::size_t at = email.find('@');
    ASSERT_NE(at, std::string::npos);
    ASSERT_TRUE(email.substr(at + 1).starts_with("example.")) << email;
    ASSERT_EQ(email.substr(0, at).find_first_not_of("abcdefghijklmnopqrstuvwxyz.0123456789"),
              std::string::npos)
        << email;
    const std::string& phone = Persons()[CustomersColumn::kPhone].texts[row];
    ASSERT_GE(digits(phone), 10) << phone;
    ASSERT_LE(digits(phone), 13) << phone;
    ASSERT_EQ(phone.find_first_of("#A"), std::string::npos) << phone;
    services += phone.size() == 13 && phone[4] == ' ' && phone[8] == ' ' ? 1 : 0;
    const std::string& postal = Persons()[CustomersColumn::kAddressPostalCode].texts[row];
    ASSERT_EQ(digits(postal), 8) << postal;
    dashes += postal.size() == 9 && postal[5] == '-' ? 1 : 0;
    ASSERT_EQ(digits(Persons()[CustomersColumn::kBranch].texts[row]), 4);
    ASSERT_NE(Persons()[CustomersColumn::kBranch].texts[row], "0000");
    const std::string& account = Persons()[CustomersColumn::kAccountNumber].texts[row];
    ASSERT_EQ(account[account.size() - 2], '-') << account;
    ASSERT_TRUE(digits(account) == 6 || digits(account) == 7) << account;
    ASSERT_NE(Persons()[CustomersColumn::kAddressStreet].texts[row].find(", "), std::string::npos);
  }
  ExpectShare(titled, Persons().size(), 100.0 / 6);
  ExpectShare(dashes, Persons().size(), 50);
  ExpectShare(services, Persons().size(), 10);
}

TEST(ClassicDevices, CountAndKindsFollowTheProfile) {
  const Rows& devices = Crowd().Of(kDevices);
  std::map<std::string, std::size_t> rows;
  for (std::size_t row = 0; row < Persons().size(); ++row) {
    rows[Persons()[CustomersColumn::kCustomerId].texts[row]] = row;
  }
  std::map<std::size_t, std::vector<std::size_t>> of_customer;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    of_customer[rows.at(devices[DevicesColumn::kCustomerId].texts[i])].push_back(i);
    ids.insert(devices[DevicesColumn::kDeviceId].texts[i]);
  }
  EXPECT_EQ(ids.size(), devices.size());
  ASSERT_EQ(of_customer.size(), Persons().size());
  std::vector<uint64_t> counts(4, 0);
  for (const auto& [customer, owned] : of_customer) {
    const lists::Profile& profile = ProfileOf(customer);
    ASSERT_GE(static_cast<int32_t>(owned.size()), profile.device_count.min);
    ASSERT_LE(static_cast<int32_t>(owned.size()), profile.device_count.max);
    if (profile.name == "family_provider") ++counts[owned.size()];
    for (std::size_t k = 0; k < owned.size(); ++k) {
      const auto type = devices[DevicesColumn::kType].numbers[owned[k]];
      const auto fits = [&](lists::DeviceKind kind) {
        return lists::kTypeOfDeviceKind[static_cast<std::size_t>(kind)] == type;
      };
      ASSERT_TRUE(k == 0 ? fits(profile.devices.front())
                         : std::ranges::any_of(profile.devices, fits));
    }
  }
  ExpectFits(counts, std::vector<uint32_t>{0, 1, 1, 1});
}

TEST(ClassicDevices, ModelBelongsToTheManufacturer) {
  const Rows& devices = Crowd().Of(kDevices);
  Range first_use;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto model = static_cast<std::size_t>(devices[DevicesColumn::kModel].numbers[i]);
    const auto maker = static_cast<std::size_t>(devices[DevicesColumn::kManufacturer].numbers[i]);
    ASSERT_EQ(lists::kDeviceModels[model].manufacturer, lists::kManufacturers[maker]);
    const auto system =
        static_cast<std::size_t>(devices[DevicesColumn::kOperatingSystem].numbers[i]);
    const bool apple = lists::kManufacturers[maker] == "Apple";
    const std::string_view name = lists::kOperatingSystems[system];
    ASSERT_EQ(apple,
              name.starts_with("iOS") || name.starts_with("macOS") || name.starts_with("iPadOS"));
    ASSERT_EQ(devices[DevicesColumn::kFingerprint].texts[i].size(), 32u);
    first_use.Add(devices[DevicesColumn::kFirstUse].numbers[i]);
  }
  ExpectUniform(first_use, DaysOf({2024, 1, 1}), DaysOf({2026, 1, 1}));
  ExpectShare(CountsOf(devices[DevicesColumn::kIsTrusted], 2)[1], devices.size(), 85);
  ExpectShare(CountsOf(devices[DevicesColumn::kIsRootedJailbroken], 2)[1], devices.size(), 3);
}

TEST(ClassicDevices, WithoutProfilesKindsFollowTheWeights) {
  Options options = TestOptions();
  options.profiles = false;
  options.customers = 10'000;
  Collector collector = MakeAll(*ModelOf(options));
  ExpectFits(CountsOf(collector.Of(kDevices)[DevicesColumn::kType], 3),
             std::vector<uint32_t>{55 + 25, 12 + 4, 2 + 2});
}

TEST(ClassicDrivers, StatesFollowTheWeights) {
  const Rows& drivers = Crowd().Of(kDrivers);
  ASSERT_EQ(drivers.size(), 4'000u);
  EXPECT_EQ(drivers[DriversColumn::kDriverId].texts.back(), "DRV_0000004000");
  const auto states = CountsOf(drivers[DriversColumn::kOperatingState], 27);
  // Weights SP 22, MG 10, RJ 8, BA 7, DF 2.
  EXPECT_EQ(states[0], 1'796u);
  EXPECT_EQ(states[1], 816u);
  EXPECT_EQ(states[2], 653u);
  EXPECT_EQ(states[3], 572u);
  EXPECT_EQ(states[19], 163u);
  EXPECT_EQ(drivers[DriversColumn::kOperatingState].numbers,
            drivers[DriversColumn::kOperatingCity].numbers);
}

TEST(ClassicDrivers, LicenceAndVehicleAreConsistent) {
  const Rows& drivers = Crowd().Of(kDrivers);
  ExpectFits(CountsOf(drivers[DriversColumn::kCnhCategory], 5),
             std::vector<uint32_t>{60, 25, 8, 5, 2});
  ExpectUniform(CountsOf(drivers[DriversColumn::kVehicleModel], lists::kVehicles.size()));
  ExpectUniform(CountsOf(drivers[DriversColumn::kVehicleColor], 9));
  std::size_t mercosul = 0;
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    const auto model = static_cast<std::size_t>(drivers[DriversColumn::kVehicleModel].numbers[i]);
    const auto brand = static_cast<std::size_t>(drivers[DriversColumn::kVehicleBrand].numbers[i]);
    ASSERT_EQ(lists::kVehicles[model].brand, lists::kVehicleBrands[brand]);
    const std::string& plate = drivers[DriversColumn::kVehiclePlate].texts[i];
    std::string shape;
    for (const char sign : plate) {
      shape += sign >= 'A' && sign <= 'Z' ? 'L' : sign >= '0' && sign <= '9' ? 'D' : sign;
    }
    ASSERT_TRUE(shape == "LLLDLDD" || shape == "LLL-DDDD") << plate;
    mercosul += shape == "LLLDLDD" ? 1 : 0;
    ASSERT_EQ(drivers[DriversColumn::kCnhNumber].texts[i].size(), 11u);
    const int64_t left = drivers[DriversColumn::kCnhExpiration].numbers[i] - DaysOf({2026, 1, 1});
    ASSERT_TRUE(left % 365 == 0 && left >= 365 && left <= 5 * 365);
    const int64_t year = drivers[DriversColumn::kVehicleYear].numbers[i];
    ASSERT_TRUE(year >= 2015 && year <= 2025);
  }
  ExpectShare(mercosul, drivers.size(), 70);
}

TEST(ClassicDrivers, RegistrationFollowsTripsAndAppsMatchCategories) {
  const Rows& drivers = Crowd().Of(kDrivers);
  std::vector<uint64_t> groups(4, 0);
  Range ratings;
  std::vector<uint64_t> app_counts(3, 0);
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    const int64_t trips = drivers[DriversColumn::kTripsCompleted].numbers[i];
    ASSERT_TRUE(trips >= 10 && trips <= 15'000);
    ++groups[trips < 100 ? 0 : trips < 1'000 ? 1 : trips < 5'000 ? 2 : 3];
    const CivilDate joined = DateOf(drivers[DriversColumn::kRegistrationDate].numbers[i]);
    if (trips < 100) {
      ASSERT_TRUE(joined.year == 2025 && joined.month >= 7);
    } else if (trips >= 1'000) {
      ASSERT_LE(DaysOf(joined), DaysOf({2024, 1, 1}));
    }
    ratings.Add(drivers[DriversColumn::kRating].numbers[i]);
    const std::string& apps = drivers[DriversColumn::kActiveApps].texts[i];
    ++app_counts.at(static_cast<std::size_t>(std::ranges::count(apps, ';')));
    const std::string& categories = drivers[DriversColumn::kCategoriesEnabled].texts[i];
    ASSERT_EQ(categories.find("UberX") != std::string::npos, apps.find("UBER") != std::string::npos)
        << apps << " " << categories;
  }
  ExpectFits(groups, std::vector<uint32_t>{15, 50, 25, 10});
  ExpectFits(app_counts, std::vector<uint32_t>{40, 40, 20});
  EXPECT_GE(ratings.min, 400);
  EXPECT_EQ(ratings.max, 500);
  EXPECT_NEAR(ratings.mean, 469, 3);
}

}  // namespace people_tables_test
}  // namespace reveza::fraudgen::classic
