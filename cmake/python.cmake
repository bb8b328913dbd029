# The Python module meanwhile._native: the library and the program in one shared object.
#
# Hidden symbols keep code of a shared object from looking up its own functions and data.
set_target_properties(meanwhile_lib meanwhile_cli PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
# The linker leaves out what nothing calls.
foreach(target meanwhile_lib meanwhile_cli)
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
endforeach()

# scikit-build-core says which interface it is built for: with SKBUILD_SABI_COMPONENT one module serves
# every Python from 3.12 on. Without that component nanobind would make a module for one version, and
# the wheel would claim otherwise.
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_native STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS ${python_sources})
target_link_libraries(_native PRIVATE meanwhile_cli meanwhile_lib meanwhile_flags)
# The standard library is linked in, so that the module runs where that of the system is older; none of
# its symbols meets those of another copy. libgcc is not: from that of Debian 12 on, it needs glibc 2.35.
target_link_options(_native PRIVATE -static-libstdc++ LINKER:--exclude-libs,ALL LINKER:--as-needed
  LINKER:--gc-sections)
install(TARGETS _native LIBRARY DESTINATION meanwhile COMPONENT python)
