if(MSVC)
add_compile_options(/W4)
endif()
