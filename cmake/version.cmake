# mhd_version: the generated header mhd_version.hpp. Its revision is looked up at every build (the same file run as a
# script), and the header is rewritten only when something in it changed. Without git the revision is "unknown".

if(CMAKE_SCRIPT_MODE_FILE)
  set(MHDSIM_REVISION unknown)
  find_program(git git)
  if(git)
    execute_process(COMMAND "${git}" rev-parse --show-prefix WORKING_DIRECTORY "${SOURCE_DIR}" RESULT_VARIABLE failed
                    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # A release unpacked somewhere inside another repository has no revision of its own.
    if(NOT failed AND prefix STREQUAL "")
      execute_process(COMMAND "${git}" describe --always --dirty --abbrev=12 --exclude=*
                      WORKING_DIRECTORY "${SOURCE_DIR}" RESULT_VARIABLE failed OUTPUT_VARIABLE described
                      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(NOT failed)
        set(MHDSIM_REVISION "${described}")
      endif()
    endif()
  endif()
  configure_file("${SOURCE_DIR}/cmake/mhd_version.hpp.in" "${OUTPUT}" @ONLY)
  return()
endif()

set(version_header "${PROJECT_BINARY_DIR}/generated/mhd_version.hpp")
add_custom_target(mhd_version_header
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${version_header}"
          "-DMHDSIM_VERSION=${PROJECT_VERSION}" "-DMHDSIM_COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          "-DMHDSIM_BUILD_TYPE=${CMAKE_BUILD_TYPE}" "-DMHDSIM_HDF5_VERSION=${MHDSIM_HDF5_VERSION}"
          "-DMHDSIM_CUDA_VERSION=${MHDSIM_CUDA_VERSION}" -P "${PROJECT_SOURCE_DIR}/cmake/version.cmake"
  BYPRODUCTS "${version_header}"
  COMMENT "Looking up the revision"
  VERBATIM)
add_library(mhd_version INTERFACE)
target_include_directories(mhd_version INTERFACE "${PROJECT_BINARY_DIR}/generated")
add_dependencies(mhd_version mhd_version_header)
