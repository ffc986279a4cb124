# Every third-party package the library itself uses. All are private: none appears in
# a public header. GLOBAL, because a parent project that embeds us links our static
# archive, and so must see the targets the archive refers to.
#
#   genscope_find(<package> [<version>])          links into the archive: consumers find it too
#   genscope_find(<package> [<version>] PRIVATE)  header only: consumers need not have it
set(GENSCOPE_FIND_DEPENDENCIES "")  # lines of genscopeConfig.cmake

macro(genscope_find package)
  cmake_parse_arguments(_find "PRIVATE" "" "" ${ARGN})
  find_package(${package} ${_find_UNPARSED_ARGUMENTS} REQUIRED GLOBAL)
  if(NOT _find_PRIVATE)
    string(APPEND GENSCOPE_FIND_DEPENDENCIES
           "find_dependency(${package} ${_find_UNPARSED_ARGUMENTS})\n")
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
genscope_find(Threads)
genscope_find(fmt)
genscope_find(yaml-cpp)
genscope_find(ZLIB)
genscope_find(SQLite3)
genscope_find(OpenSSL)
genscope_find(nlohmann_json PRIVATE)
genscope_find(Boost 1.74 PRIVATE)  # Asio and Beast: headers
# zstd is linked by plain name, for not every system has a CMake package of it; xxhash is
# used header only (XXH_INLINE_ALL).

# Targets without a binary: their headers are needed while we compile, but the archive
# must not drag them into the exported link line.
set(GENSCOPE_HEADER_ONLY nlohmann_json::nlohmann_json)

if(GENSCOPE_BUILD_CLI)
  find_package(CLI11 REQUIRED)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)  # tools/rules_to_cc, and the tests
if(GENSCOPE_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
