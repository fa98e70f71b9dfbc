# Compiler settings shared by every room, and the helpers that declare a room's library and tests.

add_library(reveza_options INTERFACE)
target_include_directories(reveza_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(reveza_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror)

if(REVEZA_SANITIZE)
  target_compile_options(reveza_options INTERFACE
    -fsanitize=${REVEZA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(reveza_options INTERFACE -fsanitize=${REVEZA_SANITIZE})
endif()

find_program(REVEZA_MOLD mold)
if(REVEZA_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_program(REVEZA_CCACHE ccache)
if(REVEZA_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${REVEZA_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${REVEZA_CCACHE})
endif()

# reveza_library(<room> SOURCES ... [LINK ...]): the static library of one room.
function(reveza_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(reveza_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(reveza_${name} PUBLIC reveza_options ${ARG_LINK})
endfunction()

# reveza_test(<name> SOURCES ... [LINK ...] [LABELS ...] [TIMEOUT s] [ENVIRONMENT K=V ...]):
# one GoogleTest program; ctest runs each of its cases.
include(GoogleTest)
function(reveza_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE reveza_options ${ARG_LINK} GTest::gtest_main)
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  if(ARG_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
  if(ARG_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}/" PROPERTIES ${properties}
    DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST)
endfunction()
