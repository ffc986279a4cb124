# The double of libnvidia-ml.so.1 (tests/nvml_double): one shared library for each driver level that
# the tests know, in a folder of its own under ${GENSCOPE_NVML_DOUBLE_DIR}, so that the file has the
# name that a loader would look for:
#   <dir>/450/libnvidia-ml.so.1 ... <dir>/580/libnvidia-ml.so.1
# Target nvml_double builds them all.
set(GENSCOPE_NVML_DOUBLE_DIR "${PROJECT_BINARY_DIR}/nvml_double")
set(folder "${PROJECT_SOURCE_DIR}/tests/nvml_double")

# What does not depend on the level is compiled once.
add_library(nvml_double_core OBJECT "${folder}/scenario.cc" "${folder}/guard.cc")
genscope_defaults(nvml_double_core)
set_target_properties(nvml_double_core PROPERTIES CXX_VISIBILITY_PRESET hidden)

add_custom_target(nvml_double)
foreach(level 450 470 510 535 550 580)
  set(library nvml_double_${level})
  add_library(${library} SHARED EXCLUDE_FROM_ALL
    "${folder}/nvml_double.cc" "${folder}/lists.cc" $<TARGET_OBJECTS:nvml_double_core>)
  genscope_defaults(${library})
  target_compile_definitions(${library} PRIVATE NVML_DOUBLE_LEVEL=${level})
  set_target_properties(${library} PROPERTIES
    OUTPUT_NAME nvidia-ml VERSION 1 SOVERSION 1 CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY "${GENSCOPE_NVML_DOUBLE_DIR}/${level}")
  target_link_options(${library} PRIVATE -Wl,-Bsymbolic)  # two levels in one process stay apart
  add_dependencies(nvml_double ${library})
endforeach()

# A test program that needs them; test_paths.h says where they are.
function(genscope_use_nvml_double target)
  if(TARGET ${target})
    add_dependencies(${target} nvml_double)
  endif()
endfunction()
