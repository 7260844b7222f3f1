"""The data sets that the papers need: where each comes from, its terms, and what it holds as released.

The license is what the home states; `none stated` is no permission to pass the data on. Nothing of any set is part of
this package.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.tables.errors import unknown
from sfumato_papers.dataset_source import Source, holding, published_files

CIFAR_10_ARCHIVE = published_files("""
    https://www.cs.toronto.edu/~kriz
    170052171 c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd cifar-10-binary.tar.gz
""")


def _cifar_10(name: str, title: str, listed: str) -> Source:
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
        upstream=published_files("""
            github:BayesWatch/cinic-10/9e008d0fd824bf7498399e3c6199cb4fbbec7af1/images
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
        """)
        + CIFAR_10_ARCHIVE,
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
        upstream=published_files("""
            github:zalandoresearch/fashion-mnist/b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion
            4422102 346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073 t10k-images-idx3-ubyte.gz
            5148 67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5 t10k-labels-idx1-ubyte.gz
            26421880 3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84 train-images-idx3-ubyte.gz
            29515 a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845 train-labels-idx1-ubyte.gz
        """),
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
        upstream=published_files("""
            https://storage.googleapis.com/cvdf-datasets/mnist
            1648877 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6 t10k-images-idx3-ubyte.gz
            4542 f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6 t10k-labels-idx1-ubyte.gz
            9912422 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609 train-images-idx3-ubyte.gz
            28881 3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c train-labels-idx1-ubyte.gz
        """),
    ),
)


NOT_PUBLIC = "not public"

SOURCES = (
    *PICTURES,
    Source(
        name="cifar10h",
        title="CIFAR-10H, what some fifty people each see in the test pictures of CIFAR-10",
        licence="CC BY-NC-SA 4.0 (non-commercial, share alike)",
        citation="Peterson, Battleday, Griffiths and Russakovsky (2019), Human uncertainty makes classification more "
        "robust, and for its single answers Lefort et al. (2024), Peerannot",
        home="https://github.com/jcpeterson/cifar-10h",
        files=holding("""
            fd1ab672c863b2e806a929078e4100dc34c20b92ed997d37af78e5c5d60f7e91 counts.npz
            8a13555f8f824fe06534f337dc107ae6755f6118ac2bc5081f96d62f8a8a5d90 annotator-level-9500-9999.csv.gz
        """),
        upstream=published_files("""
            github:jcpeterson/cifar-10h/48da312b193b82e6939ec20f23d1f09cbdd849c8/data
            800128 9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff cifar10h-counts.npy
        github:computorg/published-202402-lefort-peerannot/18c82868c4ead4307913c7006bbed6fd7c49123e/datasets/cifar10H
            277175 ab6c57cbf548732b80cb4548fb47480b35c1e274c6154863fa9ad41f439eb851 answers_valid.json
        """),
        after=("cifar10-test",),
    ),
    Source(
        name="cifar10s",
        title="CIFAR-10S, a distribution from each annotator for 1,000 test pictures of CIFAR-10",
        licence="none stated, for research: ask the authors before passing it on",
        citation="Collins, Bhatt and Weller (2022), Eliciting and learning with soft labels from every annotator",
        home="https://github.com/cambridge-mlg/cifar-10s",
        files=holding("""
            86a90fb1912c9c839095fdf70e97cb05145d983a50e3f1781f38d8eae2b72198 elicitations.csv.gz
            3d5a90e9bfffdb4cd62abe041f39a2595b43a04a14e0dfab0246389abefa4e24 human_soft_labels_data.json.gz
            80eb820705b414522ccf3156c7812d0cceb5eed7c7cecaf87af85b146d382744 t2clamp_redist10.npz
            81af15b364832ed7606be0f6c067f8826754abd05608750846412cc6a4d62ebc test_indices.npy
            a4f0a8f09b0847e49a83d82ac1171184baeffdc1fe101dfcb57151e2f6efc797 train_indices.npy
        """),
        upstream=published_files("""
            github:cambridge-mlg/cifar-10s/86b114f0257ad88e36add572db3dd69dbca0fdf7/cifar10s_data
            3471751 e1dd26bfd75a00cb4e9e875a4ad7a02b3f16a3bd318a165b4693c059c85d0eb0 raw_human_data.csv
            1618452 95149462b12839e192a1389d1f91189496b621b9391831eef5461dff9cae5ca6 human_soft_labels_data.json
            476394 ec27ee6f4cce01fcfdb511095821d0f00e2238b1f5b7074aa054c89b83b5cfb7 cifar10s_t2clamp_redist10.json
            github:cambridge-mlg/cifar-10s/86b114f0257ad88e36add572db3dd69dbca0fdf7/other_data
            56128 af80134e896dda7f42c7acc9386243d53b4bf54c996b219452fa6ac600c8883a train_indices.npy
            24128 2cda098d4cc19137cde538b37f26759e8c0fbc20c470aa89a9574f4edba2bcbb test_indices.npy
        """),
    ),
    Source(
        name="fashion-mnist-h",
        title="Fashion-MNIST-H, what some 67 people each see in the test pictures of Fashion-MNIST",
        licence="GPL-3.0 for the repository, none stated for the data alone",
        citation="Ishida, Yamane, Charoenphakdee, Niu and Sugiyama (2023), Is the performance of my deep network too "
        "good to be true?",
        home="https://github.com/takashiishida/irreducible",
        files=holding("0ee0adccdb82b1ed15a6c16a0742ccdb0192d0a4b465565cf329521bb195728e counts.npz"),
        upstream=published_files("""
            github:takashiishida/irreducible/4bc347d387c103c355d2ebff0b3983e73f4a9bc2/data
            216176 bec7efff5d6f901a6224758d71caadb436dbd8de1284b0be7089d193be94ddbc fmh_counts.csv
        """),
        after=("fashion-mnist",),
    ),
    Source(
        name="hmix",
        title="H-Mix, what people see in mixed pictures of CIFAR-10",
        licence="none stated",
        citation="Collins, Bhatt, Liu, Piratla, Sucholutsky, Love and Weller (2023), Human-in-the-loop mixup",
        home="https://github.com/cambridge-mlg/hill-mixup",
        files=holding("""
            0e9a222e5761284917e13610847f99bea141a8cac5edf014158e62da7dc7cdb8 infer_mixing_factor.csv.gz
            5999f16f90ff54b3504d7b1b4349dcb893fe5591a8c7c9e861bbf461aa81a74d construct_midpoint.csv.gz
            aa420c222b0fee6717caa3c48e0b19c4f62bb7268b0c7edd5368d0c6fed1e1d9 select_shuffled_midpoint.csv.gz
            217c5d48b146fa00247ba7a3c9a441262bf4c290f12c43e1f9624bf07ca3c2a0 processed_hmix_inferences.json.gz
            1a60f6c0463927ad5c65b959d3d1419c0401ae5ec49a47c44528d46bfd6ffd01 hmix_individ_soft_labels.json.gz
        """),
        upstream=published_files("""
            github:cambridge-mlg/hill-mixup/5a022730a270b6785355f9e57b6d2620075bfbab/h_mix
            1268629 9f8aa49c85e9879453a032ea43abf7764425fe1a452c8fdd5f3c9b7c9fd35eeb hmix_infer_mixing_factor.csv
            225751 0b07e7acadf4b3c9f62b8a61e3f4a09114ec6cf4b515936410903f2e4085f452 hmix_construct_midpoint.csv
            133879 866a1b015aad28ef00a9811c23c4d5b8b042eb4a1b12d055a84d5a503eb8a89e hmix_select_shuffled_midpoint.csv
            779101 0cec610ca92a493a8551b923dec5fdfedfcca0fe199f55aa2447db16621bcea7 processed_hmix_inferences.json
            23785 1433a745204f798c5fc3c1c029b37a8a29e2e4c558320a9443a8d1dd93b0db6b hmix_individ_soft_labels.json
        """),
    ),
    Source(
        name="cifar10-model-predictions",
        title="Predictions of three networks for the test pictures of CIFAR-10",
        licence="none stated",
        citation="Kerrigan, Smyth and Steyvers (2021), Combining human predictions with model probabilities via "
        "confusion matrices and calibration",
        home="https://github.com/GavinKerrigan/conf_matrix_and_calibration",
        files=holding("17040763bdc526be3834220706935616c411bf3d60b635e11ffa58ffe3ca398e probs.npz"),
        upstream=published_files("""
            github:GavinKerrigan/conf_matrix_and_calibration/3b9cf13df58861a87549fe5d36017c1387aceb08/cifar10h
            2613317 bc832dc1ddf30b132d63b1ee778c715dad5a2561967bf35317e85f7f8946053b resnet-110.csv
            2603727 f19cdc8562e28a5706d8b746fd64c1bb543c7f82ece71398d9f7de226224f65b preresnet-110.csv
            2648941 0737e94f63a6eb266e018abbc1fc0b3fca2f539c9f3342fe934a7a8cceccdaf5 densenet-bc-L190-k40.csv
        """),
    ),
    Source(
        name="digit-similarity",
        title="Digit similarity, how alike seven people find pairs of digits",
        licence="none stated",
        citation="its repository, CCM-ART-MNIST (2018)",
        home="https://github.com/AMS889/CCM-ART-MNIST",
        files=holding("""
            52ecdb5316c0f46173f214e5bb832a336645ae3b3faa7304848ebb26156bf42d ratings.csv.gz
            8796d7e6b96a2c319babc1ec509173a38882890a88b304a0e72668e64d835954 pairs.npz
        """),
        upstream=published_files("""
            github:AMS889/CCM-ART-MNIST/e9b43a7fc980639427e224fb2c1afe367cfec895/files_for_comparison
            28079 e76ce467ddaaec47d903cf18a172237c562882669f498595f8e11141ae687eaa digits0.npz
            14385 7cbf35e836e8d4dad665c10f2531f1980f66bdd558c63bebf36bfbd9c412c707 digits1.npz
            26848 f2f838d8a022f50cb99f74b85775f85a879c27427aedfecb88654d7d40125985 digits2.npz
            25987 bf469fcdced6a8d7c748ef886d91678b3363723615a1e9a7c88621d41fae80bc digits3.npz
            23348 67957d59555808ba2781e1f6bf7c2e59a25758217ad5b67879f77f1fedea6b2c digits4.npz
            25175 8919d67c0113d8bb9860a71ffd2edc5b7a5d4cd0f96358c45b205dcd190e52ca digits5.npz
            25825 4ec6d54f929c34c289b113063f0c1b620877fd2a50f8f59010dbfc437508f005 digits6.npz
            21875 f27db17cbec2cff61b86bc571764543321000fa71790337c92301e3d97cab4bd digits7.npz
            27420 bdf0d4fcd80f1aebf3a8aa60311e2d8805d1e29d9ca3ccd3b0b2ee95b804d5d7 digits8.npz
            23125 db913d2d4b60b18b92ae8be53cf880755581cd339f04310cb4ec91efac19e84e digits9.npz
            github:AMS889/CCM-ART-MNIST/e9b43a7fc980639427e224fb2c1afe367cfec895/human_ratings
            548 60321b61f98cc4f452d4f31feab4869ed5dcb5f35476cf8e4065f33ad0b71a29 Digit Similarity Ratings - AMS.csv
            548 1156734c152cd1ea808c0771a0f8defdfd1c6e5da938a238bb9d3436b69a0d76 Digit Similarity Ratings - DR.csv
            548 ab938239386ac6f71d7d2a41a238f48157e1f457ead469916fdec6a8c8376966 digit_similarity_ratings_nc.csv
            548 447cf69c36431781b4ded9ea405cd2c2053722a755023ea8a5d805f663c8c090 digit_similarity_ratings_rh.csv
            548 01b45b9c2e909a28bd9767ff241c09f8137f771ab46e4e4306b20eeed7e74026 digit_similarity_ratings_tp1.csv
            548 bc28daa5abf5c538014565e408ceea45ab86cc859914a03a407263889d2adb74 digit_similarity_ratings_tp2.csv
            548 c3aa3af4e0c0ac6c6b65077122a2ba854113808ff6be140d72e862fbfc0a2a20 digit_similarity_ratings_tp3.csv
        """),
    ),
    Source(
        name="soft-digits",
        title="soft-digits, what people find plausible for handwritten and synthetic digits",
        licence="unknown",
        citation="An assessment of human vs. model uncertainty in soft-label learning and calibration",
        home=NOT_PUBLIC,
        files={},
    ),
)


def source_named(name: str, sources: Sequence[Source] = SOURCES) -> Source:
    for source in sources:
        if source.name == name:
            return source
    raise unknown("data set", name, [source.name for source in sources])
