# core/cpu_kernel.cpp holds the loops over cells. On x86-64 it is compiled once per instruction set, each into a
# namespace of its own (MHD_ISA), and the widest that the processor has is chosen at run time. Elsewhere it is compiled
# once, for the target that the user's flags name (e.g. CXXFLAGS=-mcpu=native).

set(cpu_kernel "${PROJECT_SOURCE_DIR}/core/cpu_kernel.cpp")

set(kernel_options -O3)
if(MHDSIM_SANITIZE)
  # With sanitizers GCC takes many minutes for these translation units. As a property of the source the option comes after
  # those of the targets and switches them off again.
  set(kernel_options -O1)
  set_source_files_properties("${cpu_kernel}" PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
endif()

# An object library mhd_kernel_<isa> with the given compile options, made part of mhd_core.
function(mhd_cpu_kernel isa)
  set(target mhd_kernel_${isa})
  add_library(${target} OBJECT "${cpu_kernel}")
  target_link_libraries(${target} PRIVATE mhd_options mhd_mpi)
  target_compile_definitions(${target} PRIVATE MHD_ISA=${isa})
  target_compile_options(${target} PRIVATE ${ARGN} ${kernel_options})
  target_sources(mhd_core PRIVATE $<TARGET_OBJECTS:${target}>)
  set(cpu_kernel_isas ${cpu_kernel_isas} ${isa} PARENT_SCOPE)
endfunction()

if(EXISTS "${cpu_kernel}" AND core_sources)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    mhd_cpu_kernel(baseline -march=x86-64)
    mhd_cpu_kernel(avx2 -march=x86-64-v3)
    mhd_cpu_kernel(avx512 -march=x86-64-v4 -mprefer-vector-width=512)
    target_compile_definitions(mhd_core PUBLIC MHD_X86_DISPATCH=1)
  else()
    mhd_cpu_kernel(baseline)
  endif()
endif()
