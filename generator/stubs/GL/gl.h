/* The OpenGL names that CUDA's interop headers mention. */
#ifndef ANYCUDA_STUB_GL_H
#define ANYCUDA_STUB_GL_H
#define GL_VERSION 0x1F02 /* on Arm the interop header insists on finding it */
typedef unsigned int GLenum;
typedef unsigned int GLuint;
#endif
