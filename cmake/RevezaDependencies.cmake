# Finds what the rooms link to. Debian packages by their CMake files; CUDA from an installed
# toolkit, or else from NVIDIA's wheels in the private environment that tools/setup.sh makes.

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
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

# Hashes of what is written. The static library, so that programs need no more than before.
find_path(REVEZA_XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(REVEZA_XXHASH libxxhash.a REQUIRED)
add_library(reveza_xxhash INTERFACE)
target_include_directories(reveza_xxhash SYSTEM INTERFACE ${REVEZA_XXHASH_INCLUDE})
target_link_libraries(reveza_xxhash INTERFACE ${REVEZA_XXHASH})

# The live page of `reveza top`. Static, so that programs need no more than before.
find_path(REVEZA_NCURSES_INCLUDE ncurses.h REQUIRED)
find_library(REVEZA_NCURSES libncursesw.a REQUIRED)
find_library(REVEZA_TINFO libtinfo.a REQUIRED)
add_library(reveza_ncurses INTERFACE)
target_include_directories(reveza_ncurses SYSTEM INTERFACE ${REVEZA_NCURSES_INCLUDE})
target_link_libraries(reveza_ncurses INTERFACE ${REVEZA_NCURSES} ${REVEZA_TINFO})

file(GLOB REVEZA_CUDA_WHEELS ${PROJECT_SOURCE_DIR}/build/python/lib/python3*/site-packages/nvidia/cu13)
# The journal of jobs; static for the same reason.
find_path(REVEZA_SQLITE_INCLUDE sqlite3.h REQUIRED)
find_library(REVEZA_SQLITE libsqlite3.a REQUIRED)
add_library(reveza_sqlite INTERFACE)
target_include_directories(reveza_sqlite SYSTEM INTERFACE ${REVEZA_SQLITE_INCLUDE})
target_link_libraries(reveza_sqlite INTERFACE ${REVEZA_SQLITE} Threads::Threads ${CMAKE_DL_LIBS} m)

find_path(REVEZA_CUDA_INCLUDE cuda.h
  HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include ${REVEZA_CUDA_WHEELS}/include
  NO_DEFAULT_PATH REQUIRED)
get_filename_component(REVEZA_CUDA_HOME ${REVEZA_CUDA_INCLUDE} DIRECTORY)
find_program(REVEZA_NVCC nvcc HINTS ${REVEZA_CUDA_HOME}/bin NO_DEFAULT_PATH REQUIRED)
find_path(REVEZA_NVML_INCLUDE nvml.h
  HINTS ${REVEZA_CUDA_INCLUDE} ${REVEZA_CUDA_WHEELS}/include NO_DEFAULT_PATH REQUIRED)
find_library(REVEZA_CUDART_STATIC cudart_static
  HINTS ${REVEZA_CUDA_HOME}/lib64 ${REVEZA_CUDA_HOME}/lib ${REVEZA_CUDA_WHEELS}/lib NO_DEFAULT_PATH)

# Headers only: nothing here ever links to the driver, which is resolved at run time.
add_library(reveza_cuda_headers INTERFACE)
target_include_directories(reveza_cuda_headers SYSTEM INTERFACE
  ${REVEZA_CUDA_INCLUDE} ${REVEZA_NVML_INCLUDE})

# To see that all else is built where one of these is missing (tools/check_without.sh): any of
# arrow, charts, httplib and rdkafka.
set(REVEZA_WITHOUT "" CACHE STRING "Libraries to build without, though they are here")

# Arrow and Parquet, from the pyarrow wheel in the same environment, exactly in the version that
# tools/requirements-arrow.txt names, for it decides the bytes of what fraudgen writes. Without it
# all is built but what writes columns.
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
    "nothing that is built here writes Parquet or Arrow files")
endif()

# What events are sent with, beside standard output. Without one of them all else is built.
find_package(PkgConfig QUIET)
foreach(library IN ITEMS rdkafka httplib)
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
      "`fraudgen stream` is built without what it sends to")
  endif()
endforeach()

# What serves figures to Prometheus. Without it all but `reveza metrics` is built.
if(PkgConfig_FOUND)
  pkg_check_modules(prometheus-cpp QUIET IMPORTED_TARGET prometheus-cpp-pull prometheus-cpp-core)
endif()
if(TARGET PkgConfig::prometheus-cpp)
  add_library(reveza_prometheus INTERFACE)
  target_link_libraries(reveza_prometheus INTERFACE PkgConfig::prometheus-cpp)
else()
  message(STATUS "No prometheus-cpp (tools/setup.sh installs it): `reveza metrics` is not built")
endif()

# What signs the few requests to buckets that Arrow has no call for; cpp-httplib needs it as well.
find_package(OpenSSL QUIET COMPONENTS Crypto)

# What tools/setup.sh builds for tests, which look for it when they run.
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/requirements-go.txt REVEZA_S3_SERVER REGEX "^versitygw ")
string(REGEX REPLACE ".*@" "" REVEZA_S3_SERVER "${REVEZA_S3_SERVER}")
set(REVEZA_S3_SERVER ${PROJECT_SOURCE_DIR}/build/servers/versitygw-${REVEZA_S3_SERVER}/versitygw)
