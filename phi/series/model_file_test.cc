#include "phi/series/model_file.h"

#include <gtest/gtest.h>

namespace reveza::phi {
namespace model_file_test {

TEST(ModelFileTest, ParsesMatrixOptions) {
  EXPECT_EQ(*ParseMatrix("0.4, .5;-1,+2e-1", "--coupling"), (Matrix{{.4, .5}, {-1, .2}}));
  EXPECT_EQ(ParseMatrix("1,2;3", "--coupling").error().message,
            "--coupling: row 1 has 1 numbers, row 0 has 2");
  EXPECT_EQ(ParseMatrix("1,x", "--coupling").error().message,
            "--coupling: 'x' is not a number; write matrices as '0.4,0.4;0.4,0.4'");
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

TEST(ModelFileTest, ErrorsNameLineAndExpectation) {
  const auto error = [](std::string_view text) {
    const auto model = ParseModel(text, "m.toml");
    return model ? std::string() : model.error().message;
  };
  EXPECT_EQ(error("noise = [[1]]"), "m.toml: no 'coupling = [[...]]'");
  EXPECT_TRUE(error("coupling = [[1],\n['x']]").starts_with("m.toml:2:2: expected"));
  EXPECT_TRUE(error("\ncuopling = [[1]]")
                  .starts_with("m.toml:2:1: unknown key 'cuopling'; expected coupling"));
  EXPECT_TRUE(error("names = ['a']").starts_with("m.toml:1:1: unknown key 'names'"));
  EXPECT_TRUE(error("coupling = [1]").starts_with("m.toml:1:13: expected rows"));
  EXPECT_TRUE(error("coupling = 1").starts_with("m.toml:1:12: expected rows"));
  EXPECT_TRUE(error("coupling = []").ends_with("the matrix is empty"));
  EXPECT_TRUE(error("coupling = [[1, 2], [3]]").ends_with("row 1 has 1 numbers, row 0 has 2"));
  for (const char* text : {"coupling [[1]]", "coupling = [[1 2]]", "coupling = [[1",
                           "coupling = [[x]]", "coupling = [[1]]\ncoupling = [[1]]"}) {
    EXPECT_TRUE(error(text).starts_with("m.toml:")) << text;
  }
}

}  // namespace model_file_test
}  // namespace reveza::phi
