"""Where the pictures come from that people judged, or that models are tried on."""

from __future__ import annotations

from sfumato_papers.dataset_source import Source, github, holding, under

CIFAR_10_ARCHIVE = under(
    "https://www.cs.toronto.edu/~kriz",
    "170052171 c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd cifar-10-binary.tar.gz",
)


def _cifar_10(name: str, title: str, listed: str) -> Source:
    """A part of CIFAR-10."""
    return Source(
        name=name,
        title=title,
        licence="none stated, its author asks to be cited",
        citation="Krizhevsky (2009), Learning multiple layers of features from tiny images",
        home="https://www.cs.toronto.edu/~kriz/cifar.html",
        files=holding(listed),
        upstream=CIFAR_10_ARCHIVE,
    )


PICTURES = (
    _cifar_10(
        "cifar10-test",
        "CIFAR-10, the 10,000 test pictures",
        "7c4e4da95951cbb7ef873195f9ae47101684c20294c30b8ee7e618bb44d8da46 images.npz",
    ),
    _cifar_10(
        "cifar10-train-batch1",
        "CIFAR-10, the first 10,000 training pictures and all training classes",
        """
        ab692c03d7f8b0d8aa1573b024387736c09bb98496ff09b5ef28c3c176e34897 images.npz
        14d2042fd7d02d78bb99c56b7180023f75664986d7ca6b9e67ea67137f0ea1b7 train-labels-all50000.npz
        """,
    ),
    Source(
        name="cinic10-sample",
        title="CINIC-10, the 2,000 pictures that its page shows",
        licence="MIT for the repository, the pictures are ImageNet's and CIFAR-10's: non-commercial research",
        citation="Darlow, Crowley, Antoniou and Storkey (2018), CINIC-10 is not ImageNet or CIFAR-10",
        home="https://github.com/BayesWatch/cinic-10",
        files=holding("0495f860288349df83395afeb37f515b2514fd9a8d32c63d2295309c36b2bc44 images.npz"),
        upstream=(
            *github(
                "BayesWatch/cinic-10",
                "9e008d0fd824bf7498399e3c6199cb4fbbec7af1",
                "images",
                """
                388428 f0a3c771b6829f1096f90516369162aaca05028bba3fc0f9245be5d0170cabdd cinic-airplane.png
                468509 e8a9a9e602e560e09ce8c04c86a2c852afe6114196c3e8a140b43a65210d1d95 cinic-automobile.png
                444551 1610e71f8bac7c4328e53a64aad1acefedc324148c69036d22a0829fe39fcd16 cinic-bird.png
                473204 2924ccdbac437ef101710162a6ae66b0232e23364d354abacb2b11ba375cc73c cinic-cat.png
                466973 2569dc3a4689d43002846fec827bec8da8c45f1cf2defe492b032399e6bd4812 cinic-deer.png
                464218 607f1b300b67dc0df811af2651af7992bb6e811759f7678dbe3dce029d942439 cinic-dog.png
                488135 add17e66609b5101341893ec51ff389314abe13f99bc0b1a2a8aa35195fa689d cinic-frog.png
                471232 73a418d5d5fba41821a26184633af056b2b9b33c128a5e370d282a448671adad cinic-horse.png
                428730 75fac72c23fff5d1c465fd085c96b5a01fd69992689973040aa1e26eb0414ed6 cinic-ship.png
                465924 0ab8e4bf6d7c491a17a7c51489f4ed260fa54e6c0ad31958bbda7d9aa8328428 cinic-truck.png
                """,
            ),
            *CIFAR_10_ARCHIVE,
        ),
    ),
    Source(
        name="fashion-mnist",
        title="Fashion-MNIST, the 10,000 test pictures and the first 10,000 training pictures",
        licence="MIT",
        citation="Xiao, Rasul and Vollgraf (2017), Fashion-MNIST",
        home="https://github.com/zalandoresearch/fashion-mnist",
        files=holding("""
            59d511406e09d2a4a2179247010f2be5947a499c7db97b909b778c722676835f test.npz
            de3d386ea979fa66faea5aa4b4658cf9123d5c1cae5e54baaf01133e88c13b4a train-first10000.npz
        """),
        upstream=github(
            "zalandoresearch/fashion-mnist",
            "b2617bb6d3ffa2e429640350f613e3291e10b141",
            "data/fashion",
            """
            4422102 346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073 t10k-images-idx3-ubyte.gz
            5148 67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5 t10k-labels-idx1-ubyte.gz
            26421880 3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84 train-images-idx3-ubyte.gz
            29515 a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845 train-labels-idx1-ubyte.gz
            """,
        ),
    ),
    Source(
        name="mnist",
        title="MNIST, handwritten digits",
        licence="none stated at its home, commonly given as CC BY-SA 3.0",
        citation="LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document recognition",
        home="http://yann.lecun.com/exdb/mnist",
        files=holding("""
            c93c000f03b4a5711f5dc256cdf81317c128b615d46ffba93bbb8a161e17e28f test.npz
            fb1907233f23eae5ded6e33797ba82f00de6af7c0e053d2201794f15f05be5ef train.npz
        """),
        # The copy of the Common Visual Data Foundation: the home itself often gives nothing out.
        upstream=under(
            "https://storage.googleapis.com/cvdf-datasets/mnist",
            """
            1648877 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6 t10k-images-idx3-ubyte.gz
            4542 f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6 t10k-labels-idx1-ubyte.gz
            9912422 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609 train-images-idx3-ubyte.gz
            28881 3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c train-labels-idx1-ubyte.gz
            """,
        ),
    ),
)
