#include "reveza/insight/page/assets.h"

namespace reveza::page {
namespace {

constexpr Asset kAssets[] = {
#include "generated/page/assets.inc"
};

}  // namespace

std::span<const Asset> Assets() { return kAssets; }

}  // namespace reveza::page
