/* The folders of the packages of the Python interpreter that runs this process. */
#ifndef ACU_LOADER_PYTHON_H
#define ACU_LOADER_PYTHON_H

#include "loader/platform.h"

/* Visits each folder in which the interpreter looks for installed packages; not all exist. Returns
 * false where no interpreter runs, or where the program is setuid. */
bool acu_python_packages(acu_visit *visit, void *data);

#endif
