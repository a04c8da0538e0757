"""Expressions over columns that a condition makes constants: engines calculate them before they read a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.views.generated import is_translated
from tests.views.report import tell
from tests.views.several import make_hard_table, outcomes_of
from tests.views.world import JUDGES, World

_EXPRESSIONS: Mapping[str, Sequence[str]] = {
    "k": (
        *("k", "k + 1", "k / 7", "k * d", "d / k", "k / d", "g / k", "g * k", "d % k", "concat(k, 'x')", "k in (7, 8)"),
        *("cast(k as string)", "case k when 7 then 1 else 0 end", "coalesce(k, 1)", "if(ok, k, 0)", "array(k, 1)"),
        *("pmod(k, 3)", "cast(k as decimal(10,2)) / 3", "cast(k as double)", "e / k", "k * e", "least(k, d)"),
        *("sum(d / k) over (partition by i)", "greatest(k, 3)", "k * 0.5"),
    ),
    "d": (
        *("d", "d + 1", "d / 7", "d * d", "d / k", "d / e", "d % 7", "d % k", "concat(d, 'x')", "cast(d as string)"),
        *("d = 1.25", "round(d, 1)", "ceil(d)", "d in (1.25, 2)", "cast(d as decimal(6,1))", "coalesce(d, 1)", "-d"),
        *("d * f", "abs(d)", "nvl(d, 'x')", "d * g", "g * d", "d - e", "if(ok, d, e)", "array(d, 1)", "least(d, e)"),
        *("avg(d) over (partition by i)", "cast(d as double)", "cast(d as int)"),
    ),
    "s": (
        *("s", "concat(s, 'x')", "length(s)", "cast(s as int)", "cast(s as double)", "s = '01'", "s = 1", "s + 1"),
        *("s in ('01', '1')", "upper(s)", "s like '0_'", "substr(s, 2)", "cast(s as decimal(10,2))", "year(s)"),
        *("cast(s as date)", "cast(s as varchar(3))"),
    ),
    "dt": (
        *("dt", "concat(dt, 'x')", "year(dt)", "dt = '2020-01-31'", "date_add(dt, 1)", "datediff(dt, '2020-01-01')"),
        *("cast(dt as timestamp)", "cast(dt as string)", "date_format(dt, 'yyyy-MM')", "trunc(dt, 'MM')"),
        *("last_day(dt)", "months_between(dt, '2020-01-01')", "coalesce(dt, '2020-01-01')"),
    ),
    "ts": (
        *("ts", "concat(ts, 'x')", "cast(ts as string)", "hour(ts)", "to_date(ts)", "datediff(ts, '2020-01-01')"),
        *("cast(ts as date)", "date_format(ts, 'yyyy-MM')"),
    ),
    "c": (
        *("c", "concat(c, 'x')", "length(c)", "c = 'a'", "c in ('a','b')", "upper(c)", "c like 'a'", "reverse(c)"),
        *("c = v", "case c when 'a' then 1 else 0 end", "substr(c, 1, 3)", "trim(c)", "c < 'b'", "md5(c)"),
        *("concat_ws('-', c, s)", "instr(c, 'a')", "rpad(c, 4, 'x')"),
    ),
    "v": ("v", "concat(v, 'x')", "length(v)", "v = 'a'", "v in ('a')", "upper(v)", "v like 'a'", "v = s", "trim(v)"),
}
_CONDITIONS: Mapping[str, Sequence[str]] = {
    "k": (
        *("k = 7", "k in (7)", "k <=> 7", "k = '7'", "k = 7.0", "k between 7 and 7", "k >= 7 and k <= 7", "7 = k"),
        *("(k = 7 and ok) or (k = 7 and id > 3)", "k = 7 or k = 10", "k = 3 + 4", "not k <> 7", "k in (7, 10)"),
    ),
    "d": ("d = 1.25", "d = '1.25'", "d = 10", "d <=> 0.05", "d in (1.25)", "d in (1.25, 0.05)", "d = 1.250"),
    "s": ("s = '01'", "s = 1", "s = '2020-01-31'", "s in ('01')", "s = 'a'"),
    "dt": ("dt = '2020-01-31'", "dt = date '2020-01-31'", "dt in ('2020-01-31')"),
    "ts": ("ts = '2020-01-31 10:20:30'", "ts = '2020-02-29'", "ts = timestamp '2020-01-31 10:20:30'"),
    "c": ("c = 'a'", "c = 'abcde'", "'a' = c", "c in ('abcde')", "c <=> 'abcde'"),
    "v": ("v = 'a'", "v = 'a  '"),
}


@pytest.mark.parametrize("world", JUDGES, indirect=True)
def test_what_a_condition_makes_a_constant_gives_the_same_rows(world: World, tmp_path: Path) -> None:
    make_hard_table(world, tmp_path)
    chosen = {
        condition: [it for it in _EXPRESSIONS[name] if is_translated(it, world.rules, condition)]
        for name, conditions in _CONDITIONS.items()
        for condition in conditions
    }
    outcomes = (it for condition, some in chosen.items() if some for it in outcomes_of(world, some, condition))
    counts = tell(f"conditions, by {world.judge}", outcomes)
    assert counts["wrong"] == 0
    assert counts["equal"] >= sum(map(len, chosen.values())) * 4 // 5
