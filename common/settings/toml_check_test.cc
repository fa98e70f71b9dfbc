#include "common/settings/toml_check.h"

#include <gtest/gtest.h>

namespace reveza {
namespace toml_check_test {

TEST(FindUnsupportedToml, AcceptsValidToml) {
  for (const std::string_view text :
       {"", "a = 1", "# é = \"\n\"é\" = 'ü' # ä\n", "a = \"\\\"é\"\nb = '\\'\nc = '''é''é'''",
        "a = \"\"\"\né\n\\\"\"\"\"\"\" # ö", "[[steps]]\nrun = [\"a\", 1,\n 'b' # c\n]\n[ b ]\n",
        "a = [\"\"\"é\"\"\", \"\"\"ü\"\"\"]\nb = { c = \"\"\"é\"\"\" }",
        "a = { b = 1, 'c' = [ { d = 2, e = \"\" } ] }\n", "a.b = 1\r\nc = ''\r\n"}) {
    EXPECT_EQ(FindUnsupportedToml(text), std::nullopt) << text;
  }
}

TEST(FindUnsupportedToml, LocatesUnsupportedText) {
  EXPECT_EQ(FindUnsupportedToml("é = 1"), (SourceLocation{1, 1}));
  EXPECT_EQ(FindUnsupportedToml("a = 'é'\nb = 'ü' é"), (SourceLocation{2, 9}));
  EXPECT_EQ(FindUnsupportedToml("a = 'x\nä"), (SourceLocation{2, 1}))
      << "single-line strings end at the newline";
  EXPECT_EQ(FindUnsupportedToml("a = -N\"é\""), (SourceLocation{1, 7}));
  EXPECT_EQ(FindUnsupportedToml("a = 'b''c'"), (SourceLocation{1, 8}));
  EXPECT_EQ(FindUnsupportedToml("a = [1, 0{\"é\"]"), (SourceLocation{1, 10}));
  EXPECT_EQ(FindUnsupportedToml("a = 0[\"é\"]"), (SourceLocation{1, 6}));
  EXPECT_EQ(FindUnsupportedToml("a = 0=\"é\""), (SourceLocation{1, 6}));
  EXPECT_EQ(FindUnsupportedToml("a = [1, 0=\"é\"]"), (SourceLocation{1, 10}));
  EXPECT_EQ(FindUnsupportedToml("\"\"\"p 'é"), (SourceLocation{1, 1}));
  EXPECT_EQ(FindUnsupportedToml("[\"\"\"é\"\"\"]"), (SourceLocation{1, 2}));
  EXPECT_EQ(FindUnsupportedToml("a = {b = 1, '''é''' = 2}"), (SourceLocation{1, 13}));
  EXPECT_EQ(FindUnsupportedToml("a = \"b\\é\""), (SourceLocation{1, 7}));
  EXPECT_EQ(FindUnsupportedToml("a = 'b\\é'"), std::nullopt) << "no escapes in literal strings";
  EXPECT_EQ(FindUnsupportedToml("a = 0.\"é\""), (SourceLocation{1, 7}));
}

}  // namespace toml_check_test
}  // namespace reveza
