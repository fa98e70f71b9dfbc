#include "runner/definition/toml_check.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

TEST(StrangePlace, IsNowhereInWhatPeopleWrite) {
  for (const std::string_view text :
       {"", "a = 1", "# é = \"\n\"é\" = 'ü' # ä\n", "a = \"\\\"é\"\nb = '\\'\nc = '''é''é'''",
        "a = \"\"\"\né\n\\\"\"\"\"\"\" # ö", "[[steps]]\nrun = [\"a\", 1,\n 'b' # c\n]\n[ b ]\n",
        "a = [\"\"\"é\"\"\", \"\"\"ü\"\"\"]\nb = { c = \"\"\"é\"\"\" }",
        "a = { b = 1, 'c' = [ { d = 2, e = \"\" } ] }\n", "a.b = 1\r\nc = ''\r\n"}) {
    EXPECT_EQ(StrangePlace(text), std::nullopt) << text;
  }
}

TEST(StrangePlace, IsWhereNoTomlCanBe) {
  EXPECT_EQ(StrangePlace("é = 1"), (Place{1, 1}));
  EXPECT_EQ(StrangePlace("a = 'é'\nb = 'ü' é"), (Place{2, 9}));
  EXPECT_EQ(StrangePlace("a = 'x\nä"), (Place{2, 1})) << "a short text ends with its line";
  EXPECT_EQ(StrangePlace("a = -N\"é\""), (Place{1, 7}));
  EXPECT_EQ(StrangePlace("a = 'b''c'"), (Place{1, 8}));
  EXPECT_EQ(StrangePlace("a = [1, 0{\"é\"]"), (Place{1, 10}));
  EXPECT_EQ(StrangePlace("a = 0[\"é\"]"), (Place{1, 6}));
  EXPECT_EQ(StrangePlace("a = 0=\"é\""), (Place{1, 6}));
  EXPECT_EQ(StrangePlace("a = [1, 0=\"é\"]"), (Place{1, 10}));
  EXPECT_EQ(StrangePlace("\"\"\"p 'é"), (Place{1, 1}));
  EXPECT_EQ(StrangePlace("[\"\"\"é\"\"\"]"), (Place{1, 2}));
  EXPECT_EQ(StrangePlace("a = {b = 1, '''é''' = 2}"), (Place{1, 13}));
  EXPECT_EQ(StrangePlace("a = \"b\\é\""), (Place{1, 7}));
  EXPECT_EQ(StrangePlace("a = 'b\\é'"), std::nullopt) << "no escape sequences there";
  EXPECT_EQ(StrangePlace("a = 0.\"é\""), (Place{1, 7}));
}

}  // namespace
}  // namespace reveza::runner
