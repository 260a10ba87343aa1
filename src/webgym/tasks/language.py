"""The language of a short text, by its script and its commonest words.

No model is loaded: instructions are a sentence or two, and whether one is English is told by a handful of words. Text that
shows no sign of any language (a product name, a code) is `und`, and filters let it pass.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

_WORDS: Final = MappingProxyType(
    {
        "en": "the of to and in for on is that with an by from at this what which are you how it as your or be me my about"
        " all any more find get show view open browse check search learn look buy compare explore research list near",
        "es": "el la los las de en y que para con un una por del es como más su al buscar encuentra sobre cuál",
        "fr": "le la les des du de et en pour que qui un une dans sur est avec au aux trouver cherchez quel quelle votre",
        "de": "der die das und ist ein eine einen im zu den von mit für auf nach welche suche finde wie sie nicht dem über",
        "it": "il lo la gli le di e che per con un una del della nel sono è come trova cerca sul quale dei delle più",
        "pt": "o os as de e que para com um uma do da no na em por como não é encontre procure sobre dos das qual mais ao",
        "nl": "de het een en van op in voor met is naar welke zoek vind dat te zijn aan niet over hoe je uw deze",
        "pl": "i w na z do się nie jest jak dla oraz znajdź że po od lub przez która który jakie są",
        "sv": "och att det en ett som på är för med av till den hitta sök om inte från vilka",
        "tr": "ve bir için bu ile en bulun olan nasıl hangi veya daha çok da de",
        "id": "dan yang di untuk dari dengan pada ini itu cari temukan apa dalam adalah atau ke",
        "vi": "và của cho trên là các tìm một trong với có những được tại",
    }
)
_LANGUAGES_OF: Final[dict[str, tuple[str, ...]]] = {}
for _name, _listed in _WORDS.items():
    for _word in _listed.split():
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _name)

_SCRIPTS: Final = (
    ("ja", re.compile(r"[぀-ヿ]")),
    ("ko", re.compile(r"[가-힯]")),
    ("zh", re.compile(r"[一-鿿]")),
    ("ru", re.compile(r"[Ѐ-ӿ]")),
    ("ar", re.compile(r"[؀-ۿ]")),
    ("el", re.compile(r"[Ͱ-Ͽ]")),
    ("he", re.compile(r"[֐-׿]")),
    ("hi", re.compile(r"[ऀ-ॿ]")),
    ("th", re.compile(r"[฀-๿]")),
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_FOREIGN_SHARE: Final = 0.3


def language(text: str) -> str:
    """An ISO 639-1 code, or `und` when nothing tells."""
    words = _WORD.findall(text.lower())
    if not text.isascii():
        letters = sum(map(len, words))
        for name, script in _SCRIPTS:
            if letters and len(script.findall(text)) > _FOREIGN_SHARE * letters:
                return name
    votes: dict[str, int] = {}
    for word in words:
        for name in _LANGUAGES_OF.get(word, ()):
            votes[name] = votes.get(name, 0) + 1
    # English wins ties, and one word tells no other language: names are full of them.
    best = max(_WORDS, key=lambda name: votes.get(name, 0))
    return best if votes.get(best, 0) >= (1 if best == "en" else 2) else "und"
