#include "common/cli/translation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace reveza::command_line {
namespace {

constexpr Translation kCommonTranslations[] = {
#include "generated/common/cli/pt_br.inc"
};

// What CLI11 adds to the help.
constexpr std::string_view kLabels[] = {"Usage",    "OPTIONS", "SUBCOMMAND", "Positionals",
                                        "REQUIRED", "Needs",   "Excludes"};

using Translate = std::function<std::string(std::string_view message)>;

// Calls `replace` with each text of an app and its commands.
void ReplaceTexts(CLI::App& app, const std::function<std::string(const std::string&)>& replace) {
  app.description(replace(app.get_description()));
  app.footer(replace(app.get_footer()));
  if (app.get_parent() != nullptr) app.group(replace(app.get_group()));
  for (CLI::Option* option : app.get_options()) {
    option->description(replace(option->get_description()));
    if (!option->get_positional()) option->group(replace(option->get_group()));
  }
  for (CLI::App* command : app.get_subcommands({})) ReplaceTexts(*command, replace);
}

// Translates a line that begins with spaces: only what follows a gap.
std::string TranslateVerbatim(std::string_view line, const Translate& translate) {
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", begin);
  const std::size_t message = gap == line.npos ? gap : line.find_first_not_of(' ', gap);
  if (message == line.npos) return std::string(line);
  const std::string translated = translate(line.substr(message));
  if (translated.empty()) return std::string(line);
  return std::string(line.substr(0, message)) + translated;
}

}  // namespace

bool IsPortuguese(const platform::Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const auto value = environment(name);
    if (value && !value->empty()) return value->starts_with("pt");
  }
  return false;
}

std::string TranslateText(std::string_view text, const Translate& translate) {
  std::string result;
  std::string paragraph;  // of the original, with its line breaks
  const auto end_paragraph = [&] {
    if (paragraph.empty()) return;
    std::string message = paragraph;
    std::ranges::replace(message, '\n', ' ');
    const std::string translated = translate(message);
    result += translated.empty() ? paragraph : translated;
    paragraph.clear();
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool verbatim = line.empty() || line.starts_with("  ");
    if (verbatim && !paragraph.empty()) {
      end_paragraph();
      result += '\n';
    }
    if (verbatim) {
      result += TranslateVerbatim(line, translate);
      if (end < text.size()) result += '\n';
    } else {
      paragraph += (paragraph.empty() ? "" : "\n") + std::string(line);
    }
    begin = end + 1;
  }
  end_paragraph();
  return result;
}

void TranslateToPortuguese(CLI::App& app, std::span<const Translation> program) {
  std::map<std::string_view, std::string_view> known;
  for (const Translation& row : kCommonTranslations) known[row.english] = row.portuguese;
  for (const Translation& row : program) known[row.english] = row.portuguese;
  const Translate translate = [&](std::string_view message) {
    const auto found = known.find(message);
    return std::string(found == known.end() ? "" : found->second);
  };
  ReplaceTexts(app, [&](const std::string& text) { return TranslateText(text, translate); });
  for (const std::string_view label : kLabels) {
    app.get_formatter()->label(std::string(label), translate(label));
  }
}

std::vector<std::string> Messages(CLI::App& app) {
  std::vector<std::string> messages(std::begin(kLabels), std::end(kLabels));
  ReplaceTexts(app, [&](const std::string& text) {
    TranslateText(text, [&](std::string_view message) {
      if (!message.empty() && std::ranges::find(messages, message) == messages.end()) {
        messages.emplace_back(message);
      }
      return std::string();
    });
    return text;
  });
  return messages;
}

}  // namespace reveza::command_line
