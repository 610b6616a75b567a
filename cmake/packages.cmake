# The libraries that mhdsim uses, each as one interface target: mhd_mpi, mhd_hdf5, mhd_toml, mhd_cli11, fmt::fmt.

find_package(PkgConfig)

# --- MPI -------------------------------------------------------------------------------------------------------------
# Where several MPIs are installed side by side and the user chose none, MPICH is taken: the tested one.
set(mpi_chosen FALSE)
foreach(variable MPI_HOME MPI_C_COMPILER MPI_CXX_COMPILER MPI_EXECUTABLE_SUFFIX)
  if(DEFINED ${variable} OR DEFINED ENV{${variable}})
    set(mpi_chosen TRUE)
  endif()
endforeach()
if(NOT mpi_chosen)
  find_program(MHDSIM_MPICH_COMPILER mpicc.mpich)
  mark_as_advanced(MHDSIM_MPICH_COMPILER)
  if(MHDSIM_MPICH_COMPILER)
    set(MPI_C_COMPILER "${MHDSIM_MPICH_COMPILER}" CACHE FILEPATH "MPI compiler wrapper")
    find_program(MPIEXEC_EXECUTABLE NAMES mpiexec.mpich mpiexec.hydra mpiexec)
  endif()
endif()
find_package(MPI REQUIRED COMPONENTS C)
add_library(mhd_mpi INTERFACE IMPORTED)
target_link_libraries(mhd_mpi INTERFACE MPI::MPI_C)
target_compile_definitions(mhd_mpi INTERFACE MPICH_SKIP_MPICXX=1 OMPI_SKIP_MPICXX=1)  # the C interface only

include(CheckCXXSourceCompiles)
function(mhd_compiles source result)
  set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
  check_cxx_source_compiles("${source}" ${result})
endfunction()
mhd_compiles("#include <mpi.h>\n#ifndef MPICH_VERSION\n#error\n#endif\nint main() {}" MHDSIM_MPI_IS_MPICH mhd_mpi)
mhd_compiles("#include <mpi.h>\n#ifndef OPEN_MPI\n#error\n#endif\nint main() {}" MHDSIM_MPI_IS_OPEN_MPI mhd_mpi)
if(MHDSIM_MPI_IS_MPICH)
  set(MHDSIM_MPI_KIND mpich)
elseif(MHDSIM_MPI_IS_OPEN_MPI)
  set(MHDSIM_MPI_KIND openmpi)
else()
  set(MHDSIM_MPI_KIND unknown)
endif()

# --- HDF5, the parallel build that belongs to this MPI ---------------------------------------------------------------
if(NOT MHDSIM_HDF5_INCLUDE_DIR AND NOT HDF5_ROOT AND NOT DEFINED ENV{HDF5_ROOT} AND PKG_CONFIG_FOUND)
  # Debian and Ubuntu name the builds after the MPI.
  pkg_check_modules(PC_HDF5 QUIET hdf5-${MHDSIM_MPI_KIND})
  if(PC_HDF5_FOUND)
    find_path(MHDSIM_HDF5_INCLUDE_DIR hdf5.h PATHS ${PC_HDF5_INCLUDE_DIRS} NO_DEFAULT_PATH)
    find_library(MHDSIM_HDF5_LIBRARY hdf5 PATHS ${PC_HDF5_LIBRARY_DIRS} NO_DEFAULT_PATH)
    mark_as_advanced(MHDSIM_HDF5_INCLUDE_DIR MHDSIM_HDF5_LIBRARY)
  endif()
endif()
add_library(mhd_hdf5 INTERFACE IMPORTED)
if(MHDSIM_HDF5_INCLUDE_DIR AND MHDSIM_HDF5_LIBRARY)
  set(hdf5_include_dirs "${MHDSIM_HDF5_INCLUDE_DIR}")
  set(hdf5_libraries "${MHDSIM_HDF5_LIBRARY}")
else()
  set(HDF5_PREFER_PARALLEL TRUE)
  find_package(HDF5 COMPONENTS C)
  if(NOT HDF5_FOUND)
    message(FATAL_ERROR "No HDF5 was found. Install the parallel build for this MPI (Debian: libhdf5-mpich-dev) or set "
                        "HDF5_ROOT to its prefix")
  endif()
  set(hdf5_include_dirs ${HDF5_C_INCLUDE_DIRS})
  set(hdf5_libraries ${HDF5_C_LIBRARIES})
endif()
target_include_directories(mhd_hdf5 SYSTEM INTERFACE ${hdf5_include_dirs})
target_link_libraries(mhd_hdf5 INTERFACE ${hdf5_libraries} mhd_mpi)

mhd_compiles("#include <hdf5.h>\n#ifndef H5_HAVE_PARALLEL\n#error\n#endif\nint main() { return H5open(); }"
             MHDSIM_HDF5_IS_PARALLEL mhd_hdf5)
if(NOT MHDSIM_HDF5_IS_PARALLEL)
  unset(MHDSIM_HDF5_IS_PARALLEL CACHE)
  message(FATAL_ERROR "The HDF5 in ${hdf5_include_dirs} is not a parallel build, or it does not link with the MPI of "
                      "${MPI_C_COMPILER}. Install the parallel build for this MPI (Debian: libhdf5-mpich-dev) or set "
                      "HDF5_ROOT to its prefix")
endif()

# An HDF5 of another MPI links without complaint and crashes at run time: look at what it needs.
if(CMAKE_OBJDUMP)
  foreach(library ${hdf5_libraries})
    if(library MATCHES "hdf5[^/]*\\.so")
      execute_process(COMMAND "${CMAKE_OBJDUMP}" -p "${library}" OUTPUT_VARIABLE needed ERROR_QUIET)
      if((MHDSIM_MPI_IS_MPICH AND needed MATCHES "NEEDED +libmpi\\.so\\.[234][0-9]")
         OR (MHDSIM_MPI_IS_OPEN_MPI AND needed MATCHES "NEEDED +(libmpich|libmpi\\.so\\.12)"))
        message(FATAL_ERROR "${library} was built for another MPI (it needs ${CMAKE_MATCH_0}) than ${MPI_C_COMPILER} "
                            "(${MHDSIM_MPI_KIND}). Install the HDF5 of this MPI or choose the MPI with MPI_C_COMPILER")
      endif()
    endif()
  endforeach()
endif()

file(STRINGS "${hdf5_include_dirs}/H5public.h" hdf5_release REGEX "define H5_VERS_(MAJOR|MINOR|RELEASE)")
string(REGEX REPLACE "[^0-9;]*H5_VERS_[A-Z]+[ \t]+([0-9]+)[^;]*" "\\1" hdf5_release "${hdf5_release}")
list(JOIN hdf5_release "." MHDSIM_HDF5_VERSION)

# --- header libraries ------------------------------------------------------------------------------------------------
find_package(fmt REQUIRED)

# An interface target for a library of headers.
function(mhd_header_library target header package)
  find_path(${target}_INCLUDE_DIR "${header}")
  mark_as_advanced(${target}_INCLUDE_DIR)
  if(NOT ${target}_INCLUDE_DIR)
    message(FATAL_ERROR "The header ${header} was not found. Install it (Debian: ${package}) or set "
                        "${target}_INCLUDE_DIR to the folder that holds it")
  endif()
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE "${${target}_INCLUDE_DIR}")
endfunction()
mhd_header_library(mhd_toml toml++/toml.h libtomlplusplus-dev)
mhd_header_library(mhd_cli11 CLI/CLI.hpp libcli11-dev)
