# A recipe for Spack: `spack repo add packaging/spack && spack install tasuki`. It builds what this clone has
# committed.
import pathlib

from spack.package import *


class Tasuki(CMakePackage):
    """An MPI library for many-core nodes: the MPI-5.0 standard ABI and the MPICH ABI over one core, and tools
    that measure, model and explain what it does."""

    git = pathlib.Path(__file__).resolve().parents[4].as_uri()
    license("BSD-3-Clause")
    version("main", branch="main")

    variant("fabric", default=True, description="Sends between hosts over libfabric")
    variant("pmix", default=True, description="Joins the jobs of launchers that speak PMIx")
    variant("uring", default=True, description="Moves files by io_uring where the kernel has it")
    variant("spam", default=False, description="Builds SPAM, the reference application")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")  # what mpifort calls
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-pympistandard@0.2.0", type="build")  # bindgen makes sources of it
    depends_on("mimalloc@2.0.9:2", type=("link", "run"))  # opened when a job begins, and found by the RPATH
    depends_on("elfutils@0.170:")
    depends_on("libfabric@1.17:", when="+fabric")
    depends_on("pmix@4:", when="+pmix")
    depends_on("liburing@2.2:", when="+uring")
    with when("+spam"):
        depends_on("cli11")
        depends_on("fmt")
        depends_on("hdf5+hl~mpi")
        depends_on("nlohmann-json")
        depends_on("tomlplusplus")

    requires("%gcc@11:", "%clang@14:", policy="one_of", msg="C++20 is needed")
    conflicts("platform=darwin")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            self.define("TASUKI_BUILD_TESTS", False),
            self.define("TASUKI_PYTHON", self.spec["python"].command.path),
            self.define("Python3_EXECUTABLE", self.spec["python"].command.path),
            self.define("TASUKI_WRAPPER_CC", self.compiler.cc),
            self.define("TASUKI_WRAPPER_CXX", self.compiler.cxx),
            self.define("TASUKI_WRAPPER_FC", self.compiler.fc or "gfortran"),
            self.define_from_variant("TASUKI_WITH_FABRIC", "fabric"),
            self.define_from_variant("TASUKI_WITH_PMIX", "pmix"),
            self.define_from_variant("TASUKI_WITH_URING", "uring"),
            self.define_from_variant("TASUKI_SPAM", "spam"),
        ]

    def setup_run_environment(self, env):
        for name, wrapper in self.wrappers().items():
            env.set(name, wrapper)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)

    def setup_dependent_package(self, module, dependent_spec):
        wrappers = self.wrappers()
        self.spec.mpicc = wrappers["MPICC"]
        self.spec.mpicxx = wrappers["MPICXX"]
        self.spec.mpif77 = wrappers["MPIF77"]
        self.spec.mpifc = wrappers["MPIF90"]

    def wrappers(self):
        """The names of their variables, and where they are."""
        commands = {"MPICC": "mpicc", "MPICXX": "mpicxx", "MPIF77": "mpif77", "MPIF90": "mpif90"}
        return {name: str(self.prefix.bin.join(command)) for name, command in commands.items()}
