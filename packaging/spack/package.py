# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack: a folder packages/pgas/ of a repository of your own, with this file in it, and
# `spack install pgas`.
# Before there is a tarball to fetch, build a working copy: spack dev-build -d CLONE pgas@develop
from spack.package import *

try:  # Spack 1.0 and later; older ones have it in spack.package
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:
    pass


class Pgas(AutotoolsPackage):
    """Thin libfabric provider for PGAS programs, with OpenSHMEM 1.6 and GASNet-1 on top of it."""

    license("BSD-3-Clause AND GPL-2.0-or-later")
    # a release adds: version("0.1.0", sha256="...") and its url, see RELEASING.md
    version("develop")

    variant("pmix", default=True, description="Start under launchers that speak PMIx")
    variant("hwloc", default=True, description="oshrun asks hwloc for cores")
    variant("verbs", default=True, description="Drive RDMA adapters by rdma-core")
    variant("fortran", default=True, description="The Fortran module shmem, and oshfort")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("autoconf@2.69:", type="build")
    depends_on("automake@1.16:", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libfabric@1.17:", type=("build", "link", "run"))
    depends_on("pmix@4:", when="+pmix")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("rdma-core", when="+verbs")

    requires("platform=linux")
    conflicts("%gcc@:10", msg="C++20 as of gcc 11 is needed")

    def configure_args(self):
        spec = self.spec
        args = [f"--with-libfabric={spec['libfabric'].prefix}"]
        for name, package in (("pmix", "pmix"), ("hwloc", "hwloc"), ("verbs", "rdma-core")):
            on = f"+{name}" in spec
            args.append(f"--with-{name}={spec[package].prefix}" if on else f"--without-{name}")
        args.extend(self.enable_or_disable("fortran"))
        return args

    def setup_run_environment(self, env):
        env.prepend_path("FI_PROVIDER_PATH", join_path(self.prefix.lib, "libfabric"))
        env.prepend_path("PYTHONPATH", join_path(self.prefix.lib, "pgas", "python"))
