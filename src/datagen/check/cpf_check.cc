#include "datagen/check/cpf_check.h"

#include <algorithm>

#include "datagen/cpf.h"

namespace reveza::datagen::check {
namespace {

bool IsShaped(std::string_view text) {
  constexpr std::string_view kShape = "ddd.ddd.ddd-dd";
  return std::ranges::equal(text, kShape, [](char c, char shape) {
    return shape == 'd' ? c >= '0' && c <= '9' : c == shape;
  });
}

}  // namespace

void CpfCheck::Look(const Batch& batch, const Position& position) {
  if (batch.table().name != "customers" && batch.table().name != "drivers") return;
  const Field cpf(batch, "cpf");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!cpf.Has(row)) continue;
    const std::string_view text = cpf.Text(row);
    const auto describe = [&] { return std::string(text); };
    shapes_.Look();
    if (!IsShaped(text)) {
      shapes_.Bad(position, row, describe);
      continue;
    }
    valid_.Look();
    safe_.Look();
    (IsValidCpf(text) ? safe_ : valid_).Bad(position, row, describe);
  }
}

// What most are, all must be.
void CpfCheck::Report(std::vector<Outcome>& outcomes) const {
  outcomes.push_back(shapes_.outcome());
  const bool safe = valid_.bad() > safe_.bad();
  Outcome outcome = (safe ? safe_ : valid_).outcome();
  outcome.name =
      safe ? "CPFs: no check digits hold, so they are nobody's" : "CPFs: check digits hold";
  outcomes.push_back(std::move(outcome));
}

}  // namespace reveza::datagen::check
