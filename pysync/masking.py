"""Masking: no text that people or files get shows a secret. Pure; nothing that is compared is masked.

A name holds a secret if one of its words says so (`es.net.http.auth.pass`, `secretKey`), and the next word does not say
that it only describes one (`token.delimiter`). In a text, values are found by such names, by the form of an address,
and by the forms of well-known keys.
"""

from __future__ import annotations

import re

HIDDEN = "***"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRETS = _words(
    "pass passwd password passphrase passcode pwd pw secret secrets token tokens credential credentials creds "
    "authorization bearer jwt sas sig signature cookie"
)
_ENDS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials"),
    *("apikey", "accesskey", "secretkey", "privatekey", "accountkey", "sharedkey", "authkey", "encryptionkey"),
)
"""Ends of words that are written together: `dbpassword`."""
_PAIRS = frozenset(
    (first, "key")
    for first in ("access", "account", "api", "auth", "encryption", "master", "private", "shared", "signing", "storage")
) | {("user", "info"), ("connection", "string")}
_DESCRIBES = _words(
    "alias algorithm arn class column columns count delimiter delimiters endpoint enabled encoding expiration expires "
    "expiry field fields file files format interval length lifetime limit location mode name normalizer path policy "
    "position provider providers renewal renewer required separator separators service size store strategy through ttl "
    "type types url uri version"
)
_COUNTS = _words("avg distinct max mean min n num total")
"""Words before `tokens` that make it a number."""

# `scheme://user:secret@host`; a secret may contain `/` and `@`, but what looks like a port is none, unless it is in
# an address of S3. The lengths are
# bounded, so that no text of a client makes this slow.
_IN_ADDRESS = re.compile(
    r"(?:(?<=://)[^/@:\s'\"]{0,200}:(?!\d{1,5}[/?])|(?:(?<=\bs3://)|(?<=\bs3[an]://))[^/@:\s'\"]{0,200}:)"
    r"[^\s'\"<>]{1,500}(?=@)"
)
_IN_ORACLE = re.compile(r"(?<=:)[\w$#]{1,100}/(?!/)[^\s'<>]{1,200}(?=@)")
_NAMED = re.compile(r"(?<![\w.-])(?:--)?(?P<name>[\w.-]+)\\*['\"]?(?P<sign>\s*[=:]\s*|\s+)", re.ASCII)
_VALUE = re.compile(
    r"(?P<quote>\\*['\"])(?:(?!(?P=quote))(?:\\.|.)){0,8000}|\{[^}]{1,500}\}"
    r"|(?:(?:Basic|Bearer|Digest|Negotiate|Token|ApiKey)\s+)?[^\s&;,'\"\\]+",
    re.DOTALL | re.IGNORECASE,
)
_IDENTIFIED = re.compile(r"(?<=identified by )\s*(?:'[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)
_FORMS = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----END).){0,8000}(?:-----END [A-Z ]{0,30}-----)?"
    r"|\beyJ[\w-]{8,4000}\.[\w-]{4,4000}\.[\w-]{0,2000}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hvs\.|dapi|sk_live_|AIza)[\w-]{20,200}"
    r"|(?<=\bBearer )[\w.~+/=-]{8,4000}|(?<=\bBasic )(?=[\w+/]*[\d=])[\w+/=]{8,4000}",
    re.DOTALL,
)


def is_secret(name: str) -> bool:
    """Whether what has this name may be a secret. It errs on the safe side."""
    words = [word.lower() for word in _WORD.findall(name)]
    before, after = ["", *words], [*words[1:], ""]
    return any(map(_is_secret_word, before, words, after))


def is_secret_field(field: str) -> bool:
    """The same for the path of a field: only a parameter's own name counts, not that of a table or a partition."""
    _, parameters, name = field.rpartition("parameters.")
    return is_secret(name) if parameters else ":" not in field and is_secret(field)


def masked(text: str) -> str:
    """The text without the secrets in it."""
    text = _FORMS.sub(HIDDEN, _IN_ADDRESS.sub(HIDDEN, text))
    if "jdbc:oracle:" in text:
        text = _IN_ORACLE.sub(HIDDEN, text)
    return _IDENTIFIED.sub(f" {HIDDEN}", _without_named(text))


def _is_secret_word(before: str, word: str, after: str) -> bool:
    if after in _DESCRIBES or (word == "tokens" and before in _COUNTS):
        return False
    return word in _SECRETS or word.endswith(_ENDS) or (before, word) in _PAIRS


def _without_named(text: str) -> str:
    """The text without the values that stand behind the name of a secret: `name=value`, `"name": "value"`."""
    done, parts = 0, list[str]()
    for found in _NAMED.finditer(text):
        is_option = found.group().startswith("--") or not found["sign"].isspace()
        if found.start() < done or not is_option or not is_secret(found["name"]):
            continue
        value = _VALUE.match(text, found.end())
        if value:
            quote = value["quote"] or ""
            parts += [text[done : found.end()], quote, HIDDEN]
            done = value.end()
    return "".join([*parts, text[done:]])
