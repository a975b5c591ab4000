/* The EGL extension handles that CUDA's interop headers mention. */
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
