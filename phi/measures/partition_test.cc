#include "phi/measures/partition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reveza::phi {
namespace partition_test {

std::string ErrorOf(const Result<Partition>& partition) {
  return partition ? "" : partition.error().message;
}

TEST(PartitionTest, ReadsPartsOfNumbersOrNames) {
  EXPECT_EQ(ParsePartition("0,1|2,3", 4)->Text(), "0,1|2,3");
  EXPECT_EQ(ParsePartition(" 3, 2 | 1 ,0 ", 4)->Text(), "0,1|2,3");
  EXPECT_EQ(ParsePartition("b|a,2", 3, {"a", "b", "c"})->Text(), "0,2|1");
  EXPECT_EQ(ParsePartition("b|a,2", 3, {"a", "b", "c"})->Text({"a", "b", "c"}), "a,c|b");
  EXPECT_EQ(ParsePartition("atomic", 3)->Text(), "0|1|2");
}

TEST(PartitionTest, MasksMatchText) {
  EXPECT_EQ(*MakeBipartition(0b0101, 4), *ParsePartition("0,2|1,3", 4));
  EXPECT_EQ(*MakeBipartition(0b1010, 4), *ParsePartition("0,2|1,3", 4));
}

TEST(PartitionTest, ReportsMissingVariable) {
  EXPECT_NE(ErrorOf(ParsePartition("0,1|3", 4)).find("variable 2 is in no part"),
            std::string::npos);
}

TEST(PartitionTest, RejectsInvalidPartitions) {
  EXPECT_EQ(ErrorOf(ParsePartition("0,1|1", 2)), "partition: variable 1 appears twice");
  EXPECT_EQ(ErrorOf(ParsePartition("0|2", 2)), "partition: no variable '2'; use 0 to 1");
  EXPECT_EQ(ErrorOf(ParsePartition("0|x", 2, {"a", "b"})),
            "partition: no variable 'x'; use 0 to 1, or their names");
  EXPECT_EQ(ErrorOf(ParsePartition("0,1|", 2)), "partition: a part is empty; remove its bar");
  EXPECT_NE(ErrorOf(ParsePartition("0,1", 2)).find("at least two parts"), std::string::npos);
  EXPECT_NE(ErrorOf(ParsePartition("", 2)), "");
  EXPECT_NE(ErrorOf(ParsePartition("0,|1", 2)), "");
  EXPECT_NE(ErrorOf(ParsePartition("0|-1", 2)), "");
  EXPECT_NE(ErrorOf(MakeBipartition(0, 3)), "");
  EXPECT_NE(ErrorOf(AtomicPartition(1)), "");
}

}  // namespace partition_test
}  // namespace reveza::phi
