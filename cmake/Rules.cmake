# The rules of src/advise/rules/*.yaml become constant data of the library.
file(GLOB rule_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/advise/rules/*.yaml")
add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/built_in.cc"
                   COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/rules_to_cc"
                           "${PROJECT_BINARY_DIR}/built_in.cc" ${rule_files}
                   DEPENDS "${PROJECT_SOURCE_DIR}/tools/rules_to_cc" ${rule_files}
                   COMMENT "Rules" VERBATIM)
target_sources(genscope_advise PRIVATE "${PROJECT_BINARY_DIR}/built_in.cc")
