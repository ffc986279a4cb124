# `cmake --install`: headers, library, command, and the package that
# find_package(genscope) reads.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/genscope")

install(TARGETS genscope EXPORT genscopeTargets)
if(TARGET genscope_cli)
  install(TARGETS genscope_cli)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/genscope"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_BINARY_DIR}/include/genscope/version.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/genscope")

install(EXPORT genscopeTargets NAMESPACE genscope:: DESTINATION "${package_dir}")
if(BUILD_SHARED_LIBS)
  set(GENSCOPE_FIND_DEPENDENCIES "")  # a shared object brings its own
endif()
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/genscopeConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/genscopeConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/genscopeConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/genscopeConfig.cmake"
              "${PROJECT_BINARY_DIR}/genscopeConfigVersion.cmake"
        DESTINATION "${package_dir}")
