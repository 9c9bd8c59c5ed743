# sill_coarray_program(NAME SOURCES... [LINK_SILL] [FLAGS ...]): a coarray program under every MPI that OpenCoarrays is
# installed for, as build/bin/<mpi>/NAME. Its shared library is linked: Debian's `caf` links the static one, in front of
# which nothing can stand.
#   SILL_COARRAY_MPIS          names of these MPIs: OpenCoarrays' library lies beside theirs
#   SILL_LIBCAF_<family>       OpenCoarrays' library
find_program(SILL_GFORTRAN gfortran)
find_library(SILL_LIBCAF_ompi caf_openmpi)
find_library(SILL_LIBCAF_mpich caf_mpich)
set(SILL_COARRAY_MPIS "")
foreach(mpi IN LISTS SILL_MPIS)
  set(caf "${SILL_LIBCAF_${SILL_MPI_${mpi}_FAMILY}}")
  if(SILL_GFORTRAN AND caf)
    cmake_path(GET caf PARENT_PATH folder_of_caf)
    cmake_path(GET SILL_MPI_${mpi}_LIBRARY PARENT_PATH folder_of_mpi)
    file(REAL_PATH ${folder_of_caf} folder_of_caf)
    file(REAL_PATH ${folder_of_mpi} folder_of_mpi)
    if(folder_of_caf STREQUAL folder_of_mpi)
      list(APPEND SILL_COARRAY_MPIS ${mpi})
    endif()
  endif()
endforeach()

function(sill_coarray_program name)
  cmake_parse_arguments(arg "LINK_SILL" "" "FLAGS" ${ARGN})
  sill_absolute(sources ${arg_UNPARSED_ARGUMENTS})
  set(outputs "")
  foreach(mpi IN LISTS SILL_COARRAY_MPIS)
    set(output ${PROJECT_BINARY_DIR}/bin/${mpi}/${name})
    set(modules ${PROJECT_BINARY_DIR}/modules/${mpi}/${name})
    set(link "")
    set(depends "")
    if(arg_LINK_SILL)
      set(depends sill-caf-${SILL_MPI_${mpi}_FAMILY})
      set(link -L${PROJECT_BINARY_DIR}/lib -Wl,-rpath,${PROJECT_BINARY_DIR}/lib -l${depends})
    endif()
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/bin/${mpi} ${modules}
      COMMAND ${SILL_GFORTRAN} -fcoarray=lib -std=gnu -O2 -g -Wall -Werror ${arg_FLAGS} -J ${modules} ${sources} -o ${output}
              ${link} ${SILL_LIBCAF_${SILL_MPI_${mpi}_FAMILY}}
      DEPENDS ${sources} ${depends}
      COMMENT "Building ${mpi}/${name}" VERBATIM)
    list(APPEND outputs ${output})
  endforeach()
  add_custom_target(program-${name} ALL DEPENDS ${outputs})
endfunction()
