# tests/fuzz/<name>_fuzz.cc -> program <name>_fuzz, seeds in tests/fuzz/corpus/<name>/.
# With GENSCOPE_BUILD_FUZZ a libFuzzer program; otherwise linked with standalone_main.cc,
# and ctest replays the seeds, so that every find once fixed stays fixed.
file(GLOB fuzz_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/*_fuzz.cc")
add_custom_target(fuzzers)
if(NOT GENSCOPE_BUILD_FUZZ)
  add_library(fuzz_main OBJECT "${CMAKE_CURRENT_LIST_DIR}/standalone_main.cc")
  genscope_defaults(fuzz_main)
endif()
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM program)
  string(REGEX REPLACE "_fuzz$" "" name "${program}")
  add_executable(${program} ${source})
  add_dependencies(fuzzers ${program})
  genscope_defaults(${program})
  genscope_internal_includes(${program})
  genscope_program_headers(${program})
  target_link_libraries(${program} PRIVATE
    genscope::genscope fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
  if(GENSCOPE_BUILD_FUZZ)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  else()
    target_link_libraries(${program} PRIVATE fuzz_main)
    # The folder need not exist: the driver always tries the empty input.
    add_test(NAME fuzz.${name} COMMAND ${program} "${CMAKE_CURRENT_LIST_DIR}/corpus/${name}")
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 300 LABELS fuzz)
  endif()
endforeach()
