#include "datagen/output/unfinished_uploads.h"

#include <gtest/gtest.h>

namespace reveza::datagen {
namespace {

TEST(UnfinishedUploadsTest, APageIsRead) {
  const UploadsPage page = ParseUploadsPage(
      "<?xml version=\"1.0\"?>\n<ListMultipartUploadsResult xmlns=\"http://s3/\"><Bucket>b</Bucket>"
      "<KeyMarker></KeyMarker><NextKeyMarker>a/&amp;2</NextKeyMarker>"
      "<NextUploadIdMarker>id2</NextUploadIdMarker><IsTruncated>true</IsTruncated>"
      "<Upload><Key>a/1</Key><UploadId>id1</UploadId><Initiated>2026</Initiated></Upload>\n"
      "<Upload><UploadId>id2</UploadId><Key>a/&amp;2</Key></Upload></ListMultipartUploadsResult>");
  EXPECT_EQ(page.uploads, (std::vector<UnfinishedUpload>{{"a/1", "id1"}, {"a/&2", "id2"}}));
  EXPECT_EQ(page.next, (UnfinishedUpload{"a/&2", "id2"}));
}

TEST(UnfinishedUploadsTest, TheLastPageHasNoNext) {
  const UploadsPage page =
      ParseUploadsPage("<R><NextKeyMarker>a</NextKeyMarker><IsTruncated>false</IsTruncated></R>");
  EXPECT_TRUE(page.uploads.empty());
  EXPECT_EQ(page.next, UnfinishedUpload());
}

TEST(UnfinishedUploadsTest, WhatIsNoAnswerHasNone) {
  for (const char* text : {"", "<html>", "<Upload><Key>a", "</Upload><Upload>", "&amp"}) {
    EXPECT_TRUE(ParseUploadsPage(text).uploads.empty()) << text;
  }
}

}  // namespace
}  // namespace reveza::datagen
