# cmake -D MODE=installed|subdirectory ... -P check.cmake   (see tests/CMakeLists.txt)
#   installed     install genscope into a fresh prefix, then configure, build and run the
#                 consumer against that prefix
#   subdirectory  the consumer embeds the sources: it configures, compiles, and so do the modules that it
#                 records with: each file alone and without precompiled headers, so that a forgotten
#                 include is found. The others would take five minutes more: tools/tidy looks at them in
#                 this way; linking is what `installed` tries.
set(work "${GENSCOPE_BINARY_DIR}/consumer/${MODE}")
set(arguments -G "${GENERATOR}" -D CMAKE_C_COMPILER=${C_COMPILER}
    -D CMAKE_CXX_COMPILER=${CXX_COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(MODE STREQUAL "installed")
  file(REMOVE_RECURSE "${work}")
  run(${CMAKE_COMMAND} --install "${GENSCOPE_BINARY_DIR}" --prefix "${work}/prefix")
  file(GLOB_RECURSE installed "${work}/prefix/bin/*" "${work}/prefix/lib*/*.so*")
  if(installed)
    run("${PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/../integration/loader_paths.py" ${installed})
  endif()
  list(APPEND arguments -D CMAKE_PREFIX_PATH=${work}/prefix)
else()
  # Kept between runs, and through the compiler cache.
  list(APPEND arguments -D GENSCOPE_SOURCE_DIR=${GENSCOPE_SOURCE_DIR}
       -D GENSCOPE_UNITY=OFF -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0 -D CMAKE_C_FLAGS_DEBUG=-O0)
  if(LAUNCHER)
    list(APPEND arguments -D CMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}
         -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
  endif()
endif()

run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/build" ${arguments})
if(MODE STREQUAL "subdirectory")
  run(${CMAKE_COMMAND} --build "${work}/build" --target consumer_compiles genscope_base genscope_config
      genscope_trace genscope_record)
  return()
endif()
run(${CMAKE_COMMAND} --build "${work}/build" --target consumer)
set(ENV{GENSCOPE_OUT} "${work}/runs")
run("${work}/build/consumer")
