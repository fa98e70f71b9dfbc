#include "fraudgen/model/coherent/parameters.h"

#include <gtest/gtest.h>

#include <functional>

#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace parameters_test {

TEST(CoherentParameters, DefaultsAreValid) {
  const Status status = Validate(Parameters());
  EXPECT_TRUE(status) << status.error().message;
}

TEST(CoherentParameters, ErrorsNameTheParameter) {
  struct Case {
    std::string_view named;
    std::function<void(Parameters&)> invalidate;
  };
  const std::vector<Case> cases = {
      {"last day", [](Parameters& p) { p.last_day = p.first_day - 1; }},
      {"20 years", [](Parameters& p) { p.last_day = p.first_day + 366 * 30; }},
      {"4000000", [](Parameters& p) { p.rows_per_block = 4'000'001; }},
      {"4000000", [](Parameters& p) { p.rows_per_block = 0; }},
      {"at least 3 customers",
       [](Parameters& p) {
         p.rows = 10'000'000;
         p.customers = 2;
       }},
      {"half", [](Parameters& p) { p.frauds.billionths = Share::kWhole; }},
      {"difficulty", [](Parameters& p) { p.difficulty = 1'001; }},
      {"customers", [](Parameters& p) { p.customers = 50'000'001; }},
      {"rows of SIM_SWAP", [](Parameters& p) { Named(p, "SIM_SWAP").rows.max = 0; }},
      {"test_rows of CARTAO_CLONADO",
       [](Parameters& p) { Named(p, "CARTAO_CLONADO").test_rows = 3; }},
      {"kinds of PHISHING", [](Parameters& p) { Named(p, "PHISHING").kinds = {}; }},
      {"chains of CONTA_TOMADA", [](Parameters& p) { Named(p, "CONTA_TOMADA").kinds = {0, 1}; }},
      {"amount of QR_CODE_FALSO", [](Parameters& p) { Named(p, "QR_CODE_FALSO").amount.max = 1; }},
      {"report_hours of AUTOFRAUDE",
       [](Parameters& p) { Named(p, "AUTOFRAUDE").report_hours = 0; }},
      {"gap_minutes of PHISHING", [](Parameters& p) { Named(p, "PHISHING").gap_minutes.min = 0; }},
      {"name of lower", [](Parameters& p) { p.scenarios[0].name = "lower"; }},
      {"pays is set", [](Parameters& p) { Named(p, "CICLO").kinds = {1, 1}; }},
      {"scenarios; at most",
       [](Parameters& p) { p.scenarios.resize(kMaxScenarios + 1, p.scenarios[0]); }},
      {"chains", [](Parameters& p) { p.chains.hops.max = 7; }},
      {"shared_device", [](Parameters& p) { p.lookalikes.shared_device = 750'001; }},
      {"least_age and most_age of young_digital", [](Parameters& p) { p.profiles[0].age.min = 5; }},
      {"hours of family_provider", [](Parameters& p) { p.profiles[5].hours = {}; }},
      {"weights of the profiles (habits)",
       [](Parameters& p) {
         for (ProfileHabits& profile : p.profiles) profile.weight = 0;
       }},
      {"month", [](Parameters& p) { p.calendar.months[3] = 0; }},
      {"payday", [](Parameters& p) { p.calendar.paydays[0] = 32; }},
      {"pix_keys", [](Parameters& p) { p.population.pix_keys = {}; }},
      {"joining", [](Parameters& p) { p.population.joining = 1'000'001; }},
      {"pix_night", [](Parameters& p) { p.limits.pix_night = -1; }},
      {"pending", [](Parameters& p) { p.outcomes.pending = 1'000'001; }},
      {"least_missed and most_missed", [](Parameters& p) { p.difficulty_scale.missed.max = 3; }},
      {"few_thousandths", [](Parameters& p) { p.victims.few_thousandths = 0; }},
      {"least_days and most_days", [](Parameters& p) { p.victims.days.max = 3; }},
      {"closes of the analysts must be from 19 to 24",
       [](Parameters& p) {
         p.analysts.opens = 18;
         p.analysts.closes = 18;
       }},
      {"review_minutes", [](Parameters& p) { p.analysts.review_minutes = 0; }},
      {"least_honest_confirmed",
       [](Parameters& p) { p.difficulty_scale.honest_confirmed.max = 3; }},
      {"address", [](Parameters& p) { p.changes.address = 1'000'001; }},
      {"not both", [](Parameters& p) { Named(p, "ENGENHARIA_SOCIAL").amount.max = 100; }},
      {"device thief", [](Parameters& p) { Named(p, "ENGENHARIA_SOCIAL").web = true; }},
      {"weights",
       [](Parameters& p) {
         for (Scenario& scenario : p.scenarios) scenario.weight = 0;
       }},
  };
  for (const Case& one : cases) {
    Parameters parameters;
    one.invalidate(parameters);
    const Status status = Validate(parameters);
    ASSERT_FALSE(status) << one.named;
    EXPECT_EQ(status.error().code, Error::Code::kInvalidArgument);
    EXPECT_TRUE(status.error().message.contains(one.named)) << status.error().message;
  }
}

TEST(CoherentParameters, DifficultyRaisesOverlapAndNoise) {
  Parameters easy;
  easy.difficulty = kEasy;
  Parameters hard;
  hard.difficulty = kHard;
  EXPECT_LT(easy.Overlap(), hard.Overlap());
  EXPECT_LT(easy.LookalikeFactor(), hard.LookalikeFactor());
  EXPECT_LT(easy.Missed(), hard.Missed());
  EXPECT_LT(easy.FalselyReported(), hard.FalselyReported());
  EXPECT_LT(easy.TakeoversCleared(), hard.TakeoversCleared());
  EXPECT_LT(easy.OwnPaymentsCleared(), hard.OwnPaymentsCleared());
  EXPECT_LT(easy.HonestConfirmed(), hard.HonestConfirmed());
  Parameters hardest;
  hardest.difficulty = 1'000;
  EXPECT_LE(hardest.Overlap(), 1'000u) << "a probability";
}

}  // namespace parameters_test
}  // namespace reveza::fraudgen::coherent
