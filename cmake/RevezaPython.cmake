# Extension modules of the Python packages `phi` and `fraudgen`, by nanobind of the wheel in build/python
# (tools/setup.sh installs it). Optional, as the headers of Python are.
#
# A module is built for each interpreter of REVEZA_PYTHONS. From Python 3.12 on, one for the stable ABI
# serves all later versions too; nanobind has none for older ones, of which each needs its own. Modules of
# several versions lie beside each other in one package, and an interpreter takes the one that is for it.
set(REVEZA_PYTHONS "" CACHE STRING
  "Interpreters to build Python modules for; empty: the one of build/python")
file(GLOB REVEZA_NANOBIND CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/build/python/lib/python3*/site-packages/nanobind)
set(REVEZA_PYTHON_TAGS "")
set(interpreters ${REVEZA_PYTHONS})
if(NOT interpreters)
  set(interpreters ${REVEZA_WHEELS_PYTHON})
endif()
foreach(interpreter IN LISTS interpreters)
  if(NOT REVEZA_NANOBIND OR "nanobind" IN_LIST REVEZA_WITHOUT OR REVEZA_SANITIZE OR REVEZA_FUZZ)
    break()  # an instrumented module would need an instrumented interpreter
  endif()
  if(NOT EXISTS ${interpreter})
    continue()
  endif()
  execute_process(COMMAND ${interpreter} -c "import sys, sysconfig
print('%d%d' % sys.version_info[:2], sysconfig.get_path('include'), sysconfig.get_config_var('EXT_SUFFIX'))"
    OUTPUT_VARIABLE about OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(about)
  list(GET about 0 tag)
  list(GET about 1 include)
  list(GET about 2 suffix)
  if(NOT EXISTS ${include}/Python.h OR tag LESS 310)
    continue()
  endif()
  set(definitions NB_COMPACT_ASSERTIONS)
  if(tag GREATER_EQUAL 312)
    set(tag abi3)
    set(suffix .abi3.so)
    list(APPEND definitions Py_LIMITED_API=0x030C0000)
  endif()
  if(tag IN_LIST REVEZA_PYTHON_TAGS)
    continue()
  endif()
  list(APPEND REVEZA_PYTHON_TAGS ${tag})
  set(REVEZA_PYTHON_SUFFIX_${tag} ${suffix})
  add_library(reveza_nanobind_${tag} STATIC EXCLUDE_FROM_ALL ${REVEZA_NANOBIND}/src/nb_combined.cpp)
  target_include_directories(reveza_nanobind_${tag} SYSTEM
    PUBLIC ${REVEZA_NANOBIND}/include ${include} PRIVATE ${REVEZA_NANOBIND}/ext/robin_map/include)
  target_compile_definitions(reveza_nanobind_${tag} PUBLIC ${definitions})
  target_compile_options(reveza_nanobind_${tag} PRIVATE -fno-strict-aliasing -w
    PUBLIC -ffunction-sections -fdata-sections)
endforeach()
if(NOT REVEZA_PYTHON_TAGS)
  message(STATUS "No nanobind or no headers of Python 3.10 or later (tools/setup.sh installs both): "
    "building without the modules of the Python packages phi and fraudgen")
endif()

# reveza_python_module(<package> [SHARED_RUNTIME] LINK ...): builds the extension module `_native` of a
# package from the sources of the room, and puts it with the package into ${PROJECT_BINARY_DIR}/lib/python. The
# target <package>_python builds it for all interpreters, or does nothing if there are none.
function(reveza_python_module package)
  cmake_parse_arguments(ARG "SHARED_RUNTIME" "" "LINK" ${ARGN})
  add_custom_target(${package}_python)
  if(NOT REVEZA_PYTHON_TAGS)
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/lib/python/${package})
  file(MAKE_DIRECTORY ${folder})
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/${package}/*.py
    ${PROJECT_SOURCE_DIR}/python/${package}/*.pyi ${PROJECT_SOURCE_DIR}/python/${package}/py.typed)
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME)
    file(CREATE_LINK ${file} ${folder}/${name} SYMBOLIC)
  endforeach()
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/python/${package}/bench)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/${package}/bench ${folder}/bench SYMBOLIC)
  endif()
  room_sources(sources)
  foreach(tag IN LISTS REVEZA_PYTHON_TAGS)
    set(target ${package}_python_${tag})
    add_library(${target} MODULE ${sources})
    add_dependencies(${package}_python ${target})
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME _native
      SUFFIX ${REVEZA_PYTHON_SUFFIX_${tag}} LIBRARY_OUTPUT_DIRECTORY ${folder})
    target_link_libraries(${target} PRIVATE reveza_options reveza_runtime ${ARG_LINK}
      reveza_nanobind_${tag})
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    # Only PyInit__native is visible, so that modules with a C++ library of their own do not meet.
    target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,--exclude-libs,ALL)
    if(NOT ARG_SHARED_RUNTIME)
      target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
    endif()
  endforeach()
endfunction()
