# Finds the dependencies of the products that are built: Debian packages by their CMake files, CUDA
# in an installed toolkit that tools/find_toolkit.sh accepts, or in NVIDIA's wheels in the private
# environment of tools/setup.sh.

find_package(Threads REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus QUIET)
if(NOT tomlplusplus_FOUND)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
  add_library(tomlplusplus::tomlplusplus ALIAS PkgConfig::tomlplusplus)
endif()

# reveza_static(<name> <header> <libraries> [LINK ...]): a library linked statically, to avoid a
# run-time dependency.
function(reveza_static name header libraries)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(reveza_${name} INTERFACE)
  find_path(REVEZA_INCLUDE_${name} ${header} REQUIRED)
  target_include_directories(reveza_${name} SYSTEM INTERFACE ${REVEZA_INCLUDE_${name}})
  foreach(library IN LISTS libraries)
    find_library(REVEZA_LIBRARY_${library} lib${library}.a REQUIRED)
    target_link_libraries(reveza_${name} INTERFACE ${REVEZA_LIBRARY_${library}})
  endforeach()
  target_link_libraries(reveza_${name} INTERFACE ${ARG_LINK})
endfunction()
reveza_static(xxhash xxhash.h xxhash)  # checksums of output files
if(REVEZA_BUILD_GPU)
  reveza_static(ncurses ncurses.h "ncursesw;tinfo")  # the display of `reveza top`
  reveza_static(sqlite sqlite3.h sqlite3 LINK Threads::Threads ${CMAKE_DL_LIBS} m)  # of jobs
endif()

if(REVEZA_BUILD_GPU OR REVEZA_BUILD_PHI)
  file(GLOB REVEZA_CUDA_WHEELS ${PROJECT_SOURCE_DIR}/build/python/lib/python3*/site-packages/nvidia/cu13)
  execute_process(
    COMMAND ${PROJECT_SOURCE_DIR}/tools/find_toolkit.sh ${CMAKE_CXX_COMPILER}
    OUTPUT_VARIABLE toolkit OUTPUT_STRIP_TRAILING_WHITESPACE)
  find_path(REVEZA_CUDA_INCLUDE cuda.h HINTS ${toolkit}/include ${REVEZA_CUDA_WHEELS}/include
    NO_DEFAULT_PATH REQUIRED)
  get_filename_component(REVEZA_CUDA_HOME ${REVEZA_CUDA_INCLUDE} DIRECTORY)
  find_program(REVEZA_NVCC nvcc HINTS ${REVEZA_CUDA_HOME}/bin ${REVEZA_CUDA_WHEELS}/bin
    NO_DEFAULT_PATH REQUIRED)
  find_path(REVEZA_NVML_INCLUDE nvml.h
    HINTS ${REVEZA_CUDA_INCLUDE} ${REVEZA_CUDA_WHEELS}/include NO_DEFAULT_PATH REQUIRED)
  # Device code has no parts of the host, whose compiler only reads the headers.
  set(REVEZA_NVCC_HOST ${CMAKE_CXX_COMPILER})
  if(CMAKE_CROSSCOMPILING)
    find_program(REVEZA_NATIVE_CXX NAMES c++ REQUIRED)
    set(REVEZA_NVCC_HOST ${REVEZA_NATIVE_CXX})
  endif()
  find_library(REVEZA_CUDART_STATIC cudart_static
    HINTS ${REVEZA_CUDA_HOME}/lib64 ${REVEZA_CUDA_HOME}/lib ${REVEZA_CUDA_WHEELS}/lib NO_DEFAULT_PATH)

  # Headers only: the driver is never linked but resolved at run time. Our cuda.h comes first.
  set(REVEZA_CUDA_NEWER ${PROJECT_SOURCE_DIR}/cuda)
  add_library(reveza_cuda_headers INTERFACE)
  target_include_directories(reveza_cuda_headers SYSTEM INTERFACE
    ${REVEZA_CUDA_NEWER} ${REVEZA_CUDA_INCLUDE} ${REVEZA_NVML_INCLUDE})
endif()

# Disables optional libraries, for tools/check_without.sh: any of arrow, charts, httplib, nanobind
# and rdkafka.
set(REVEZA_WITHOUT "" CACHE STRING "Optional libraries to build without, even if installed")

# Arrow and Parquet (optional), from the pyarrow wheel in the same environment. Requires exactly the
# version of tools/requirements-arrow.txt, which determines the bytes of files written by fraudgen.
file(GLOB REVEZA_ARROW CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/build/python/lib/python3*/site-packages/pyarrow/libarrow.so.*[0-9])
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/requirements-arrow.txt REVEZA_ARROW_VERSION
  REGEX "^pyarrow==")
string(REPLACE "pyarrow==" "" REVEZA_ARROW_VERSION "${REVEZA_ARROW_VERSION}")
set(REVEZA_ARROW_FOUND "")
if(REVEZA_ARROW)
  list(GET REVEZA_ARROW 0 REVEZA_ARROW)
  get_filename_component(REVEZA_ARROW_HOME ${REVEZA_ARROW} DIRECTORY)
  string(REPLACE libarrow. libparquet. REVEZA_PARQUET ${REVEZA_ARROW})
  string(REPLACE libarrow. libarrow_s3. REVEZA_ARROW_S3 ${REVEZA_ARROW})
  file(STRINGS ${REVEZA_ARROW_HOME}/include/arrow/util/config.h REVEZA_ARROW_FOUND
    REGEX "ARROW_VERSION_STRING")
endif()
# Where programs of a wheel find it, from the prefix of an environment.
set(REVEZA_PYARROW_FOLDERS "")
foreach(minor RANGE 10 16)
  list(APPEND REVEZA_PYARROW_FOLDERS lib/python3.${minor}/site-packages/pyarrow)
endforeach()
if("arrow" IN_LIST REVEZA_WITHOUT)
  set(REVEZA_ARROW_FOUND "")
endif()
if(REVEZA_ARROW_FOUND MATCHES "\"${REVEZA_ARROW_VERSION}\"")
  file(GLOB REVEZA_ARROW_LICENCES ${REVEZA_ARROW_HOME}-*.dist-info/licenses/*.txt)
  add_library(reveza_arrow SHARED IMPORTED)
  set_target_properties(reveza_arrow PROPERTIES IMPORTED_LOCATION ${REVEZA_ARROW}
    INTERFACE_INCLUDE_DIRECTORIES ${REVEZA_ARROW_HOME}/include)
  add_library(reveza_parquet SHARED IMPORTED)
  set_target_properties(reveza_parquet PROPERTIES IMPORTED_LOCATION ${REVEZA_PARQUET}
    INTERFACE_LINK_LIBRARIES reveza_arrow)
  add_library(reveza_arrow_s3 SHARED IMPORTED)
  set_target_properties(reveza_arrow_s3 PROPERTIES IMPORTED_LOCATION ${REVEZA_ARROW_S3}
    INTERFACE_LINK_LIBRARIES reveza_arrow)
else()
  message(STATUS "No Arrow ${REVEZA_ARROW_VERSION} in build/python (tools/setup.sh installs it): "
    "building without support for Parquet and Arrow files")
endif()

# Optional: clients of Kafka and webhooks for `fraudgen stream`, the server of `reveza web`.
find_package(PkgConfig QUIET)
set(libraries "")
if(REVEZA_BUILD_FRAUDGEN)
  list(APPEND libraries rdkafka)
endif()
if(REVEZA_BUILD_FRAUDGEN OR REVEZA_BUILD_GPU)
  list(APPEND libraries httplib)
endif()
foreach(library IN LISTS libraries)
  set(package ${library})
  if(library STREQUAL httplib)
    set(package cpp-httplib)
  endif()
  if(PkgConfig_FOUND AND NOT library IN_LIST REVEZA_WITHOUT)
    pkg_check_modules(${library} QUIET IMPORTED_TARGET ${package})
  endif()
  if(TARGET PkgConfig::${library} AND NOT library IN_LIST REVEZA_WITHOUT)
    add_library(reveza_${library} INTERFACE)
    target_link_libraries(reveza_${library} INTERFACE PkgConfig::${library})
  else()
    message(STATUS "No ${package} (tools/setup.sh installs it): "
      "building `fraudgen stream` without this target, and no `reveza web`")
  endif()
endforeach()

# For `reveza web` in wheels, where no shared library may be needed: a folder with the header of cpp-httplib that
# has everything. It is without TLS there.
set(REVEZA_HTTPLIB "" CACHE PATH "Folder of a header-only cpp-httplib")
add_library(reveza_httplib_server INTERFACE)
if(REVEZA_HTTPLIB)
  target_include_directories(reveza_httplib_server SYSTEM INTERFACE ${REVEZA_HTTPLIB})
elseif(TARGET reveza_httplib)
  target_link_libraries(reveza_httplib_server INTERFACE reveza_httplib)
endif()

# The Prometheus exporter (optional). Without it `reveza metrics` is not built.
if(PkgConfig_FOUND AND REVEZA_BUILD_GPU)
  pkg_check_modules(prometheus-cpp QUIET IMPORTED_TARGET prometheus-cpp-pull prometheus-cpp-core)
endif()
if(TARGET PkgConfig::prometheus-cpp)
  add_library(reveza_prometheus INTERFACE)
  target_link_libraries(reveza_prometheus INTERFACE PkgConfig::prometheus-cpp)
elseif(REVEZA_BUILD_GPU)
  message(STATUS "No prometheus-cpp (tools/setup.sh installs it): `reveza metrics` is not built")
endif()

# The S3 server built by tools/setup.sh, used by tests if present.
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/requirements-go.txt REVEZA_S3_SERVER REGEX "^versitygw ")
string(REGEX REPLACE ".*@" "" REVEZA_S3_SERVER "${REVEZA_S3_SERVER}")
set(REVEZA_S3_SERVER ${PROJECT_SOURCE_DIR}/build/servers/versitygw-${REVEZA_S3_SERVER}/versitygw)
