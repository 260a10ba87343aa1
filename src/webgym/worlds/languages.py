"""The frame of a page (menus, buttons, footer) in other languages. Content stays in English, as on many real sites."""

from __future__ import annotations

from typing import Final

LANGUAGES: Final = (("en", "English"), ("de", "Deutsch"), ("fr", "Français"), ("es", "Español"))
_ORDER: Final = ("de", "fr", "es")
_WORDS: Final = {
    "Search": ("Suchen", "Rechercher", "Buscar"),
    "Home": ("Start", "Accueil", "Inicio"),
    "Menu": ("Menü", "Menu", "Menú"),
    "Cart": ("Warenkorb", "Panier", "Cesta"),
    "Sign in": ("Anmelden", "Se connecter", "Entrar"),
    "Sign out": ("Abmelden", "Se déconnecter", "Salir"),
    "Explore": ("Entdecken", "Explorer", "Explorar"),
    "Help": ("Hilfe", "Aide", "Ayuda"),
    "About us": ("Über uns", "À propos", "Sobre nosotros"),
    "Contact": ("Kontakt", "Contact", "Contacto"),
    "Partner portal": ("Partnerportal", "Espace partenaires", "Portal de socios"),
    "Language": ("Sprache", "Langue", "Idioma"),
    "All rights reserved.": ("Alle Rechte vorbehalten.", "Tous droits réservés.", "Todos los derechos reservados."),
    "Accept all": ("Alle akzeptieren", "Tout accepter", "Aceptar todo"),
    "Only necessary": ("Nur notwendige", "Uniquement nécessaires", "Solo necesarias"),
    "We value your privacy": ("Ihre Privatsphäre", "Votre vie privée", "Su privacidad"),
    "We use cookies to remember your choices on this site.": (
        "Wir verwenden Cookies, um Ihre Auswahl zu speichern.",
        "Nous utilisons des cookies pour mémoriser vos choix.",
        "Usamos cookies para recordar sus preferencias.",
    ),
}


def say(text: str, language: str) -> str:
    """A text of the frame in a language; English if it has none."""
    words = _WORDS.get(text)
    return words[_ORDER.index(language)] if words and language in _ORDER else text
