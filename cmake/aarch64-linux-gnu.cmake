# For another processor than the one that builds: aarch64, with Debian's cross compiler (g++-aarch64-linux-gnu), the
# libraries of a folder that has Debian's packages of arm64 (tools/fetch-arm64), and qemu-user to run what is built.
#
#   cmake -S . -B build/aarch64 --toolchain cmake/aarch64-linux-gnu.cmake -DTASUKI_ARM64_ROOT=FOLDER
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(TASUKI_ARM64_ROOT "" CACHE PATH "a folder with Debian's packages of arm64")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TASUKI_ARM64_ROOT)
set(CMAKE_SYSROOT ${TASUKI_ARM64_ROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${TASUKI_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} "${TASUKI_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${TASUKI_ARM64_ROOT}/usr/share/pkgconfig")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${TASUKI_ARM64_ROOT})
