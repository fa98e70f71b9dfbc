#include "common/platform/network_file_system.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <utility>

namespace reveza::platform {
namespace {

constexpr auto kSystems = std::to_array<std::pair<std::uint32_t, std::string_view>>({
    {0x6969, "NFS"},
    {0x517B, "SMB"},
    {0xFE534D42, "SMB"},
    {0xFF534D42, "CIFS"},
    {0x5346414F, "AFS"},
    {0x6B414653, "AFS"},
    {0x73757245, "Coda"},
    {0x01021997, "9P"},
    {0x00C36400, "Ceph"},
    {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"},
    {0xAAD7AAEA, "PanFS"},
    {0x7461636F, "OCFS2"},
    {0x01161970, "GFS2"},
    // FUSE: mostly sshfs and clients of object stores.
    {0x65735546, "FUSE"},
});

}  // namespace

std::optional<std::string_view> NetworkFileSystemOf(std::uint32_t type) {
  const auto* found =
      std::ranges::find(kSystems, type, &std::pair<std::uint32_t, std::string_view>::first);
  if (found == kSystems.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string_view> NetworkFileSystem(const std::filesystem::path& path) {
  struct statfs about{};
  if (statfs(path.c_str(), &about) != 0) return std::nullopt;
  return NetworkFileSystemOf(static_cast<std::uint32_t>(about.f_type));
}

}  // namespace reveza::platform
