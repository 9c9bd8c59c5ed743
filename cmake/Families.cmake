# Which MPIs are on this machine, and which binary families they make. python/sill/mpi/mpis.py knows how to find them;
# `mpis.py --cmake` prints, for each family, the folder of its mpi.h, and for each MPI its compiler wrapper.
#   SILL_FAMILIES                 of: mpiabi mpich ompi
#   SILL_DEFAULT_FAMILY           that of the mpicc on $PATH, else the first
#   SILL_<family>_INCLUDE         folder with the family's mpi.h (mpiabi: mpi_abi.h)
#   SILL_<family>_LIBRARY         a libmpi of the family (ompi: linked, for its handles are data symbols)
#   SILL_MPIS                     names, e.g. mpich4 ompi4 mpich5 mpich5abi ompi5, or ompi5.0.7 ompi5.0.11
#   SILL_MPI_<name>_CC, _FC, _FAMILY, _LIBRARY   compiler wrappers ("" if there is none), family, its libmpi
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(SILL_MPI_ROOTS "" CACHE STRING "Folders in which to look for MPIs first (prefixes with bin/mpicc or include/mpi.h)")
if(SILL_WHEEL)
  include(cmake/WheelMpis.cmake)
endif()
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/python/sill/mpi/mpis.py --cmake ${SILL_MPI_ROOTS}
  OUTPUT_FILE ${PROJECT_BINARY_DIR}/mpis.cmake
  COMMAND_ERROR_IS_FATAL ANY)
include(${PROJECT_BINARY_DIR}/mpis.cmake)
if(NOT SILL_FAMILIES)
  message(FATAL_ERROR "No mpi.h found: install an MPI's development package (Debian: libmpich-dev, libopenmpi-dev) "
                      "or `pip install mpich`, or name its prefix with -DSILL_MPI_ROOTS=...")
endif()
message(STATUS "MPI families: ${SILL_FAMILIES}; MPIs: ${SILL_MPIS}")

# sill_absolute(RESULT PATHS...): paths given relative to the caller's folder.
function(sill_absolute result)
  set(paths "")
  foreach(path IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND paths ${path})
  endforeach()
  set(${result} ${paths} PARENT_SCOPE)
endfunction()

# sill_mpi_program(NAME SOURCES... [LINK_SILL] [FLAGS ...] [HEADERS ...]): the program under every MPI found, as
# build/bin/<mpi>/NAME. Sources ending in .f90 use the Fortran wrapper. LINK_SILL links the family's library, otherwise
# only sill.h's folder is given. HEADERS: others than those beside the sources.
function(sill_mpi_program name)
  cmake_parse_arguments(arg "LINK_SILL" "" "FLAGS;HEADERS" ${ARGN})
  sill_absolute(sources ${arg_UNPARSED_ARGUMENTS})
  foreach(mpi IN LISTS SILL_MPIS)
    set(compiler ${SILL_MPI_${mpi}_CC})
    set(language -std=c11)
    if("${arg_UNPARSED_ARGUMENTS}" MATCHES "\\.f90")
      set(compiler ${SILL_MPI_${mpi}_FC})
      # Modules that it makes itself, apart from those of other MPIs.
      set(language -J${PROJECT_BINARY_DIR}/bin/${mpi})
    endif()
    if(NOT compiler)
      continue()
    endif()
    set(family ${SILL_MPI_${mpi}_FAMILY})
    set(output ${PROJECT_BINARY_DIR}/bin/${mpi}/${name})
    set(link "")
    set(depends "")
    if(arg_LINK_SILL)
      set(link -L${PROJECT_BINARY_DIR}/lib -Wl,-rpath,${PROJECT_BINARY_DIR}/lib
          -Wl,--no-as-needed -lsill-${family})
      set(depends sill-${family})
    endif()
    file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h ${PROJECT_SOURCE_DIR}/include/sill/*.h
         ${PROJECT_SOURCE_DIR}/include/sill/*.f90)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/bin/${mpi}
      COMMAND ${compiler} ${language} -O2 -g -Wall -Wextra -Werror ${arg_FLAGS} -I${PROJECT_SOURCE_DIR}/include
              ${sources} -o ${output} ${link} -lpthread -lm
      DEPENDS ${sources} ${headers} ${arg_HEADERS} ${depends}
      COMMENT "Building ${mpi}/${name}" VERBATIM)
    list(APPEND outputs ${output})
  endforeach()
  add_custom_target(program-${name} ALL DEPENDS ${outputs})
endfunction()
