#include "phi/measures/subset_determinants.h"

#include <algorithm>
#include <new>

#include "phi/arithmetic/huge_pages.h"

namespace reveza::phi {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr int kLaneVariables = 3;

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
  return (lanes + triangle(size) + size + rows * size) * kSubsetLanes;
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

const SubsetWalk& WalkOf(Instructions instructions) {
#ifdef __x86_64__
  if (instructions == Instructions::kAvx512) return kAvx512SubsetWalk;
  if (instructions == Instructions::kAvx2) return kAvx2SubsetWalk;
#endif
  static_cast<void>(instructions);
  return kPlainSubsetWalk;
}

}  // namespace

void SubsetBlocks::Release::operator()(double* space) const {
  operator delete[](space, kAlignment);
}

SubsetBlocks::SubsetBlocks(const Matrix& matrix, int variables, const SubsetRows& rows,
                           Instructions instructions)
    : walk_(&WalkOf(instructions)),
      work_(std::make_unique<SubsetWork>()),
      space_(static_cast<double*>(operator new[](
          SubsetWorkSpace(variables, rows.group) * sizeof(double), kAlignment))) {
  const std::vector<double> ordered = Ordered(matrix, variables, rows.group);
  work_->matrix = ordered.data();
  work_->variables = variables;
  work_->block_variables = std::min(variables, kVariables);
  work_->rows = rows;
  work_->space = space_.get();
  walk_->start(*work_);
  work_->matrix = nullptr;
}

void SubsetDeterminants(const Matrix& matrix, int variables, const SubsetRows& rows,
                        Instructions instructions, std::vector<double>& result) {
  SubsetBlocks blocks(matrix, variables, rows, instructions);
  const std::size_t count = blocks.size() * blocks.count();
  ReserveOnHugePages(result, count);
  result.resize(count);
  for (std::size_t block = 0; block < blocks.count(); ++block) {
    blocks.Write(block, result.data() + block * blocks.size());
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
