#include "fraudgen/output/columnar/group_dictionary.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {
namespace group_dictionary_test {

constexpr int64_t kMaxRows = 1'000;

Column Make(ColumnType type, int places) {
  Column column{};
  column.name = "column";
  column.type = type;
  column.decimal_places = places;
  column.nullable = Nullable::kYes;
  return column;
}

struct Finished {
  std::shared_ptr<arrow::Array> dictionary;
  std::vector<int64_t> indices;  // -1: null
  std::vector<int16_t> levels;
};

Finished Finish(GroupDictionary& dictionary) {
  GroupDictionary::Scratch scratch;
  const auto array = dictionary.Finish(scratch);
  EXPECT_TRUE(array->ValidateFull().ok());
  const auto& encoded = static_cast<const arrow::DictionaryArray&>(*array);
  Finished finished{.dictionary = nullptr, .indices = {}, .levels = scratch.levels};
  for (int64_t i = 0; i < array->length(); ++i) {
    finished.indices.push_back(array->IsNull(i) ? -1 : encoded.GetValueIndex(i));
  }
  // A copy: the memory is the dictionary's.
  const arrow::Array& values = *encoded.dictionary();
  finished.dictionary = *arrow::Concatenate({arrow::MakeArray(values.data())});
  return finished;
}

ColumnValues Texts(const std::vector<std::optional<std::string>>& texts,
                   std::vector<uint64_t> keys = {}) {
  ColumnValues values;
  for (const auto& text : texts) {
    values.present.push_back(text ? 1 : 0);
    values.AppendText(text.value_or(""));
  }
  values.keys = std::move(keys);
  return values;
}

std::vector<std::string> TextsOf(const arrow::Array& array) {
  std::vector<std::string> texts;
  const auto& strings = static_cast<const arrow::StringArray&>(array);
  for (int64_t i = 0; i < array.length(); ++i) texts.emplace_back(strings.GetView(i));
  return texts;
}

TEST(GroupDictionary, NumbersBecomeDoublesInOrderOfFirstRows) {
  const Column column = Make(ColumnType::kDecimal, 2);
  GroupDictionary dictionary(column, kMaxRows);
  ColumnValues values;
  values.numbers = {1250, -1, 7, 1250, -1};
  values.present = {1, 1, 0, 1, 1};
  dictionary.Append(values, 0, 5);
  dictionary.Append(values, 3, 2);
  const Finished finished = Finish(dictionary);
  EXPECT_EQ(finished.indices, (std::vector<int64_t>{0, 1, -1, 0, 1, 0, 1}));
  EXPECT_EQ(finished.levels, (std::vector<int16_t>{1, 1, 0, 1, 1, 1, 1}));
  const auto& doubles = static_cast<const arrow::DoubleArray&>(*finished.dictionary);
  ASSERT_EQ(doubles.length(), 2);
  EXPECT_EQ(doubles.Value(0), 12.5);
  EXPECT_EQ(doubles.Value(1), -0.01);
}

TEST(GroupDictionary, FindsManyDistinctNumbers) {
  const Column column = Make(ColumnType::kDecimal, 0);
  GroupDictionary dictionary(column, kMaxRows);
  constexpr int64_t kDistinct = 100'000;
  ColumnValues values;
  for (int64_t i = 0; i < 2 * kDistinct; ++i) values.numbers.push_back((i % kDistinct) << 20);
  values.present.assign(values.numbers.size(), 1);
  dictionary.Append(values, 0, values.numbers.size());
  const Finished finished = Finish(dictionary);
  EXPECT_EQ(finished.dictionary->length(), kDistinct);
  for (std::size_t i = 0; i < finished.indices.size(); ++i) {
    ASSERT_EQ(finished.indices[i], static_cast<int64_t>(i) % kDistinct);
  }
}

// A batch without keys may follow one with keys, and the reverse.
TEST(GroupDictionary, KeysAndTextsAreTheSameValues) {
  const Column column = Make(ColumnType::kText, 0);
  const ColumnValues with = Texts({"a", std::nullopt, "b", "a"}, {10, 99, 20, 10});
  const ColumnValues without = Texts({"b", "c", std::nullopt, "a"});
  const ColumnValues with_again = Texts({"d", "c", "a"}, {40, 30, 10});
  GroupDictionary dictionary(column, kMaxRows);
  dictionary.Append(with, 0, 4);
  dictionary.Append(without, 0, 4);
  dictionary.Append(with_again, 0, 3);
  const Finished finished = Finish(dictionary);
  EXPECT_EQ(TextsOf(*finished.dictionary), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(finished.indices, (std::vector<int64_t>{0, -1, 1, 0, 1, 2, -1, 0, 3, 2, 0}));
}

TEST(GroupDictionary, StartsOverWithEachRowGroup) {
  const Column column = Make(ColumnType::kText, 0);
  GroupDictionary dictionary(column, kMaxRows);
  dictionary.Append(Texts({"a", "b"}, {1, 2}), 0, 2);
  Finish(dictionary);
  dictionary.Clear();
  dictionary.Append(Texts({"b", "b"}, {2, 2}), 0, 2);
  const Finished finished = Finish(dictionary);
  EXPECT_EQ(TextsOf(*finished.dictionary), (std::vector<std::string>{"b"}));
  EXPECT_EQ(finished.indices, (std::vector<int64_t>{0, 0}));
}

}  // namespace group_dictionary_test
}  // namespace reveza::fraudgen
