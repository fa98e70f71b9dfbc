# Compiler settings shared by every room, and the helpers that declare a room's library and tests.

add_library(reveza_options INTERFACE)
target_include_directories(reveza_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(reveza_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror)

if(REVEZA_SANITIZE)
  target_compile_options(reveza_options INTERFACE
    -fsanitize=${REVEZA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # What the tests are about is checked for undefined behaviour, not they themselves: a third of
    # the time that their compilers take.
    $<$<BOOL:$<TARGET_PROPERTY:REVEZA_IS_TEST>>:-fno-sanitize=undefined>)
  if(REVEZA_SANITIZE MATCHES "undefined")
    # It looks at memory through a pipe, and finds errors where a test leaves no descriptors.
    target_compile_options(reveza_options INTERFACE -fno-sanitize=vptr)
  endif()
  target_link_options(reveza_options INTERFACE -fsanitize=${REVEZA_SANITIZE})
endif()
if(REVEZA_FUZZ)
  # What Clang warns of is for clang-tidy to say.
  target_compile_options(reveza_options INTERFACE -fsanitize=fuzzer-no-link -w)
endif()

find_program(REVEZA_MOLD mold)
if(REVEZA_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_program(REVEZA_CCACHE ccache)
if(REVEZA_CCACHE)
  # What one clone has compiled is there for the next. So no file is given a path of this clone but
  # the one that needs it.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${REVEZA_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# reveza_library(<room> SOURCES ... [LINK ...]): the static library of one room.
function(reveza_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(reveza_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(reveza_${name} PUBLIC reveza_options ${ARG_LINK})
endfunction()

# reveza_test(<name> SOURCES ... [LINK ...] [LABELS ...] [TIMEOUT s] [ENVIRONMENT K=V ...] [SERIAL | HEAVY]):
# one GoogleTest program; ctest runs each of its cases (SERIAL: with nothing beside it; HEAVY, for
# those that fill the machine with programs of their own: one of them at a time, and those first).
# Target threads_tests builds those with the label `threads` and without `processes`.
include(GoogleTest)
add_custom_target(threads_tests)
function(reveza_test name)
  cmake_parse_arguments(ARG "SERIAL;HEAVY" "TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE reveza_options ${ARG_LINK} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES REVEZA_IS_TEST ON)
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT REVEZA_SANITIZE)
    # The tests' own code: half of the time that compilers take, and nobody waits for it to run.
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if("threads" IN_LIST ARG_LABELS AND NOT "processes" IN_LIST ARG_LABELS)
    add_dependencies(threads_tests ${name})
  endif()
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  elseif(ARG_HEAVY)
    list(APPEND properties RESOURCE_LOCK machine COST 1000)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}/" TEST_LIST ${name}_cases
    PROPERTIES ${properties} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST)
  # What is a list loses all but its first element on the way through gtest_discover_tests.
  set(lists)
  foreach(property IN ITEMS LABELS ENVIRONMENT)
    if(ARG_${property})
      string(APPEND lists " ${property} [==[${ARG_${property}}]==]")
    endif()
  endforeach()
  if(lists)
    set(script ${CMAKE_CURRENT_BINARY_DIR}/${name}_lists.cmake)
    file(GENERATE OUTPUT ${script} CONTENT "foreach(case IN LISTS ${name}_cases)
  set_tests_properties(\"\${case}\" PROPERTIES${lists})
endforeach()
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
  endif()
endfunction()
