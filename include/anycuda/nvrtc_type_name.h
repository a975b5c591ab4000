/*
 * nvrtcGetTypeName() of CUDA's <nvrtc.h> for C++, which spells a type as NVRTC does, for the names
 * of a template's kernels. As in CUDA, a program defines NVRTC_GET_TYPE_NAME to have it.
 */
#ifndef ACU_NVRTC_TYPE_NAME_H
#define ACU_NVRTC_TYPE_NAME_H

#include <anycuda/nvrtc.h>

#if defined(__cplusplus) && defined(NVRTC_GET_TYPE_NAME) && defined(ACU_NVRTC_TYPES_H)
#if NVRTC_GET_TYPE_NAME

#include <cxxabi.h>

#include <cstdlib>
#include <string>
#include <typeinfo>

static inline nvrtcResult nvrtcGetTypeName(const std::type_info &type, std::string *result) {
    int status = 0;
    char *name = abi::__cxa_demangle(type.name(), 0, 0, &status);
    if (status)
        return NVRTC_ERROR_INTERNAL_ERROR;
    *result = name;
    std::free(name);
    return NVRTC_SUCCESS;
}

/* A template's argument keeps what typeid drops of a type: references, and const of the whole. */
template <class T> struct acu_type_of {};

template <class T> static inline nvrtcResult nvrtcGetTypeName(std::string *result) {
    std::string whole;
    const nvrtcResult failed = nvrtcGetTypeName(typeid(acu_type_of<T>), &whole);
    if (failed)
        return failed;
    const std::string::size_type first = whole.find('<') + 1;
    *result = whole.substr(first, whole.rfind('>') - first);
    return NVRTC_SUCCESS;
}

#endif
#endif
#endif
