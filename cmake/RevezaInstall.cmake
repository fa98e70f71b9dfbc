# What `make install` puts where. Included last: it installs the targets that exist.
#
#   bin/                       reveza, reveza-metrics, revezad, the program that `reveza demo` starts;
#                              fraudgen; phi
#   lib/reveza/                libreveza.so, preloaded into programs; never a place that ld.so looks
#   lib/reveza/reveza-supervisor   what `reveza jobs` starts beside each of its workers
#   lib/reveza/fakecuda/       the driver that needs no GPU
#   lib/reveza/arrow/          Arrow's libraries, which fraudgen loads from there, and their licence
#   lib/reveza/python/         reveza.py, with which programs report their steps
#   lib/systemd/{system,user}/ units
#   include/                   reveza_step.h, the same for C and C++
#   share/doc/reveza/          documents
#
# The programs find lib/reveza beside their own bin/, so the folder names are fixed and the tree can
# be moved.

foreach(program IN ITEMS reveza_cli revezad reveza_demo_worker reveza_metrics)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin)
  endif()
endforeach()
if(TARGET reveza_preload)
  install(TARGETS reveza_preload LIBRARY DESTINATION lib/reveza NAMELINK_SKIP)
endif()
if(TARGET reveza_supervisor)
  install(TARGETS reveza_supervisor RUNTIME DESTINATION lib/reveza)
endif()
if(TARGET fakecuda_driver)
  install(TARGETS fakecuda_driver LIBRARY DESTINATION lib/reveza/fakecuda NAMELINK_SKIP)
endif()
# The wheel stays in the build tree, so what fraudgen needs of it is copied.
if(TARGET fraudgen)
  if(TARGET reveza_parquet)
    set_target_properties(fraudgen PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/reveza/arrow")
    install(FILES ${REVEZA_ARROW} ${REVEZA_PARQUET} ${REVEZA_ARROW_S3} ${REVEZA_ARROW_LICENCES}
      DESTINATION lib/reveza/arrow)
  endif()
  install(TARGETS fraudgen RUNTIME DESTINATION bin OPTIONAL)
endif()
if(TARGET phi)
  if(TARGET reveza_parquet)
    set_target_properties(phi PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/reveza/arrow")
  endif()
  install(TARGETS phi RUNTIME DESTINATION bin OPTIONAL)
endif()

install(FILES include/reveza_step.h DESTINATION include)
install(FILES python/reveza.py DESTINATION lib/reveza/python)

# The units name the program by its full path, which is known only when the prefix is.
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

foreach(document IN ITEMS README.md README.pt-BR.md CHANGELOG.md LICENSE)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${document})
    install(FILES ${document} DESTINATION share/doc/reveza)
  endif()
endforeach()
install(DIRECTORY docs/ DESTINATION share/doc/reveza/docs FILES_MATCHING PATTERN "*.md")
