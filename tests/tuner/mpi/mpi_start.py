# SPDX-License-Identifier: Apache-2.0
"""How an MPI starts more ranks than this machine has cores, for the tests of jobs."""
import os
import subprocess


class Start:
    """environment: of mpirun; options: what precedes its -n."""

    def __init__(self, mpirun):
        self.environment = dict(os.environ)
        for prefix in ("OMPI", "PRTE"):  # a container's only user may be root
            for what in ("_ALLOW_RUN_AS_ROOT", "_ALLOW_RUN_AS_ROOT_CONFIRM"):
                self.environment[prefix + what] = "1"
        self.version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, env=self.environment).stdout
        self.is_open_mpi = "Open MPI" in self.version or "OpenRTE" in self.version  # which its mpiexec calls itself
        if self.is_open_mpi and " 4." in self.version:
            self.options = ["--oversubscribe", "--mca", "btl", "self,vader"]
        elif self.is_open_mpi:
            self.options = ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        else:  # MPICH
            self.options = []
