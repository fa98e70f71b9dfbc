#include "fraudgen/output/columnar/page_encoding.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

// Decodes as the format is specified, a bit at a time.
namespace reveza::fraudgen {
namespace page_encoding_test {

class Bits {
 public:
  explicit Bits(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool AtEnd() const { return at_ == 8 * bytes_.size(); }
  uint64_t Read(unsigned width) {
    uint64_t value = 0;
    for (unsigned bit = 0; bit < width; ++bit, ++at_) {
      value |= uint64_t{static_cast<uint8_t>(bytes_[at_ / 8] >> at_ % 8 & 1)} << bit;
    }
    return value;
  }
  uint64_t ReadVarint() {
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint64_t byte = Read(8);
      number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return number;
    }
  }
  int64_t ReadZigZag() {
    const uint64_t number = ReadVarint();
    return static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1);
  }

 private:
  std::span<const uint8_t> bytes_;
  std::size_t at_ = 0;  // in bits
};

std::span<const uint8_t> BytesOf(const PageBytes& bytes) { return {bytes.data(), bytes.size()}; }

template <typename T>
std::vector<T> DecodeRuns(const PageBytes& bytes, unsigned width, std::size_t count) {
  Bits bits(BytesOf(bytes));
  std::vector<T> values;
  while (!bits.AtEnd()) {
    const uint64_t header = bits.ReadVarint();
    if ((header & 1) != 0) {
      for (uint64_t i = 0; i < 8 * (header >> 1); ++i) {
        values.push_back(static_cast<T>(bits.Read(width)));
      }
    } else {
      const uint64_t value = bits.Read((width + 7) / 8 * 8);
      values.insert(values.end(), header >> 1, static_cast<T>(value));
    }
  }
  // The last group is filled up with zeros.
  EXPECT_LT(values.size(), count + 8);
  while (values.size() > count) {
    EXPECT_EQ(values.back(), 0);
    values.pop_back();
  }
  return values;
}

template <typename T>
void ExpectRunsRoundTrip(const std::vector<T>& values, unsigned width) {
  PageBytes bytes;
  AppendRuns(values, static_cast<int>(width), bytes);
  EXPECT_EQ(DecodeRuns<T>(bytes, width, values.size()), values)
      << width << " bits, " << values.size() << " values";
}

// Values that are random, with runs of random lengths among them.
template <typename T>
std::vector<T> ValuesWithRuns(std::size_t count, unsigned width, std::mt19937_64& random) {
  const uint64_t mask = width == 0 ? 0 : ~uint64_t{0} >> (64 - width);
  std::vector<T> values;
  while (values.size() < count) {
    const std::size_t run = random() % 3 == 0 ? random() % 60 : 1;
    values.insert(values.end(), run, static_cast<T>(random() & mask));
  }
  values.resize(count);
  return values;
}

TEST(PageEncoding, RunsRoundTrip) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {0, 1, 7, 8, 9, 63, 64, 65, 1'000, 4'099}) {
    for (int times = 0; times < 3; ++times) {
      ExpectRunsRoundTrip(ValuesWithRuns<uint8_t>(count, 1, random), 1);
      for (unsigned width = 1; width <= 16; ++width) {
        ExpectRunsRoundTrip(ValuesWithRuns<uint16_t>(count, width, random), width);
      }
      for (unsigned width = 1; width <= 32; ++width) {
        ExpectRunsRoundTrip(ValuesWithRuns<uint32_t>(count, width, random), width);
      }
    }
  }
}

TEST(PageEncoding, EqualValuesAreOneRun) {
  for (const std::size_t count : {8, 13, 30'000}) {
    PageBytes bytes;
    AppendRuns(std::vector<uint16_t>(count, 300), 9, bytes);
    EXPECT_LE(bytes.size(), 5u);
    ExpectRunsRoundTrip(std::vector<uint16_t>(count, 300), 9);
  }
}

TEST(PageEncoding, NoValuesAreLargerThanPackedBits) {
  std::mt19937_64 random(2);
  for (unsigned width = 1; width <= 16; ++width) {
    const auto values = ValuesWithRuns<uint16_t>(30'000, width, random);
    PageBytes bytes;
    AppendRuns(values, static_cast<int>(width), bytes);
    EXPECT_LE(bytes.size(), values.size() / 8 * width + 8) << width;
  }
}

TEST(PageEncoding, BitsRoundTrip) {
  std::mt19937_64 random(3);
  for (const std::size_t count : {0, 1, 8, 9, 1'001}) {
    const auto values = ValuesWithRuns<uint8_t>(count, 1, random);
    PageBytes bytes;
    AppendBits(values, bytes);
    EXPECT_EQ(bytes.size(), (count + 7) / 8);
    Bits bits(BytesOf(bytes));
    for (const uint8_t value : values) ASSERT_EQ(bits.Read(1), value);
  }
}

void ExpectDeltasRoundTrip(const std::vector<int64_t>& values) {
  PageBytes bytes;
  AppendDeltas(values, bytes);
  Bits bits(BytesOf(bytes));
  const uint64_t block = bits.ReadVarint();
  const uint64_t parts = bits.ReadVarint();
  ASSERT_EQ(bits.ReadVarint(), values.size());
  auto value = static_cast<uint64_t>(bits.ReadZigZag());
  std::vector<int64_t> decoded;
  if (!values.empty()) decoded.push_back(static_cast<int64_t>(value));
  while (decoded.size() < values.size()) {
    const auto least = static_cast<uint64_t>(bits.ReadZigZag());
    std::vector<unsigned> widths;
    for (uint64_t i = 0; i < parts; ++i) widths.push_back(static_cast<unsigned>(bits.Read(8)));
    for (const unsigned width : widths) {
      if (decoded.size() == values.size()) break;  // no bytes
      for (uint64_t i = 0; i < block / parts; ++i) {
        const uint64_t more = bits.Read(width);
        value += least + more;
        if (decoded.size() < values.size()) {
          decoded.push_back(static_cast<int64_t>(value));
        } else {
          EXPECT_EQ(more, 0u) << "behind the last value";
        }
      }
    }
  }
  EXPECT_TRUE(bits.AtEnd());
  EXPECT_EQ(decoded, values);
}

TEST(PageEncoding, DeltasRoundTrip) {
  std::mt19937_64 random(4);
  for (const std::size_t count : {0, 1, 2, 32, 33, 34, 128, 129, 130, 161, 1'000}) {
    ExpectDeltasRoundTrip(std::vector<int64_t>(count, -7));
    for (unsigned width = 1; width <= 64; ++width) {
      std::vector<int64_t> values(count);
      for (int64_t& value : values) value = static_cast<int64_t>(random() >> (64 - width));
      ExpectDeltasRoundTrip(values);
    }
  }
  ExpectDeltasRoundTrip({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
                         std::numeric_limits<int64_t>::max(), 0, -1});
}

TEST(PageEncoding, SplitPutsBytesOfOnePlaceTogether) {
  std::mt19937_64 random(5);
  for (const std::size_t count : {0, 1, 7, 8, 9, 1'001}) {
    std::vector<uint8_t> values(8 * count);
    for (uint8_t& byte : values) byte = static_cast<uint8_t>(random());
    PageBytes bytes;
    AppendSplit(values.data(), count, bytes);
    ASSERT_EQ(bytes.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(bytes.data()[i % 8 * count + i / 8], values[i]) << i;
    }
  }
}

}  // namespace page_encoding_test
}  // namespace reveza::fraudgen
