// End-to-end tests of `reveza jobs report`.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "reveza/cli/reveza/jobs/testing_jobs.h"

namespace reveza::cli {
namespace jobs_report_test {

TEST_F(JobsTest, ReportIsAPageWithFailuresAndMetrics) {
  const auto ran = Jobs(
      "run --quiet --name sweep -- sh -c 'echo \"<b>no $0</b>\" >&2; echo reveza step 1 loss=0.$0; "
      "[ $0 -lt 3 ]' '{n}' ::: n 1..3 2>&1");
  EXPECT_NE(ran.status, 0) << "step 3 fails";
  const auto made = Jobs("report sweep -o page.html 2>&1");
  EXPECT_EQ(made, (platform::Ran{0, "page.html\n"}));
  const std::string page = Text("page.html");
  EXPECT_TRUE(page.contains("2 done, 1 failed")) << page;
  EXPECT_TRUE(page.contains("&lt;b&gt;no 3&lt;/b&gt;")) << page;
  EXPECT_FALSE(page.contains("<b>")) << page;
  EXPECT_TRUE(page.contains("class=\"timeline\""));
  EXPECT_TRUE(page.contains("seconds over n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "page.html.part"));
}

TEST_F(JobsTest, ReportRefusesWhatItCannotWrite) {
  ASSERT_EQ(Jobs("run --quiet --name sweep -- true 2>&1").status, 0);
  const auto refused = Jobs("report sweep -o missing/page.html 2>&1");
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(refused.output.contains("cannot write missing/page.html")) << refused.output;
  EXPECT_EQ(Jobs("report sweep 2>&1").status, 2) << "-o is required";
  EXPECT_EQ(Jobs("report nothing -o page.html 2>&1").status, 2);
}

}  // namespace jobs_report_test
}  // namespace reveza::cli
