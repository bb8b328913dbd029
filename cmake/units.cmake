# Units of several sources. Most of the time a source takes to compile goes into the JSON, formatting
# and command-line libraries; a unit pays for them once.
#
#   meanwhile_units(VARIABLE)
#
# replaces the sources in VARIABLE by units of at most kUnitSources sources of one folder below
# meanwhile/, or of one learner. Sources named in cmake/alone.txt stay as they are. scripts/check_layers.py reads the units back, so that no
# source falls out of the build, and finds local names that two sources of a folder share.
#
# With MEANWHILE_UNITS=OFF (presets dev and debug) each source is compiled alone: quicker after a
# small change, and a missing include cannot hide behind a neighbour.
set(kUnitSources 24)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/alone.txt)
file(STRINGS cmake/alone.txt kAlone REGEX "^[^#]")

function(meanwhile_units variable)
  set(units "")
  set(alone "")
  foreach(source ${${variable}})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    string(REGEX MATCH "^meanwhile/(learn/[^/]+/|storage/azure/|[^/]+/)" folder ${path})
    set(is_alone OFF)
    foreach(entry ${kAlone})
      string(FIND "${path}" "${entry}" position)
      if(position EQUAL 0)
        set(is_alone ON)
      endif()
    endforeach()
    if(is_alone)
      list(APPEND alone ${source})
      continue()
    endif()
    string(REGEX REPLACE "/" "_" name ${folder})
    list(APPEND sources_${name} ${path})
    list(LENGTH sources_${name} count)
    math(EXPR number "(${count} - 1) / ${kUnitSources}")
    list(APPEND units ${name}${number})
    string(APPEND text_${name}${number} "#include \"${path}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES units)
  set(files "")
  foreach(unit ${units})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/units/${unit}.cc CONTENT "${text_${unit}}" @ONLY)
    list(APPEND files ${PROJECT_BINARY_DIR}/units/${unit}.cc)
    # g++ takes the sources for headers, where a class with a member of an unnamed namespace is wrong.
    set_property(SOURCE ${PROJECT_BINARY_DIR}/units/${unit}.cc APPEND PROPERTY COMPILE_OPTIONS
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endforeach()
  # Units take the longest and come first, so that no core waits for one at the end.
  set(${variable} ${files} ${alone} PARENT_SCOPE)
endfunction()
