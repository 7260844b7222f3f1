"""The researcher's password: which passwords are accepted, hashing and verification.

Argon2id (Biryukov, Dinu and Khovratovich 2016; RFC 9106, second recommended option). Lengths and the list of common
passwords follow NIST SP 800-63B: at least 8 characters, better 15, no truncation, no rules about characters.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, missing_extra

if TYPE_CHECKING:
    from argon2 import PasswordHasher

# Common passwords without digits and signs around them, which `check_password` ignores.
KEYS = """
12345678 123456789 1234567890 87654321 987654321 0987654321 11223344 112233445566 12341234 123123123 12344321 13579246
24681357 01234567 14725836 147258369 159357258 741852963 789456123 963852741 31415926 27182818 abcdefgh abcdefghi
abcd1234 1234abcd a1b2c3d4 1a2b3c4d aa123456 1q2w3e4r 1q2w3e4r5t 1qaz2wsx q1w2e3r4 qazwsx qazwsxedc qwer1234 1234qwer
qwert qwerty qwertyui qwertyuiop qwertz qwertzui azerty azertyui asdf asdfgh asdfghjk asdfghjkl zxcvbn zxcvbnm yxcvbnm
poiuytre lkjhgfds mnbvcxz zaq12wsx asdf1234 asdfasdf qweasd qweasdzxc zaqwsx xswzaq
"""
WORDS = """
password passwort passwd passphrase passw0rd p@ssword p@ssw0rd motdepasse contrasena wachtwoord parola haslo secret
secrets geheim topsecret letmein opensesame sesame welcome welcomeback willkommen bienvenue login logmein access
accessgranted admin administrator adminadmin root rootroot toor user username guest demo test tester testing testtest
temp temporary changeme changeit default master masterkey manager supervisor superuser superman batman spiderman ironman
starwars startrek pokemon pikachu minecraft fortnite nintendo playstation football futbol fussball soccer baseball
basketball hockey cricket tennis chelsea arsenal liverpool barcelona juventus realmadrid yankees cowboys steelers
monkey dragon tiger lion panther falcon eagle phoenix unicorn butterfly dolphin elephant kitten puppy doggie rabbit
sunshine moonlight starlight rainbow flower blossom princess prince queen king angel devil heaven paradise summer
winter spring autumn january february march april june july august september october november december monday tuesday
wednesday thursday friday saturday sunday computer internet google facebook youtube twitter instagram whatsapp amazon
microsoft windows apple iphone android samsung laptop keyboard monitor printer server database network wireless research
researcher science scientist university college professor doctor student teacher school laboratory annotation
annotator annotate label labels labeling labelling dataset study studio survey experiment participant prolific
mturk crowd worker task project charlie michael jennifer jessica daniel andrew anthony ashley amanda matthew joshua
jordan justin nicole thomas robert william alexander maximilian sebastian stefan andreas martina sabine francois camille
isabelle giovanni francesca mohammed fatima yamamoto wang michelle samantha hannah sophie iloveyou loveyou lovelove
mylove forever friends family mother father brother sister freedom whatever nothing something hello hallo bonjour
goodbye trustno trustnoone whatthe cheese chocolate cookie banana orange pepper ginger coffee
guinness london paris berlin newyork boston texas california chicago toronto sydney germany france england america
correct correcthorsebatterystaple lorem loremipsum
"""
COMMON = frozenset((KEYS + WORDS).split())
SHORTEST, ADVISED, LONGEST = 8, 15, 1000
DUMMY_HASH = "$argon2id$v=19$m=65536,t=3,p=4$tD9tSuCvpkDmcX8BHP7Qfw$ZBupuwV7XpAEC0iRTu2tNKknKQu5Y3jYGhl65nfSnds"
"""Verified when no password is set, so that a login attempt takes the same time."""


def check_password(password: str, study: Study) -> None:
    """Raise if the password is too short, too long or easy to guess."""
    plain = _normalized(password)
    if len(plain) < SHORTEST or len(plain) > LONGEST:
        raise _refused(f"a password of {len(plain)} characters", f"{SHORTEST} characters or more, better {ADVISED}")
    folded = plain.casefold()
    stem = "".join(character for character in folded if character.isalpha())
    known = COMMON | {text.casefold() for text in (study.name, study.title, *study.title.split(), "sfumato")}
    if folded in known or (stem in known and len(stem) > 3) or len(set(folded)) < 4:
        raise _refused("a password that is easy to guess", "a password that nobody can guess")


def hash_password(password: str) -> str:
    """The hash to store."""
    return _hasher().hash(_normalized(password))


def is_password(password: str, stored: str | None) -> bool:
    """Whether the password matches the stored hash. Takes the same time if none is stored."""
    hasher = _hasher()
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        matches = hasher.verify(stored or DUMMY_HASH, _normalized(password))
    except (Argon2Error, InvalidHashError):
        return False
    return matches and stored is not None


def _normalized(password: str) -> str:
    """The same characters for every keyboard."""
    return unicodedata.normalize("NFKC", password)


def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ImportError as error:
        raise missing_extra("argon2", "for password hashes", "serve") from error
    return PasswordHasher()


def _refused(found: str, expected: str) -> BadSetting:
    return BadSetting(found, expected, "choose another, for example four words", "weak-password")
