#include "phi/arithmetic/matrix_product.h"

#include <gtest/gtest.h>

#include <vector>

#include "phi/arithmetic/kernels.h"

namespace reveza::phi {
namespace matrix_product_test {

std::vector<float> Numbers(int count, std::uint32_t site) {
  const int groups = (count + kGroup - 1) / kGroup;
  std::vector<float> made(static_cast<std::size_t>(groups) * kGroup);
  kPlainKernels.normals({.key = KeyOf(3), .run = 0, .cycle = 0, .site = site}, groups, made.data());
  made.resize(static_cast<std::size_t>(count));
  return made;
}

void ExpectChains(Instructions instructions, int outputs, int inputs, int count) {
  SCOPED_TRACE(testing::Message() << NameOf(instructions) << ' ' << outputs << 'x' << inputs << 'x'
                                  << count);
  const std::vector<float> weights = Numbers(outputs * inputs, 1);
  const std::vector<float> x = Numbers(count * inputs, 2);
  const PackedMatrix matrix(weights, outputs, inputs);
  const int stride = PaddedOutputs(outputs) + kOutputUnit;
  std::vector<float> y(static_cast<std::size_t>(count * stride), -1.0F);
  Multiply(matrix, {.first = x.data(), .stride = inputs}, count,
           {.first = y.data(), .stride = stride}, KernelsOf(instructions).product);
  // Fetching what comes next changes nothing.
  const std::vector<float> alone = y;
  Multiply(matrix, {.first = x.data(), .stride = inputs}, count,
           {.first = y.data(), .stride = stride}, KernelsOf(instructions).product, 0,
           matrix.panels(), matrix.Panel(0));
  EXPECT_EQ(y, alone);
  for (int r = 0; r < count; ++r) {
    for (int o = 0; o < stride; ++o) {
      float right = o < PaddedOutputs(outputs) ? 0.0F : -1.0F;
      for (int k = 0; k < inputs && o < outputs; ++k) {
        right = Fma(weights[o * inputs + k], x[r * inputs + k], right);
      }
      ASSERT_EQ(Bits(y[r * stride + o]), Bits(right)) << r << ' ' << o;
    }
  }
}

class MatrixProduct : public testing::TestWithParam<Instructions> {
 protected:
  void SetUp() override {
    if (SupportedInstructions() < GetParam()) GTEST_SKIP() << "not of this processor";
  }
};

TEST_P(MatrixProduct, EachOutputIsOneFmaChainForAnyVectorCount) {
  for (int count = 1; count <= 14; ++count) ExpectChains(GetParam(), 80, 33, count);
}

TEST_P(MatrixProduct, HandlesAnyOutputCount) {
  for (const int outputs : {1, 15, 16, 17, 48, 64, 65, 128, 200}) {
    ExpectChains(GetParam(), outputs, 20, 7);
  }
}

TEST_P(MatrixProduct, HandlesModelSizes) {
  ExpectChains(GetParam(), 768, 768, 2);
  ExpectChains(GetParam(), 32, 768, 5);
  ExpectChains(GetParam(), 768, 32, 5);
}

INSTANTIATE_TEST_SUITE_P(All, MatrixProduct,
                         testing::Values(Instructions::kPlain, Instructions::kAvx2,
                                         Instructions::kAvx512),
                         [](const auto& each) { return std::string(NameOf(each.param)); });

TEST(PackedMatrix, RoundTripsWeights) {
  const std::vector<float> weights = Numbers(70 * 5, 1);
  const PackedMatrix matrix(weights, 70, 5);
  for (int o = 0; o < 70; ++o) {
    for (int k = 0; k < 5; ++k) {
      EXPECT_EQ(matrix.At(o, k), weights[o * 5 + k]);
    }
  }
}

}  // namespace matrix_product_test
}  // namespace reveza::phi
