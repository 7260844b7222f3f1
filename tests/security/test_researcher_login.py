"""Attacks on the researcher's login that once worked: guessing common passwords."""

from __future__ import annotations

from pathlib import Path

from picture_study import write_picture_study

from sfumato.server.passwords import check_password
from sfumato.study import read_study
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting

COMMON = """
password1 Password1! P@ssw0rd P@$$w0rd1 passw0rd123 myp@ssword mypassword1 thisismypassword Passw0rd! p4ssw0rd
drowssap drowssap1 Passwort1! motdepasse1 contrasena1 123456789a 12345678a a12345678 abc12345 abcd1234! 11111111
88888888 aaaaaaaa1 123123123 987654321 147258369 20262026 01012000 12121990 1q2w3e4r5t 1qaz2wsx3edc 1qaz!QAZ 1qaz@WSX
!QAZ2wsx zaq1@WSX qwerty123 Qwerty123! qwertyuiop qwer1234! asdfghjkl asdf;lkj zxcvbnm123 qazwsxedc poiuytrewq
mnbvcxz1 azerty123 qwertz123 iloveyou1 iloveyou! iloveyou2 ilovecats1 princess1 sunshine1 football1 baseball1
superman1 batman123 michael1 jennifer1 charlie1 shadow123 master123 dragon123 monkey123 letmein1! letmeinnow welcome1
Welcome2026! Welcome@123 admin123! administrator Admin@2026 nimda123 root1234 toor1234 changeme123 trustno1 starwars1
pokemon1 whatever1 computer1 internet1 freedom1 liverpool1 chelsea123 arsenal1 jordan23 michelle1 samantha1 danielle1
nicholas1 Summer2026 Winter2025! Spring2026! Autumn2026 August2026 January2026 Monday123! google123 facebook1
linkedin1 test1234 Test1234! testtest1 secret123 default1 guest1234 login1234 access14 hallo123 schatz123 bonjour1
chocolate1 butterfly1 flower123 blink182 ncc1701d rush2112 8675309a research1 Research2026 labeling1
correcthorsebatterystaple sfumato1! Sfumato2026 pets-study Pets2026 p3ts!2026 PetsStudy1
"""
GOOD = (
    "nine grey geese by the lake",
    "purple teapot volcano lamp",
    "copper-lantern-meadow-91",
    "aardvark umbrella 7 tin",
    "ein Häuschen im Grünen",
    "река тихо течёт на север",
    "水色の空に白い鳥が飛ぶ",
    "🦢🦆🪿 under a willow",
    "t4R!mn0z",
    "kd93!xQp",
    "Zj7#qLw2pR",
    "words " * 12 + "and more of them, past what is estimated: 5 kites",
)


def test_common_passwords_are_refused(tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path, name="pets-study"))
    common = COMMON.split()
    assert len(common) > 72
    assert [password for password in common if is_accepted(password, study)] == []


def is_accepted(password: str, study: Study) -> bool:
    try:
        check_password(password, study)
    except BadSetting:
        return False
    return True


def test_good_passphrases_are_accepted(tmp_path: Path) -> None:
    study = read_study(write_picture_study(tmp_path, name="pets-study"))
    for password in GOOD:
        check_password(password, study)
