include examples/heat/local.mk
