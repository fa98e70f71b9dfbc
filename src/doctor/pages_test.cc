#include "doctor/pages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "doctor/finding.h"

namespace reveza::doctor {
namespace {

TEST(Pages, EachIdHasItsPageAndEachPageItsId) {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < kIds; ++i) ids.insert(IdName(static_cast<Id>(i)));
  std::set<std::string_view> pages;
  for (const Page& page : AllPages()) pages.insert(page.id);
  EXPECT_EQ(ids, pages);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(REVEZA_DOCTOR_PAGES)) {
    if (entry.path().stem() != "README") files.insert(entry.path().stem());
  }
  EXPECT_EQ(files, std::set<std::string>(pages.begin(), pages.end()))
      << "the pages in the program are those of the folder";
}

TEST(Pages, SayWhatWhyAndHow) {
  for (const Page& page : AllPages()) {
    EXPECT_TRUE(page.text.starts_with("# ")) << page.id;
    for (const char* part :
         {"\n## Why it matters\n", "\n## How to see it\n", "\n## How to mend it\n"}) {
      EXPECT_NE(page.text.find(part), std::string_view::npos) << page.id << part;
    }
  }
  ASSERT_TRUE(FindPage("address-space"));
  EXPECT_FALSE(FindPage("no-such-page"));
}

}  // namespace
}  // namespace reveza::doctor
