"""The data sets by name: what each holds, its license, and the checksums its arrays must have."""

import hashlib
from dataclasses import dataclass, field

import numpy as np

from bn_memorization.errors import BadInput

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set before any file is read.

    `sums` maps each name in ARRAYS to the sha256 of the full array (uint8, C order); it is empty
    where no sum is known, and then torchvision's md5 list is what verifies the files.
    """

    name: str
    title: str
    classes: tuple[str, ...]
    image_shape: tuple[int, ...]  # (H, W) or (H, W, 3)
    n_train: int
    n_test: int
    license: str
    provenance: str
    sums: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Split:
    """Images uint8[N, H, W] or [N, H, W, 3], labels int64[N], rows int64[N].

    `rows` holds each image's row in the original full split.
    """

    images: np.ndarray
    labels: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set in memory. `sha256` is one hash over every array; `source` is where it came from.

    Equal arrays have equal hashes, whatever their source. `foreign` is the data set whose images
    may be put into this one; then the hash is over both.
    """

    name: str
    source: str
    train: Split
    test: Split
    classes: tuple[str, ...]
    sha256: str
    foreign: "Dataset | None" = None

    @property
    def channels(self) -> int:
        """Number of color channels: 1 or 3."""
        return 1 if self.train.images.ndim == 3 else self.train.images.shape[3]

    @property
    def image_size(self) -> int:
        """Height and width of an image in pixels (all images are square)."""
        return self.train.images.shape[1]


def array_sha256(array: np.ndarray) -> str:
    """Return the sha256 of the bytes of `array` in C order."""
    return hashlib.sha256(np.ascontiguousarray(array)).hexdigest()


def split_sums(split: Split) -> dict[str, str]:
    """Return the sha256 of images (uint8), labels (as uint8) and rows (as little-endian int64)."""
    return {
        "images": array_sha256(split.images),
        "labels": array_sha256(split.labels.astype(np.uint8)),
        "rows": array_sha256(split.rows.astype("<i8")),
    }


def check_sum(what: str, found: str, expected: str, advice: str, kind: str = "sha256") -> None:
    """Raise BadInput that shows both sums and the advice unless `found` is `expected`."""
    if found != expected:
        raise BadInput(
            f"{what}: damaged, or not the right file. Its {kind} is {found}, and must be "
            f"{expected}. {advice}"
        )


def dataset(
    info: DatasetInfo, source: str, train: Split, test: Split, sums: tuple[dict, dict]
) -> Dataset:
    """Put two splits together; `sums` holds `split_sums` of each, which are slow to get twice."""
    lines = [
        f"{part} {what} {of[what]}\n"
        for part, of in zip(("train", "test"), sums, strict=True)
        for what in sorted(of)
    ]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return Dataset(info.name, source, train, test, info.classes, digest)


def _classes(names: str) -> tuple[str, ...]:
    return tuple(name.replace("_", " ") for name in names.split())


_MNIST = DatasetInfo(
    name="mnist",
    title="MNIST",
    classes=_classes("0 1 2 3 4 5 6 7 8 9"),
    image_shape=(28, 28),
    n_train=60000,
    n_test=10000,
    license="CC BY-SA 3.0, as redistributions of MNIST state it; copyright Yann LeCun and Corinna "
    "Cortes, a derivative of NIST Special Databases 1 and 3",
    provenance="LeCun, Cortes and Burges, The MNIST database of handwritten digits, 1998",
    sums=dict(
        zip(
            ARRAYS,
            (
                "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
                "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
                "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
                "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
            ),
            strict=True,
        )
    ),
)

_FASHION_MNIST = DatasetInfo(
    name="fashion_mnist",
    title="Fashion-MNIST",
    classes=_classes("T-shirt/top trouser pullover dress coat sandal shirt sneaker bag ankle_boot"),
    image_shape=(28, 28),
    n_train=60000,
    n_test=10000,
    license="MIT; copyright 2017 Zalando SE",
    provenance="Xiao, Rasul and Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking "
    "machine learning algorithms, 2017, arXiv:1708.07747",
    sums=dict(
        zip(
            ARRAYS,
            (
                "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
                "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
                "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
                "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
            ),
            strict=True,
        )
    ),
)

_CIFAR_SOURCE = "Krizhevsky, Learning multiple layers of features from tiny images, 2009"
_CIFAR_LICENSE = (
    "none stated by its authors, who ask that the 2009 report be cited; a labeled subset of the "
    "80 million tiny images, which were collected from the web"
)

_CIFAR10 = DatasetInfo(
    name="cifar10",
    title="CIFAR-10",
    classes=_classes("airplane automobile bird cat deer dog frog horse ship truck"),
    image_shape=(32, 32, 3),
    n_train=50000,
    n_test=10000,
    license=_CIFAR_LICENSE,
    provenance=_CIFAR_SOURCE,
    sums=dict(
        zip(
            ARRAYS,
            (
                "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
                "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
                "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
                "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
            ),
            strict=True,
        )
    ),
)

_CIFAR100 = DatasetInfo(
    name="cifar100",
    title="CIFAR-100",
    classes=_classes(
        "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus "
        "butterfly camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach "
        "couch crab crocodile cup dinosaur dolphin elephant flatfish forest fox girl hamster house "
        "kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle "
        "mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck "
        "pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal "
        "shark shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper "
        "table tank telephone television tiger tractor train trout tulip turtle wardrobe whale "
        "willow_tree wolf woman worm"
    ),
    image_shape=(32, 32, 3),
    n_train=50000,
    n_test=10000,
    license=_CIFAR_LICENSE,
    provenance=_CIFAR_SOURCE,
)

DATASETS: dict[str, DatasetInfo] = {
    info.name: info for info in (_MNIST, _FASHION_MNIST, _CIFAR10, _CIFAR100)
}
