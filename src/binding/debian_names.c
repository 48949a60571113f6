// libmpich.so.12 and libmpichfort.so.12: the names under which programs built with Debian's MPICH ask for the
// libraries of the MPICH ABI. Nothing is in them: they need libmpi.so.12 and libmpifort.so.12 beside them,
// where the dynamic linker finds every symbol. They are libraries and no links, since a Python wheel has no
// links, and a copy of libmpi.so.12 could become a second library in a program that asks for both names.
