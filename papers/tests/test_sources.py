"""Sources: what is said of each set, and that the released data has the digests written down."""

from __future__ import annotations

import ast
import gzip
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import sfumato_papers
from sfumato.tables.errors import UnknownName
from sfumato_papers import PAPERS
from sfumato_papers.converters import CONVERTERS
from sfumato_papers.dataset_source import SOURCES, Source, digest_of, published_files, source_named

PUBLIC = [source for source in SOURCES if source.upstream]


@pytest.mark.parametrize("source", PUBLIC, ids=lambda source: source.name)
def test_the_released_data_has_the_digests_written_down(published: Path, source: Source) -> None:
    assert source.differing(published / source.name) == ()


@pytest.mark.parametrize("source", PUBLIC, ids=lambda source: source.name)
def test_every_public_set_names_pinned_files_its_terms_and_a_converter(source: Source) -> None:
    assert source.licence
    assert source.citation
    assert source.files
    assert source.name in CONVERTERS
    assert all(name in {each.name for each in SOURCES} for name in source.after)
    for file in source.upstream:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256), file
        assert file.n_bytes > 0
        assert file.url.startswith("https://")
        # A file of a repository is the one of a commit, or it could change under the same address.
        assert "githubusercontent" not in file.url or re.search(r"/[0-9a-f]{40}/", file.url)
    assert len({file.name for file in source.upstream}) == len(source.upstream)


@pytest.mark.parametrize("name", PAPERS)
def test_every_set_that_a_paper_needs_is_listed(name: str) -> None:
    # Read, not imported: a paper brings torch with it.
    path = Path(sfumato_papers.__file__).parent / name.replace("-", "_") / "paper.py"
    (needed,) = [node.value for node in ast.walk(ast.parse(path.read_text())) if getattr(node, "arg", "") == "data"]
    assert set(ast.literal_eval(needed)) <= {source.name for source in SOURCES}


def test_what_may_not_be_used_commercially_says_so() -> None:
    assert "non-commercial" in source_named("cifar10h").terms
    assert "non-commercial" in source_named("cinic10-sample").terms
    assert source_named("soft-digits").home == "not public"


def test_a_set_that_is_not_known_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"found data set 'cifar10-h'.*did you mean 'cifar10h'"):
        source_named("cifar10-h")


def test_an_address_with_blanks_is_quoted_and_the_name_is_not() -> None:
    (file,) = published_files("https://home.example/a\n3 00ff a file - AB.csv")
    assert file.url == "https://home.example/a/a%20file%20-%20AB.csv"
    assert (file.name, file.n_bytes, file.sha256) == ("a file - AB.csv", 3, "00ff")


def test_one_changed_value_is_seen_and_named(published: Path, tmp_path: Path) -> None:
    source = source_named("hmix")
    folder = tmp_path / "hmix"
    shutil.copytree(published / "hmix", folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    path = folder / "construct_midpoint.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1, mtime=12345))
    assert source.differing(folder) == ()  # packed again, the same content
    path.write_bytes(gzip.compress(text.replace("0.6", "0.5", 1).encode()))
    (folder / "infer_mixing_factor.csv.gz").unlink()
    (folder / "hmix_individ_soft_labels.json.gz").write_bytes(b"\x1f\x8b damaged")
    assert source.differing(folder) == (
        "construct_midpoint.csv.gz",
        "hmix_individ_soft_labels.json.gz",
        "infer_mixing_factor.csv.gz (missing)",
    )


def test_arrays_count_by_name_type_shape_and_value_not_by_their_packing(tmp_path: Path) -> None:
    first, second = np.arange(6, dtype=np.uint8).reshape(2, 3), np.array(["a", "bc"])

    def digest(name: str, *, packed: bool = False, **arrays: np.ndarray) -> str:
        (np.savez_compressed if packed else np.savez)(tmp_path / name, **arrays)
        return digest_of(tmp_path / name)

    same = digest("a.npz", x=first, y=second)
    assert digest("b.npz", packed=True, y=second, x=first) == same
    assert digest("c.npz", x=np.asfortranarray(first), y=second) == same
    others = [
        digest("d.npz", x=first, z=second),
        digest("e.npz", x=first.astype(np.int16), y=second),
        digest("f.npz", x=first.reshape(3, 2), y=second),
        digest("g.npz", x=first + 1, y=second),
        digest("h.npz", x=first),
    ]
    assert len({same, *others}) == 6


def test_a_damaged_archive_is_no_released_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "counts.npz", counts=np.arange(100))
    whole = (tmp_path / "counts.npz").read_bytes()
    source = Source("x", "", "", "", "", {"counts.npz": digest_of(tmp_path / "counts.npz")})
    assert source.differing(tmp_path) == ()
    (tmp_path / "counts.npz").write_bytes(whole[:-30])
    assert source.differing(tmp_path) == ("counts.npz",)
