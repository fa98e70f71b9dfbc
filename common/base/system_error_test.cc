#include <gtest/gtest.h>

#include <cerrno>

#include "common/base/error.h"

namespace reveza {
namespace system_error_test {

TEST(SystemError, FormatsTheMessage) {
  const Error error = SystemError("cannot read /x", ENOENT);
  EXPECT_EQ(error.code, Error::Code::kNotFound);
  EXPECT_EQ(error.message, "cannot read /x: No such file or directory");
}

TEST(SystemError, MapsErrnoToCodes) {
  EXPECT_EQ(SystemError("x", EACCES).code, Error::Code::kPermission);
  EXPECT_EQ(SystemError("x", EMFILE).code, Error::Code::kExhausted);
  EXPECT_EQ(SystemError("x", ENOSPC).code, Error::Code::kExhausted);
  EXPECT_EQ(SystemError("x", EIO).code, Error::Code::kInternal);
}

}  // namespace system_error_test
}  // namespace reveza
