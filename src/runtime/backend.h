/* The failures of back ends, whose words are kept until the core makes them a failure of a call. */
#ifndef ACU_BACKEND_INTERNAL_H
#define ACU_BACKEND_INTERNAL_H

#include <anycuda/backend.h>

enum { ACU_BACKEND_WORDS = 512 };

/* Writes the words of the thread's last acu_backend_fail() and forgets them, or writes the code's
 * name where the failure had no words. Returns the code, or ACU_ERROR_STATE where it is no
 * acu_result. */
acu_result acu_backend_take_words(acu_result code, char *words, size_t size) ACU_COLD;

/* Records a failure of `call` with these words on an object, whose description may be "". Returns
 * the code as acu_backend_take_words() does. */
acu_result acu_backend_failed(const char *call, const char *object, acu_result code) ACU_COLD;

/* Returns `code`, or where that is 0 though the back end gave no handle, a failure with words for
 * acu_backend_failed(); `what` says of what the handle is. */
acu_result acu_backend_check(acu_result code, const void *handle, const char *what);

#endif
