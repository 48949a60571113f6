# What Tasuki's build needs of Python: the MPI standard in a machine-readable form.
from spack.package import *


class PyPympistandard(PythonPackage):
    """Python API to the MPI Standard."""

    homepage = "https://pypi.org/project/pympistandard/"
    pypi = "pympistandard/pympistandard-0.2.0.tar.gz"
    license("MIT")
    version("0.2.0", sha256="cc7d5aa339289ff8e981dce1af69dbdadde2efb070eab66900d130ddca20fad7")

    depends_on("python@3.8:", type=("build", "run"))
    depends_on("py-pdm-backend", type="build")
