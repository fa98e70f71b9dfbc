# Rules of `make install`. Included last, because they install the targets that exist.
#
#   bin/                       reveza, reveza-metrics, reveza-web, revezad, the worker of `reveza demo`, fraudgen,
#                              phi
#   lib/reveza/                libreveza.so and libreveza_calls.so, preloaded into programs; not on the
#                              search path of ld.so
#   lib/reveza/reveza-supervisor   started by `reveza jobs` for each worker
#   lib/reveza/fakecuda/       the simulated CUDA driver
#   lib/reveza/arrow/          Arrow's libraries for fraudgen and phi, and their licence
#   lib/reveza/python/         the Python packages reveza, phi and fraudgen, with what Jupyter and Snakemake look for
#   lib/systemd/{system,user}/ units
#   include/                   reveza.h and reveza_step.h, the same API for C and C++
#   share/doc/reveza/          documents
#   share/man/man{1,8}/        man pages
#   share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}/
#                              completion for shells
#
# The components reveza, fraudgen and phi are the contents of the wheels (tools/make_wheels.py), which
# pip lays out in the same way.
#
# Programs find lib/reveza relative to their own path, so the installed tree can be moved but its
# folder names are fixed.

foreach(program IN ITEMS reveza_cli revezad reveza_demo_worker reveza_web)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin COMPONENT reveza)
  endif()
endforeach()
if(TARGET reveza_metrics)
  install(TARGETS reveza_metrics RUNTIME DESTINATION bin)
endif()
if(TARGET reveza_preload)
  install(TARGETS reveza_preload reveza_calls_preload LIBRARY DESTINATION lib/reveza
    COMPONENT reveza NAMELINK_SKIP)
endif()
if(TARGET reveza_supervisor)
  install(TARGETS reveza_supervisor RUNTIME DESTINATION lib/reveza COMPONENT reveza)
endif()
if(TARGET fakecuda_driver)
  install(TARGETS fakecuda_driver LIBRARY DESTINATION lib/reveza/fakecuda
    COMPONENT reveza NAMELINK_SKIP)
endif()
# Copies Arrow's libraries, because the wheel remains in the build tree; programs of a wheel use those of the
# environment.
foreach(program IN ITEMS fraudgen phi)
  if(TARGET ${program})
    if(TARGET reveza_parquet AND NOT REVEZA_GLIBC)
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/reveza/arrow")
    endif()
    install(TARGETS ${program} RUNTIME DESTINATION bin COMPONENT ${program} OPTIONAL)
  endif()
endforeach()
if(TARGET fraudgen AND TARGET reveza_parquet AND NOT REVEZA_GLIBC)
  install(FILES ${REVEZA_ARROW} ${REVEZA_PARQUET} ${REVEZA_ARROW_S3} ${REVEZA_ARROW_LICENCES}
    DESTINATION lib/reveza/arrow COMPONENT fraudgen)
endif()

install(FILES include/reveza.h include/reveza_step.h DESTINATION include COMPONENT reveza)
install(DIRECTORY python/reveza python/snakemake_executor_plugin_reveza DESTINATION lib/reveza/python
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
set(REVEZA_PYTHON_INFO ${PROJECT_BINARY_DIR}/reveza-${PROJECT_VERSION}.dist-info)
file(WRITE ${REVEZA_PYTHON_INFO}/METADATA
  "Metadata-Version: 2.1\nName: reveza\nVersion: ${PROJECT_VERSION}\n")
configure_file(python/entry_points.txt ${REVEZA_PYTHON_INFO}/entry_points.txt COPYONLY)
install(DIRECTORY ${REVEZA_PYTHON_INFO} DESTINATION lib/reveza/python)
# Modules may also be opened by the name of a link in a folder like lib/python3/dist-packages.
foreach(package IN ITEMS phi fraudgen)
  if(NOT TARGET ${package}_python OR NOT REVEZA_PYTHON_TAGS)
    continue()
  endif()
  install(DIRECTORY python/${package} DESTINATION lib/reveza/python
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "*.toml"
    PATTERN "__pycache__" EXCLUDE)
  foreach(tag IN LISTS REVEZA_PYTHON_TAGS)
    set_target_properties(${package}_python_${tag} PROPERTIES
      INSTALL_RPATH "$ORIGIN/../../../reveza/arrow")
    install(TARGETS ${package}_python_${tag} LIBRARY DESTINATION lib/reveza/python/${package} OPTIONAL)
  endforeach()
endforeach()

# Units contain the absolute path of the program, so they are configured when the prefix is known.
install(CODE "set(REVEZA_UNITS \"${PROJECT_SOURCE_DIR}/deploy/systemd\")
set(REVEZA_UNITS_MADE \"${PROJECT_BINARY_DIR}/systemd\")")
install(CODE [[
  foreach(kind IN ITEMS system user)
    configure_file("${REVEZA_UNITS}/${kind}/revezad.service.in"
      "${REVEZA_UNITS_MADE}/${kind}/revezad.service" @ONLY)
    file(INSTALL "${REVEZA_UNITS_MADE}/${kind}/revezad.service"
      DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/${kind}")
  endforeach()
]])

# The programs know their man pages and their completion.
set(program_files reveza_cli/reveza.1 revezad/revezad.8 fraudgen/fraudgen.1 phi/phi.1)
foreach(program_file IN LISTS program_files)
  get_filename_component(program ${program_file} DIRECTORY)
  get_filename_component(page ${program_file} NAME)
  get_filename_component(name ${program_file} NAME_WE)
  if(NOT TARGET ${program})
    continue()
  endif()
  install(CODE "set(program \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}\")
set(page ${page})\nset(name ${name})
set(made \"${PROJECT_BINARY_DIR}/program-files\")")
  install(CODE [[
    # file_of_program(<argument of `completion`> <file> <folder>): installs what the program prints.
    # A macro, so that CMake lists the file in its manifest.
    macro(file_of_program what file folder)
      execute_process(COMMAND "${program}" completion ${what} OUTPUT_FILE "${made}/${file}"
        COMMAND_ERROR_IS_FATAL ANY)
      file(INSTALL "${made}/${file}" DESTINATION "${CMAKE_INSTALL_PREFIX}/share/${folder}")
    endmacro()
    if(EXISTS "${program}")
      file(MAKE_DIRECTORY "${made}")
      string(REGEX MATCH "[0-9]$" section ${page})
      file_of_program(man ${page} man/man${section})
      if(section EQUAL 1)
        file_of_program(bash ${name} bash-completion/completions)
        file_of_program(zsh _${name} zsh/site-functions)
        file_of_program(fish ${name}.fish fish/vendor_completions.d)
      endif()
    endif()
  ]])
endforeach()

foreach(document IN ITEMS README.md README.pt-BR.md CHANGELOG.md LICENSE)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${document})
    install(FILES ${document} DESTINATION share/doc/reveza)
  endif()
endforeach()
install(DIRECTORY docs/ DESTINATION share/doc/reveza/docs FILES_MATCHING PATTERN "*.md"
  PATTERN "site" EXCLUDE PATTERN "images" EXCLUDE)
