#include "fraudgen/output/columnar/group_dictionary.h"

#include <gtest/gtest.h>

#include <cstdint>
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

std::vector<int32_t> IndicesOf(const GroupDictionary& dictionary) {
  return {dictionary.indices().begin(), dictionary.indices().end()};
}

std::vector<int64_t> NumbersOf(const GroupDictionary& dictionary) {
  return {dictionary.numbers().begin(), dictionary.numbers().end()};
}

std::vector<std::string> TextsOf(const GroupDictionary& dictionary) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < dictionary.size(); ++i) {
    texts.emplace_back(dictionary.TextAt(static_cast<int32_t>(i)));
  }
  return texts;
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

TEST(GroupDictionary, NumbersAreInOrderOfFirstRows) {
  const Column column = Make(ColumnType::kDecimal, 2);
  GroupDictionary dictionary(column, kMaxRows);
  ColumnValues values;
  values.numbers = {1250, -1, 7, 1'000'000, 1250, -1};
  values.present = {1, 1, 0, 1, 1, 1};
  dictionary.Append(values, 0, 6);
  dictionary.Append(values, 3, 3);
  EXPECT_EQ(IndicesOf(dictionary), (std::vector<int32_t>{0, 1, -1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(NumbersOf(dictionary), (std::vector<int64_t>{1250, -1, 1'000'000}));
}

TEST(GroupDictionary, FindsManyDistinctNumbers) {
  const Column column = Make(ColumnType::kDecimal, 0);
  GroupDictionary dictionary(column, kMaxRows);
  constexpr int64_t kDistinct = 100'000;
  for (const int shift : {0, 20}) {  // small and large ones, and large ones only
    ColumnValues values;
    for (int64_t i = 0; i < 2 * kDistinct; ++i) values.numbers.push_back((i % kDistinct) << shift);
    values.present.assign(values.numbers.size(), 1);
    dictionary.Append(values, 0, values.numbers.size());
    EXPECT_EQ(dictionary.size(), std::size_t{kDistinct});
    const std::vector<int32_t> indices = IndicesOf(dictionary);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      ASSERT_EQ(indices[i], static_cast<int64_t>(i) % kDistinct);
    }
    dictionary.Clear();
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
  EXPECT_EQ(TextsOf(dictionary), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(IndicesOf(dictionary), (std::vector<int32_t>{0, -1, 1, 0, 1, 2, -1, 0, 3, 2, 0}));
}

TEST(GroupDictionary, StartsOverWithEachRowGroup) {
  const Column column = Make(ColumnType::kText, 0);
  GroupDictionary dictionary(column, kMaxRows);
  dictionary.Append(Texts({"a", "b"}, {1, 2}), 0, 2);
  dictionary.Clear();
  dictionary.Append(Texts({"b", "b"}, {2, 2}), 0, 2);
  EXPECT_EQ(TextsOf(dictionary), (std::vector<std::string>{"b"}));
  EXPECT_EQ(IndicesOf(dictionary), (std::vector<int32_t>{0, 0}));
}

}  // namespace group_dictionary_test
}  // namespace reveza::fraudgen
