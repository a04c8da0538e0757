"""HiveQL: the text of a view as a tree, and with other names of tables. Pure; needs sqlglot (extra `aws`).

`text` reads it, `renaming` changes names; `refusal` is what both raise, `differences` is what a person may accept. The
last two need no sqlglot.
"""
