# cmake -DNM=… -DLIBRARY=… -P exports.cmake: CUDA's names, the simulator's own, and nothing else.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" text "${text}")
string(REPLACE "\n" ";" lines "${text}")
list(LENGTH lines count)
if(count LESS 400)
    message(FATAL_ERROR "${count} symbols only")
endif()
list(FILTER lines EXCLUDE REGEX " ((__)?cu(da)?[A-Z][A-Za-z0-9]*(_v[0-9])?(_pts?d?[sz])?@@libcudart\\.so\\.13|libcudart\\.so\\.13)$")
if(NOT text MATCHES " cuInit@@")
    message(FATAL_ERROR "the functions of libcuda are missing")
endif()
# Numba takes the driver's linker where a library has no functions of nvJitLink's (docs/users/python.md).
if(text MATCHES " nvJitLink")
    message(FATAL_ERROR "there are functions of nvJitLink's")
endif()
# A source that CMakeLists.txt forgot in sim_exporting would take its functions out of the library.
foreach(name abi at current_graph damages fault findings graphics_create graphics_destroy graphics_make_current graphics_read
        graphics_write last_finding launch_graph leaks log memory_export multicast_at profile_get profile_reset register reset semaphore_create semaphore_destroy
        semaphore_export semaphore_signal semaphore_value set_conditional set_node_enabled set_node_grid set_node_param
        stopped stopped_memory surface_read surface_write texture_fetch texture_gather texture_sample texture_sample_grad
        texture_sample_level)
    set(symbol "acu_sim_${name}@@libcudart.so.13")
    if(NOT lines MATCHES " ${symbol}(;|$)")
        message(FATAL_ERROR "${symbol} is missing")
    endif()
    list(FILTER lines EXCLUDE REGEX " ${symbol}$")
endforeach()
if(lines)
    message(FATAL_ERROR "what nobody should see: ${lines}")
endif()
