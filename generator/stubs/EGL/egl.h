/* The EGL names that CUDA's interop headers mention. */
typedef int EGLint;
