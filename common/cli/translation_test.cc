#include "common/cli/translation.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "common/cli/help_text.h"

namespace reveza::command_line {
namespace translation_test {

std::string InCapitals(std::string_view text) {
  return TranslateText(text, [](std::string_view message) {
    std::string translated(message);
    for (char& c : translated) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return translated;
  });
}

TEST(TranslateText, TranslatesParagraphsAndExplanations) {
  EXPECT_EQ(InCapitals(""), "");
  EXPECT_EQ(InCapitals("one\nline"), "ONE LINE") << "a paragraph is one message";
  EXPECT_EQ(InCapitals("a\n\nb"), "A\n\nB");
  EXPECT_EQ(InCapitals("Example:\n  tool run  what it does\n  tool stop\nMore."),
            "EXAMPLE:\n  tool run  WHAT IT DOES\n  tool stop\nMORE.");
}

TEST(TranslateText, KeepsWhatHasNoTranslation) {
  for (const char* text : {"", "one\nline", "a\n\nb\n  c  d\n\n", "  x", "a\n", "\na"}) {
    EXPECT_EQ(TranslateText(text, [](std::string_view) { return std::string(); }), text);
  }
}

TEST(IsPortuguese, FollowsThePrecedenceOfTheVariables) {
  std::map<std::string, std::string> variables;
  const platform::Environment environment =
      [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  EXPECT_FALSE(IsPortuguese(environment));
  variables["LANG"] = "pt_BR";
  EXPECT_TRUE(IsPortuguese(environment));
  variables["LC_MESSAGES"] = "en_US.UTF-8";
  EXPECT_FALSE(IsPortuguese(environment));
  variables["LC_ALL"] = "pt_BR.UTF-8";
  EXPECT_TRUE(IsPortuguese(environment));
  variables["LC_ALL"] = "";
  EXPECT_FALSE(IsPortuguese(environment)) << "an empty variable counts as unset";
}

TEST(TranslateToPortuguese, TranslatesTheTextsOfAllCommands) {
  CLI::App app("Does things.", "tool");
  bool flag = false;
  auto* run = app.add_subcommand("run", "Run\n\nRuns a\ncommand.");
  run->add_flag("--fast", flag, "be fast")->group("Speed");
  constexpr Translation kTable[] = {
      {"Runs a command.", "Executa um comando."}, {"be fast", "rápido"}, {"Speed", "Velocidade"}};
  EXPECT_EQ(Messages(app).back(), "Speed");
  ShortenTypeNames(app);
  TranslateToPortuguese(app, kTable);
  EXPECT_EQ(run->get_description(), "Run\n\nExecuta um comando.");
  const std::string help = run->help();
  for (const char* text : {"Uso: run [OPÇÕES]", "Velocidade:", "rápido", "mostra esta ajuda"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text << help;
  }
  EXPECT_NE(app.help().find("Does things."), std::string::npos) << "no translation";
}

}  // namespace translation_test
}  // namespace reveza::command_line
