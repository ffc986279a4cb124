# Settings that would be rude to impose on a project that embeds us.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(cold -O1)
endif()
set(GENSCOPE_COLD_OPTIMIZE "${cold}" CACHE STRING "How code that runs once per command is optimized, if not like the rest")

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # tools/tidy reads it
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

find_program(GENSCOPE_CCACHE ccache)
if(GENSCOPE_CCACHE)
  foreach(lang C CXX)
    if(NOT DEFINED CMAKE_${lang}_COMPILER_LAUNCHER)
      set(CMAKE_${lang}_COMPILER_LAUNCHER "${GENSCOPE_CCACHE}")
    endif()
  endforeach()
endif()

# The quickest linker that is there: a hundred programs are linked in a clean build of the tests.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
  find_program(GENSCOPE_LINKER NAMES mold ld.lld)
  if(GENSCOPE_LINKER MATCHES "/mold$")
    add_link_options(-fuse-ld=mold)
  elseif(GENSCOPE_LINKER)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # ccache needs it
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_definitions(FMT_CONSTEVAL=)  # every other build checks format strings while it compiles
endif()

if(GENSCOPE_SANITIZE)
  add_compile_options(-fsanitize=${GENSCOPE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GENSCOPE_SANITIZE})
  if(GENSCOPE_SANITIZE MATCHES "undefined")
    # Half of the time to compile, for little: a null pointer faults by itself, asan knows the size of
    # an object, and alignment and sums of pointers matter where bytes are read (BYTES in
    # genscope_module).
    add_compile_options(-fno-sanitize=null,alignment,vptr,object-size,pointer-overflow)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # A driver's C functions are called by declarations of ours; and clang 14 cannot compile coroutines
      # with it ("Cannot represent a difference across sections").
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND GENSCOPE_SANITIZE MATCHES "address")
    add_compile_definitions(__SANITIZE_ADDRESS__=1)  # as g++ says it, and our code asks
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code confuses g++ 12's flow analysis; and its warning that tsan
    # does not model fences should be seen, but is no error.
    add_compile_options(-Wno-maybe-uninitialized)
    if(GENSCOPE_SANITIZE MATCHES "thread")
      add_compile_options(-Wno-error=tsan)
    endif()
  endif()
endif()
