# The command: src/cli/*.cc, thin over the public API. Everything but main.cc is an
# object library, so that src/cli/*_test.cc can link it.
file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cc")
set(cli_tests ${cli_sources})
list(FILTER cli_tests INCLUDE REGEX "_test\\.cc$")
list(FILTER cli_sources EXCLUDE REGEX "_test\\.cc$")
set(cli_main "${PROJECT_SOURCE_DIR}/src/cli/main.cc")
if(NOT cli_main IN_LIST cli_sources)
  return()
endif()
list(REMOVE_ITEM cli_sources "${cli_main}")

add_executable(genscope_cli "${cli_main}")
set_target_properties(genscope_cli PROPERTIES OUTPUT_NAME genscope)
get_target_property(library_type genscope TYPE)
if(library_type STREQUAL "SHARED_LIBRARY")
  # The same path in the build tree and installed. CMake would otherwise keep room for the installed one with
  # empty entries, and the loader takes each of them for the current folder.
  set(library_paths "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN/../lib")
  list(REMOVE_DUPLICATES library_paths)
  set_target_properties(genscope_cli PROPERTIES INSTALL_RPATH "${library_paths}" BUILD_WITH_INSTALL_RPATH ON)
endif()
set(cli_targets genscope_cli)
if(cli_sources)
  add_library(genscope_cli_objects OBJECT ${cli_sources})
  target_link_libraries(genscope_cli PRIVATE genscope_cli_objects)
  list(APPEND cli_targets genscope_cli_objects)
endif()
# Not CLI11's header precompiled: each file that does not need it would take 5 s longer.
foreach(target IN LISTS cli_targets)
  genscope_defaults(${target})
  genscope_internal_includes(${target})
  target_link_libraries(${target} PRIVATE
    genscope CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
endforeach()
if(TARGET genscope_cli_objects)
  genscope_unity(genscope_cli_objects)
  genscope_common_headers(genscope_cli_objects COLD)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(genscope_cli_objects PRIVATE -Wno-stringop-overflow)  # as in Module.cmake
  endif()
endif()

if(cli_tests AND GENSCOPE_BUILD_TESTS)
  genscope_gtest(cli_test PREFIX cli SOURCES ${cli_tests}
    LINK $<TARGET_NAME_IF_EXISTS:genscope_cli_objects> genscope CLI11::CLI11 fmt::fmt
         nlohmann_json::nlohmann_json)
endif()
