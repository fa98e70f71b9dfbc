# Toolchain of tools/build_aarch64.sh: Debian's cross compiler, which is the version of the native one, and a root of
# Debian for arm64 (REVEZA_ROOT) with the libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES REVEZA_ROOT)
set(CMAKE_SYSROOT ${REVEZA_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)  # NVIDIA's headers are not in the root
set(ENV{PKG_CONFIG_LIBDIR} ${REVEZA_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${REVEZA_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${REVEZA_ROOT})
