#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "phi/series/series_table.h"

namespace reveza::phi {
namespace numpy_test {

std::string Npy(const std::string& type, const std::string& shape, const std::string& data,
                const std::string& order = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 64) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  return bytes;
}

Result<SeriesTable> Read(const std::string& bytes, const ReadOptions& options = {}) {
  return ReadNumpy(bytes, "data.npy", options);
}

TEST(NumpyTest, ReadsRowsOfDoubles) {
  const auto table = Read(Npy("<f8", "(3, 2)", Bytes<double>({1, 2, 3, 4, 5, 6})));
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(table->values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(NumpyTest, ReadsOtherTypesAndOrders) {
  EXPECT_EQ(Read(Npy("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4}), "True"))->values,
            (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(Read(Npy("<i2", "(3,)", Bytes<std::int16_t>({-1, 2, 3})))->values,
            (std::vector<double>{-1, 2, 3}));
  EXPECT_EQ(Read(Npy("|u1", "(2, 2)", "\x01\x02\x03\xFF"), {.columns = {"1"}})->values,
            (std::vector<double>{2, 255}));
}

TEST(NumpyTest, FirstOfThreeDimensionsIsTheTrial) {
  const auto table = Read(Npy("<i4", "(2, 2, 1)", Bytes<std::int32_t>({1, 2, 3, 4})));
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->trials, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(table->length(), 4);
}

TEST(NumpyTest, ColumnMayHoldTrials) {
  const auto table =
      Read(Npy("<i4", "(3, 2)", Bytes<std::int32_t>({7, 1, 7, 2, 8, 3})), {.trials = "0"});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"1"}));
  EXPECT_EQ(table->trials, (std::vector<std::int64_t>{0, 2}));
}

// Files are read in pieces of 64 KiB, whose ends are not those of numbers.
TEST(NumpyTest, FilesAreReadAsTheirContents) {
  std::string numbers;
  for (int i = 0; i < 3 * 10'001; ++i) numbers += Bytes<double>({i * 0.25});
  std::string odd = Npy("<f8", "(10001, 3)", numbers);
  // One byte more of the header.
  odd.insert(odd.size() - numbers.size() - 1, " ");
  ++odd[8];
  const std::string small = Bytes<double>({1, 2, 3, 4, 5, 6});
  const auto path = std::filesystem::path(testing::TempDir()) / "phi_numpy_test.npy";
  for (const std::string& bytes :
       {odd, Npy("<f8", "(3, 2)", small), Npy("<f8", "(3, 2)", small + "more"),
        Npy("<f8", "(3, 1, 2)", small), Npy("<f8", "(3, 2)", small, "True"),
        Npy("<f8", "(4, 2)", small), Npy("<f8", "(0, 2)", ""), std::string("nothing"),
        Npy("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4}))}) {
    std::ofstream(path, std::ios::binary) << bytes;
    for (const ReadOptions& options : {ReadOptions(), ReadOptions{.columns = {"1", "0"}}}) {
      const auto expected = ReadNumpy(bytes, path.string(), options);
      const auto found = ReadSeries(path.string(), options);
      ASSERT_EQ(found.has_value(), expected.has_value());
      if (!found) {
        EXPECT_EQ(found.error().message, expected.error().message);
        continue;
      }
      EXPECT_EQ(found->values, expected->values);
      EXPECT_EQ(found->names, expected->names);
      EXPECT_EQ(found->trials, expected->trials);
    }
  }
  std::filesystem::remove(path);
}

TEST(NumpyTest, RejectsInvalidFiles) {
  const auto error = [](const std::string& bytes) {
    const auto table = Read(bytes);
    return table ? std::string() : table.error().message;
  };
  EXPECT_NE(error("1,2\n").find("not a .npy file"), std::string::npos);
  EXPECT_NE(error(Npy("<c16", "(1, 1)", std::string(16, '\0'))).find("'<c16'"), std::string::npos);
  EXPECT_NE(error(Npy(">f8", "(1, 1)", std::string(8, '\0'))).find("'>f8'"), std::string::npos);
  EXPECT_NE(error(Npy("<f8", "(3, 2)", Bytes<double>({1, 2, 3}))).find("truncated"),
            std::string::npos);
  EXPECT_NE(error(Npy("<f8", "(9223372036854775807, 9223372036854775807)", Bytes<double>({1})))
                .find("truncated"),
            std::string::npos);
  EXPECT_NE(error(Npy("<f8", "(0, 2)", "")).find("no rows"), std::string::npos);
  EXPECT_NE(error(Npy("<f8", "()", Bytes<double>({1}))).find("0 dimensions"), std::string::npos);
  EXPECT_NE(error(Npy("<f8", "3", "")).find("shape"), std::string::npos);
  const std::string whole = Npy("<f8", "(2, 2)", Bytes<double>({1, 2, 3, 4}));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(error(whole.substr(0, length)), "") << length;
  }
}

}  // namespace numpy_test
}  // namespace reveza::phi
