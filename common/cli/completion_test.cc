#include "common/cli/completion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/cli/command_line.h"
#include "common/cli/help_text.h"
#include "common/cli/man_page.h"

namespace reveza::command_line {
namespace completion_test {

using Words = std::vector<std::string>;

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() : app_("Does things. And others.", "tool") {
    AddOption(app_, "--socket", text_, "PATH", "the socket");
    auto* run = app_.add_subcommand("run", "Run a command\n\nRuns a command as it is.");
    AddOption(*run, "--priority", text_, "low|normal|high", "how urgent");
    AddOption(*run, "-j,--workers", text_, "N|auto", "how many");
    auto* quiet = run->add_flag("-q,--quiet", flag_, "print nothing");
    run->add_flag("--loud", flag_, "print all")->excludes(quiet);
    AddCommandWords(*run, "the command");
    auto* logs = app_.add_subcommand("logs", "Print logs");
    logs->add_option("JOB", text_, "the job")->required();
    logs->add_option("STEP", list_, "its steps");
    AddOption(*logs, "--columns", list_, "COLUMN,...", "columns");
    AddOption(*logs, "--file", text_, "FILE", "a file");
    AddOption(*logs, "--folder", text_, "DIR", "a folder");
    auto* examine = app_.add_subcommand("examine", "Examine");
    AddCommandWords(*examine, "a command, after --");
    examine->add_subcommand("explain", "Explain");
    auto* check = app_.add_subcommand("check", "Check");
    check->fallthrough();
    check->add_flag("--deep", flag_, "deeply");
    ShortenTypeNames(app_);
    source_.values = [](std::string_view kind, const Typed& typed) -> std::vector<Candidate> {
      if (kind == "JOB") return {{"sweep"}, {"train", "running"}, {"two\nlines"}};
      if (kind == "STEP") return {{"seed=1 of " + typed.positionals.at(0)}};
      if (kind == "COLUMN") return {{"Fz"}, {"Cz"}};
      return {};
    };
  }

  Completion Of(const Words& words) { return Complete(app_, words, source_); }

  // Returns the values, or the text of another answer.
  Words Values(const Words& words) {
    const Completion completion = Of(words);
    if (completion.kind != Completion::Kind::kValues) return {CompletionText(completion)};
    Words values;
    for (const Candidate& candidate : completion.candidates) values.push_back(candidate.value);
    return values;
  }

  CLI::App app_;
  std::string text_;
  std::vector<std::string> list_;
  bool flag_ = false;
  CompletionSource source_;
};

TEST_F(CompletionTest, CommandsAndOptions) {
  EXPECT_EQ(Values({""}), (Words{"run", "logs", "examine", "check"}));
  EXPECT_EQ(Values({"e"}), Words{"examine"});
  EXPECT_EQ(Values({"-"}), (Words{"--help", "--socket"}));
  EXPECT_EQ(Values({"--socket", "/s", "r"}), Words{"run"});
  EXPECT_EQ(Values({"run", "--p"}), Words{"--priority"});
  EXPECT_EQ(Values({"elephant", ""}), Words{});
  EXPECT_EQ(Of({"r"}).candidates.at(0).description, "Run a command");
}

TEST_F(CompletionTest, OmitsOptionsThatAreGivenOrExcluded) {
  EXPECT_EQ(Values({"run", "-q", "--"}), (Words{"--help", "--priority", "--workers"}));
  EXPECT_EQ(Values({"run", "-j", "3", "--l"}), Words{"--loud"});
}

TEST_F(CompletionTest, ValuesOfOptions) {
  EXPECT_EQ(Values({"run", "--priority", ""}), (Words{"low", "normal", "high"}));
  EXPECT_EQ(Values({"run", "--priority=n"}), Words{"--priority=normal"});
  EXPECT_EQ(Values({"run", "-j", ""}), Words{"auto"}) << "N is no value";
  EXPECT_EQ(Values({"run", "--quiet=y"}), Words{});
  EXPECT_EQ(Values({"logs", "--columns", "Fz,"}), (Words{"Fz,Fz", "Fz,Cz"}));
  EXPECT_EQ(Values({"logs", "--columns=Fz,C"}), Words{"--columns=Fz,Cz"});
  EXPECT_EQ(Values({"logs", "--file", "x"}), Words{"files\n"});
  EXPECT_EQ(Values({"--socket=/t"}), Words{"files\n"});
  EXPECT_EQ(Values({"logs", "--folder", ""}), Words{"folders\n"});
}

TEST_F(CompletionTest, Positionals) {
  EXPECT_EQ(Values({"logs", ""}), (Words{"sweep", "train"})) << "no name with a line break";
  EXPECT_EQ(Values({"logs", "t"}), Words{"train"});
  EXPECT_EQ(Values({"logs", "train", ""}), Words{"seed=1 of train"});
  EXPECT_EQ(Values({"logs", "--file", "f", "train", "seed=1", "s"}), Words{"seed=1 of train"});
  EXPECT_EQ(Values({"logs", "--", "t"}), Words{"train"});
}

TEST_F(CompletionTest, LeavesTheCommandLineOfAnotherProgramToTheShell) {
  EXPECT_EQ(Values({"run", ""}), Words{"command 1\n"});
  EXPECT_EQ(Values({"run", "-j", "2", "make", "--pri"}), Words{"command 3\n"});
  EXPECT_EQ(Values({"run", "-q", "--", "ls", "-"}), Words{"command 3\n"});
  EXPECT_EQ(Values({"examine", ""}), Words{"explain"});
  EXPECT_EQ(Values({"examine", "--", ""}), Words{"command 2\n"});
}

TEST_F(CompletionTest, CommandsAcceptOptionsOfTheirParent) {
  EXPECT_EQ(Values({"check", "--"}), (Words{"--help", "--deep", "--socket"}));
  source_.accepts = [](const CLI::App& command, std::string_view option) {
    return command.get_name() != "check" || option != "socket";
  };
  EXPECT_EQ(Values({"check", "--s"}), Words{});
}

TEST_F(CompletionTest, LimitsTheNumberOfCandidates) {
  source_.values = [](std::string_view, const Typed&) {
    return std::vector<Candidate>(kMaxCandidates + 5, {"job"});
  };
  EXPECT_EQ(Values({"logs", ""}).size(), kMaxCandidates);
}

TEST_F(CompletionTest, TextHasALinePerCandidate) {
  EXPECT_EQ(CompletionText(Of({"logs", ""})), "values\nsweep\ntrain\trunning\n");
  EXPECT_EQ(CompletionText(Complete(app_, {}, source_)), "values\n");
}

TEST(CompletionScriptTest, NamesTheProgram) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = CompletionScript(shell, "my-tool");
    EXPECT_NE(script.find("my-tool"), std::string::npos) << shell;
    EXPECT_EQ(script.find("@PROGRAM@"), std::string::npos) << shell;
    EXPECT_EQ(script.find("@FUNCTION@"), std::string::npos) << shell;
  }
  EXPECT_EQ(CompletionScript("tcsh", "tool"), "");
}

TEST_F(CompletionTest, ManPageHasTheSameTexts) {
  app_.footer("Example:\n  tool run\n\n.dots and 'quotes'");
  const std::string page = ManPage(app_, {.section = 8, .version = "1.2", .see_also = "ls(1)"});
  for (const char* text :
       {".TH TOOL 8 \"\" \"tool 1.2\"\n", "tool \\- does things\n", ".SS tool run\n",
        "\\fB\\-\\-priority\\fR \\fIlow|normal|high\\fR\nhow urgent\n",
        "\\fB\\-j\\fR, \\fB\\-\\-workers\\fR \\fIN|auto\\fR\n", "Runs a command as it is.\n",
        ".EX\n  tool run\n.EE\n", "\n\\&.dots and \\(aqquotes\\(aq\n", ".SH SEE ALSO\nls(1)\n"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

TEST_F(CompletionTest, HelpSeparatesSummaryAndDetails) {
  EXPECT_NE(HelpText({.name = "tool", .memory_hint = ""}, app_).find("Run a command\n"),
            std::string::npos);
  EXPECT_EQ(HelpText({.name = "tool", .memory_hint = ""}, app_).find("as it is"),
            std::string::npos);
  EXPECT_EQ(Summary("One\ntwo\n\nthree"), "One two");
  EXPECT_EQ(Details("One\ntwo\n\nthree"), "three");
  EXPECT_EQ(Details("One"), "One");
}

}  // namespace completion_test
}  // namespace reveza::command_line
