"""How kernels are loaded, compiled and cached."""
