#include "datagen/check/people_rules.h"

#include "datagen/lists/places.h"

namespace reveza::datagen::check {

// The shape and the ninth digit; the check digits are looked at for all people together.
bool IsCpfOfState(std::span<const Field> fields, std::size_t row) {
  const std::string_view cpf = fields[0].Text(row);
  return cpf.size() == 14 &&
         static_cast<uint32_t>(cpf[10] - '0') == lists::kStates[fields[1].Code(row)].fiscal_region;
}

bool IsExampleAddress(std::span<const Field> fields, std::size_t row) {
  const std::string_view email = fields[0].Text(row);
  const std::size_t at = email.find('@');
  if (at == 0 || at == std::string_view::npos) return false;
  const std::string_view domain = email.substr(at + 1);
  return domain == "example.com" || domain == "example.net" || domain == "example.org";
}

}  // namespace reveza::datagen::check
