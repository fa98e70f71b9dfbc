#include "monitor/keys.h"

#include <gtest/gtest.h>

#include "monitor/testing_snapshot.h"

namespace reveza::monitor {
namespace {

class Keys : public testing::Test {
 protected:
  std::vector<Row> rows() const { return Rows(TestingSnapshot(), state_.arrangement); }
  Wish Type(std::string_view letters) {
    Wish wish;
    for (const char letter : letters) {
      wish = Press(state_, {Key::kLetter, static_cast<char32_t>(letter)}, rows());
    }
    return wish;
  }
  Wish Type(Key key) { return Press(state_, {key, 0}, rows()); }

  ViewState state_;
};

TEST_F(Keys, EndIt) {
  EXPECT_TRUE(Type("q").quit);
  EXPECT_FALSE(Type("x").quit);
}

TEST_F(Keys, ChooseWithinTheTable) {
  Type(Key::kDown);
  EXPECT_EQ(state_.selected, "step sweep-3f2a/57");
  Type(Key::kUp);
  Type(Key::kUp);
  EXPECT_EQ(state_.selected, "job sweep-3f2a");
  Type(Key::kPageDown);
  EXPECT_EQ(state_.selected, rows().back().key);
  Type("k");
  EXPECT_EQ(state_.selected, rows()[rows().size() - 2].key);
  Type(Key::kHome);
  EXPECT_EQ(state_.selected, "job sweep-3f2a");
  Type(Key::kEnd);
  EXPECT_EQ(state_.selected, rows().back().key);
  ViewState nothing;
  Press(nothing, {Key::kDown, 0}, {});
  EXPECT_EQ(nothing.selected, "");
}

TEST_F(Keys, OrderGoesRound) {
  Type("s");
  EXPECT_EQ(state_.arrangement.sort, Column::kPid);
  EXPECT_EQ(state_.message, "by pid");
  Type("SS");
  EXPECT_EQ(state_.arrangement.sort, Column::kSwapped);
  Type("s");
  EXPECT_EQ(state_.arrangement.sort, Column::kOrder);
  Type("vt");
  EXPECT_TRUE(state_.arrangement.reverse);
  EXPECT_FALSE(state_.arrangement.tree);
}

TEST_F(Keys, GoToTheFilterWhileItIsTyped) {
  EXPECT_FALSE(Type("/seq").quit) << "a q is a letter there";
  EXPECT_EQ(state_.arrangement.filter, "seq");
  Type(Key::kErase);
  EXPECT_EQ(state_.arrangement.filter, "se");
  Type(Key::kEnter);
  EXPECT_FALSE(state_.typing_filter);
  EXPECT_EQ(state_.arrangement.filter, "se");
  Type(Key::kEscape);
  EXPECT_EQ(state_.arrangement.filter, "");
  Type("/");
  Press(state_, {Key::kLetter, U'ã'}, {});
  EXPECT_EQ(state_.arrangement.filter, "ã");
  Type(Key::kErase);
  EXPECT_EQ(state_.arrangement.filter, "") << "both bytes of it";
  Type(Key::kErase);
  Type("x");
  Type(Key::kEscape);
  EXPECT_EQ(state_.arrangement.filter, "");
  EXPECT_FALSE(state_.typing_filter);
}

TEST_F(Keys, PauseAndResumeTheJobOfTheLine) {
  Type(Key::kDown);
  auto wish = Type("p");
  EXPECT_EQ(wish.request, "pause");
  EXPECT_EQ(wish.socket, "/run/user/1000/reveza/jobs/sweep-3f2a.sock");
  EXPECT_EQ(Type("r").request, "resume");
}

TEST_F(Keys, CancelOnlyAfterAYes) {
  EXPECT_EQ(Type("c").request, "");
  EXPECT_EQ(state_.question, "cancel job sweep-3f2a?");
  EXPECT_EQ(Type("n").request, "");
  EXPECT_EQ(state_.question, "");
  EXPECT_EQ(Type("y").request, "") << "nothing was asked";
  Type("c");
  EXPECT_EQ(Type(Key::kEnter).request, "") << "only a y is a yes";
  Type("c");
  const auto wish = Type("y");
  EXPECT_EQ(wish.request, "cancel");
  EXPECT_EQ(wish.socket, "/run/user/1000/reveza/jobs/sweep-3f2a.sock");
}

TEST_F(Keys, CannotPauseWhatIsNoJob) {
  Type(Key::kEnd);
  EXPECT_EQ(Type("p").request, "");
  EXPECT_EQ(state_.message, "Xorg is part of no job: nobody can pause it from here");
  Type("x");
  EXPECT_EQ(state_.message, "");
}

TEST_F(Keys, HelpComesAndGoes) {
  Type("?");
  EXPECT_TRUE(state_.help);
  Type(Key::kEscape);
  EXPECT_FALSE(state_.help);
}

}  // namespace
}  // namespace reveza::monitor
