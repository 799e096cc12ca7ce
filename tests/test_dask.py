"""Runs on a Dask cluster are the runs of local processes, bit for bit; wrong clusters are told."""

import ast
import logging
import os
import re
import sys
import time
from concurrent.futures import wait
from dataclasses import replace

import planted
import pytest
import torch
import worker_tasks
import yaml
from checkouts import REPOSITORY

pytest.importorskip("distributed", reason="make test installs Dask")

import dask
from dask_jobqueue.slurm import SLURMJob
from distributed import LocalCluster

from bn_memorization import cluster, executors, machine, run_kinds, runs, store
from bn_memorization.errors import BadInput, Failure
from bn_memorization.executors import WrongWorker

REAL = planted.config(dataset="mnist", train_size=100, eval_size=100, epochs=1, batch_size=50)
BOTH = [REAL, replace(REAL, norm="none")]
OF_A_JOB = ("queue", "cores", "processes", "memory", "walltime", "job_script_prologue")
DIVERGING = replace(REAL, norm="none", lr=1e20, seed=5)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """An empty folder of runs, the CPU, and torch's settings restored."""
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv(machine.DEVICE_VARIABLE, "cpu")
    monkeypatch.delenv(cluster.PLAIN_VARIABLE, raising=False)
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


@pytest.fixture(scope="module")
def address():
    """A scheduler with two worker processes, as one that runs already."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL, scheduler_kwargs={"allowed_failures": 1},
    ) as running:  # fmt: skip
        yield running.scheduler_address.replace("tcp://", "dask://")


def files(folder):
    return {path.parent.name: path.read_bytes() for path in folder.rglob(store.ARRAYS)}


def test_a_cluster_makes_the_same_records_and_one_failure_stops_none(
    address, monkeypatch, tmp_path
):
    with pytest.raises(Failure) as caught:
        runs.run_all([BOTH[0], DIVERGING, BOTH[1]], address)
    assert str(caught.value).startswith("1 of 3 runs failed. The first, lenet/none on mnist")
    assert "stopped being finite" in str(caught.value)
    assert runs.missing([*BOTH, DIVERGING]) == [DIVERGING]
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "others"))
    runs.run_all(BOTH, "serial")
    assert files(tmp_path / "others") == files(tmp_path / "runs")
    assert len(files(tmp_path / "runs")) == 2


def test_only_who_asks_writes(address, monkeypatch, tmp_path):
    """The workers' own folder of runs is another, as on machines that share no disk."""
    with executors.executor(address) as pool:
        seen = pool.submit(os.getenv, "BN_MEMORIZATION_RUNS").result()
    runs.run_all(BOTH[:1], address)
    assert runs.missing(BOTH[:1]) == []
    assert seen != str(tmp_path / "runs")


def test_a_worker_has_one_thread_and_deterministic_kernels(address):
    with executors.executor(address) as pool:
        found = pool.submit(worker_tasks.settings).result()
        assert found.pop("pid") != os.getpid()
        assert (found["threads"], found["deterministic"]) == (1, True)
        assert pool.submit(int, "3").result() == 3
        with pytest.raises(KeyError, match="lost"):
            pool.submit(worker_tasks.fail, "lost").result()


def test_a_failed_call_is_not_made_again(address, tmp_path):
    with executors.executor(address) as pool, pytest.raises(KeyError):
        pool.submit(worker_tasks.leave_mark_and_fail, tmp_path).result()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_call_whose_worker_is_killed_is_made_again(address, tmp_path):
    with executors.executor(address) as pool:
        assert pool.submit(worker_tasks.die_once, tmp_path / "died").result() == "done"
    assert (tmp_path / "died").exists()


def test_a_call_that_ends_every_worker_fails_with_advice(address):
    told = "every worker that took it up was ended from outside"
    with executors.executor(address) as pool, pytest.raises(Failure, match=told):
        pool.submit(worker_tasks.die).result()


def test_calls_that_no_worker_has_begun_are_dropped_and_the_others_finish(address, tmp_path):
    with executors.executor(address) as pool:
        begun = [pool.submit(worker_tasks.wait_for, tmp_path / "go") for _ in range(2)]
        deadline = time.monotonic() + worker_tasks.PATIENCE
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        waiting = [pool.submit(int, "1") for _ in range(20)]
        pool.drop([*begun, *waiting])
        (tmp_path / "go").touch()
        assert [future.result() for future in begun] == ["went", "went"]
        wait(waiting)
        assert all(future.cancelled() for future in waiting)


@pytest.mark.parametrize("name", ["bn_memorization", "train.VERSION", "torch"])
def test_a_worker_of_another_version_is_refused_and_both_are_named(address, monkeypatch, name):
    real = run_kinds.code()
    monkeypatch.setattr(run_kinds, "code", lambda: real | {name: "0.0.7"})
    with pytest.raises(WrongWorker, match=rf"has {re.escape(name)} {real[name]}.*, not 0\.0\.7"):
        runs.run_all(BOTH, address)
    assert runs.missing(BOTH) == BOTH


def test_other_data_on_a_worker_are_refused_and_both_sums_named():
    with pytest.raises(Failure, match=rf"sha256 is {run_kinds.dataset(REAL).sha256}, not 666"):
        run_kinds.compute(REAL, "666")


def test_a_cluster_of_our_own_is_on_loopback_alone():
    with executors.executor("dask-local:1") as pool:
        info = pool._client.scheduler_info()
        addresses = [info["address"], *info["workers"]]
        assert all(re.match(r"tcp://127\.0\.0\.1:\d+$", address) for address in addresses)
        assert pool._client.dashboard_link.startswith("http://127.0.0.1:")
        assert len(info["workers"]) == 1
        assert pool.submit(worker_tasks.settings).result()["ignores_ctrl_c"]
    assert pool._client.status == "closed"


@pytest.mark.parametrize("host", ["10.1.2.3", "cluster.example", "192.168.0.1", "[2001:db8::1]"])
def test_another_machine_without_tls_is_refused(host):
    with pytest.raises(BadInput, match=r"dask\+tls://.*BN_MEMORIZATION_DASK_PLAIN=yes"):
        executors.executor(f"dask://{host}:8786")


def test_a_trusted_network_may_be_said_to_be_one(monkeypatch):
    asked = []

    def client(address, **how):
        asked.append((address, how["security"]))
        raise OSError("nobody there")

    monkeypatch.setattr(cluster, "Client", client)
    monkeypatch.setenv(cluster.PLAIN_VARIABLE, "yes")
    with pytest.raises(BadInput, match=r"No Dask scheduler could be reached at tcp://10\.1\.2\.3"):
        executors.executor("dask://10.1.2.3:8786")
    assert asked == [("tcp://10.1.2.3:8786", None)]


def test_tls_needs_certificates_and_uses_no_plain_connection(monkeypatch, tmp_path):
    with pytest.raises(BadInput, match=r"needs distributed\.comm\.tls\.ca-file"):
        executors.executor("dask+tls://10.1.2.3:8786")
    asked = []

    def client(address, **how):
        asked.append((address, how["security"].require_encryption))
        raise OSError("nobody there")

    monkeypatch.setattr(cluster, "Client", client)
    names = {f"distributed.comm.tls.{name}": str(tmp_path / "file") for name in cluster.TLS_FILES}
    with dask.config.set(names), pytest.raises(BadInput, match="nobody there"):
        executors.executor("dask+tls://10.1.2.3:8786")
    assert asked == [("tls://10.1.2.3:8786", True)]


def test_no_scheduler_there_is_bad_input(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.3)
    with pytest.raises(BadInput, match=r"No Dask scheduler.*tcp://127\.0\.0\.1:9.*Start one"):
        executors.executor("dask://127.0.0.1:9")


def test_without_dask_the_message_says_how_to_have_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "bn_memorization.cluster", None)
    monkeypatch.delattr("bn_memorization.cluster")
    with pytest.raises(BadInput, match=r"Dask is not installed.*requirements-dask\.lock"):
        executors.executor("dask-local:2")


def blocks(language: str) -> list[str]:
    page = (REPOSITORY / "book" / "scaling.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)


def test_the_job_that_the_page_shows_for_slurm_starts_workers_of_one_thread():
    """As far as it can be known without Slurm: the script that would be submitted."""
    (made,) = [
        node
        for block in blocks("python")
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "SLURMCluster"
    ]
    given = {word.arg: ast.literal_eval(word.value) for word in made.keywords
             if word.arg in OF_A_JOB}  # fmt: skip
    script = SLURMJob(scheduler="tls://login:8786", name="worker", **given).job_script()
    for line in ("#SBATCH -p cpu", "#SBATCH --cpus-per-task=8", "#SBATCH -t 04:00:00"):
        assert f"{line}\n" in script
    for words in ("tls://login:8786", "--nthreads 1", "--nworkers 8", "$HOME/data"):
        assert words in script


def test_the_manifests_that_the_page_shows_for_kubernetes_hang_together():
    objects = [one for block in blocks("yaml") for one in yaml.safe_load_all(block)]
    kinds = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    service = kinds["Service", "dask-scheduler"]
    scheduler = kinds["Deployment", "dask-scheduler"]["spec"]["template"]
    workers = kinds["Deployment", "dask-worker"]["spec"]["template"]
    assert service["spec"]["selector"].items() <= scheduler["metadata"]["labels"].items()
    port = service["spec"]["ports"][0]["port"]
    (command,) = [container["args"] for container in workers["spec"]["containers"]]
    assert f"tls://dask-scheduler:{port}" in command
    assert command[command.index("--nthreads") + 1] == "1"
    for template in (scheduler, workers):
        (container,) = template["spec"]["containers"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in template["spec"]["volumes"]}
        names = {variable["name"] for variable in container["env"]}
        assert "DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in names
