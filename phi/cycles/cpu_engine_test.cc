#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "phi/cycles/engine.h"
#include "phi/cycles/testing_reference.h"

namespace reveza::phi {
namespace cpu_engine_test {

std::vector<Instructions> Here() {
  std::vector<Instructions> all = {Instructions::kPlain};
  if (SupportedInstructions() >= Instructions::kAvx2) all.push_back(Instructions::kAvx2);
  if (SupportedInstructions() >= Instructions::kAvx512) all.push_back(Instructions::kAvx512);
  return all;
}

void ExpectSame(const Observation& made, const Observation& right) {
  EXPECT_EQ(made.hash, right.hash);
  for (int i = 0; i < kModules; ++i) {
    EXPECT_EQ(Bits(made.mean[i]), Bits(right.mean[i])) << i;
    EXPECT_EQ(Bits(made.first[i]), Bits(right.first[i])) << i;
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Bits(made.rho_norm[i]), Bits(right.rho_norm[i])) << i;
  EXPECT_EQ(Bits(made.rho_correlation), Bits(right.rho_correlation));
}

std::vector<Observation> Advanced(const EngineSettings& settings, const CpuOptions& options,
                                  int cycles, int at_once) {
  auto engine = MakeCpuEngine(settings, options);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  std::vector<Observation> made(static_cast<std::size_t>(cycles * settings.runs));
  for (int done = 0; done < cycles; done += at_once) {
    const int now = std::min(at_once, cycles - done);
    EXPECT_TRUE((*engine)->Advance(
        now, std::span(made).subspan(static_cast<std::size_t>(done * settings.runs),
                                     static_cast<std::size_t>(now * settings.runs))));
  }
  return made;
}

void ExpectReference(const EngineSettings& settings, int cycles) {
  const CycleWeights weights =
      MakeWeights(settings.seed, settings.constants.dimension, Instructions::kPlain);
  std::vector<Observation> right;
  ReferenceRun reference(settings.constants, settings.seed, settings.first_run, weights);
  for (int i = 0; i < cycles; ++i) right.push_back(reference.Next());
  for (const Instructions instructions : Here()) {
    SCOPED_TRACE(testing::Message()
                 << NameOf(instructions) << " d=" << settings.constants.dimension);
    const auto made =
        Advanced(settings, {.threads = 1, .instructions = instructions}, cycles, cycles);
    for (int i = 0; i < cycles; ++i) {
      SCOPED_TRACE(testing::Message() << "cycle " << i + 1);
      ExpectSame(made[i], right[i]);
    }
  }
}

TEST(CpuEngine, MatchesTheReference) {
  for (const int dimension : {1, 8, 48, 100, 130}) {
    EngineSettings settings{.constants = {.dimension = dimension}, .seed = 11, .first_run = 5};
    settings.correlation = true;
    ExpectReference(settings, 25);
  }
}

TEST(CpuEngine, MatchesTheReferenceAtDefaultDimension) {
  EngineSettings settings;
  settings.seed = 12;
  settings.correlation = true;
  ExpectReference(settings, 3);
}

TEST(CpuEngine, MatchesTheReferenceWithOtherConstants) {
  EngineSettings settings{.constants = {.dimension = 40,
                                        .temperature = 0.02F,
                                        .repression = 0.3F,
                                        .decay = 0.5F,
                                        .min_variance = 0.5F,
                                        .feedback = 0.9F},
                          .seed = std::uint64_t{1} << 40};
  settings.correlation = true;
  ExpectReference(settings, 22);
}

TEST(CpuEngine, RunsDoNotDependOnBatchOrThreads) {
  constexpr int kCycles = 4;
  EngineSettings settings{.constants = {.dimension = 72}, .seed = 3, .runs = 131};
  settings.correlation = true;
  const auto all = Advanced(settings, {.threads = 1}, kCycles, kCycles);
  for (const auto& [first, runs, threads, at_once] :
       {std::tuple(0, 1, 1, 1), std::tuple(0, 1, 3, 4), std::tuple(17, 7, 1, 2),
        std::tuple(17, 7, 2, 3), std::tuple(100, 31, 3, 4), std::tuple(0, 131, 2, 4),
        std::tuple(0, 131, 5, 1)}) {
    SCOPED_TRACE(testing::Message() << runs << " runs, " << threads << " threads");
    settings.first_run = static_cast<std::uint32_t>(first);
    settings.runs = runs;
    const auto made = Advanced(settings, {.threads = threads}, kCycles, at_once);
    for (int cycle = 0; cycle < kCycles; ++cycle) {
      for (int run = 0; run < runs; ++run) {
        ExpectSame(made[cycle * runs + run], all[cycle * 131 + first + run]);
      }
    }
  }
}

TEST(CpuEngine, ResumesFromACopiedState) {
  EngineSettings settings{.constants = {.dimension = 20}, .runs = 3};
  settings.correlation = true;
  const auto right = Advanced(settings, {}, 30, 30);
  auto first = MakeCpuEngine(settings, {});
  auto second = MakeCpuEngine(settings, {.threads = 2});
  ASSERT_TRUE(first && second);
  std::vector<Observation> made(90);
  ASSERT_TRUE((*first)->Advance(13, made));
  BatchState state;
  ASSERT_TRUE((*first)->CopyState(state));
  EXPECT_EQ(state.cycle, 13U);
  ASSERT_TRUE((*second)->SetState(state));
  ASSERT_TRUE((*second)->Advance(17, std::span(made).subspan(39)));
  for (std::size_t i = 0; i < made.size(); ++i) ExpectSame(made[i], right[i]);
}

// Golden hashes. Changing them invalidates every saved run: raise kNumbersVersion
// (run/checkpoint.h) and add a changelog entry.
TEST(CpuEngine, MatchesGoldenHashes) {
  EngineSettings settings{.constants = {.dimension = 48}};
  EXPECT_EQ(Advanced(settings, {}, 10, 10).back().hash, 0xca699544a099d47bU);
  settings.constants.dimension = 768;
  EXPECT_EQ(Advanced(settings, {}, 3, 3).back().hash, 0x2787ff548be6acdbU);
}

TEST(CpuEngine, SeedsAndRunsDiffer) {
  EngineSettings settings{.constants = {.dimension = 16}, .runs = 2};
  const auto made = Advanced(settings, {}, 1, 1);
  settings.seed = 2;
  const auto other = Advanced(settings, {}, 1, 1);
  EXPECT_NE(made[0].hash, made[1].hash);
  EXPECT_NE(made[0].hash, other[0].hash);
}

TEST(CpuEngine, StaysFiniteAndBounded) {
  const EngineSettings settings{.constants = {.dimension = 64, .feedback = 1.0F}};
  const auto made = Advanced(settings, {}, 2000, 2000);
  for (const Observation& each : made) {
    for (const float mean : each.mean) ASSERT_LT(std::abs(mean), 10.0F);
    for (const float norm : each.rho_norm) ASSERT_LT(norm, 1.3F * 8);
  }
}

TEST(CpuEngine, RejectsInvalidSettings) {
  const auto refused = [](auto change) {
    EngineSettings settings;
    change(settings);
    const auto made = MakeCpuEngine(settings, {});
    EXPECT_FALSE(made.has_value());
    return made ? std::string() : made.error().message;
  };
  EXPECT_NE(refused([](auto& s) { s.constants.dimension = 0; }).find("1 to 65536"),
            std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.constants.repression = 1.5F; }).find("repression is 1.5"),
            std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.constants.temperature = -1; }).find("temperature"),
            std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.runs = 0; }).find("0 runs"), std::string::npos);
}

TEST(CpuEngine, RejectsStateOfOtherSize) {
  auto engine = MakeCpuEngine({.constants = {.dimension = 8}, .runs = 2}, {});
  ASSERT_TRUE(engine);
  EXPECT_FALSE((*engine)->SetState(InitialState({.constants = {.dimension = 8}, .runs = 3})));
}

}  // namespace cpu_engine_test
}  // namespace reveza::phi
