// Parses arbitrary text as a template, plain and for the shell. Values that need no quotes must
// expand to the same text in both.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "reveza/jobs/definition/template.h"

namespace {

using reveza::jobs::Template;

std::string ExpandedCommand(const Template& parsed, const std::string& value) {
  reveza::jobs::Step step;
  step.parameters = {{"seed", value}, {"name", value}};
  const auto text = parsed.Expand(step, {});
  if (!text) std::abort();
  return *text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array<std::string_view, 2> kNames = {"seed", "name"};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plain = Template::Parse(text, kNames, true);
  if (!plain && plain.error().message.empty()) std::abort();
  if (plain && !text.contains('{') && ExpandedCommand(*plain, "5") != text) std::abort();
  const auto shell = Template::Parse(text, kNames, true, Template::Use::kShell);
  if (!shell && shell.error().message.empty()) std::abort();
  if (plain && shell && !text.contains('$') &&
      ExpandedCommand(*plain, "5") != ExpandedCommand(*shell, "5")) {
    std::abort();
  }
  if (shell) ExpandedCommand(*shell, "it's $(5)");
  return 0;
}
