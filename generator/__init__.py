"""Makes anycuda's bindings out of the headers of every CUDA toolkit, one stage a module."""
