// Whether this build can read and write Parquet and Arrow files. Needs no header of Arrow.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace reveza {

// Versions of the libraries that determine the bytes of files; empty in builds without Arrow. The
// wheel contains zstd without exposing its version; a test verifies it.
#ifdef REVEZA_ARROW_VERSION
inline constexpr std::string_view kArrowVersion = REVEZA_ARROW_VERSION;
inline constexpr std::string_view kZstdVersion = "1.5.7";
#else
inline constexpr std::string_view kArrowVersion;
inline constexpr std::string_view kZstdVersion;
#endif
// Functions that use Arrow are defined only if this is true, so call them under `if constexpr`.
inline constexpr bool kHaveArrow = !kArrowVersion.empty();

// What to do for Arrow in a build without it.
#ifdef REVEZA_PYARROW_VERSION
inline constexpr std::string_view kHowToGetArrow = "pip install pyarrow==" REVEZA_PYARROW_VERSION;
#else
inline constexpr std::string_view kHowToGetArrow = "run tools/setup.sh and rebuild";
#endif

// Returns the error of builds without Arrow. `feature` is a plural ("Parquet files"), `instead`
// what to do in such a build ("use csv").
inline std::unexpected<Error> WithoutArrow(std::string_view feature, std::string_view instead) {
  return Fail(Error::Code::kUnavailable, "built without Arrow, which " + std::string(feature) +
                                             " require; " + std::string(instead) + ", or " +
                                             std::string(kHowToGetArrow));
}

}  // namespace reveza
