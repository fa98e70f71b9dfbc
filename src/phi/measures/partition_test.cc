#include "phi/measures/partition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reveza::phi {
namespace {

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

TEST(PartitionTest, TheSameByMaskAndByText) {
  EXPECT_EQ(*Bipartition(0b0101, 4), *ParsePartition("0,2|1,3", 4));
  EXPECT_EQ(*Bipartition(0b1010, 4), *ParsePartition("0,2|1,3", 4));
}

TEST(PartitionTest, SaysWhichVariableIsMissing) {
  EXPECT_EQ(ErrorOf(ParsePartition("0,1|3", 4)),
            "partition: variable 2 is in no part; name each of 0 to 3 once, or choose fewer with "
            "--columns");
}

TEST(PartitionTest, RefusesWhatIsNoPartition) {
  EXPECT_EQ(ErrorOf(ParsePartition("0,1|1", 2)), "partition: variable 1 is there twice");
  EXPECT_EQ(ErrorOf(ParsePartition("0|2", 2)),
            "partition: there is no variable '2'; there are 0 to 1");
  EXPECT_EQ(ErrorOf(ParsePartition("0|x", 2, {"a", "b"})),
            "partition: there is no variable 'x'; there are 0 to 1, or their names");
  EXPECT_EQ(ErrorOf(ParsePartition("0,1|", 2)), "partition: a part is empty; leave its bar away");
  EXPECT_EQ(ErrorOf(ParsePartition("0,1", 2)),
            "partition: it needs two parts at least, such as '0|1'; 'atomic' is each variable "
            "alone");
  EXPECT_NE(ErrorOf(ParsePartition("", 2)), "");
  EXPECT_NE(ErrorOf(ParsePartition("0,|1", 2)), "");
  EXPECT_NE(ErrorOf(ParsePartition("0|-1", 2)), "");
  EXPECT_NE(ErrorOf(Bipartition(0, 3)), "");
  EXPECT_NE(ErrorOf(AtomicPartition(1)), "");
}

}  // namespace
}  // namespace reveza::phi
