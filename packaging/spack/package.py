# Spack recipe of Sill, built from a checkout: put this file into a repository of your own (spack repo create REPO) as
# packages/sill/package.py, then in the checkout: spack dev-build sill@main ^mpich   (or ^openmpi)
from spack.package import *


class Sill(CMakePackage):
    """Storage under MPI: windows of unmodified MPI programs on files and block devices, behind MPI_Info hints."""

    license("BSD-3-Clause")

    version("main")

    variant("cli", default=True, description="Install the sill command")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("mpi")
    depends_on("tomlplusplus", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("zlib-api")
    depends_on("python@3.9:", type=("build", "run"))
    extends("python", when="+cli")
    depends_on("py-typer@0.12.5:", type="run", when="+cli")
    depends_on("py-rich@13:", type="run", when="+cli")
    depends_on("py-tomli@2:", type="run", when="+cli ^python@:3.10")

    def cmake_args(self):
        return [
            self.define("SILL_TESTS", False),
            self.define("SILL_APPS", False),
            self.define("SILL_WERROR", False),
            self.define("SILL_MPI_ROOTS", self.spec["mpi"].prefix),
        ]

    @run_after("install")
    def install_command(self):
        """The package is plain Python: it is copied, and finds the libraries by SILL_LIBRARY_DIR."""
        if not self.spec.satisfies("+cli"):
            return
        install_tree("python/sill", join_path(python_platlib, "sill"))
        install_tree("bench", join_path(python_platlib, "sill", "bench", "data"))
        mkdirp(self.prefix.bin)
        script = join_path(self.prefix.bin, "sill")
        with open(script, "w") as file:
            file.write(
                f"#!{self.spec['python'].command.path}\nimport sys\n\nfrom sill.cli import main\n\nsys.exit(main())\n"
            )
        set_executable(script)

    def setup_run_environment(self, env):
        libraries = find_libraries("libsill-*", root=self.prefix, shared=True, recursive=True)
        if libraries.directories:
            env.set("SILL_LIBRARY_DIR", libraries.directories[0])
