"""Pictures as people see them: the right pixels, nothing else of the file, and bad ones refused."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sfumato.elicitation.item_images import Picture, blended, check_picture, rendered
from sfumato.study.stimulus import Item
from sfumato.study.study import ItemSource, Upscale
from sfumato.tables.errors import BadFile, UnsafeFile
from sfumato.tables.picture_file import picture_format

AS_IS = ItemSource(upscale=Upscale.NONE)


def shown(path: Path, source: ItemSource = AS_IS) -> Image.Image:
    return opened(rendered(Item("x", picture=path), source))


def opened(picture: Picture) -> Image.Image:
    image = Image.open(io.BytesIO(picture.data))
    image.load()
    assert picture.media_type == f"image/{image.format.lower()}"
    return image


def gradient(width: int = 6, height: int = 4) -> Image.Image:
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = np.arange(width) * 40
    pixels[..., 1] = np.arange(height)[:, None] * 60
    return Image.fromarray(pixels)


@pytest.mark.parametrize("form", ["PNG", "BMP", "GIF", "WEBP"])
def test_what_loses_nothing_becomes_png_with_the_same_pixels(tmp_path: Path, form: str) -> None:
    gradient().save(tmp_path / "x", form, **({"lossless": True} if form == "WEBP" else {}))
    image = shown(tmp_path / "x")
    assert image.format == "PNG"
    assert np.array_equal(np.asarray(image.convert("RGB")), np.asarray(gradient()))


def test_jpeg_stays_jpeg(tmp_path: Path) -> None:
    Image.new("RGB", (40, 30), (200, 100, 50)).save(tmp_path / "x.jpg")
    image = shown(tmp_path / "x.jpg")
    assert (image.format, image.size) == ("JPEG", (40, 30))
    assert np.abs(np.asarray(image).astype(int) - (200, 100, 50)).max() <= 2


def test_the_picture_is_turned_upright_and_says_nothing_of_itself(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010F] = "SecretCamera"
    exif.get_ifd(0x8825)[2] = (51.0, 30.0, 0.0)  # where it was taken
    left = Image.new("RGB", (40, 20), "black")
    left.paste("white", (0, 0, 20, 20))
    left.save(tmp_path / "x.jpg", exif=exif, comment=b"SecretComment", icc_profile=b"SecretProfile", dpi=(300, 300))
    picture = rendered(Item("x", picture=tmp_path / "x.jpg"), AS_IS)
    image = opened(picture)
    assert image.size == (20, 40)
    assert (image.getpixel((10, 5))[0] > 250, image.getpixel((10, 35))[0] < 5) == (True, True)
    assert b"Secret" not in picture.data
    assert dict(image.getexif()) == {}
    from PIL.PngImagePlugin import PngInfo

    notes = PngInfo()
    notes.add_text("Author", "SecretAuthor")
    gradient().save(tmp_path / "x.png", pnginfo=notes, exif=exif, icc_profile=b"SecretProfile")
    assert b"Secret" in (tmp_path / "x.png").read_bytes()
    picture = rendered(Item("x", picture=tmp_path / "x.png"), AS_IS)
    assert opened(picture).info == {}
    assert b"Secret" not in picture.data


def test_sixteen_bits_of_gray_keep_their_range(tmp_path: Path) -> None:
    values = np.array([[0, 257 * 64, 257 * 128, 65535]], np.uint16)
    Image.fromarray(values).save(tmp_path / "x.png")
    image = shown(tmp_path / "x.png")
    assert image.mode == "L"
    assert np.asarray(image).tolist() == [[0, 64, 128, 255]]


def test_cmyk_is_shown_as_rgb(tmp_path: Path) -> None:
    Image.new("CMYK", (16, 16), (0, 255, 255, 0)).save(tmp_path / "x.jpg")
    image = shown(tmp_path / "x.jpg")
    assert image.mode == "RGB"
    assert np.abs(np.asarray(image).astype(int) - (255, 0, 0)).max() <= 6


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white_for_everybody(tmp_path: Path, mode: str) -> None:
    clear = Image.new("RGBA", (3, 3), (0, 0, 0, 0))
    clear.putpixel((1, 1), (0, 0, 0, 255))
    if mode == "P":
        palette = Image.new("P", (3, 3), 0)
        palette.putpalette([9, 9, 9, 0, 0, 0])
        palette.putpixel((1, 1), 1)
        palette.save(tmp_path / "x.png", transparency=0)
    else:
        clear.convert(mode).save(tmp_path / "x.png")
    image = shown(tmp_path / "x.png").convert("RGB")
    assert [image.getpixel((0, 0)), image.getpixel((1, 1))] == [(255, 255, 255), (0, 0, 0)]


def test_black_and_white_of_one_bit(tmp_path: Path) -> None:
    Image.new("1", (2, 2), 1).save(tmp_path / "x.png")
    assert np.asarray(shown(tmp_path / "x.png")).tolist() == [[255, 255], [255, 255]]


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
def test_only_the_first_frame_is_shown(tmp_path: Path, form: str) -> None:
    frames = [Image.new("RGB", (4, 4), (0, 0, 255))] + [Image.new("RGB", (4, 4), (n, 0, 0)) for n in range(200, 230)]
    frames[0].save(tmp_path / "x", form, save_all=True, append_images=frames[1:], lossless=True)
    image = shown(tmp_path / "x")
    assert getattr(image, "n_frames", 1) == 1
    assert image.convert("RGB").getpixel((2, 2)) == (0, 0, 255)


# Size


@pytest.mark.parametrize(
    ("size", "upscale", "expected"),
    [
        ((32, 32), Upscale.LANCZOS, (160, 160)),
        ((32, 16), Upscale.NEAREST, (160, 80)),
        ((16, 32), Upscale.LANCZOS, (80, 160)),
        ((32, 32), Upscale.NONE, (32, 32)),
        ((160, 20), Upscale.LANCZOS, (160, 20)),
        ((700, 300), Upscale.LANCZOS, (700, 300)),
        ((1600, 300), Upscale.NEAREST, (1600, 300)),
        ((3200, 800), Upscale.NEAREST, (1600, 400)),
        ((3200, 800), Upscale.NONE, (3200, 800)),
        ((1, 100), Upscale.LANCZOS, (2, 160)),
        ((5000, 1), Upscale.LANCZOS, (1600, 1)),
    ],
)
def test_the_longer_side(tmp_path: Path, size: tuple[int, int], upscale: Upscale, expected: tuple[int, int]) -> None:
    Image.new("L", size).save(tmp_path / "x.png")
    assert shown(tmp_path / "x.png", ItemSource(upscale=upscale, size=160)).size == expected


def test_nearest_makes_blocks_and_lanczos_does_not(tmp_path: Path) -> None:
    board = np.array([[0, 255], [255, 0]], np.uint8)
    Image.fromarray(board).save(tmp_path / "x.png")
    blocks = np.asarray(shown(tmp_path / "x.png", ItemSource(upscale=Upscale.NEAREST, size=16)))
    assert np.array_equal(blocks, np.kron(board, np.ones((8, 8), np.uint8)))
    smooth = np.asarray(shown(tmp_path / "x.png", ItemSource(upscale=Upscale.LANCZOS, size=16)))
    expected = Image.fromarray(board).resize((16, 16), Image.Resampling.LANCZOS)
    assert np.array_equal(smooth, np.asarray(expected))
    assert len(np.unique(smooth)) > 2


# npz


def test_rows_of_an_npz(tmp_path: Path) -> None:
    images = np.random.default_rng(4).integers(0, 256, (3, 5, 7, 3), np.uint8)
    np.savez_compressed(tmp_path / "x.npz", images=images)
    source = ItemSource(npz=tmp_path / "x.npz", upscale=Upscale.NONE)
    for row in (2, 0, 1):
        assert np.array_equal(np.asarray(opened(rendered(Item("x", row=row), source))), images[row])
    gray = images[..., 0]
    np.savez(tmp_path / "gray.npz", images=gray)
    source = ItemSource(npz=tmp_path / "gray.npz", upscale=Upscale.NONE)
    assert np.array_equal(np.asarray(opened(rendered(Item("x", row=1), source))), gray[1])


# Mixtures


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (0.25, 50), (0.5, 100), (1.0, 200)])
def test_a_blend_has_the_share_of_the_first(tmp_path: Path, share: float, expected: int) -> None:
    for name, value, size in (("a", 200, 8), ("b", 0, 4)):
        Image.new("L", (size, size), value).save(tmp_path / f"{name}.png")
    a, b = (rendered(Item(name, picture=tmp_path / f"{name}.png"), AS_IS) for name in "ab")
    image = opened(blended(a, b, share))
    assert image.size == (8, 8)
    assert np.abs(np.asarray(image).astype(int) - expected).max() <= 1


# Bad pictures


def png_header(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


def encoded(form: str) -> bytes:
    buffer = io.BytesIO()
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(buffer, form)
    return buffer.getvalue()


@pytest.mark.parametrize("size", [(50_000, 50_000), (12_000, 8_000), (8_000, 5_001)])
def test_a_bomb_is_refused_by_its_header(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "x.png").write_bytes(png_header(*size))
    with pytest.raises(UnsafeFile) as caught:
        check_picture(tmp_path / "x.png")
    assert (caught.value.code, caught.value.where.file) == ("picture-too-large", str(tmp_path / "x.png"))


def test_the_largest_allowed_is_not_called_a_bomb(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(png_header(8_000, 5_000))
    with pytest.raises(BadFile) as caught:
        check_picture(tmp_path / "x.png")
    assert caught.value.code == "damaged-picture"


def test_a_file_of_more_than_20_mb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_bytes(encoded("JPEG") + bytes(20_000_000))
    with pytest.raises(UnsafeFile, match="20,000,000 bytes"):
        check_picture(tmp_path / "x.jpg")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@pytest.mark.parametrize("kept", [0.05, 0.5, 0.9])
def test_a_picture_cut_short_is_refused(tmp_path: Path, form: str, kept: float) -> None:
    whole = encoded(form)
    (tmp_path / "x").write_bytes(whole)
    check_picture(tmp_path / "x")
    (tmp_path / "x").write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(BadFile) as caught:
        rendered(Item("x", picture=tmp_path / "x"), AS_IS)
    assert caught.value.code == "damaged-picture"
    assert "BytesIO" not in str(caught.value)


@pytest.mark.parametrize("place", ["pixels", "checksum"])
def test_a_flipped_bit_in_a_png_is_seen(tmp_path: Path, place: str) -> None:
    whole = bytearray(encoded("PNG"))
    assert whole[-8:-4] == b"IEND"
    whole[len(whole) // 2 if place == "pixels" else -13] ^= 1
    (tmp_path / "x.png").write_bytes(whole)
    with pytest.raises(BadFile) as caught:
        check_picture(tmp_path / "x.png")
    assert caught.value.code == "damaged-picture"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_whatever_is_damaged_ends_in_our_error_or_in_a_picture(tmp_path: Path, form: str) -> None:
    rng = np.random.default_rng(7)
    whole = encoded(form)
    n_refused = 0
    for _ in range(150):
        data = bytearray(whole)
        for place in rng.integers(0, 200 if rng.random() < 0.7 else len(data), 3):
            data[place] = rng.integers(256)
        (tmp_path / "x").write_bytes(data)
        try:
            opened(rendered(Item("x", picture=tmp_path / "x"), ItemSource()))
        except BadFile:
            n_refused += 1
    assert n_refused > 0


@pytest.mark.parametrize(
    "content", [b"", b"<html><img src=x></html>", b"<svg/>", b"II*\0" + bytes(50), b"BM, she said", b"%PDF-1.7"]
)
def test_what_is_no_picture_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(BadFile) as caught:
        check_picture(tmp_path / "x.png")
    assert (caught.value.code, caught.value.where.file) == ("no-picture", str(tmp_path / "x.png"))


def test_a_picture_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(BadFile) as caught:
        rendered(Item("x", picture=tmp_path / "gone.png"), AS_IS)
    assert caught.value.code == "unreadable"


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_the_first_bytes_tell_the_format(form: str) -> None:
    assert picture_format(encoded(form)[:16]) == form
    assert picture_format(encoded(form)[1:17]) is None
