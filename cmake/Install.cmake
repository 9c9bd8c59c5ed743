# What `cmake --install` puts where, and, for wheels (component "wheel"), what lies in the Python package.
include(CMakePackageConfigHelpers)

set(SILL_TARGETS "")
set(SILL_EXPORT_NAMES "")
foreach(family IN LISTS SILL_FAMILIES)
  list(APPEND SILL_TARGETS sill-${family} sill-caf-${family})
  string(APPEND SILL_EXPORT_NAMES " ${family} caf-${family}")
  set_target_properties(sill-${family} PROPERTIES EXPORT_NAME ${family})
  set_target_properties(sill-caf-${family} PROPERTIES EXPORT_NAME caf-${family})
endforeach()

if(SILL_WHEEL)
  install(TARGETS ${SILL_TARGETS} LIBRARY DESTINATION sill/lib COMPONENT wheel)
  install(FILES ${PROJECT_BINARY_DIR}/hints.json DESTINATION sill/lib COMPONENT wheel)
  install(DIRECTORY include/sill DESTINATION sill/include COMPONENT wheel FILES_MATCHING PATTERN "*.h*" PATTERN "*.f90")
  file(GLOB scenarios CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.toml)
  install(FILES ${scenarios} bench/result.schema.json DESTINATION sill/bench/data COMPONENT wheel)
  return()
endif()

foreach(target IN LISTS SILL_TARGETS)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS ${SILL_TARGETS} EXPORT sill-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# -lsill-caf is that of the default family.
install(CODE "file(CREATE_LINK libsill-caf-${SILL_DEFAULT_FAMILY}.so
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libsill-caf.so\" SYMBOLIC)")
install(DIRECTORY include/sill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h*" PATTERN "*.f90")
install(FILES ${PROJECT_BINARY_DIR}/hints.json DESTINATION ${CMAKE_INSTALL_DATADIR}/sill)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Mini-apps in bin/ are of one MPI: the first of the default family, unless told otherwise. libexec/ has those of all.
set(SILL_INSTALL_MPI "" CACHE STRING "The MPI whose build of the mini-apps goes into bin, e.g. mpich5")
set(installed_mpi ${SILL_INSTALL_MPI})
foreach(mpi IN LISTS SILL_MPIS)
  if(NOT installed_mpi AND SILL_MPI_${mpi}_FAMILY STREQUAL SILL_DEFAULT_FAMILY)
    set(installed_mpi ${mpi})
  endif()
endforeach()
if(SILL_APPS AND installed_mpi)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/bin/${installed_mpi}/ DESTINATION ${CMAKE_INSTALL_BINDIR} USE_SOURCE_PERMISSIONS
          FILES_MATCHING PATTERN "sill-*")
endif()

# find_package(sill): sill::sill is the library that fits the MPI found, sill::<family> names one.
set(SILL_CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/sill)
configure_package_config_file(cmake/sill-config.cmake.in ${PROJECT_BINARY_DIR}/sill-config.cmake
                              INSTALL_DESTINATION ${SILL_CMAKE_FOLDER})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sill-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT sill-targets NAMESPACE sill:: DESTINATION ${SILL_CMAKE_FOLDER})
install(FILES ${PROJECT_BINARY_DIR}/sill-config.cmake ${PROJECT_BINARY_DIR}/sill-config-version.cmake
        DESTINATION ${SILL_CMAKE_FOLDER})

# pkg-config can't look at the MPI: sill-<family>.pc for each, and sill.pc for the family of the mpicc on $PATH.
set(SILL_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  # Seen from the file itself, so that `cmake --install --prefix` and moving the whole work.
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  set(SILL_PC_PREFIX "\${pcfiledir}/${up}")
endif()
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE SILL_PC_LIBDIR)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE SILL_PC_INCLUDEDIR)
function(sill_pkg_config file family)
  set(SILL_PC_FAMILY ${family})
  configure_file(cmake/sill.pc.in ${PROJECT_BINARY_DIR}/${file}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
sill_pkg_config(sill ${SILL_DEFAULT_FAMILY})
foreach(family IN LISTS SILL_FAMILIES)
  sill_pkg_config(sill-${family} ${family})
endforeach()
