# The functions with which every target of ours is made.

# genscope_unity(<target> [batch]): compile its files joined, sixteen at a time. Most of a build is
# headers, parsed anew for each file: joined, a clean build takes a third of the time, and a changed
# file still rebuilds in seconds. Names in anonymous namespaces must differ within a module.
# GENSCOPE_UNITY=OFF compiles each file alone: tools/tidy looks at those commands.
function(genscope_unity target)
  if(NOT GENSCOPE_UNITY)
    return()
  endif()
  set(batch 16)
  if(ARGC GREATER 1)
    set(batch ${ARGV1})
  endif()
  # The same batches in every preset: names that clash do so in the daily build.
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes a joined file for a header, where a type with an anonymous member would be wrong.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

# genscope_defaults(<target>): C++20, position independent, our warnings.
function(genscope_defaults target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF CXX_STANDARD_REQUIRED ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${GENSCOPE_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -Wno-sign-conversion)  # of -Wconversion, in g++ apart
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 accuses std::string's own operator+ (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
endfunction()

# genscope_internal_includes(<target>): "base/x.h" and <genscope/x.h> resolve.
function(genscope_internal_includes target)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
endfunction()

# genscope_common_headers(<target> [COLD]): the standard headers that most of our files include, parsed
# once for all object libraries. For our own builds only: what a file needs it still includes itself, and
# tests/consumer builds without this, so that a forgotten include is found.
#
# Only headers of others belong here. A compiler cache may hand out a precompiled header that was made
# before a comment in one of its files changed, and g++ then no longer knows the file by `#pragma once`.
#
# COLD: code that runs once per command or waits for others. Users get it with -O1 instead of -O3: it
# compiles in two thirds of the time. The presets for tests have it without optimization: half of the time.
function(genscope_common_headers target)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  set(owner common_headers)
  set(optimize "")
  if("COLD" IN_LIST ARGN AND GENSCOPE_COLD_OPTIMIZE)
    set(owner common_headers_cold)
    set(optimize ${GENSCOPE_COLD_OPTIMIZE})
  endif()
  set(watched "")
  if(GENSCOPE_BUILD_FUZZ)
    set(watched -fsanitize=fuzzer-no-link)  # fuzzers see which branches of ours an input takes
  endif()
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${owner}.cc" CONTENT "\n")
    add_library(${owner} OBJECT "${PROJECT_BINARY_DIR}/${owner}.cc")
    genscope_defaults(${owner})
    target_compile_options(${owner} PRIVATE ${optimize} ${watched})
    target_link_libraries(${owner} PRIVATE fmt::fmt)
    target_precompile_headers(${owner} PRIVATE
      <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fmt/format.h> <functional> <map>
      <memory> <mutex> <optional> <span> <string> <string_view> <utility> <variant> <vector>)
  endif()
  target_compile_options(${target} PRIVATE ${optimize} ${watched})
  target_precompile_headers(${target} REUSE_FROM ${owner})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-array-bounds)  # the same bug, seen through the header
  endif()
endfunction()

# genscope_program_headers(<target>): the standard headers for small programs (benchmarks, fuzzers, helpers
# of tests), parsed once. Nothing of fmt: not all of them link it, and its macros must then be the same.
function(genscope_program_headers target)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  if(NOT TARGET program_headers)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/program_headers.cc" CONTENT "int main() {}\n")
    add_executable(program_headers "${PROJECT_BINARY_DIR}/program_headers.cc")
    genscope_defaults(program_headers)
    target_precompile_headers(program_headers PRIVATE
      <algorithm> <array> <chrono> <cstdint> <cstdio> <filesystem> <functional> <map> <memory> <optional>
      <span> <string> <string_view> <thread> <utility> <variant> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM program_headers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)  # as above
  endif()
endfunction()

# genscope_gtest_headers(<target>): gtest and what tests mostly include, parsed once for all test
# programs instead of once per file: a third of a clean build. The first call makes the owner, an
# executable because a precompiled header is for -fPIE or -fPIC, not for both.
function(genscope_gtest_headers target)
  if(NOT TARGET gtest_headers)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/gtest_headers.cc" CONTENT "int main() {}\n")
    add_executable(gtest_headers "${PROJECT_BINARY_DIR}/gtest_headers.cc")
    genscope_defaults(gtest_headers)
    target_compile_options(gtest_headers PRIVATE -O0)
    target_link_libraries(gtest_headers PRIVATE GTest::gmock)
    target_precompile_headers(gtest_headers PRIVATE
      <gmock/gmock.h> <gtest/gtest.h> <algorithm> <array> <filesystem> <fstream> <functional> <map>
      <optional> <span> <sstream> <string> <string_view> <vector>)
  endif()
  # What is tested is optimized; the tests themselves compile in half the time without.
  target_compile_options(${target} PRIVATE -O0)
  target_precompile_headers(${target} REUSE_FROM gtest_headers)
endfunction()

# Paths that tests need, in a header and not on the command line: a compiler cache then shares the
# objects of all who do not include it between checkouts.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/testing/test_paths.h" CONTENT [[
#pragma once
#define GENSCOPE_SOURCE_DIR "@PROJECT_SOURCE_DIR@"
#define GENSCOPE_BIN_DIR "@PROJECT_BINARY_DIR@/bin"
#define GENSCOPE_HELPER_DIR "@PROJECT_BINARY_DIR@/tests/helpers"
#define GENSCOPE_NVML_DOUBLE_DIR "@PROJECT_BINARY_DIR@/nvml_double"
#define GENSCOPE_DRIVER_DOUBLE_DIR "@PROJECT_BINARY_DIR@/driver_double"
]] @ONLY)

# genscope_gtest(<target> PREFIX <prefix> SOURCES <files> [LINK <libs>])
# A gtest program whose cases ctest knows as <prefix>.Suite.Case, labelled <prefix>.
# Cases are listed when ctest starts, not when the program is linked.
function(genscope_gtest target)
  include(GoogleTest)
  cmake_parse_arguments(arg "" "PREFIX" "SOURCES;LINK" ${ARGN})
  add_executable(${target} ${arg_SOURCES})
  genscope_defaults(${target})
  genscope_internal_includes(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/testing")  # test_paths.h
  target_link_libraries(${target} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)  # as above
  endif()
  genscope_gtest_headers(${target})
  genscope_unity(${target} 8)  # gtest's macros compile slowly
  if(TARGET genscope_testing)
    target_link_libraries(${target} PRIVATE genscope_testing)
  endif()
  gtest_discover_tests(${target}
    TEST_PREFIX "${arg_PREFIX}."
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 LABELS "${arg_PREFIX}"
               ENVIRONMENT "GENSCOPE_OUT=${PROJECT_BINARY_DIR}/test-runs")
endfunction()

# genscope_module(<name> [TEST_ONLY] [PURE] [BYTES] [COLD] [DEPS <modules>] [PORTS <modules>] [LINK <third-party libs>])
# Folder src/<name>: object library genscope_<name> from its *.cc, and with tests on
# the program <name>_test from its *_test.cc. Adds to two global lists:
#   GENSCOPE_OBJECT_LIBRARIES  what the library genscope is made of
#   GENSCOPE_LINK              what it links
# PURE: no thread and nothing shared, so that its tests are not built for ThreadSanitizer.
# BYTES: reads what others wrote; UBSan looks at the alignment of its accesses and at sums of pointers.
# COLD: see genscope_common_headers.
# TEST_ONLY: not part of the library. DEPS that do not exist are ignored. PORTS implement an interface of
# DEPS for this module and register themselves: linked with its tests, never included.
function(genscope_module name)
  cmake_parse_arguments(arg "TEST_ONLY;PURE;BYTES;COLD" "" "DEPS;PORTS;LINK" ${ARGN})
  set(folder "${PROJECT_SOURCE_DIR}/src/${name}")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${folder}/*.h")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cc")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  if(NOT headers AND NOT sources AND NOT tests)
    return()
  endif()

  set(library genscope_${name})
  if(sources)
    add_library(${library} OBJECT ${sources} ${headers})
    genscope_defaults(${library})
    genscope_internal_includes(${library})
    genscope_unity(${library})
    if(arg_COLD AND NOT (arg_BYTES AND GENSCOPE_SANITIZE))  # fuzzers try fewer inputs without optimization
      genscope_common_headers(${library} COLD)
    elseif(NOT arg_TEST_ONLY)
      genscope_common_headers(${library})
    endif()
    if(arg_BYTES AND GENSCOPE_SANITIZE MATCHES "undefined")
      target_compile_options(${library} PRIVATE -fsanitize=alignment,pointer-overflow)
    endif()
    target_link_libraries(${library} PUBLIC ${arg_LINK})
    foreach(dep IN LISTS arg_DEPS)  # the headers of what a dependency links
      get_property(link GLOBAL PROPERTY GENSCOPE_LINK_${dep})
      target_link_libraries(${library} PUBLIC ${link})
    endforeach()
    if(NOT arg_TEST_ONLY)
      set_property(GLOBAL APPEND PROPERTY GENSCOPE_OBJECT_LIBRARIES ${library})
      set_property(GLOBAL APPEND PROPERTY GENSCOPE_LINK ${arg_LINK})
    endif()
  endif()
  set_property(GLOBAL PROPERTY GENSCOPE_LINK_${name} ${arg_LINK})

  # Objects do not travel through target_link_libraries, so a test lists the closure.
  set(closure "")
  foreach(dep IN LISTS arg_DEPS)
    get_property(dep_closure GLOBAL PROPERTY GENSCOPE_CLOSURE_${dep})
    list(APPEND closure ${dep_closure})
  endforeach()
  if(sources)
    list(APPEND closure ${library})
  endif()
  foreach(port IN LISTS arg_PORTS)  # may be made later than this one
    list(APPEND closure genscope_${port})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set_property(GLOBAL PROPERTY GENSCOPE_CLOSURE_${name} "${closure}")

  if(arg_PURE AND GENSCOPE_SANITIZE MATCHES "thread")
    return()
  endif()
  if(tests AND GENSCOPE_BUILD_TESTS)
    genscope_gtest(${name}_test PREFIX ${name} SOURCES ${tests} LINK ${closure} ${arg_LINK})
  endif()
endfunction()
