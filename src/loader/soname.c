#include "loader/soname.h"

#include <stdio.h>
#include <string.h>

const char *acu_soname_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *acu_soname_parse(const char *stem, const char *name, int numbers[3]) {
    size_t length = strlen(stem);
    numbers[0] = numbers[1] = numbers[2] = -1;
    if (strncmp(name, stem, length) != 0)
        return NULL;
    name += length;
    if (*name == '-' && strspn(name + 1, "0123456789abcdef") == 8)
        name += 9;
    if (strncmp(name, ".so", 3) != 0)
        return NULL;
    const char *at = name + 3;
    for (int i = 0; i < 3 && *at == '.'; i++) {
        const char *first = ++at;
        for (numbers[i] = 0; *at >= '0' && *at <= '9' && numbers[i] <= 999999; at++)
            numbers[i] = numbers[i] * 10 + (*at - '0');
        if (at == first || numbers[i] > 999999)
            return NULL;
    }
    return *at ? NULL : name;
}

bool acu_soname_is_name(const acu_library_info *info, const char *path) {
    for (const char *const *name = info->sonames; *name; name++)
        if (strcmp(*name, acu_soname_base(path)) == 0)
            return true;
    return false;
}

void acu_soname_list(const acu_library_info *info, char *list, size_t size) {
    size_t used = 0;
    for (const char *const *name = info->sonames; *name && used < size; name++)
        used += (size_t)snprintf(list + used, size - used, "%s%s",
                                 name == info->sonames ? ""
                                 : name[1]             ? ", "
                                                       : " or ",
                                 *name);
}

bool acu_soname_is_known(const acu_library_info *info, const char *from_so) {
    for (const char *const *name = info->sonames; *name; name++)
        if (strcmp(*name + strlen(info->name), from_so) == 0)
            return true;
    return false;
}
