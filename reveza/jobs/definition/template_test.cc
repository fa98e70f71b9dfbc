#include "reveza/jobs/definition/template.h"

#include <gtest/gtest.h>

#include <array>

namespace reveza::jobs {
namespace template_test {

constexpr std::array<std::string_view, 2> kNames = {"seed", "name"};

std::string Text(std::string_view text, std::string_view seed = "5", bool cycles = false,
                 Template::Use use = Template::Use::kPlain) {
  const auto parsed = Template::Parse(text, kNames, cycles, use);
  if (!parsed) return "error: " + parsed.error().message;
  Step step;
  step.parameters = {{"seed", std::string(seed)}, {"name", "it's"}};
  const auto expanded = parsed->Expand(step, BuiltIns{.slot = 2, .step = 7, .from = 57, .to = 60});
  return expanded ? *expanded : "failed: " + expanded.error().message;
}

std::string Shell(std::string_view text, std::string_view seed = "a b") {
  return Text(text, seed, false, Template::Use::kShell);
}

std::string ErrorOf(std::string_view text, Template::Use use = Template::Use::kPlain) {
  const auto parsed = Template::Parse(text, kNames, false, use);
  return parsed ? "" : parsed.error().message;
}

TEST(Template, ReplacesPlaceholders) {
  EXPECT_EQ(Text(""), "");
  EXPECT_EQ(Text("plain"), "plain");
  EXPECT_EQ(Text("{seed}"), "5");
  EXPECT_EQ(Text("--seed={seed}.{name}!"), "--seed=5.it's!");
  EXPECT_EQ(Text("{seed}{seed}"), "55");
  EXPECT_EQ(Text("{slot} {step}"), "2 7");
  EXPECT_EQ(Text("{from}-{to}", "5", true), "57-60");
  EXPECT_EQ(Text("{seed}", "{name}"), "{name}") << "values are not expanded again";
}

TEST(Template, PartsOfPaths) {
  EXPECT_EQ(Text("{seed:name}", "in/a.tar.gz"), "a.tar.gz");
  EXPECT_EQ(Text("{seed:stem}.out", "in/a.tar.gz"), "a.tar.out");
  EXPECT_EQ(Text("{seed:folder}/{seed:stem}{seed:extension}", "/in/a.csv"), "/in/a.csv");
  EXPECT_EQ(Text("{seed:folder}", "a.csv"), ".");
  EXPECT_EQ(Text("{seed:extension}{seed:stem}", "in/.profile"), ".profile");
  EXPECT_EQ(Shell("cat {seed:name} > '{seed:stem}'", "in/my data.csv"),
            "cat 'my data.csv' > '''my data'''");
  EXPECT_NE(ErrorOf("{seed:base}").find("{seed:name}, :stem, :folder, :extension"),
            std::string::npos);
  EXPECT_NE(ErrorOf("{step:name}").find("write {step}"), std::string::npos);
}

TEST(Template, KeepsOtherBraces) {
  EXPECT_EQ(Text("{print $1}"), "{print $1}");
  EXPECT_EQ(Text("{\"a\":{\"b\":1}}"), "{\"a\":{\"b\":1}}");
  EXPECT_EQ(Text("a{1,3}b}c{"), "a{1,3}b}c{");
  EXPECT_EQ(Text("{a,b} {1..5}"), "{a,b} {1..5}");
}

TEST(Template, DoubledBracesAreLiteral) {
  EXPECT_EQ(Text("{{seed}}"), "{seed}");
  EXPECT_EQ(Text("{{{seed}}}"), "{5}");
  EXPECT_EQ(Text("{{}}"), "{}");
  EXPECT_EQ(Text("{{\"a\":{{\"b\":{seed}}}}}"), "{\"a\":{\"b\":5}}");
  EXPECT_EQ(Text("{{{{ x }}}}"), "{{ x }}");
}

TEST(Template, RejectsEmptyBraces) {
  EXPECT_EQ(ErrorOf("run {}"),
            "'{}' is not a parameter; write {seed} or {name}, or {{}} for the literal text");
  const auto nameless = Template::Parse("{}", {}, false);
  ASSERT_FALSE(nameless);
  EXPECT_NE(nameless.error().message.find("{line}"), std::string::npos);
}

TEST(Template, SuggestsTheNearestParameter) {
  EXPECT_EQ(ErrorOf("{sed}"),
            "unknown parameter '{sed}'; did you mean {seed}? (write {{sed}} for the literal text)");
  EXPECT_EQ(ErrorOf("{slt}").find("unknown parameter '{slt}'; did you mean {slot}?"), 0u);
  EXPECT_EQ(ErrorOf("{completely_else}").find("unknown parameter '{completely_else}'; known: "),
            0u);
}

TEST(Template, RejectsPlaceholdersOfOtherTools) {
  EXPECT_NE(ErrorOf("{#}").find("write {step}"), std::string::npos);
  EXPECT_NE(ErrorOf("{%}").find("write {slot}"), std::string::npos);
  EXPECT_NE(ErrorOf("{1}").find("write {seed} or {name}"), std::string::npos);
  EXPECT_NE(ErrorOf("{.}").find("{{.}}"), std::string::npos);
  EXPECT_NE(ErrorOf("{ seed }").find("write {seed}"), std::string::npos);
  EXPECT_NE(ErrorOf("{seed:03}").find("write {seed}"), std::string::npos);
  EXPECT_EQ(ErrorOf("{other:03}"), "");
}

TEST(Template, FromAndToRequireCycles) {
  EXPECT_NE(ErrorOf("{from}").find("--cycles"), std::string::npos);
  EXPECT_NE(ErrorOf("{to}").find("--cycles"), std::string::npos);
}

TEST(Template, NamesTheMissingParameter) {
  const auto parsed = Template::Parse("{seed}", kNames, false);
  ASSERT_TRUE(parsed);
  const auto expanded = parsed->Expand(Step{}, BuiltIns{.step = 3});
  ASSERT_FALSE(expanded);
  EXPECT_EQ(expanded.error().message, "step 3 has no parameter 'seed'");
}

TEST(Template, AcceptsParametersInAnyOrder) {
  const auto parsed = Template::Parse("{name}", kNames, false);
  ASSERT_TRUE(parsed);
  Step step;
  step.parameters = {{"other", "1"}, {"more", "2"}, {"name", "3"}};
  EXPECT_EQ(parsed->Expand(step, {}), "3");
}

TEST(ShellTemplate, QuotesValuesInEveryContext) {
  EXPECT_EQ(Shell("echo {seed}"), "echo 'a b'");
  EXPECT_EQ(Shell("echo {seed}", "5"), "echo 5") << "no quoting needed";
  EXPECT_EQ(Shell("echo {seed}", ""), "echo ''");
  EXPECT_EQ(Shell("echo {seed}", "it's"), "echo 'it'\\''s'");
  EXPECT_EQ(Shell("echo \"{seed}\""), "echo \"\"'a b'\"\"");
  EXPECT_EQ(Shell("echo '{seed}'"), "echo '''a b'''");
  EXPECT_EQ(Shell("echo {seed}", "~"), "echo '~'");
  EXPECT_EQ(Shell("echo {seed}", "$(reboot)"), "echo '$(reboot)'");
}

TEST(ShellTemplate, KeepsShellVariables) {
  EXPECT_EQ(Shell("echo ${HOME} $1"), "echo ${HOME} $1");
  EXPECT_NE(ErrorOf("echo ${seed}", Template::Use::kShell).find("write {seed}"), std::string::npos);
  EXPECT_NE(ErrorOf("echo ${HOME}").find("unknown parameter"), std::string::npos)
      << "without a shell it is not a variable";
}

TEST(ShellTemplate, RejectsUnquotablePositions) {
  EXPECT_NE(ErrorOf("echo `cat {seed}`", Template::Use::kShell).find("$( )"), std::string::npos);
  EXPECT_NE(ErrorOf("true # {seed}", Template::Use::kShell).find("in a comment"),
            std::string::npos);
}

TEST(ParameterName, IsAnUnreservedIdentifier) {
  EXPECT_TRUE(CheckParameterName("seed"));
  EXPECT_TRUE(CheckParameterName("_a1"));
  for (const std::string_view name : {"", "1a", "a-b", "a b", "{a}", "slot", "from"}) {
    EXPECT_FALSE(CheckParameterName(name)) << name;
  }
}

TEST(ShellJoin, QuotesSpecialCharacters) {
  const std::vector<std::string> words = {"echo", "a b", "", "x=1", "*", "it's"};
  EXPECT_EQ(ShellJoin(words), "echo 'a b' '' x=1 '*' 'it'\\''s'");
}

}  // namespace template_test
}  // namespace reveza::jobs
