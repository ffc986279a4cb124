# The library: all modules in one archive (or one shared object, with BUILD_SHARED_LIBS).
get_property(object_libraries GLOBAL PROPERTY GENSCOPE_OBJECT_LIBRARIES)
get_property(link_libraries GLOBAL PROPERTY GENSCOPE_LINK)
if(GENSCOPE_HEADER_ONLY AND link_libraries)
  list(REMOVE_ITEM link_libraries ${GENSCOPE_HEADER_ONLY})
endif()
list(REMOVE_DUPLICATES link_libraries)

add_library(genscope)
add_library(genscope::genscope ALIAS genscope)
genscope_defaults(genscope)
foreach(object_library IN LISTS object_libraries)
  target_sources(genscope PRIVATE $<TARGET_OBJECTS:${object_library}>)
endforeach()
if(NOT object_libraries)  # CMake wants one source, even before the first module exists
  file(CONFIGURE OUTPUT empty.cc CONTENT "namespace genscope {}\n")
  target_sources(genscope PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/empty.cc")
endif()

target_include_directories(genscope PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(genscope PUBLIC cxx_std_20)
target_link_libraries(genscope PRIVATE ${link_libraries})
set_target_properties(genscope PROPERTIES
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})  # 0.x: a minor may break the ABI

# Threads of ours may run destructors of thread_local objects after a dlclose: stay mapped.
get_target_property(type genscope TYPE)
if(type STREQUAL "SHARED_LIBRARY")
  target_link_options(genscope PRIVATE -Wl,-z,nodelete)
else()
  # src/probe/start_sampling.cc registers itself; from an archive it comes only if it is asked for.
  target_link_options(genscope INTERFACE "LINKER:-u,genscope_link_probes")
endif()
