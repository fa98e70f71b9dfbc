#include "phi/series/model_file.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "base/file_bytes.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

using Rows = std::vector<std::vector<double>>;

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

Result<Matrix> MatrixOf(const Rows& rows, std::string_view name) {
  if (rows.empty() || rows.front().empty()) {
    return Wrong(fmt::format("{}: the matrix is empty", name));
  }
  Matrix matrix(static_cast<int>(rows.size()), static_cast<int>(rows.front().size()));
  for (int i = 0; i < matrix.rows(); ++i) {
    const auto& row = rows[static_cast<std::size_t>(i)];
    if (row.size() != rows.front().size()) {
      return Wrong(fmt::format("{}: row {} has {} numbers, row 0 has {}", name, i, row.size(),
                               rows.front().size()));
    }
    for (int j = 0; j < matrix.columns(); ++j) matrix(i, j) = row[static_cast<std::size_t>(j)];
  }
  return matrix;
}

// Reads `key = [[...], ...]` until the end of the text.
class ModelText {
 public:
  ModelText(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Result<ModelMatrices> Read() {
    std::optional<Matrix> coupling;
    std::optional<Matrix> noise;
    for (Skip(); !rest_.empty(); Skip()) {
      const std::string_view key = Word();
      std::optional<Matrix>& matrix = key == "noise" ? noise : coupling;
      if (key != "coupling" && key != "noise") {
        return Expected("coupling = [[...]] or noise = [[...]]");
      }
      if (matrix) return Expected(fmt::format("no second '{}'", key));
      Skip();
      if (!Take('=')) return Expected("'='");
      auto rows = ReadRows();
      if (!rows) return std::unexpected(rows.error());
      auto made = MatrixOf(*rows, fmt::format("{}: {}", name_, key));
      if (!made) return std::unexpected(made.error());
      matrix = *std::move(made);
    }
    if (!coupling) return Wrong(name_ + ": it has no 'coupling = [[...]]'");
    return ModelMatrices{.coupling = *std::move(coupling), .noise = std::move(noise)};
  }

 private:
  std::unexpected<Error> Expected(std::string_view what) const {
    return Wrong(fmt::format("{} line {}: expected {}", name_, line_, what));
  }

  // Blanks, ends of lines and comments.
  void Skip() {
    while (!rest_.empty()) {
      const char next = rest_.front();
      if (next == '#') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (next == '\n' || next == ' ' || next == '\t' || next == '\r') {
        line_ += next == '\n' ? 1 : 0;
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }

  bool Take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    Skip();
    return true;
  }

  std::string_view Word() {
    std::size_t length = 0;
    while (length < rest_.size() && rest_[length] >= 'a' && rest_[length] <= 'z') ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  Result<Rows> ReadRows() {
    Rows rows;
    Skip();
    if (!Take('[')) return Expected("'[' of a list of rows");
    while (!Take(']')) {
      if (!Take('[')) return Expected("'[' of a row, or ']'");
      std::vector<double>& row = rows.emplace_back();
      while (!Take(']')) {
        if (!rest_.empty() && rest_.front() == '+') rest_.remove_prefix(1);
        double number = 0.0;
        const auto [end, error] =
            std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
        if (error != std::errc()) return Expected("a number");
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        row.push_back(number);
        Skip();
        if (!Take(',') && (rest_.empty() || rest_.front() != ']')) return Expected("',' or ']'");
      }
      if (!Take(',') && (rest_.empty() || rest_.front() != ']')) return Expected("',' or ']'");
    }
    return rows;
  }

  std::string_view rest_;
  const std::string& name_;
  int line_ = 1;
};

}  // namespace

Result<Matrix> ParseMatrix(std::string_view text, const std::string& name) {
  Rows rows(1);
  while (true) {
    const auto end = text.find_first_of(",;");
    std::string_view field = text.substr(0, end);
    field.remove_prefix(std::min(field.find_first_not_of(" +"), field.size()));
    while (field.ends_with(' ')) field.remove_suffix(1);
    double number = 0.0;
    const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (error != std::errc() || stop != field.data() + field.size()) {
      return Wrong(
          fmt::format("{}: '{}' is no number; write a matrix as '0.4,0.4;0.4,0.4'", name, field));
    }
    rows.back().push_back(number);
    if (end == std::string_view::npos) return MatrixOf(rows, name);
    if (text[end] == ';') rows.emplace_back();
    text.remove_prefix(end + 1);
  }
}

Result<ModelMatrices> ParseModel(std::string_view text, const std::string& name) {
  return ModelText(text, name).Read();
}

Result<ModelMatrices> ReadModel(const std::string& path) {
  if (!path.ends_with(".toml")) {
    const auto table = ReadSeries(path, {});
    if (!table) return std::unexpected(table.error());
    Matrix coupling(static_cast<int>(table->length()), table->variables());
    for (int i = 0; i < coupling.rows(); ++i) {
      for (int j = 0; j < coupling.columns(); ++j) coupling(i, j) = table->View().Row(i)[j];
    }
    return ModelMatrices{.coupling = std::move(coupling), .noise = std::nullopt};
  }
  const auto text = FileBytes(path);
  if (!text) return std::unexpected(text.error());
  return ParseModel(*text, path);
}

}  // namespace reveza::phi
