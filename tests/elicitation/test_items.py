"""Items from folders, CSVs and npz: odd ids as they are, and what is wrong refused with its place."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sfumato.elicitation.items import read_items
from sfumato.study.study import ItemSource
from sfumato.tables.errors import SfumatoError
from sfumato.tables.picture_folder import ids_of, natural

CLASSES = ("cat", "dog")


def picture(path: Path, form: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), "green").save(path, form)
    return path


def from_folder(folder: Path) -> list[tuple[str, str | None]]:
    return [(item.id, item.given) for item in read_items(ItemSource(folder=folder), CLASSES)]


def refused(source: ItemSource) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        read_items(source, CLASSES)
    return caught.value


# Folders


def test_ids_are_paths_without_ending_and_the_first_folder_is_the_class(tmp_path: Path) -> None:
    for name in ("cat/10.png", "cat/9.jpg", "bird/x.gif", "dog/deep/1.webp", "top.bmp", "a.b.PNG", "007.jpeg"):
        picture(tmp_path / name)
    assert from_folder(tmp_path) == [
        ("007", None),
        ("a.b", None),
        ("bird/x", None),
        ("cat/9", "cat"),
        ("cat/10", "cat"),
        ("dog/deep/1", "dog"),
        ("top", None),
    ]
    assert read_items(ItemSource(folder=tmp_path), CLASSES)[3].picture == tmp_path / "cat" / "9.jpg"


def test_odd_names_are_kept_as_they_are(tmp_path: Path) -> None:
    names = {"NA", "1e5", "=SUM(A1)", "<b>x", "ü 犬", "'quoted'", "x;y", "-rf", "a%2Fb"}
    for name in names:
        picture(tmp_path / f"{name}.png")
    assert {name for name, _ in from_folder(tmp_path)} == names


def test_endings_are_kept_where_two_files_differ_in_nothing_else(tmp_path: Path) -> None:
    for name in ("x.png", "x.jpg", "y.png"):
        picture(tmp_path / name)
    assert [name for name, _ in from_folder(tmp_path)] == ["x.jpg", "x.png", "y"]
    picture(tmp_path / "x.png.png")
    assert [name for name, _ in from_folder(tmp_path)] == ["x.jpg", "x.png", "x.png.png", "y"]


@given(st.sets(st.tuples(st.sampled_from(["a", "a.png", "b", "b.v1"]), st.sampled_from(["", ".png", ".jpg", ".PNG"]))))
def test_ids_are_unique_whatever_the_names(parts: set[tuple[str, str]]) -> None:
    names = sorted({f"f/{stem}{suffix}" for stem, suffix in parts})
    ids = ids_of(names)
    assert len(set(ids)) == len(names)
    assert all(name.startswith(item) for item, name in zip(ids, names, strict=True))


@given(st.lists(st.integers(0, 10**6), unique=True))
def test_numbers_in_names_are_sorted_as_numbers(numbers: list[int]) -> None:
    names = [f"item-{number}.png" for number in numbers]
    assert sorted(names, key=natural) == [f"item-{number}.png" for number in sorted(numbers)]


def test_hidden_and_other_files_are_passed_over(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    picture(tmp_path / ".hidden.png")
    picture(tmp_path / ".git" / "b.png")
    (tmp_path / "readme.txt").write_text("not a picture")
    (tmp_path / "Thumbs.db").write_bytes(b"\0\1")
    os.mkfifo(tmp_path / "pipe.png")
    assert [name for name, _ in from_folder(tmp_path)] == ["a"]


def test_the_content_tells_a_picture_not_the_name(tmp_path: Path) -> None:
    picture(tmp_path / "nameless", "PNG")
    picture(tmp_path / "odd.dat", "JPEG")
    assert [name for name, _ in from_folder(tmp_path)] == ["nameless", "odd.dat"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.png", b""),
        ("x.jpg", b"<html>"),
        ("x.gif", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("x.svg", b"<svg/>"),
        ("x.TIFF", b"II*\0"),
    ],
)
def test_what_only_calls_itself_a_picture_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    picture(tmp_path / "good.png")
    (tmp_path / name).write_bytes(content)
    error = refused(ItemSource(folder=tmp_path))
    assert (error.code, error.where.file) == ("no-picture", str(tmp_path / name))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("no picture")
    assert refused(ItemSource(folder=tmp_path)).code == "no-pictures"


@pytest.mark.parametrize("target", ["outside/secret.png", "outside", "nothing.png", "images/loop"])
def test_links_that_lead_outside_are_refused(tmp_path: Path, target: str) -> None:
    picture(tmp_path / "outside" / "secret.png")
    picture(tmp_path / "images" / "a.png")
    (tmp_path / "images" / "loop").symlink_to(tmp_path / target)
    error = refused(ItemSource(folder=tmp_path / "images"))
    assert (error.code, error.where.file) == ("link-outside", str(tmp_path / "images" / "loop"))


def test_links_that_stay_inside_are_pictures(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "a.png")
    (tmp_path / "images" / "b.png").symlink_to("a.png")
    (tmp_path / "images" / "again").symlink_to(tmp_path / "images")
    (tmp_path / "linked").symlink_to(tmp_path / "images")
    assert [name for name, _ in from_folder(tmp_path / "linked")] == ["a", "b"]


def test_a_name_that_cannot_be_printed_is_refused(tmp_path: Path) -> None:
    for name in ("a\nb.png", os.fsdecode(b"caf\xe9.png"), "a\x1b[31m/b.png"):
        path = picture(tmp_path / name)
        assert refused(ItemSource(folder=tmp_path)).code == "bad-file-name"
        path.unlink()


# CSV


def csv_source(tmp_path: Path, text: str | bytes) -> ItemSource:
    (tmp_path / "items.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return ItemSource(csv=tmp_path / "items.csv")


def test_texts_with_odd_ids(tmp_path: Path) -> None:
    text = 'item,text,class\n007,"a, ""b""\nc",cat\n7,<b>x</b>,\nNA,=1+1,dog\n1e5,ü,\n9007199254740993,x,\n'
    items = read_items(csv_source(tmp_path, b"\xef\xbb\xbf" + text.encode()), CLASSES)
    assert [(item.id, item.text, item.given) for item in items] == [
        ("007", 'a, "b"\nc', "cat"),
        ("7", "<b>x</b>", None),
        ("NA", "=1+1", "dog"),
        ("1e5", "ü", None),
        ("9007199254740993", "x", None),
    ]


def test_pictures_and_the_columns_of_a_kind(tmp_path: Path) -> None:
    picture(tmp_path / "p" / "1.png")
    items = read_items(csv_source(tmp_path, "other,image,item\nb,p/1.png,a\n,p/1.png,b\n"), CLASSES)
    assert [(item.id, item.picture, dict(item.columns)) for item in items] == [
        ("a", tmp_path / "p" / "1.png", {"other": "b"}),
        ("b", tmp_path / "p" / "1.png", {"other": ""}),
    ]


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8"), min_size=1, max_size=5).filter(
                lambda name: name.isprintable() and name == name.strip()
            ),
            st.text(st.sampled_from('ab,"\n ü'), min_size=1, max_size=9).filter(str.strip),
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda row: row[0],
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    lines = "".join(f"{quoted(name)},{quoted(text)}\r\n" for name, text in rows)
    source = csv_source(tmp_path_factory.mktemp("csv"), "item,text\r\n" + lines)
    assert [(item.id, item.text) for item in read_items(source, ())] == rows


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "empty-file", None),
        ("item,text\n", "no-items", None),
        ("item;text\na;b\n", "wrong-separator", 1),
        ("item,text,text\na,b,c\n", "doubled-column", 1),
        ("item,,text\na,b,c\n", "unnamed-column", 1),
        ("id,text\na,b\n", "no-such-column", 1),
        ("item,words\na,b\n", "no-such-column", 1),
        ("item,text,image\na,b,c\n", "no-such-column", 1),
        ("item,text\na,b\nc\n", "ragged-row", 3),
        ('item,text\n"a\nb",x\n\nd,e,f\n', "bad-id", 2),
        ('item,text\nz,"a\nb"\n\nd,e,f\n', "ragged-row", 5),
        ("item,text\na,x\nb,x\na,y\n", "doubled-item", 4),
        ("item,text\n ,x\n", "bad-id", 2),
        ("item,text\na ,x\n", "bad-id", 2),
        ("item,text\n" + "a" * 501 + ",x\n", "bad-id", 2),
        ("item,text\na,\n", "empty-text", 2),
        ("item,text\na,x\x1b[31m\n", "bad-text", 2),
        ("item,text\na," + "x" * 100_001 + "\n", "bad-text", 2),
        ("item,text\na," + "x" * 200_000 + "\n", "bad-csv", 2),
        ("item,text,class\na,x,cta\n", "unknown-class", 2),
        ('item,text\na,x\nb,"x\n', "unclosed-quote", 3),
        ('item,text\na,x"y"\n', "bad-csv", 2),
        ('item,text\r\na,b\r\nc,"x"y\r\n', "bad-csv", 3),
        ("item,image\na,none.png\n", "no-such-file", 2),
        ("item,image\na,items.csv\n", "no-picture", 2),
        ("item,image\na, \n", "empty-image", 2),
        (b"item,text\na,caf\xe9\n", "not-utf8", 2),
        (b"item,text\na,b\nc,\0\n", "nul-byte", 3),
        ("item,text\na,b\n".encode("utf-16"), "not-utf8", 1),
    ],
)
def test_a_bad_csv_is_refused_with_its_line(tmp_path: Path, text: str | bytes, code: str, line: int | None) -> None:
    error = refused(csv_source(tmp_path, text))
    assert (error.code, error.where.line, error.where.file) == (code, line, str(tmp_path / "items.csv"))


def test_a_near_class_is_proposed(tmp_path: Path) -> None:
    error = refused(csv_source(tmp_path, "item,text,class\na,x,Cat\n"))
    assert "did you mean 'cat'" in error.fix


def test_any_class_is_taken_where_the_study_has_none(tmp_path: Path) -> None:
    items = read_items(csv_source(tmp_path, "item,text,class\na,x,newt\n"), ())
    assert items[0].given == "newt"


# npz


def npz(tmp_path: Path, **arrays: object) -> ItemSource:
    np.savez(tmp_path / "items.npz", **{name: np.asarray(value) for name, value in arrays.items()})
    return ItemSource(npz=tmp_path / "items.npz")


def test_images_without_ids_are_numbered(tmp_path: Path) -> None:
    items = read_items(npz(tmp_path, images=np.zeros((3, 2, 2), np.uint8)), CLASSES)
    assert [(item.id, item.row, item.picture, item.text) for item in items] == [
        (str(row), row, None, None) for row in range(3)
    ]


def test_ids_of_an_npz_stay_text(tmp_path: Path) -> None:
    colour = np.zeros((2, 2, 2, 3), np.uint8)
    assert [i.id for i in read_items(npz(tmp_path, images=colour, items=["007", "7"]), CLASSES)] == ["007", "7"]
    assert [i.id for i in read_items(npz(tmp_path, images=colour, items=[9007199254740993, 2]), CLASSES)] == [
        "9007199254740993",
        "2",
    ]


def test_texts_of_an_npz(tmp_path: Path) -> None:
    items = read_items(npz(tmp_path, texts=["x", "y z"]), CLASSES)
    assert [(item.id, item.text, item.row) for item in items] == [("0", "x", None), ("1", "y z", None)]


@pytest.mark.parametrize(
    ("arrays", "code"),
    [
        ({"pictures": np.zeros((1, 2, 2), np.uint8)}, "no-images"),
        ({"images": np.zeros((1, 2, 2), np.uint8), "texts": ["x"]}, "no-images"),
        ({"images": np.zeros((1, 2, 2))}, "bad-images"),
        ({"images": np.zeros((1, 2, 2, 4), np.uint8)}, "bad-images"),
        ({"images": np.zeros((1, 0, 2), np.uint8)}, "bad-images"),
        ({"images": np.zeros((0, 2, 2), np.uint8)}, "no-items"),
        ({"texts": [1, 2]}, "bad-texts"),
        ({"texts": ["x", " "]}, "empty-text"),
        ({"texts": ["x", "y"], "items": ["a"]}, "bad-items"),
        ({"texts": ["x", "y"], "items": [0.5, 1.5]}, "bad-items"),
        ({"texts": ["x", "y"], "items": ["a", "a"]}, "doubled-item"),
        ({"texts": ["x", "y"], "items": ["a", ""]}, "bad-id"),
        ({"texts": ["x", "y"], "items": ["a", "b\n"]}, "bad-id"),
    ],
)
def test_a_bad_npz_is_refused(tmp_path: Path, arrays: dict[str, object], code: str) -> None:
    error = refused(npz(tmp_path, **arrays))
    assert (error.code, error.where.file) == (code, str(tmp_path / "items.npz"))


# Files of texts


def test_texts_of_json_lines_and_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": 7, "tweet": "one", "label": "cat"}\n{"id": 8, "tweet": "two", "label": "cow"}\n')
    items = read_items(ItemSource(texts=path, text="tweet"), CLASSES)
    assert [(item.id, item.text, item.given) for item in items] == [("7", "one", "cat"), ("8", "two", None)]
    assert "text=COLUMN" in refused(ItemSource(texts=path)).fix
    pl.DataFrame({"text": ["a", "b"]}).write_parquet(tmp_path / "x.parquet")
    items = read_items(ItemSource(texts=tmp_path / "x.parquet"), CLASSES)
    assert [(item.id, item.text) for item in items] == [("0", "a"), ("1", "b")]
    path.write_text('{"id": "a\\u0007", "text": "one"}\n')
    assert refused(ItemSource(texts=path)).code == "bad-id"
