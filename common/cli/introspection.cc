#include "common/cli/introspection.h"

#include <string>
#include <string_view>
#include <vector>

#include "common/cli/help_text.h"
#include "common/platform/runtime_paths.h"
#include "common/platform/standard_output.h"

namespace reveza::command_line {
namespace {

constexpr char kCommand[] = "completion";

}  // namespace

void AddCompletionCommand(CLI::App& app) {
  const std::string name = app.get_name();
  CLI::App* command =
      app.add_subcommand(kCommand, "Print the script that makes a shell complete command lines");
  command->add_option_function<std::string>(
             "SHELL", [](const std::string&) {}, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer("Example:\n  source <(" + name + " completion bash)");
}

std::optional<int> AnswerCompletion(CLI::App& app, int argc, char** argv,
                                    const CompletionSource& source, const ManPageInfo& info,
                                    std::span<const Translation> portuguese) {
  if (argc < 3 || std::string_view(argv[1]) != kCommand) return std::nullopt;
  const std::string_view what = argv[2];
  std::string text;
  if (what == "--") {
    ShortenTypeNames(app);
    if (IsPortuguese(platform::ProcessEnvironment)) TranslateToPortuguese(app, portuguese);
    const std::vector<std::string> words(argv + 3, argv + argc);
    text = CompletionText(Complete(app, words, source));
  } else if (argc == 3 && what == "man") {
    ShortenTypeNames(app);
    text = ManPage(app, info);
  } else if (argc == 3 && what == "messages") {
    for (const std::string& message : Messages(app)) text += message + "\n";
  } else if (argc == 3) {
    text = CompletionScript(what, app.get_name());
  }
  if (text.empty()) return std::nullopt;
  return platform::WriteStandardOutput(text) ? kDone : kOutput;
}

}  // namespace reveza::command_line
