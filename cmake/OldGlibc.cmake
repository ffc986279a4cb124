# What goes into a wheel: the command and the Python modules once more, linked so that they run with glibc 2.28 and later
# wherever this is built. Their objects are those of genscope_cli and genscope_python; libstdc++ and every library that is
# not part of a bare system are archives, and old_glibc.c stands before functions that are newer.
#
# Target genscope_wheel, in no other: tools/wheel builds it. Without the archives (or for a sanitizer) there is no such target, and a
# wheel is for systems as new as this one.
set(GENSCOPE_OLD_GLIBC OFF CACHE INTERNAL "Whether genscope_wheel can be built")
if(NOT TARGET genscope_python OR NOT TARGET genscope_cli OR GENSCOPE_SANITIZE OR BUILD_SHARED_LIBS
   OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
  return()
endif()

set(archives "")
foreach(name zstd yaml-cpp z sqlite3 ssl crypto)  # in the order in which they need each other
  find_library(GENSCOPE_ARCHIVE_${name} NAMES lib${name}.a)
  mark_as_advanced(GENSCOPE_ARCHIVE_${name})
  if(NOT GENSCOPE_ARCHIVE_${name})
    message(STATUS "No lib${name}.a: a wheel will need a system as new as this one")
    return()
  endif()
  list(APPEND archives "${GENSCOPE_ARCHIVE_${name}}")
endforeach()

set(sources "${PROJECT_SOURCE_DIR}/cmake/old_glibc/old_glibc.c" "${PROJECT_SOURCE_DIR}/cmake/old_glibc/fmt.cc")
add_library(genscope_wheel_module MODULE EXCLUDE_FROM_ALL ${sources} $<TARGET_OBJECTS:genscope_python>)
get_target_property(name genscope_python SUFFIX)
set_target_properties(genscope_wheel_module PROPERTIES OUTPUT_NAME _core PREFIX "" SUFFIX "${name}")
target_link_options(genscope_wheel_module PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,nodelete)

add_executable(genscope_wheel_command EXCLUDE_FROM_ALL ${sources}
  $<TARGET_OBJECTS:genscope_cli> $<TARGET_OBJECTS:genscope_cli_objects>)
target_compile_definitions(genscope_wheel_command PRIVATE OLD_GLIBC_PROGRAM)
set_target_properties(genscope_wheel_command PROPERTIES OUTPUT_NAME genscope)

foreach(target genscope_wheel_module genscope_wheel_command)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/wheel" RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/wheel")
  target_compile_features(${target} PRIVATE cxx_std_20)
  add_dependencies(${target} genscope)
  # libpthread and libdl are empty since 2.34; before, what is now libc's was in them.
  target_link_libraries(${target} PRIVATE $<TARGET_FILE:genscope> ${archives} -static-libstdc++
    -Wl,-u,genscope_link_probes -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2)
endforeach()
set(wheel_targets genscope_wheel_module genscope_wheel_command)
if(TARGET genscope_later)
  list(APPEND wheel_targets genscope_wheel_later)
  add_library(genscope_wheel_later MODULE EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/old_glibc/old_glibc.c"
    "${PROJECT_SOURCE_DIR}/python/later/later.cc")
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS SUFFIX)
    get_target_property(value genscope_later ${property})
    set_target_properties(genscope_wheel_later PROPERTIES ${property} "${value}")
  endforeach()
  set_target_properties(genscope_wheel_later PROPERTIES OUTPUT_NAME _later PREFIX "" CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/wheel")
  target_compile_features(genscope_wheel_later PRIVATE cxx_std_20)
  target_link_options(genscope_wheel_later PRIVATE -Wl,-z,nodelete)
  target_link_libraries(genscope_wheel_later PRIVATE -static-libstdc++ -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2)
endif()
add_custom_target(genscope_wheel DEPENDS ${wheel_targets})
set(GENSCOPE_OLD_GLIBC ON CACHE INTERNAL "Whether genscope_wheel can be built")
