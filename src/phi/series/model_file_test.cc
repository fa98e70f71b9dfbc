#include "phi/series/model_file.h"

#include <gtest/gtest.h>

namespace reveza::phi {
namespace {

TEST(ModelFileTest, ReadsMatricesFromTheCommandLine) {
  EXPECT_EQ(*ParseMatrix("0.4, .5;-1,+2e-1", "--coupling"), (Matrix{{.4, .5}, {-1, .2}}));
  EXPECT_EQ(ParseMatrix("1,2;3", "--coupling").error().message,
            "--coupling: row 1 has 1 numbers, row 0 has 2");
  EXPECT_EQ(ParseMatrix("1,x", "--coupling").error().message,
            "--coupling: 'x' is no number; write a matrix as '0.4,0.4;0.4,0.4'");
  EXPECT_FALSE(ParseMatrix("", "--coupling"));
}

TEST(ModelFileTest, ReadsAFile) {
  const auto model = ParseModel(
      "# two units\ncoupling = [\n  [0.4, 0.4],  # from both\n  [+0.4, 4e-1,],\n]\n"
      "noise=[[1,0.5],[0.5,1]]\n",
      "m.toml");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->coupling, (Matrix{{.4, .4}, {.4, .4}}));
  EXPECT_EQ(model->noise, (Matrix{{1, .5}, {.5, 1}}));
  EXPECT_FALSE(ParseModel("coupling = [[0.5]]", "m.toml")->noise);
}

TEST(ModelFileTest, SaysWhereSomethingElseIsExpected) {
  const auto error = [](std::string_view text) {
    const auto model = ParseModel(text, "m.toml");
    return model ? std::string() : model.error().message;
  };
  EXPECT_EQ(error("noise = [[1]]"), "m.toml: it has no 'coupling = [[...]]'");
  EXPECT_EQ(error("coupling = [[1],\n[x]]"), "m.toml line 2: expected a number");
  EXPECT_EQ(error("\ncuopling = 1"),
            "m.toml line 2: expected coupling = [[...]] or noise = [[...]]");
  EXPECT_EQ(error("coupling [[1]]"), "m.toml line 1: expected '='");
  EXPECT_EQ(error("coupling = [1]"), "m.toml line 1: expected '[' of a row, or ']'");
  EXPECT_EQ(error("coupling = [[1 2]]"), "m.toml line 1: expected ',' or ']'");
  EXPECT_EQ(error("coupling = [[1]]\ncoupling = [[1]]"),
            "m.toml line 2: expected no second 'coupling'");
  EXPECT_EQ(error("coupling = []"), "m.toml: coupling: the matrix is empty");
  EXPECT_EQ(error("coupling = [[1, 2], [3]]"),
            "m.toml: coupling: row 1 has 1 numbers, row 0 has 2");
  EXPECT_NE(error("coupling = [[1"), "");
}

}  // namespace
}  // namespace reveza::phi
