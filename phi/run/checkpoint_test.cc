#include "phi/run/checkpoint.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "common/platform/testing_directory.h"

namespace reveza::phi {
namespace checkpoint_test {

class Checkpoints : public testing::Test {
 protected:
  void SetUp() override {
    settings_.folder = folder_.path();
    settings_.engine.constants.dimension = 10;
    settings_.engine.runs = 2;
    ASSERT_TRUE(Prepare(settings_));
  }

  Checkpoint Made() const {
    Checkpoint made;
    made.version = "9.9";
    made.engine = "cpu plain";
    made.state = InitialState(settings_.engine);
    made.state.cycle = 77;
    made.samples = {std::vector<CycleSample>(3), std::vector<CycleSample>(2)};
    made.samples[1][1].first[5] = 0.5F;
    made.rows = {.bytes = 1234, .parts = 5, .rows = 6};
    made.summary = {{.count = 3,
                     .unmeasured = 12,
                     .min = -1,
                     .sum = 0.1,
                     .max = 2,
                     .last_cycle = 77,
                     .last_count = 1,
                     .last_sum = 0.3}};
    made.unmeasured = {.cycle = 70, .run = 1, .why = "it was \"flat\""};
    made.seconds = 1.5;
    made.started = "then";
    made.since = {{.cycle = 76, .values = {kNotAvailable}}, {.cycle = 77, .values = {0.25}}};
    return made;
  }

  std::string Bytes() const {
    std::ifstream file(CheckpointPath(folder_.path()), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const std::string& bytes) const {
    std::ofstream(CheckpointPath(folder_.path()), std::ios::binary) << bytes;
  }
  std::string Refusal() const {
    const auto loaded = LoadCheckpoint(settings_);
    EXPECT_FALSE(loaded.has_value());
    if (loaded) return "";
    EXPECT_EQ(loaded.error().code, Error::Code::kIncompatible);
    return loaded.error().message;
  }

  platform::TestingDirectory folder_;
  RunSettings settings_;
};

TEST_F(Checkpoints, RoundTrip) {
  const auto none = LoadCheckpoint(settings_);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  const Checkpoint right = Made();
  ASSERT_TRUE(SaveCheckpoint(settings_, right));
  const auto loaded = LoadCheckpoint(settings_);
  ASSERT_TRUE(loaded && *loaded) << loaded.error().message;
  const Checkpoint& made = **loaded;
  EXPECT_EQ(made.version, "9.9");
  EXPECT_EQ(made.engine, "cpu plain");
  EXPECT_EQ(made.state.cycle, 77U);
  EXPECT_TRUE(std::ranges::equal(made.state.vectors.all(), right.state.vectors.all()));
  EXPECT_EQ(made.state.ring.size(), right.state.ring.size());
  ASSERT_EQ(made.samples.size(), 2U);
  EXPECT_EQ(made.samples[0].size(), 3U);
  EXPECT_EQ(made.samples[1][1].first[5], 0.5F);
  EXPECT_EQ(made.rows, right.rows);
  EXPECT_EQ(made.summary[0].sum, 0.1);
  EXPECT_EQ(made.summary[0].last_sum, 0.3);
  EXPECT_EQ(made.summary[0].unmeasured, 12U);
  ASSERT_TRUE(made.unmeasured);
  EXPECT_EQ(made.unmeasured->cycle, 70U);
  EXPECT_EQ(made.unmeasured->run, 1U);
  EXPECT_EQ(made.unmeasured->why, "it was \"flat\"");
  EXPECT_EQ(made.seconds, 1.5);
  EXPECT_EQ(made.started, "then");
  EXPECT_TRUE(std::isnan(made.since[0].values[0]));
  EXPECT_EQ(made.since[1].values[0], 0.25);
}

TEST_F(Checkpoints, WithOtherParametersAreRejectedByName) {
  ASSERT_TRUE(SaveCheckpoint(settings_, Made()));
  settings_.engine.seed = 2;
  settings_.window = 60;
  const std::string refusal = Refusal();
  EXPECT_NE(refusal.find("--seed is 1 there and 2 here, --window is 50 there and 60 here"),
            std::string::npos)
      << refusal;
  EXPECT_EQ(refusal.find("--runs"), std::string::npos);
}

TEST_F(Checkpoints, WithOtherNumbersAreRejected) {
  ASSERT_TRUE(SaveCheckpoint(settings_, Made()));
  std::string bytes = Bytes();
  const std::string field = "\"numbers\":1";
  ASSERT_NE(bytes.find(field), std::string::npos);
  bytes[bytes.find(field) + field.size() - 1] = '0';
  const std::uint64_t sum = XXH3_64bits(bytes.data(), bytes.size() - sizeof sum);
  std::memcpy(bytes.data() + bytes.size() - sizeof sum, &sum, sizeof sum);
  Write(bytes);
  EXPECT_NE(Refusal().find("numerical results (version 0)"), std::string::npos);
}

TEST_F(Checkpoints, DamagedAreRejected) {
  ASSERT_TRUE(SaveCheckpoint(settings_, Made()));
  const std::string right = Bytes();
  for (const std::size_t place :
       {std::size_t{3}, std::size_t{200}, right.size() / 2, right.size() - 4}) {
    std::string bytes = right;
    bytes[place] = static_cast<char>(bytes[place] ^ 1);
    Write(bytes);
    EXPECT_NE(Refusal().find("damaged"), std::string::npos) << place;
  }
  Write(right.substr(0, right.size() / 2));
  EXPECT_NE(Refusal().find("damaged"), std::string::npos);
  Write("");
  EXPECT_NE(Refusal().find("damaged"), std::string::npos);
  std::filesystem::remove(CheckpointPath(settings_.folder));
  std::filesystem::create_directory(CheckpointPath(settings_.folder));
  const auto folder = LoadCheckpoint(settings_);
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("Is a directory"), std::string::npos);
}

TEST_F(Checkpoints, UnreadableIsNotMissing) {
  const auto path = CheckpointPath(settings_.folder);
  EXPECT_FALSE(LoadCheckpoint(settings_).value()) << "there is none";
  std::filesystem::create_symlink(path.filename(), path);
  EXPECT_FALSE(LoadCheckpoint(settings_)) << "a link to itself";
}

TEST_F(Checkpoints, AreReplacedAtomically) {
  ASSERT_TRUE(SaveCheckpoint(settings_, Made()));
  Checkpoint later = Made();
  later.state.cycle = 78;
  ASSERT_TRUE(SaveCheckpoint(settings_, later));
  EXPECT_EQ((*LoadCheckpoint(settings_))->state.cycle, 78U);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

}  // namespace checkpoint_test
}  // namespace reveza::phi
