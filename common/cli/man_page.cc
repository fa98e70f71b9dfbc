#include "common/cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "common/cli/completion.h"
#include "common/cli/help_text.h"

namespace reveza::command_line {
namespace {

// Escapes text for a line of man(7).
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '`') {
      escaped += "\\(ga";
    } else if (c == '\'') {
      escaped += "\\(aq";
    } else if (c == '^') {
      escaped += "\\(ha";
    } else if (c == '~') {
      escaped += "\\(ti";
    } else {
      escaped += c;
    }
  }
  if (escaped.starts_with('.')) escaped.insert(0, "\\&");
  return escaped;
}

// Appends a line of text as lines of at most 79 columns.
void AppendWrapped(std::string& page, std::string_view text) {
  constexpr std::size_t kColumns = 79;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
      page += Escaped(line) + "\n";
      line.clear();
    }
    line += line.empty() ? "" : " ";
    line += word;
  }
  if (!line.empty()) page += Escaped(line) + "\n";
}

// Appends text that may be wrapped anew, except for lines that begin with two spaces.
void AppendText(std::string& page, std::string_view text) {
  bool verbatim = false;
  bool paragraph = false;  // an empty line is pending
  const auto end_verbatim = [&] {
    if (verbatim) page += ".EE\n";
    verbatim = false;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) {
      end_verbatim();
      paragraph = true;
    } else if (line.starts_with("  ")) {
      if (!verbatim) page += ".PP\n.EX\n";
      verbatim = true;
      paragraph = false;
      page += Escaped(line) + "\n";
    } else {
      end_verbatim();
      if (paragraph) page += ".PP\n";
      paragraph = false;
      AppendWrapped(page, line);
    }
  }
  end_verbatim();
}

std::string Synopsis(const CLI::App& app) {
  std::string line = fmt::format("\\fB{}\\fR", Escaped(CommandPath(app)));
  const auto options = app.get_options([](const CLI::Option* option) {
    return !option->get_positional() && !option->get_group().empty();
  });
  if (!options.empty()) line += " [\\fIOPTIONS\\fR]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = fmt::format("\\fI{}\\fR{}", Escaped(ValueKind(*option)),
                                         option->get_items_expected_max() > 1 ? "..." : "");
    line += option->get_required() ? " " + name : fmt::format(" [{}]", name);
  }
  if (!app.get_subcommands({}).empty()) {
    line += app.get_require_subcommand_min() > 0 ? " \\fISUBCOMMAND\\fR" : " [\\fISUBCOMMAND\\fR]";
  }
  return line + "\n";
}

std::string OptionTag(const CLI::Option& option) {
  std::string tag;
  for (const auto* names : {&option.get_snames(), &option.get_lnames()}) {
    for (const std::string& name : *names) {
      tag += fmt::format("{}\\fB{}{}\\fR", tag.empty() ? "" : ", ",
                         names == &option.get_snames() ? "\\-" : "\\-\\-", Escaped(name));
    }
  }
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) tag += fmt::format(" \\fI{}\\fR", Escaped(option.get_type_name()));
  return tag;
}

void AppendOptions(std::string& page, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option == app.get_help_ptr() && app.get_parent() != nullptr) continue;  // in the root's
    std::string tag = option->get_positional() ? fmt::format("\\fI{}\\fR", ValueKind(*option))
                                               : OptionTag(*option);
    page += fmt::format(".TP\n{}\n", tag);
    std::string text = Summary(option->get_description());
    const std::string value = option->get_default_str();
    if (!value.empty()) text += fmt::format("; default: {}", value);
    AppendWrapped(page, text);
  }
}

// Appends a section for each command below `app`.
void AppendCommands(std::string& page, const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    page += fmt::format(".SS {}\n", Escaped(CommandPath(*command)));
    page += Synopsis(*command) + ".PP\n";
    AppendText(page, Details(command->get_description()));
    AppendOptions(page, *command);
    if (!command->get_footer().empty()) page += ".PP\n";
    AppendText(page, command->get_footer());
    AppendCommands(page, *command);
  }
}

}  // namespace

std::string ManPage(const CLI::App& root, const ManPageInfo& info) {
  std::string upper = root.get_name();
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string about = Summary(root.get_description());
  about = about.substr(0, about.find(". "));
  if (about.ends_with('.')) about.pop_back();
  if (!about.empty()) about[0] = static_cast<char>(std::tolower(about[0]));
  std::string page =
      fmt::format(".TH {} {} \"\" \"{} {}\"\n", upper, info.section, root.get_name(), info.version);
  page += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}.SH DESCRIPTION\n",
                      Escaped(root.get_name()), Escaped(about), Synopsis(root));
  AppendText(page, root.get_description());
  page += ".SH OPTIONS\n";
  AppendOptions(page, root);
  if (!root.get_subcommands({}).empty()) page += ".SH COMMANDS\n";
  AppendCommands(page, root);
  page += ".SH NOTES\n";
  AppendText(page, root.get_footer());
  if (!info.see_also.empty()) page += fmt::format(".SH SEE ALSO\n{}\n", Escaped(info.see_also));
  return page;
}

}  // namespace reveza::command_line
