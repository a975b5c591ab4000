/* Compiling CUDA C++ source into a module. */
#include "safe/kernel/module.h"

const char *acu_module_compile_log(void) {
    return acu_code_kept_log();
}

acu_result acu_module_compile(acu_device device, const acu_module_program *program,
                              acu_module **module) {
    ACU_SCOPE();
    acu_code *code = NULL;
    ACU_NEED_POINTER(module);
    *module = NULL;
    ACU_NEED_POINTER(program);
    acu_destroy_deferred();
    acu_code_keep_log(NULL);
    ACU_REQUIRE(program->text, ACU_ERROR_ARGUMENT, "'program->text' is NULL");
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(acu_code_build(__func__, device, program, &code));
    int failed = acu_module_load_code(__func__, device, code, &program->jit, module);
    (void)acu_object_release(NULL, code, &acu_code_class);
    return failed;
}
