# The built web pages become part of the library, by .incbin: no compiler parses them.
set(web_dist "${PROJECT_SOURCE_DIR}/web/dist")
configure_file("${PROJECT_SOURCE_DIR}/cmake/bundle.S.in" "${PROJECT_BINARY_DIR}/bundle.S" @ONLY)
enable_language(ASM)
set_source_files_properties("${PROJECT_BINARY_DIR}/bundle.S" PROPERTIES
  OBJECT_DEPENDS "${web_dist}/genscope.html;${web_dist}/live.html" SKIP_PRECOMPILE_HEADERS ON)
target_sources(genscope_report PRIVATE "${PROJECT_BINARY_DIR}/bundle.S")
