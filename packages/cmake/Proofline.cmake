# proofline_check(TARGET): building the target `proofline-TARGET` checks the C files of TARGET as one program, or as a library if they have no `main`.
#
#   include(Proofline.cmake)
#   add_executable(server main.c parse.c)
#   proofline_check(server)              # cmake --build build --target proofline-server
#   proofline_check(server --limit 60)   # options of `proofline check` may follow
find_program(PROOFLINE proofline)

function(proofline_check target)
  if(NOT PROOFLINE)
    message(STATUS "proofline was not found: no target proofline-${target}")
    return()
  endif()
  get_target_property(directory ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  set(files "")
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.c$")
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${directory})
      list(APPEND files ${source})
    endif()
  endforeach()
  set(include "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(define "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  add_custom_target(
    proofline-${target}
    COMMAND
      ${PROOFLINE} check ${ARGN} "$<$<BOOL:${include}>:-I$<JOIN:${include},;-I>>" "$<$<BOOL:${define}>:-D$<JOIN:${define},;-D>>" ${files}
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()
