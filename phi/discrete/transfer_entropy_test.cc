#include "phi/discrete/transfer_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "phi/discrete/testing_networks.h"

namespace reveza::phi {
namespace transfer_entropy_test {

struct Pair {
  std::vector<Symbol> source, target;
};

// The target copies the source of the previous step, with this error probability.
Pair Copying(int length, double error, int delay = 1) {
  TestingNumbers numbers(4);
  Pair pair;
  for (int t = 0; t < length; ++t) {
    pair.source.push_back(numbers.Next() < 0.5 ? 0 : 1);
    const int before = t < delay ? 0 : pair.source[t - delay];
    pair.target.push_back(numbers.Next() < error ? 1 - before : before);
  }
  return pair;
}

TEST(TransferEntropyTest, IsOneBitForACopiedSymbol) {
  const Pair pair = Copying(20'000, 0);
  const auto there = TransferEntropyOf(pair.source, pair.target, {});
  ASSERT_TRUE(there);
  EXPECT_NEAR(there->plug_in, std::numbers::ln2, 1e-3);
  EXPECT_EQ(there->samples, 19'999);
  EXPECT_EQ(there->states, 4);
  const auto back = TransferEntropyOf(pair.target, pair.source, {});
  EXPECT_LT(back->plug_in, 1e-3);
}

TEST(TransferEntropyTest, MatchesNoisyChannel) {
  const Pair pair = Copying(50'000, 0.1);
  const double expected = std::numbers::ln2 + 0.1 * std::log(0.1) + 0.9 * std::log(0.9);
  EXPECT_NEAR(TransferEntropyOf(pair.source, pair.target, {})->corrected, expected, 5e-3);
}

// Plug-in value from maps of states, row by row.
double FromMaps(const Pair& pair, const TransferOptions& options, int* states,
                const std::vector<Symbol>& given = {}) {
  std::map<std::vector<Symbol>, int> own, with_own, both, all;
  const int first = std::max(options.target_history, options.delay + options.source_history - 1);
  const int length = static_cast<int>(pair.target.size());
  for (int t = first; t < length; ++t) {
    std::vector<Symbol> state;
    for (int i = 1; i <= options.target_history; ++i) state.push_back(pair.target[t - i]);
    for (int i = 0; !given.empty() && i < options.source_history; ++i) {
      state.push_back(given[t - options.delay - i]);
    }
    ++own[state];
    std::vector<Symbol> with_source = state;
    for (int i = 0; i < options.source_history; ++i) {
      with_source.push_back(pair.source[t - options.delay - i]);
    }
    ++both[with_source];
    state.push_back(pair.target[t]);
    ++with_own[state];
    with_source.push_back(pair.target[t]);
    ++all[with_source];
  }
  const auto entropy = [&](const auto& counts) {
    double sum = 0;
    for (const auto& [state, count] : counts) {
      const double share = count / static_cast<double>(length - first);
      sum -= share * std::log(share);
    }
    return sum;
  };
  *states = static_cast<int>(all.size());
  return entropy(with_own) - entropy(own) - entropy(all) + entropy(both);
}

// The first has few enough states for bit sets, the next three fit into a table; the last has 4^11,
// which do not.
TEST(TransferEntropyTest, BitsTablesAndSortingCountTheSame) {
  TestingNumbers numbers(9);
  Pair pair;
  for (int t = 0; t < 3000; ++t) {
    pair.source.push_back(static_cast<Symbol>(4 * numbers.Next()));
    pair.target.push_back(t > 1 && numbers.Next() < 0.5 ? pair.source[t - 2]
                                                        : static_cast<Symbol>(4 * numbers.Next()));
  }
  for (const auto& [own, other, delay] :
       {std::array{1, 1, 1}, std::array{1, 2, 3}, std::array{3, 1, 2}, std::array{2, 3, 1},
        std::array{5, 5, 2}}) {
    const TransferOptions options = {
        .target_history = own, .source_history = other, .delay = delay};
    const auto found = TransferEntropyOf(pair.source, pair.target, options);
    ASSERT_TRUE(found) << found.error().message;
    int states = 0;
    EXPECT_NEAR(found->plug_in, FromMaps(pair, options, &states), 1e-10);
    EXPECT_EQ(found->states, states);
  }
}

// Series of 3, 4 and 2 symbols.
TEST(TransferEntropyTest, GivenSeriesExtendTheOwnPast) {
  TestingNumbers numbers(12);
  Pair pair;
  std::vector<Symbol> given;
  for (int t = 0; t < 2000; ++t) {
    given.push_back(static_cast<Symbol>(2 * numbers.Next()));
    pair.source.push_back(static_cast<Symbol>(3 * numbers.Next()));
    pair.target.push_back(t > 1 && numbers.Next() < 0.5 ? pair.source[t - 2] + given[t - 2]
                                                        : static_cast<Symbol>(4 * numbers.Next()));
  }
  for (const auto& [own, other, delay] :
       {std::array{1, 1, 1}, std::array{3, 1, 2}, std::array{2, 3, 1}, std::array{4, 5, 2}}) {
    const TransferOptions options = {
        .target_history = own, .source_history = other, .delay = delay};
    const auto found = TransferEntropyOf(pair.source, pair.target, given, options);
    ASSERT_TRUE(found) << found.error().message;
    int states = 0;
    EXPECT_NEAR(found->plug_in, FromMaps(pair, options, &states, given), 1e-10);
    EXPECT_EQ(found->states, states);
  }
  given.pop_back();
  EXPECT_FALSE(TransferEntropyOf(pair.source, pair.target, given, {}));
}

TEST(TransferEntropyTest, OneInputOfAnExclusiveOrShowsGivenTheOther) {
  TestingNumbers numbers(3);
  Pair pair;
  std::vector<Symbol> other;
  for (int t = 0; t < 10'000; ++t) {
    pair.source.push_back(numbers.Next() < 0.5 ? 0 : 1);
    other.push_back(numbers.Next() < 0.5 ? 0 : 1);
    pair.target.push_back(t > 0 ? pair.source[t - 1] ^ other[t - 1] : 0);
  }
  EXPECT_LT(TransferEntropyOf(pair.source, pair.target, {})->plug_in, 1e-3);
  EXPECT_NEAR(TransferEntropyOf(pair.source, pair.target, other, {})->plug_in, std::numbers::ln2,
              1e-3);
  // As a set, the two are one source.
  const std::vector<std::span<const Symbol>> both = {pair.source, other};
  EXPECT_NEAR(TransferEntropyOf(*JointSymbols(both), pair.target, {})->plug_in, std::numbers::ln2,
              1e-3);
}

TEST(TransferEntropyTest, ConditionsOnTargetHistory) {
  // Both alternate together, so that each past determines everything.
  Pair pair;
  for (int t = 0; t < 100; ++t) {
    pair.source.push_back(t % 2);
    pair.target.push_back(t % 2);
  }
  EXPECT_NEAR(TransferEntropyOf(pair.source, pair.target, {})->plug_in, 0, 1e-12);
}

TEST(TransferEntropyTest, ByHand) {
  // Present, own past, source's past: (1,0,1) (0,1,0) (1,0,1) (1,1,1) and so on; ten of them.
  const std::vector<Symbol> source = {1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0};
  const std::vector<Symbol> target = {0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1};
  const auto found = TransferEntropyOf(source, target, {});
  ASSERT_TRUE(found);
  // The target copies the source of the previous step, so the value is H(present | own past).
  const auto h = [](double p) { return -p * std::log(p) - (1 - p) * std::log(1 - p); };
  // Own past 0: followed by 1 0 0 ... four of five times by 1; own past 1: two of five by 1.
  EXPECT_NEAR(found->plug_in, 0.5 * h(0.8) + 0.5 * h(0.4), 1e-12);
  // States: own past 2, with present 4; both pasts 4, all 4.
  EXPECT_NEAR(found->corrected - found->plug_in, (3.0 - 1.0 - 3.0 + 3.0) / 20, 1e-12);
}

TEST(TransferEntropyTest, FindsADelay) {
  const Pair pair = Copying(5'000, 0, 3);
  EXPECT_LT(TransferEntropyOf(pair.source, pair.target, {})->plug_in, 0.01);
  EXPECT_GT(TransferEntropyOf(pair.source, pair.target, {.delay = 3})->plug_in, 0.68);
  EXPECT_GT(TransferEntropyOf(pair.source, pair.target, {.source_history = 3})->plug_in, 0.68);
}

TEST(TransferEntropyTest, SurrogatesDetectInfluence) {
  const Pair pair = Copying(500, 0.3);
  const auto there = TransferEntropyOf(pair.source, pair.target, {.surrogates = 99});
  EXPECT_EQ(there->p, 0.01);
  EXPECT_LT(*there->null_mean, there->plug_in);
  const auto back = TransferEntropyOf(pair.target, pair.source, {.surrogates = 99});
  EXPECT_GT(back->p, 0.02);
  const auto again = TransferEntropyOf(pair.target, pair.source, {.surrogates = 99});
  EXPECT_EQ(back->p, again->p);
}

// Counted by bit sets and, with a third symbol that is never used but makes the states many, in a
// table. Rows around the end are part of a shifted source.
TEST(TransferEntropyTest, SurrogatesCountTheSameByBitsAndInTables) {
  TestingNumbers numbers(21);
  for (const int length : {67, 128, 1000}) {
    Pair pair;
    for (int t = 0; t < length; ++t) {
      pair.source.push_back(static_cast<Symbol>(3 * numbers.Next()));
      pair.target.push_back(static_cast<Symbol>(2 * numbers.Next()));
    }
    Pair wide = pair;
    for (Symbol& symbol : wide.source) symbol = static_cast<Symbol>(symbol * 100);
    for (const int history : {1, 2}) {
      const TransferOptions options = {.source_history = history, .surrogates = 19};
      const auto bits = TransferEntropyOf(pair.source, pair.target, options);
      const auto table = TransferEntropyOf(wide.source, wide.target, options);
      ASSERT_TRUE(bits && table);
      EXPECT_NEAR(bits->plug_in, table->plug_in, 1e-13);
      EXPECT_NEAR(*bits->null_mean, *table->null_mean, 1e-13);
      EXPECT_EQ(bits->states, table->states);
    }
  }
}

// Plug-in value of trials, each a copy of rows of the pair, from maps of states.
double FromMapsOfTrials(const Pair& pair, const std::vector<std::int64_t>& lengths) {
  std::map<std::vector<Symbol>, int> own, with_own, both, all;
  std::int64_t begin = 0;
  int samples = 0;
  for (const std::int64_t length : lengths) {
    for (std::int64_t t = begin + 2; t < begin + length; ++t) {
      const Symbol past = pair.target[t - 1];
      const Symbol now = pair.target[t];
      const Symbol near = pair.source[t - 1];
      const Symbol far = pair.source[t - 2];
      ++own[{past}], ++with_own[{past, now}], ++both[{past, near, far}];
      ++all[{past, now, near, far}];
      ++samples;
    }
    begin += length;
  }
  double sum = 0;
  for (const auto& [counts, sign] :
       {std::pair{&own, 1}, std::pair{&with_own, -1}, std::pair{&both, -1}, std::pair{&all, 1}}) {
    for (const auto& [state, count] : *counts) {
      sum += sign * count * std::log(count / static_cast<double>(samples)) / samples;
    }
  }
  return sum;
}

TEST(TransferEntropyTest, CountsWithinTrials) {
  TestingNumbers numbers(31);
  // 70 rows end within a word of bits, and the trials of 1 and 2 have no sample.
  const std::vector<std::int64_t> lengths = {70, 1, 200, 2, 64, 13};
  Pair pair;
  for (int t = 0; t < 350; ++t) {
    pair.source.push_back(static_cast<Symbol>(3 * numbers.Next()));
    pair.target.push_back(t > 0 && numbers.Next() < 0.5 ? pair.source[t - 1]
                                                        : static_cast<Symbol>(3 * numbers.Next()));
  }
  Pair wide = pair;  // whose states are too many for bit sets
  for (Symbol& symbol : wide.source) symbol = static_cast<Symbol>(symbol * 100);
  const TransferOptions options = {.source_history = 2, .surrogates = 19};
  const auto bits = TransferEntropyOf(pair.source, pair.target, {}, {.lengths = lengths}, options);
  const auto table = TransferEntropyOf(wide.source, wide.target, {}, {.lengths = lengths}, options);
  ASSERT_TRUE(bits && table) << bits.error().message;
  EXPECT_EQ(bits->samples, 68 + 198 + 62 + 11);
  EXPECT_NEAR(bits->plug_in, FromMapsOfTrials(pair, lengths), 1e-12);
  EXPECT_NEAR(bits->plug_in, table->plug_in, 1e-12);
  EXPECT_NEAR(*bits->null_mean, *table->null_mean, 1e-12);
  EXPECT_EQ(bits->p, 0.05);
  EXPECT_FALSE(TransferEntropyOf(pair.source, pair.target, {},
                                 {.lengths = lengths, .permuted = true}, options));
  EXPECT_FALSE(TransferEntropyOf(pair.source, pair.target, {}, {.lengths = {349}}, options));
}

// The source of a trial, a number of its own, says everything about the target; that of another
// trial as much as chance.
TEST(TransferEntropyTest, PermutesTrials) {
  TestingNumbers numbers(32);
  Pair pair;
  for (int t = 0; t < 20 * 50; ++t) {
    const bool begins = t % 50 == 0;
    pair.source.push_back(numbers.Next() < 0.5 ? 0 : 1);
    pair.target.push_back(begins ? 0 : pair.source[t - 1]);
  }
  const TransferTrials trials = {.lengths = std::vector<std::int64_t>(20, 50), .permuted = true};
  const auto there = TransferEntropyOf(pair.source, pair.target, {}, trials, {.surrogates = 19});
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(there->samples, 20 * 49);
  EXPECT_NEAR(there->plug_in, std::numbers::ln2, 0.01);
  EXPECT_LT(*there->null_mean, 0.1);
  EXPECT_EQ(there->p, 0.05);
}

// A past of two values that is unlike all others tells one value of the target, ln 2. In a source
// whose first value alone differs there is one, and across the seam there would be another.
TEST(TransferEntropyTest, NoPastSpansTheSeamOfASurrogate) {
  constexpr int kRows = 2000;
  TestingNumbers numbers(33);
  Pair pair{.source = std::vector<Symbol>(kRows, 0), .target = {}};
  pair.source.front() = 1;
  for (int t = 0; t < kRows; ++t) pair.target.push_back(numbers.Next() < 0.5 ? 0 : 1);
  const auto found =
      TransferEntropyOf(pair.source, pair.target, {.source_history = 2, .surrogates = 9});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_NEAR(*found->null_mean, std::numbers::ln2 / kRows, 0.2 * std::numbers::ln2 / kRows);
}

TEST(TransferEntropyTest, CorrectionRemovesMostBias) {
  TestingNumbers numbers(9);
  double plug_in = 0;
  double corrected = 0;
  for (int round = 0; round < 50; ++round) {
    Pair pair;
    for (int t = 0; t < 300; ++t) {
      pair.source.push_back(static_cast<Symbol>(numbers.Next() * 3));
      pair.target.push_back(static_cast<Symbol>(numbers.Next() * 3));
    }
    const auto found = TransferEntropyOf(pair.source, pair.target, {});
    plug_in += found->plug_in / 50;
    corrected += found->corrected / 50;
  }
  EXPECT_GT(plug_in, 0.015);
  EXPECT_LT(std::abs(corrected), plug_in / 4);
}

TEST(TransferEntropyTest, RejectsShortSeries) {
  const std::vector<Symbol> few = {0, 1, 0, 1, 0, 1, 1, 0};
  const auto found = TransferEntropyOf(few, few, {});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("at least 11"), std::string::npos) << found.error().message;
  const std::vector<Symbol> many(500, 7);
  EXPECT_FALSE(TransferEntropyOf(many, many, {.target_history = 15, .source_history = 15}));
  EXPECT_FALSE(TransferEntropyOf(many, many, {.delay = 0}));
}

}  // namespace transfer_entropy_test
}  // namespace reveza::phi
