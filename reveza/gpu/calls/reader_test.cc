// Recordings, whole and damaged. The recorder is tested by tests/recorded_calls.
#include "reveza/gpu/calls/reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "reveza/gpu/calls/testing_recording.h"

namespace reveza::calls {
namespace reader_test {

using testing::RecordingBuilder;

std::string Small() {
  RecordingBuilder builder;
  builder.AddBlock(0, {{1, RecordingBuilder::Allocation(0x7000, 64)},
                       {4, RecordingBuilder::Launch(0x100, {0x7000, 16, 0})}});
  builder.AddBlock(1, {{2, RecordingBuilder::Named("cuNew")}, {3, RecordingBuilder::Copy(64, 32)}});
  return builder.contents();
}

TEST(ReaderTest, RecordsAreInTheOrderOfTheCalls) {
  const auto recording = CallRecording::Parse(Small());
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  EXPECT_EQ(recording->program(), "builder");
  EXPECT_FALSE(recording->is_cut());
  std::vector<std::uint64_t> sequences;
  std::vector<std::uint32_t> threads;
  for (const Record& record : recording->records()) {
    sequences.push_back(record.sequence);
    threads.push_back(record.thread);
  }
  EXPECT_EQ(sequences, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(threads, (std::vector<std::uint32_t>{0, 1, 1, 0}));
}

TEST(ReaderTest, ParametersAreWhatWasRecorded) {
  const auto recording = CallRecording::Parse(Small());
  ASSERT_TRUE(recording.has_value());
  const auto allocation = recording->Values(recording->records()[0]);
  ASSERT_EQ(allocation.size(), 2u);
  EXPECT_EQ(allocation[0].numbers, std::vector<std::uint64_t>{0x7000});
  EXPECT_EQ(allocation[1].number, 64u);
  EXPECT_EQ(recording->Values(recording->records()[1])[0].bytes, "cuNew");
  const auto copy = recording->Values(recording->records()[2]);
  ASSERT_EQ(copy[0].bytes.size(), 24u);
  std::uint64_t word = 0;
  std::memcpy(&word, copy[0].bytes.data() + 16, sizeof word);
  EXPECT_EQ(word, 32u);
  const auto launch = recording->Values(recording->records()[3]);
  EXPECT_EQ(launch[0].number, 0x100u);
  EXPECT_EQ(launch[1].bytes.size(), 24u);
}

TEST(ReaderTest, OtherFilesAreRejected) {
  for (const std::string& contents : {std::string(), std::string("RVZ"), std::string(8192, 'x')}) {
    const auto recording = CallRecording::Parse(contents);
    ASSERT_FALSE(recording.has_value());
    EXPECT_EQ(recording.error().code, Error::Code::kInvalidArgument);
  }
}

TEST(ReaderTest, OtherVersionsAreRejected) {
  std::string contents = Small();
  contents[8] = 99;
  const auto recording = CallRecording::Parse(contents);
  ASSERT_FALSE(recording.has_value());
  EXPECT_EQ(recording.error().code, Error::Code::kIncompatible);
}

// Wherever a file is cut after its header, what is left is a prefix for each thread.
TEST(ReaderTest, CutFilesAreReadUpToTheLastWholeRecord) {
  const std::string contents = Small();
  std::size_t most = 0;
  for (std::size_t bytes = kPage; bytes <= contents.size(); ++bytes) {
    const auto recording = CallRecording::Parse(contents.substr(0, bytes));
    ASSERT_TRUE(recording.has_value()) << bytes << ": " << recording.error().message;
    EXPECT_GE(recording->records().size(), most);
    most = recording->records().size();
  }
  EXPECT_EQ(most, 4u);
  EXPECT_TRUE(CallRecording::Parse(contents.substr(0, 2 * kPage + 30))->is_cut());
}

// The process ended after it had allocated a block, before it wrote to it.
TEST(ReaderTest, BlocksThatWereNotBegunAreSkipped) {
  RecordingBuilder builder;
  builder.AddUnwrittenPages(3);
  builder.AddBlock(0, {{1, RecordingBuilder::Named("cuNew")}});
  const auto recording = CallRecording::Parse(builder.contents());
  ASSERT_TRUE(recording.has_value());
  EXPECT_EQ(recording->records().size(), 1u);
}

TEST(ReaderTest, ACutPageWithoutABlockEndsTheFile) {
  RecordingBuilder builder;
  builder.AddBlock(0, {{1, RecordingBuilder::Named("cuNew")}});
  builder.AddUnwrittenPages(1);
  const std::string& contents = builder.contents();
  const auto recording = CallRecording::Parse(contents.substr(0, contents.size() - kPage / 2));
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  EXPECT_EQ(recording->records().size(), 1u);
}

TEST(ReaderTest, WrongRecordsAreReported) {
  for (const std::string& record : {std::string("\x63\x00\x00", 3),  // of no known call
                                    std::string("\x00\x00\x01", 3),  // without parameters
                                    std::string("\x01\x00\x01\x01\x09x", 6)}) {
    RecordingBuilder builder;
    builder.AddBlock(0, {{1, record}});
    const auto recording = CallRecording::Parse(builder.contents());
    ASSERT_FALSE(recording.has_value());
    EXPECT_EQ(recording.error().code, Error::Code::kInvalidArgument);
  }
}

TEST(ReaderTest, AnyByteMayBeWrong) {
  const std::string contents = Small();
  std::mt19937 random(7);
  int read = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = contents;
    for (int k = 0; k < 3; ++k) {
      // Most of the file is zeros; damage what is not.
      std::size_t at = random() % damaged.size();
      while (damaged[at] == 0) at = (at + 1) % damaged.size();
      damaged[at] = static_cast<char>(random());
    }
    const auto recording = CallRecording::Parse(damaged);
    if (!recording) continue;
    ++read;
    for (const Record& record : recording->records()) {
      if (!record.has_values) continue;
      EXPECT_LE(recording->Values(record).size(), 64u);
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_LT(read, 4000);
}

}  // namespace reader_test
}  // namespace reveza::calls
