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
    "pass passes passwd password passphrase passcode passw passwrd pword pswd psw pwd pw secret secrets token tokens "
    "credential credentials creds authorization bearer jwt sas sig signature cookie pat otp totp pin hmac logdata"
)
_ENDS = (
    *("password", "passwords", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials"),
    *("apikey", "accesskey", "secretkey", "privatekey", "accountkey", "sharedkey", "authkey", "encryptionkey"),
    *("bindpw", "requirepass", "storepass", "keypass", "sshkey", "servicekey"),
)
"""Ends of words that are written together: `dbpassword`."""
_PAIRS = frozenset(
    (first, "key")
    for first in _words(
        "access account aes api application auth cipher consumer customer decryption deploy encryption fernet gpg hmac "
        "json keystore licence license master pgp private pvt security service session shared signing sse ssh ssl "
        "storage subscription symmetric tls unseal"
    )
) | {
    *(("user", "info"), ("connection", "string"), ("recovery", "code"), ("auth", "code"), ("code", "verifier")),
    *(("auth", "header"), ("auth", "headers"), ("authentication", "header"), ("jaas", "config")),
    *(("auth", "ticket"), ("kerberos", "ticket"), ("client", "assertion"), ("saml", "assertion")),
}
_CONTENTS = _words("base content contents dict json")
"""Words behind the name of a file, for what is in it: `keyfile.content`, `keytab_base64`."""
_KEY_FILES = _words("jks key keyfile keystore keytab kubeconfig pem pfx")
_LAST_PAIRS = {(first, "auth") for first in _words("basic digest docker jedis proxy redis registry")} | {
    ("account", "json")
}
"""Pairs at the end of a name alone: `redis.auth` is a password, `es.net.http.auth.user` is none."""
_WHOLE_NAMES = _words("_auth client-key-data")
"""Names that are secret as a whole, though none of their words is: npm's, and that of a kubeconfig."""
_DESCRIBES = _words(
    "alias algorithm arn class column columns count delimiter delimiters endpoint enabled encoding error exception "
    "expiration expires expiry field fields file files format interval issuer length lifetime limit location mode name "
    "normalizer path policy position provider providers renewal renewer required separator separators service size "
    "source store strategy through ttl type types url uri version"
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
_NAMED = re.compile(
    r"(?<![\w.-])(?:--)?(?P<name>[\w.-]+)(?P<sign>\\*['\"]?(?:\s*(?:=|::?)\s*|\s+)|(?:</name>\s*<value)?>(?=[^<>]{1,1000}</))",
    re.ASCII,
)
_VALUE = re.compile(
    r"(?P<quote>\\*['\"])(?:(?!(?P=quote))(?:\\.|.)){0,8000}|\{[^}]{1,500}\}"
    r"|(?:(?:Basic|Bearer|Digest|Negotiate|Token|ApiKey)\s+)?[^\s&;,'\"\\]+",
    re.DOTALL | re.IGNORECASE,
)
_HAS_OPTIONS = re.compile(r"jdbc:|https?:")
_HEADERS = {"authorization": re.compile(r"[^\r\n'\"]{1,4000}"), "cookie": re.compile(r"[^\r\n]{1,4000}")}
"""The values of headers of HTTP, whose secret may stand behind a space: the rest of the line."""
_ELEMENT = re.compile(r"[^<]{1,1000}")
_SETTING = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{12,1000}")
"""The value of a name with dots behind a space, as in spark-defaults.conf: else it is a word of a sentence."""
_HARMLESS = re.compile(
    r"(?:tinyint|smallint|int|bigint|float|double|decimal|string|varchar|char|boolean|binary|date|timestamp|struct|map"
    r"|array|uniontype|true|false|null|none)(?=[\s,;&()<>}\]'\"]|$)",
    re.IGNORECASE,
)
"""The type of a column of that name, or a value that says nothing."""
_IDENTIFIED = re.compile(
    r"(\bidentified\s+(?:with\s+\w{1,60}\s+)?(?:by|as)(?:\s+password)?\s+)(?:'[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE
)
_SQL = re.compile(r"(\b(?:password|passphrase|secret)\s+)(?:'[^']*'|\"[^\"]*\")", re.IGNORECASE)
_LOGIN = re.compile(
    r"(\bmachine\s{1,9}\S{1,100}\s{1,9}login\s{1,9}\S{1,100}\s{1,9}password\s{1,9}|\.logon\s{1,9}[^\s,]{1,200},)\S+",
    re.IGNORECASE,
)
"""A login in .netrc, and one of Teradata's bteq."""
_OF_CURL = re.compile(r"((?:^|\s)(?:-u|--user|--proxy-user)[\s=]+['\"]?[^\s:'\"]{1,100}:)(?!\S*://)[^\s'\"]+")
_OPTIONS = {
    r"(?:mysql|mariadb)[\w-]{0,20}": r"-p(?=\S)",
    r"(?:sshpass|beeline|mongo\w{0,10}|(?:docker|podman|nerdctl|oras|skopeo|helm registry) login)": r"-p\s{0,9}",
    r"(?:sqlcmd|bcp|isql|osql)": r"-P\s{0,9}",
    r"ldap(?:add|compare|delete|modify|passwd|search|whoami)": r"-w\s{0,9}",
    r"redis-cli": r"-a\s{0,9}",
    r"(?:smbclient|rpcclient)": r"-U\s{0,9}[\w.\\-]{1,100}%",
    r"curl": r"-u['\"]?[^\s:'\"]{1,100}:",
    r"(?:sqlplus|sqlldr|expdp|impdp|rman)": r"['\"]?(?:userid=)?[\w$#]{1,100}/(?!/)",
    r"(?:exp|imp)": r"['\"]?(?:userid=)?[\w$#]{1,100}/(?=[^\s'\"]{1,200}@)",
}
"""Commands, and what is before a password among their arguments. How far it is looked for is bounded."""
_COMMANDS = tuple(
    re.compile(
        rf"(\b{command}\s(?:[^\n|]{{0,300}}?\s)?{option})(?:'[^']{{1,200}}'|\"[^\"]{{1,200}}\"|[^\s'\"]{{1,200}})"
    )
    for command, option in _OPTIONS.items()
)
_PREFIXES = (
    *("gh[pousr]_", "github_pat_", "gl(?:dt|oas|pat|rt)-", "xox[abeprs]-", r"xoxe\.xox[bp]-", "xapp-"),
    *(
        r"hv[bs]\.",
        "dapi",
        "dop_v1_",
        "glsa_",
        "pypi-",
        "[rs]k_(?:live|test)_",
        "sk-proj-",
        "sk-ant-",
        "AIza",
        r"ya29\.",
    ),
    *("dckr_pat_", "shp(?:at|ca|pa|ss)_", "whsec_", "NRAK-", "PMAK-", "lin_api_", "rubygems_", "tfp_", "GOCSPX-"),
    *("AKCp", "ATATT3x", r"dt0c01\.\w{8,40}\.", r"(?:[\w-]{14}\.)?atlasv1\.", "AGE-SECRET-KEY-1"),
    *(f"{prefix}(?=[A-Za-z0-9]{{28}})" for prefix in ("npm_", "hf_", "pul-", "1//0", "EAA")),
)
"""How keys of well-known makers begin; some only count if a long word without signs follows."""
_FORMS = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END).){0,8000}(?:-----END [A-Z ]{0,30}-----)?"
    r"|(?<![\w-])eyJ[\w-]{8,4000}\.[\w-]{4,4000}\.[\w-]{0,2000}"
    rf"|\b(?:{'|'.join(_PREFIXES)})[\w-]{{14,200}}|\bSG\.[\w-]{{16,40}}\.[\w-]{{16,80}}"
    r"|(?<=\bhooks\.slack\.com/services/)[\w/]{10,200}|(?<=\.webhook\.office\.com/)[^\s'\"]{20,400}"
    r"|(?<=\bdiscord\.com/api/webhooks/)\d{5,30}/[\w-]{10,200}|(?<=\bapi\.telegram\.org/bot)\d{5,20}:[\w-]{10,100}"
    r"|(?<=\bhttps://)[\w-]{30,200}(?=@)|(?<=[?&]delegation=)[^\s&'\"]{1,2000}|(?<=sig%3D)[^\s&'\"]{8,500}"
    r"|(?<=\bBearer )[\w.~+/=-]{8,4000}|(?<=\bBasic )(?=[\w+/]*[\d=])[\w+/=]{8,4000}",
    re.DOTALL,
)


def is_secret(name: str) -> bool:
    """Whether what has this name may be a secret. It errs on the safe side."""
    words = [word.lower() for word in _WORD.findall(name)]
    # What is in a file of secrets is one, though its path is not.
    words = [it for it, after in zip(words, [*words[1:], ""], strict=False) if it != "file" or after not in _CONTENTS]
    before, after = ["", *words], [*words[1:], ""]
    return name in _WHOLE_NAMES or any(map(_is_secret_word, before, words, after))


def is_secret_field(field: str) -> bool:
    """The same for the path of a field: only a parameter's own name counts, not that of a table or a partition."""
    _, parameters, name = field.rpartition("parameters.")
    return is_secret(name) if parameters else ":" not in field and is_secret(field)


def masked(text: str) -> str:
    """The text without the secrets in it."""
    text = _FORMS.sub(HIDDEN, _IN_ADDRESS.sub(HIDDEN, text))
    if "jdbc:oracle:" in text:
        text = _IN_ORACLE.sub(HIDDEN, text)
    text = _IDENTIFIED.sub(rf"\1{HIDDEN}", _without_named(text))
    for before in (_SQL, _LOGIN, _OF_CURL, *_COMMANDS):
        text = before.sub(rf"\1{HIDDEN}", text)
    return text


def _is_secret_word(before: str, word: str, after: str) -> bool:
    if after in _DESCRIBES or (word == "tokens" and before in _COUNTS):
        return False
    if word in _SECRETS or word.endswith(_ENDS) or (before, word) in _PAIRS:
        return True
    return (before in _KEY_FILES and word in _CONTENTS) or (not after and (before, word) in _LAST_PAIRS)


def _without_named(text: str) -> str:
    """The text without the values that stand behind the name of a secret: `name=value`, `"name": "value"`."""
    done, parts, has_partitions = 0, list[str](), not _HAS_OPTIONS.search(text)
    for match in _NAMED.finditer(text):
        # `/token=1/` is the directory of a partition, except in addresses that have options.
        is_partition = has_partitions and text[match.start() - 1 : match.start()] == "/"
        if match.start() < done or is_partition or not is_secret(match["name"]):
            continue
        form = _form_of_value(match)
        value = form.match(text, match.end()) if form else None
        if value and not _HARMLESS.match(text, match.end()):
            quote = value.groupdict().get("quote") or ""
            parts += [text[done : match.end()], quote, HIDDEN]
            done = value.end()
    return "".join([*parts, text[done:]])


def _form_of_value(match: re.Match[str]) -> re.Pattern[str] | None:
    """What the value behind a name looks like; None where a word of a sentence is behind it, not a value."""
    name, sign = match["name"], match["sign"]
    if sign.endswith(">"):
        return _ELEMENT
    is_option = match.group().startswith("--") or (name.startswith("-") and "." not in name)
    if not set(sign) & {"=", ":"} and not is_option:
        return _SETTING if "." in name and sign.isspace() else None
    header = _HEADERS.get(name.lower().rpartition("-")[2].rpartition(".")[2])
    quoted = match.string[match.end() : match.end() + 1] in {"'", '"', "\\"}
    return header if header and sign.strip() == ":" and not quoted else _VALUE
