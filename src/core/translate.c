#include "core/translate.h"

#include "core/record.h"
#include "loader/library.h"

int acu_translate_result(const acu_library *library, int result) {
    return library->translate ? library->translate(result) : result;
}

int acu_translate_driver_error(int result) {
    return acu_record_recode(result, acu_translate_result(&acu_cuda, result));
}

int acu_translate_nvrtc(int result) {
    return acu_record_recode(result, acu_translate_result(&acu_nvrtc, result));
}
