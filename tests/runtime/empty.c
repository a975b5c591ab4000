/* A shared object that is no back end. */
extern const int runtime_empty;
const int runtime_empty = 0;
