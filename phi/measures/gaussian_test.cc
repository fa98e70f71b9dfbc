#include "phi/measures/gaussian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace gaussian_test {

std::string ErrorOf(const Result<GaussianModel>& model) {
  return model ? "" : model.error().message;
}

TEST(GaussianTest, StationaryCovarianceIsAFixedPoint) {
  const TestingSystem system = RandomSystem(5, 1);
  const auto covariance = StationaryCovariance(system.coupling, system.noise);
  ASSERT_TRUE(covariance);
  const Matrix next =
      Sum(Product(system.coupling, ProductTransposed(*covariance, system.coupling)), system.noise);
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) EXPECT_NEAR((*covariance)(i, j), next(i, j), 1e-12);
  }
}

TEST(GaussianTest, ModelsOnTheEdgeOfStabilityAreNamedSo) {
  const auto refusal = [](const Matrix& coupling) {
    const auto model = GaussianModel::FromCoupling(coupling, Matrix::Identity(coupling.rows()));
    return model ? std::string() : model.error().message;
  };
  for (const Matrix& coupling : {Matrix{{.5, .5}, {.5, .5}}, Matrix{{0, 1}, {-1, 0}},
                                 Matrix{{1. / 3, 2. / 3}, {2. / 3, 1. / 3}}}) {
    EXPECT_NE(refusal(coupling).find("its spectral radius is 1,"), std::string::npos)
        << refusal(coupling);
    EXPECT_NEAR(SpectralRadius(coupling), 1.0, 1e-14);
  }
  EXPECT_EQ(RadiusText(0.7), "0.7");
  EXPECT_EQ(RadiusText(1.0), "1");
  EXPECT_EQ(RadiusText(1.1), "1.1");
  EXPECT_EQ(RadiusText(1.0 - 1e-11), "1 - 1e-11");
  EXPECT_EQ(RadiusText(0.999999), "0.999999");
}

TEST(GaussianTest, SpectralRadiusOfKnownMatrices) {
  EXPECT_NEAR(SpectralRadius({{0.2, 0.5}, {0.5, 0.2}}), 0.7, 1e-9);
  EXPECT_NEAR(SpectralRadius({{0.0, -0.9}, {0.9, 0.0}}), 0.9, 1e-9);  // complex eigenvalues
  EXPECT_EQ(SpectralRadius({{0.0, 1.0}, {0.0, 0.0}}), 0.0);
}

TEST(GaussianTest, RejectsUnstableCoupling) {
  EXPECT_NE(ErrorOf(GaussianModel::FromCoupling({{0.6, 0.5}, {0.5, 0.6}}, Matrix::Identity(2)))
                .find("spectral radius is 1.1"),
            std::string::npos);
  EXPECT_NE(ErrorOf(GaussianModel::FromCoupling({{1.0}}, {{1.0}})), "");
}

TEST(GaussianTest, RejectsInvalidNoise) {
  const Matrix coupling = {{.4, .4}, {.4, .4}};
  EXPECT_NE(ErrorOf(GaussianModel::FromCoupling(coupling, {{1, 1}, {1, 1}})).find("definite"),
            std::string::npos);
  EXPECT_NE(ErrorOf(GaussianModel::FromCoupling(coupling, {{1, .5}, {.4, 1}})).find("symmetric"),
            std::string::npos);
  EXPECT_NE(ErrorOf(GaussianModel::FromCoupling(coupling, {{1}})).find("1 x 1"), std::string::npos);
  EXPECT_NE(
      ErrorOf(GaussianModel::FromCoupling(coupling, {{1, 0}, {0, std::nan("")}})).find("finite"),
      std::string::npos);
}

TEST(GaussianTest, ReportsNearlySingularMatrixWithConditionNumber) {
  // Variable 2 is the sum of the others in the past, up to one part in 10^7.
  Matrix joint = Matrix::Identity(6);
  joint(0, 4) = joint(4, 0) = 1.0;
  joint(2, 4) = joint(4, 2) = 1.0;
  joint(4, 4) = 2.0 + 1e-14;
  const std::string error = ErrorOf(GaussianModel::FromJoint(joint, 1));
  EXPECT_NE(error.find("the correlation matrix of the past is nearly singular"), std::string::npos)
      << error;
  EXPECT_NE(error.find("condition number is"), std::string::npos) << error;
  EXPECT_NE(error.find("variable 2"), std::string::npos) << error;
}

TEST(GaussianTest, ReportsSingularJointMatrix) {
  Matrix joint = Matrix::Identity(4);
  joint(0, 3) = joint(3, 0) = 1.0;
  const std::string error = ErrorOf(GaussianModel::FromJoint(joint, 1));
  EXPECT_NE(error.find("joint correlation matrix of past and present"), std::string::npos) << error;
}

TEST(GaussianTest, RejectsConstantVariable) {
  Matrix joint = Matrix::Identity(4);
  joint(2, 2) = 0.0;
  EXPECT_NE(ErrorOf(GaussianModel::FromJoint(joint, 1)).find("variable 1 has no variance"),
            std::string::npos);
}

TEST(GaussianTest, LagsOfAVariableAreAdjacent) {
  const auto model = GaussianModel::FromJoint(Matrix::Identity(6), 2);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->variables(), 2);
  const std::vector<int> second = {1};
  EXPECT_EQ(model->Past(second), (std::vector<int>{3, 4}));
  EXPECT_EQ(model->Present(second), (std::vector<int>{5}));
  EXPECT_EQ(model->Both(second), (std::vector<int>{3, 4, 5}));
}

}  // namespace gaussian_test
}  // namespace reveza::phi
