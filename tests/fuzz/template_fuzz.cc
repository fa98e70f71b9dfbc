// Any text as a template, and as a line for the shell: taken, or refused with a reason. Where
// nothing needs quotes, both uses give the same text.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runner/definition/template.h"

namespace {

using reveza::runner::Template;

std::string Expanded(const Template& parsed, const std::string& value) {
  reveza::runner::Step step;
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
  if (plain && !text.contains('{') && Expanded(*plain, "5") != text) std::abort();
  const auto shell = Template::Parse(text, kNames, true, Template::Use::kShell);
  if (!shell && shell.error().message.empty()) std::abort();
  if (plain && shell && !text.contains('$') && Expanded(*plain, "5") != Expanded(*shell, "5")) {
    std::abort();
  }
  if (shell) Expanded(*shell, "it's $(5)");
  return 0;
}
