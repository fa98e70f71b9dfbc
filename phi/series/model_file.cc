#include "phi/series/model_file.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "common/base/parse_number.h"
#include "common/base/read_file.h"
#include "common/settings/document.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

using Rows = std::vector<std::vector<double>>;

Result<Matrix> MatrixOf(const Rows& rows, std::string_view name) {
  if (rows.empty() || rows.front().empty()) {
    return InvalidArgument("{}: the matrix is empty", name);
  }
  Matrix matrix(static_cast<int>(rows.size()), static_cast<int>(rows.front().size()));
  for (int i = 0; i < matrix.rows(); ++i) {
    const auto& row = rows[static_cast<std::size_t>(i)];
    if (row.size() != rows.front().size()) {
      return InvalidArgument("{}: row {} has {} numbers, row 0 has {}", name, i, row.size(),
                             rows.front().size());
    }
    for (int j = 0; j < matrix.columns(); ++j) matrix(i, j) = row[static_cast<std::size_t>(j)];
  }
  return matrix;
}

Result<Matrix> MatrixOf(const Node& node, std::string_view name) {
  constexpr std::string_view kExpected = "expected rows of numbers: [[0.4, 0.4], [0.4, 0.4]]";
  if (node.kind != Node::Kind::kArray) return ErrorAt(name, node.location, kExpected);
  Rows rows;
  for (const Node& row : node.items) {
    if (row.kind != Node::Kind::kArray) return ErrorAt(name, row.location, kExpected);
    rows.emplace_back();
    for (const Node& number : row.items) {
      double value = 0.0;
      const char* end = number.text.data() + number.text.size();
      const bool is_number =
          number.kind == Node::Kind::kInteger || number.kind == Node::Kind::kFloat;
      if (!is_number || std::from_chars(number.text.data(), end, value).ptr != end) {
        return ErrorAt(name, number.location, kExpected);
      }
      rows.back().push_back(value);
    }
  }
  return MatrixOf(rows, fmt::format("{}:{}", name, node.location.line));
}

}  // namespace

Result<Matrix> ParseMatrix(std::string_view text, const std::string& name) {
  Rows rows(1);
  while (true) {
    const auto end = text.find_first_of(",;");
    std::string_view field = text.substr(0, end);
    field.remove_prefix(std::min(field.find_first_not_of(" +"), field.size()));
    while (field.ends_with(' ')) field.remove_suffix(1);
    const auto number = ParseNumber<double>(field);
    if (!number) {
      return InvalidArgument("{}: '{}' is not a number; write matrices as '0.4,0.4;0.4,0.4'", name,
                             field);
    }
    rows.back().push_back(*number);
    if (end == std::string_view::npos) return MatrixOf(rows, name);
    if (text[end] == ';') rows.emplace_back();
    text.remove_prefix(end + 1);
  }
}

Result<ModelMatrices> ParseModel(std::string_view text, const std::string& name) {
  ASSIGN_OR_RETURN(const Node root, ParseToml(text, name));
  ModelMatrices model;
  for (const Member& member : root.members) {
    if (member.key != "coupling" && member.key != "noise") {
      return ErrorAt(name, member.location,
                     fmt::format("unknown key '{}'; expected coupling = [[...]] or noise = [[...]]",
                                 member.key));
    }
    ASSIGN_OR_RETURN(Matrix matrix, MatrixOf(member.value, name));
    if (member.key == "coupling") {
      model.coupling = std::move(matrix);
    } else {
      model.noise = std::move(matrix);
    }
  }
  if (model.coupling.rows() == 0) return InvalidArgument(name + ": no 'coupling = [[...]]'");
  return model;
}

Result<ModelMatrices> ReadModel(const std::string& path) {
  if (!path.ends_with(".toml")) {
    ASSIGN_OR_RETURN(const auto table, ReadSeries(path, {.header = ReadOptions::Header::kText}));
    Matrix coupling(static_cast<int>(table.length()), table.variables());
    for (int i = 0; i < coupling.rows(); ++i) {
      for (int j = 0; j < coupling.columns(); ++j) coupling(i, j) = table.View().Row(i)[j];
    }
    return ModelMatrices{.coupling = std::move(coupling), .noise = std::nullopt};
  }
  ASSIGN_OR_RETURN(const auto text, ReadFile(path));
  return ParseModel(text, path);
}

}  // namespace reveza::phi
