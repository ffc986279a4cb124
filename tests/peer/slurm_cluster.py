"""Four virtual Slurm nodes on this machine, for tests: `with Cluster() as cluster`.

Debian's slurm-wlm can run several slurmd on one host. No systemd, no control groups, no accounting; everything in
a temporary folder, on loopback.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

CONF = """\
ClusterName=genscope
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/ctld.log
SlurmdLogFile={folder}/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
SlurmdParameters=config_overrides
NodeName=n[0-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODES = ["n0", "n1", "n2", "n3"]


def missing():
    """Why there can be no cluster here, or None."""
    for program in ("slurmctld", "slurmd", "munged", "sbatch", "mungekey"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            return f"no {program}: tools/setup peer installs it"
    return None if os.geteuid() == 0 else "slurmd wants to be root"


def free_ports(count):
    """So many neighbours that nobody listens on."""
    for base in range(17000, 60000, 97):
        sockets = []
        try:
            for port in range(base, base + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return base
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise RuntimeError("no free ports")


class Cluster:
    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="genscope-slurm-"))
        for name in ("state", "log", *(f"spool/{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True)
        port = free_ports(5)
        conf = self.folder / "slurm.conf"
        conf.write_text(CONF.format(host=socket.gethostname().split(".")[0], folder=self.folder, port=port,
                                    first=port + 1, last=port + 4))
        self.env = {**os.environ, "SLURM_CONF": str(conf), "PATH": os.environ["PATH"] + ":/usr/sbin"}
        self.processes = {}
        try:
            self.start_munge()
            self.start("slurmctld", ["slurmctld", "-D", "-c"])
            for node in NODES:
                self.start(node, ["slurmd", "-D", "-N", node])
            self.wait_idle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_munge(self):
        key = self.folder / "munge.key"
        subprocess.run(["mungekey", "-c", "-k", str(key)], check=True, env=self.env)
        self.start("munged", ["munged", "--force", "--foreground", "--key-file", str(key),
                              "--socket", str(self.folder / "munge.socket"),
                              "--pid-file", str(self.folder / "munge.pid"),
                              "--seed-file", str(self.folder / "munge.seed"),
                              "--log-file", str(self.folder / "log/munge.log")])
        end = time.monotonic() + 20
        while not (self.folder / "munge.socket").exists():
            if time.monotonic() > end:
                raise RuntimeError("munged: " + (self.folder / "log/munge.log").read_text())
            time.sleep(0.05)

    def start(self, name, command):
        log = open(self.folder / f"log/{name}.out", "wb")
        self.processes[name] = subprocess.Popen(command, env=self.env, stdout=log, stderr=log,
                                                start_new_session=True)

    def wait_idle(self, nodes=4, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %t"], env=self.env, capture_output=True,
                                  text=True).stdout
            if sum(line.split()[1] == "idle" for line in text.splitlines()) >= nodes:
                return
            time.sleep(0.2)
        raise RuntimeError(f"the nodes are not idle: {text}{self.logs()}")

    def logs(self):
        return "".join(f"\n== {path.name}\n{path.read_text()[-2000:]}" for path in (self.folder / "log").iterdir())

    def processes_of(self, node):
        """What runs the tasks of a node, and the tasks: known by the node's log, which Slurm keeps open."""
        log, parents, found = str(self.folder / f"log/{node}.log"), {}, []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if log in [os.readlink(file) for file in (entry / "fd").iterdir()]:
                    found.append(int(entry.name))
            except (OSError, ValueError):
                continue  # no process, or one that has ended
        for pid in found:
            found.extend(child for child, parent in parents.items() if parent == pid and child not in found)
        return found

    def lose(self, node):
        """As if the machine were gone: no daemon, and nothing of its work."""
        for pid in self.processes_of(node):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(["scontrol", "update", f"nodename={node}", "state=down", "reason=lost"], env=self.env,
                       check=True)

    def __exit__(self, *_):
        subprocess.run(["scancel", "--user", "root"], env=self.env, capture_output=True, timeout=30)
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
