# Compiler settings that all rooms share, and the functions that declare a room's library and tests.
include(GoogleTest OPTIONAL)

add_library(reveza_options INTERFACE)
target_include_directories(reveza_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
# Not all of -Wshadow: in a unity build a local name may hide a global one of another file.
set(REVEZA_WARNINGS -Wall -Wextra -Wnon-virtual-dtor
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow-uncaptured-local>)
target_compile_options(reveza_options INTERFACE ${REVEZA_WARNINGS})
if(REVEZA_WERROR)
  target_compile_options(reveza_options INTERFACE -Werror)
endif()

if(REVEZA_SANITIZE)
  target_compile_options(reveza_options INTERFACE
    -fsanitize=${REVEZA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # Only the code under test is checked for undefined behaviour: checking the tests themselves
    # costs a third of their compile time.
    $<$<BOOL:$<TARGET_PROPERTY:REVEZA_IS_TEST>>:-fno-sanitize=undefined>)
  if(REVEZA_SANITIZE MATCHES "undefined")
    # The check opens a pipe, so it reports false errors in tests that exhaust file descriptors.
    target_compile_options(reveza_options INTERFACE -fno-sanitize=vptr)
  endif()
  target_link_options(reveza_options INTERFACE -fsanitize=${REVEZA_SANITIZE})
endif()
if(REVEZA_FUZZ)
  # clang-tidy reports Clang's warnings.
  target_compile_options(reveza_options INTERFACE -fsanitize=fuzzer-no-link -w)
endif()

# For programs that run on older distributions than this one: the folder of tools/make_glibc_stubs.sh,
# which is linked instead of the system's C library. What is compiled stays the same. libreveza.so and
# reveza-supervisor do not need it.
set(REVEZA_GLIBC "" CACHE PATH "Interface of an older glibc to link programs against")
add_library(reveza_old_glibc INTERFACE)
add_library(reveza_runtime INTERFACE)
target_link_libraries(reveza_runtime INTERFACE reveza_old_glibc)
if(REVEZA_GLIBC)
  add_library(reveza_glibc_compat OBJECT ${PROJECT_SOURCE_DIR}/packaging/glibc_compat.c)
  set_target_properties(reveza_glibc_compat PROPERTIES C_EXTENSIONS ON)
  target_compile_definitions(reveza_glibc_compat PRIVATE _GNU_SOURCE)
  target_sources(reveza_old_glibc INTERFACE $<TARGET_OBJECTS:reveza_glibc_compat>)
  target_link_options(reveza_old_glibc INTERFACE -B${REVEZA_GLIBC} -L${REVEZA_GLIBC})
  target_link_options(reveza_runtime INTERFACE -static-libstdc++ -static-libgcc)
endif()

find_program(REVEZA_MOLD mold)
if(REVEZA_MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()
find_program(REVEZA_CCACHE ccache)
if(REVEZA_CCACHE)
  # Relative paths let clones share the cache. The sloppiness is what ccache needs for precompiled
  # headers; GCC must be told -fpch-preprocess (below).
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${REVEZA_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# room_sources(<variable>): the room's own .cc files; excludes tests (*_test.cc) and their
# helpers (testing_*.cc). room_tests(<variable>): the *_test.cc files.
function(room_sources variable)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER files EXCLUDE REGEX "_test\\.cc$|/testing_[^/]*\\.cc$|/main\\.cc$")
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
function(room_tests variable)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# Several files of a room are compiled as one (unity build): headers are parsed and templates
# instantiated once instead of ten times, which takes a third of the time.
option(REVEZA_UNITY "Compile several source files as one" ON)
function(reveza_unity target size)
  if(REVEZA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    # g++ takes an anonymous namespace of an included file for one of a header.
    target_compile_options(${target} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
  endif()
endfunction()

# reveza_library(<target> [COLD] [BATCH n] [SOURCES ...] [LINK ...]): the static library of one
# room; its sources default to room_sources(). COLD compiles with -O1 instead of -O2, which takes a
# third longer, for code that is not performance-critical. BATCH is the number of files per unity
# build.
function(reveza_library name)
  cmake_parse_arguments(ARG "COLD" "BATCH" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_BATCH)
    set(ARG_BATCH 12)
  endif()
  if(NOT ARG_SOURCES)
    room_sources(ARG_SOURCES)
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC reveza_options ${ARG_LINK})
  reveza_unity(${name} ${ARG_BATCH})
  if(ARG_COLD AND NOT REVEZA_SANITIZE)
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
endfunction()

# reveza_program(<target> <output name> [SHARED_RUNTIME] [LINK ...]): an executable of main.cc and
# of the libraries, at -O1 because it only reads the command line. The C++ library is linked
# statically, so that the program runs where it is older, unless a shared library brings its own
# (SHARED_RUNTIME).
function(reveza_program name output)
  cmake_parse_arguments(ARG "SHARED_RUNTIME" "" "LINK" ${ARGN})
  add_executable(${name} main.cc)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} common_version)
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  if(ARG_SHARED_RUNTIME AND REVEZA_GLIBC AND TARGET reveza_parquet)
    # The shared C++ library of an older system cannot be ours. No symbol connects ours with it, and for
    # exceptions that pass between them they have one unwinder.
    list(TRANSFORM REVEZA_PYARROW_FOLDERS PREPEND "$ORIGIN/../")
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output}-arrow INSTALL_RPATH "${REVEZA_PYARROW_FOLDERS}")
    target_link_libraries(${name} PRIVATE reveza_old_glibc)
    target_link_options(${name} PRIVATE -static-libstdc++ -shared-libgcc -Wl,--exclude-libs,ALL)
    return()
  endif()
  target_link_libraries(${name} PRIVATE reveza_runtime)
  if(NOT REVEZA_SANITIZE AND NOT ARG_SHARED_RUNTIME)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# reveza_test(<name> [SOURCES ...] [EXCEPT ...] [LINK ...] [LABELS ...] [TIMEOUT s]
#             [ENVIRONMENT K=V ...] [SERIAL | HEAVY] [SLOW filter] [WITHOUT_NVML filter]
#             [SLOW_WITHOUT_NVML filter]):
# declares a GoogleTest program, with one ctest test per case; its sources default to room_tests()
# without EXCEPT. SERIAL: no other test runs concurrently. HEAVY: starts many programs; such tests
# run one at a time, and first. SLOW: the cases of a filter get the label `slow`. WITHOUT_NVML: runs
# the cases of a filter a second time, as <name>.without_nvml/..., with FAKECUDA_NVML=none: in
# containers and on MIG instances the daemon does not learn what a process holds. Those without the label
# `processes` get `unit`, and the target unit_tests builds them; threads_tests those of them with the label
# `threads`; engine_unit_tests those that are not of fraudgen or phi, which get the label `workload`.
add_custom_target(unit_tests)
add_custom_target(threads_tests)
add_custom_target(engine_unit_tests)
function(reveza_test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(ARG "SERIAL;HEAVY" "TIMEOUT;SLOW;WITHOUT_NVML;SLOW_WITHOUT_NVML" "SOURCES;EXCEPT;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_SOURCES)
    room_tests(ARG_SOURCES)
    foreach(file IN LISTS ARG_EXCEPT)
      list(REMOVE_ITEM ARG_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    endforeach()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE reveza_options ${ARG_LINK} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES REVEZA_IS_TEST ON)
  reveza_unity(${name} 8)
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT REVEZA_SANITIZE)
    # Test code is half of the compile time, and its own speed does not matter.
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if(name MATCHES "^(fraudgen|phi)_")
    list(APPEND ARG_LABELS workload)
  endif()
  if(NOT "processes" IN_LIST ARG_LABELS)
    list(APPEND ARG_LABELS unit)
    add_dependencies(unit_tests ${name})
    if(NOT "workload" IN_LIST ARG_LABELS)
      add_dependencies(engine_unit_tests ${name})
    endif()
    if("threads" IN_LIST ARG_LABELS)
      add_dependencies(threads_tests ${name})
    endif()
  endif()
  list(APPEND ARG_ENVIRONMENT REVEZA_USAGE_FILE=off)  # daemons of tests leave nothing behind
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  elseif(ARG_HEAVY)
    list(APPEND properties RESOURCE_LOCK machine COST 1000)
  endif()
  set(cases *)
  if(ARG_SLOW)
    string(APPEND cases "-${ARG_SLOW}")
    reveza_add_cases(${name} "${name}.slow/" "${ARG_SLOW}" "${properties}" "slow;${ARG_LABELS}"
      "${ARG_ENVIRONMENT}")
  endif()
  reveza_add_cases(${name} "${name}/" "${cases}" "${properties}" "${ARG_LABELS}"
    "${ARG_ENVIRONMENT}")
  if(ARG_WITHOUT_NVML)
    reveza_add_cases(${name} "${name}.without_nvml/" "${ARG_WITHOUT_NVML}" "${properties}"
      "${ARG_LABELS}" "${ARG_ENVIRONMENT};FAKECUDA_NVML=none")
  endif()
  if(ARG_SLOW_WITHOUT_NVML)
    reveza_add_cases(${name} "${name}.slow_without_nvml/" "${ARG_SLOW_WITHOUT_NVML}"
      "${properties}" "slow;${ARG_LABELS}" "${ARG_ENVIRONMENT};FAKECUDA_NVML=none")
  endif()
endfunction()

# reveza_add_cases(<test program> <prefix> <filter> <properties> <labels> <environment>): one ctest
# test per case.
function(reveza_add_cases name prefix filter properties labels environment)
  string(MAKE_C_IDENTIFIER "${prefix}cases" cases)
  gtest_discover_tests(${name} TEST_PREFIX "${prefix}" TEST_LIST ${cases}
    TEST_FILTER "${filter}"
    PROPERTIES ${properties} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST)
  # gtest_discover_tests forwards only the first element of a list.
  set(lists)
  if(labels)
    string(APPEND lists " LABELS [==[${labels}]==]")
  endif()
  if(environment)
    string(APPEND lists " ENVIRONMENT [==[${environment}]==]")
  endif()
  if(lists)
    set(script ${CMAKE_CURRENT_BINARY_DIR}/${cases}.cmake)
    file(GENERATE OUTPUT ${script} CONTENT "foreach(case IN LISTS ${cases})
  set_tests_properties(\"\${case}\" PROPERTIES${lists})
endforeach()
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
  endif()
endfunction()

# reveza_script_test(<name> COMMAND ... [TIMEOUT s] [LABELS ...]): a Python test, skipped when it
# exits with 77.
function(reveza_script_test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    LABELS "${ARG_LABELS}")
endfunction()

# The interpreter of build/python, which has the wheels, or else the system's.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(REVEZA_WHEELS_PYTHON ${PROJECT_SOURCE_DIR}/build/python/bin/python3)
if(NOT EXISTS ${REVEZA_WHEELS_PYTHON})
  set(REVEZA_WHEELS_PYTHON ${Python3_EXECUTABLE})
endif()

# reveza_embed(<file> <array> <output.cc>): a source file with the file's bytes as a C array.
function(reveza_embed file array output)
  set(script ${PROJECT_SOURCE_DIR}/tools/embed_binary.py)
  add_custom_command(OUTPUT ${output}
    COMMAND ${Python3_EXECUTABLE} ${script} ${file} ${array} ${output}
    DEPENDS ${file} ${script} VERBATIM)
endfunction()
