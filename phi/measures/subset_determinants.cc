#include "phi/measures/subset_determinants.h"

#include <cstddef>
#include <memory>
#include <new>

#include "phi/arithmetic/huge_pages.h"

namespace reveza::phi {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kLanes = 8;
constexpr int kLaneVariables = 3;

struct Release {
  void operator()(double* space) const { operator delete[](space, kAlignment); }
};

// Returns the doubles of workspace: a triangle for each number of remaining variables, and some
// rows.
std::size_t SubsetWorkSpace(int variables, int group) {
  const auto triangle = [](std::size_t size) { return size * (size + 1) / 2; };
  const auto rows = static_cast<std::size_t>(group);
  std::size_t lanes = 0;
  for (int left = 0; left <= variables; ++left) {
    lanes += triangle(static_cast<std::size_t>(left) * rows);
  }
  const std::size_t size = static_cast<std::size_t>(variables) * rows;
  return (lanes + triangle(size) + size + rows * size) * kLanes;
}

// Returns the matrix in the row order of SubsetWork.
std::vector<double> Ordered(const Matrix& matrix, int variables, int group) {
  std::vector<int> order;
  for (int i = 0; i < variables; ++i) {
    const int variable = i < kLaneVariables ? i : variables - 1 - (i - kLaneVariables);
    for (int k = 0; k < group; ++k) order.push_back(variable * group + k);
  }
  std::vector<double> values;
  values.reserve(order.size() * order.size());
  for (const int row : order) {
    for (const int column : order) values.push_back(matrix(row, column));
  }
  return values;
}

}  // namespace

void SubsetDeterminants(const Matrix& matrix, int variables, const SubsetRows& rows,
                        Instructions instructions, std::vector<double>& result) {
  const std::size_t count = std::size_t{1} << variables;
  ReserveOnHugePages(result, count);
  result.resize(count);
  const std::vector<double> ordered = Ordered(matrix, variables, rows.group);
  const std::unique_ptr<double[], Release> space(static_cast<double*>(operator new[](
      SubsetWorkSpace(variables, rows.group) * sizeof(double), kAlignment)));
  const SubsetWork work = {.matrix = ordered.data(),
                           .variables = variables,
                           .rows = rows,
                           .space = space.get(),
                           .result = result.data()};
  switch (instructions) {
#if defined(__x86_64__)
    case Instructions::kAvx512:
      return WalkSubsetsAvx512(work);
    case Instructions::kAvx2:
      return WalkSubsetsAvx2(work);
#endif
    default:
      return WalkSubsetsPlain(work);
  }
}

double SubsetDeterminantProducts(int variables, const SubsetRows& rows) {
  const int pivots = (rows.in_end - rows.in_begin) + (rows.out_end - rows.out_begin);
  double products = 0.0;
  double nodes = 1.0;
  for (int left = variables - 1; left >= 0; --left, nodes *= 2.0) {
    const double size = static_cast<double>(left) * rows.group;
    products += nodes * pivots * size * (size + 1.0) / 2.0;
  }
  return products;
}

}  // namespace reveza::phi
