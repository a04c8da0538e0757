"""Values that engines read, write and compare in different ways, as the rows of one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice

COLUMNS = (
    "id int, k int, i int, b bigint, sm smallint, ti tinyint, f double, r float, d decimal(10,2), e decimal(18,4), "
    "g decimal(38,10), s string, t string, dt date, ts timestamp, ok boolean, c char(5), v varchar(10), "
    "arr array<int>, tags array<string>, m map<string,int>, st struct<x:int,y:string>"
)
TEXTS: Sequence[str | None] = (
    *(None, "", " ", " 7 ", "7", "01", "1.0", "1e3", "0x1A", "-0", "+5", ".5", "5.", "1.9", "-3", "-0.9", "1d", "1f"),
    *("1L", "\t7", "7\n", "\u00a07", "\uff17", "NaN", "nan", "inf", "Infinity", "-Infinity", "127", "128", "32768"),
    *("2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "99999999999999999999", "true", "TRUE"),
    *("f", "no", "1", "0", "alpha", "Alpha", "a", "a\r", "a\n", "a\nb", "a\r\n", "a\tb", "a b", "  a", "it's", '"q"'),
    *("back\\slash", "100%", "a_b", "a.b", "a,b,,c,", "\U0001f600x", "x\U0001f600y", "stra\u00dfe", "STRASSE"),
    *("\u039f\u0394\u039f\u03a3", "\u03c3\u03c2", "\ufb01", "\u0130stanbul", "I\u0131", "\u00e9t\u00e9", "e\u0301"),
    *("\u0085", "\u2028x", "2020-01-31", "2020-1-31", "2020-02-30", "2020-02-29", "2019-02-29", "2020-13-01"),
    *("2020-01-31abc", "2020-01-31 ", " 2020-01-31", "2020-01-31 10:20:30", "2020-1-31 1:2:3", "2020-01-31 24:00:00"),
    *("2020-01-31 10:20:30.1", "2020-01-31 10:20:30.123456", "2020-01-31T10:20:30", "2020-01-31 10:20", "2020-01"),
    *("2020", "20200131", "0000-00-00", "0001-01-01", "1582-10-04", "1582-10-15", "1900-01-01", "1969-12-31 23:59:59"),
    *("9999-12-31", "9999-12-31 23:59:59.999", "10000-01-01", "2020-01-31 10:20:30 UTC", "31/01/2020"),
    *("+", ".", "-.", "-.5", "+.", "1.x", "--1", "-128.9", "-32769", "-2147483648", "-9223372036854775808", "\uff11"),
    *("2020-+1-31", "+202-01-31", "2020--1-31", " 2020- 1-31x", "2020-0-0", "2020-01-32", "2020-12-31 24:00:00"),
    *("2020-01-31 -1:00:00", "2020-01-31 1:2:3.", "2020-01-31 1:2:3.1234567891x", "2020-01-31 1:2:3.12  ", "20-1-1"),
    *("\uff12\uff10\uff12\uff10-\uff10\uff11-\uff13\uff11", "2020-01-31  10:20:30", "2049-151-2345678", "1-2-3"),
    *(
        "\u03a3",
        "a\u03a3",
        "\u03a3a",
        "A\u03a3 b",
        "A\u03a3.B\u03a3.",
        "\u03a3\u03a3",
        "A\u03a31",
        "1\u03a3",
        "A\u0301\u03a3",
    ),
    *(
        "A'\u03a3'",
        "A\u03a3'",
        "A\u03a3-B",
        "A\u03a3\u0301",
        "A\u03a3\u0301B",
        "\u01c4x \u01c5 \u01c6",
        "\u10d0 \ufb01 \u00df",
    ),
)
_NUMBERS: dict[str, Sequence[str]] = {
    "k": ("1", "0", "null", "2", "-1", "3", "7", "-7", "10", "31"),
    "i": ("null", "0", "1", "-1", "7", "2147483647", "-2147483648", "255", "100", "-100", "2020", "1000000"),
    "b": ("0", "null", "1", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "4294967296"),
    "sm": ("32767", "-32768", "0", "null", "7", "-1"),
    "ti": ("127", "-128", "0", "null", "5"),
    "f": tuple(
        f"double('{it}')"
        for it in (
            *("0.0", "-0.0", "NaN", "Infinity", "-Infinity", "1.005", "2.675", "0.5", "1.5", "2.5", "-0.5", "-1.5"),
            *("1e300", "-1e300", "4.9e-324", "1e17", "2147483647.5", "0.1", "123456789.125", "0.285", "8.345", "100"),
            *("1e-5", "1e7", "-1.005", "9.2e18", "-1e10", "null"),  # what is no number is NULL
        )
    ),
    "r": (
        "0.0",
        "float('-0.0')",
        "null",
        "float('NaN')",
        "float('Infinity')",
        "0.1",
        "1.5",
        "-2.5",
        "16777216",
        "3.4e38",
    ),
    "d": ("0.00", "0.01", "0.05", "null", "-0.05", "1.25", "99999999.99", "-99999999.99", "2.50", "10.00", "0.15"),
    "e": ("0.0000", "null", "0.00005", "1.0050", "-1.0050", "99999999999999.9999", "2.5000", "12.3456", "-0.5000"),
    "g": ("0", "null", "9999999999999999999999999999.9999999999", "-1.5", "0.0000000001", "123.456", "7"),
}
_OTHERS: dict[str, Sequence[str]] = {
    "dt": (
        *("date'2020-01-31'", "date'2020-02-29'", "null", "date'1969-12-31'", "date'1600-03-01'", "date'9990-12-31'"),
        *("date'1900-01-01'", "date'2000-12-31'", "date'2021-01-03'", "date'2024-12-30'"),
    ),
    "ts": (
        *(
            "timestamp'2020-01-31 10:20:30'",
            "null",
            "timestamp'1969-12-31 23:59:59.999'",
            "timestamp'2020-02-29 00:00:00'",
        ),
        *(
            "timestamp'9990-12-31 23:59:59.999'",
            "timestamp'1900-01-01 00:00:00.001'",
            "timestamp'2021-07-04 04:05:06.5'",
        ),
        *("timestamp'2020-03-29 02:30:00'", "timestamp'1600-03-01 00:00:00'"),
    ),
    "ok": ("true", "false", "null"),
    "c": ("'a'", "'a  '", "''", "null", "'abcde'", "'A'", "' a'"),
    "v": ("'a'", "'a  '", "''", "null", "'abcdefghij'", "'7'", "' 7 '", "'01'"),
    "arr": ("array(1,2,3)", "array()", "null", "array(null,5)", "array(3,3)", "array(null)"),
    "tags": ("array('x','y')", "array()", "null", "array('x',null)", "array('')", "array('a',',')"),
    "m": ("map('a',1,'b',2)", "map()", "null", "map('a',null)", "map('',0)", "map('k',2147483647)"),
    "st": ("named_struct('x',1,'y','one')", "null", "named_struct('x',null,'y',null)", "named_struct('x',0,'y','')"),
}


def hard_rows() -> Iterator[str]:
    """The rows, as Spark writes them: one for each text; the values of other columns come again and again."""
    others = {**_NUMBERS, **_OTHERS}
    columns = [islice(cycle(values), len(TEXTS)) for values in others.values()]
    names = list(others)
    shifted = [*TEXTS[7:], *TEXTS[:7]]
    for place, (text, other, values) in enumerate(zip(TEXTS, shifted, zip(*columns, strict=True), strict=True), 1):
        row = dict(zip(names, values, strict=True))
        row |= {"id": str(place), "s": literal(text), "t": literal(other)}
        yield ", ".join(row[it.split(" ")[0]] for it in COLUMNS.split(", "))


def literal(text: str | None) -> str:
    if text is None:
        return "null"
    return "'" + "".join(it if it.isalnum() and it.isascii() else _escape(it) for it in text) + "'"


def _escape(character: str) -> str:
    return f"\\U{ord(character):08x}" if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


VIEWS: Mapping[str, Sequence[str]] = {
    "halves": (
        "select id, round(f, 2), round(f, 1), round(1.005, 2), round(f) from h",
        "select id, round(d, 1), round(e, 2), round(g, 3) from h",
        "select id, ceil(f), floor(f), cast(f as int), cast(f as bigint) from h",
    ),
    "strings and numbers": (
        "select id from h where s in (1, 7)",
        "select id from h where k in ('1', '7', ' 7 ')",
        "select id, case s when 7 then 'seven' else 'other' end from h",
        "select id, s = 7, s > 5, s < 5, s >= 1.5, s between 2 and 'b', s between 2 and 5 from h",
        "select id, s + 1, s * 2, -s from h",
        "select id, s <=> 7 from h",
        "select id, cast(s as int) from h",
        "select id, cast(s as bigint), cast(s as smallint), cast(s as tinyint) from h",
        "select id, cast(c as int), cast(v as bigint), cast(' 7' as int), cast('1.9' as int) from h",
        "select x.id as one, y.id as other from h x join h y on x.s = y.k",
        "select id from h where s = k",
        "select id, cast(s as double) from h",
        "select id, cast(s as decimal(10,2)) from h",
        "select id, cast(d as string), cast(e as string), concat(d, '|', e), nvl(d, s), coalesce(s, e) from h",
        "select id, cast(g as string), cast(f as string) from h",
    ),
    "line ends": (
        "select id, s rlike 'a$', s rlike '^[a-z]+$', s rlike '^$' from h",
        "select id, regexp_extract(s, '([a-z])$', 1), regexp_extract(s, '(.)$', 1) from h",
        "select id, regexp_replace(s, 'a$', '_'), regexp_replace(s, '\\\\s+$', '') from h",
        "select id, split(s, 'a$') from h",
        "select id, s like 'a%', s like '%b', s like '%a%', s like 'a' from h",
        "select id, s like 'a%b', s like '_', s like 'a_', s like '%a_%' from h",
    ),
    "not a number": (
        "select id, f > 5, f < 5, f >= 5, f <= 5, f = 5, f <> 5 from h",
        "select id, f = f, f <> f, f < f, f >= f, f <=> f, f between 0 and 5 from h",
        "select id, f > k, k > f, f = d, d < f, r = f, r > f, r >= r from h",
        "select id, 'NaN' > 5, s > 5, 5 < s from h",
        "select id, greatest(f, 1e0), least(f, 1e0) from h",
        "select max(f), min(f), max(r) from h",
        "select max(f), min(f), sum(f), avg(f), count(f) from h where id < 25 and f > -1e300",
        "select id, f from h order by f desc, id limit 9",
        "select id, f from h order by 2, id limit 30",
        "select id, f from h order by f, id limit 30",
        "select id, r from h order by r desc, id limit 80",
        "select id, rank() over (order by f) from h",
        "select id, f in (0, 7), f in (1.5e0) from h",
        "select id, case f when 0 then 'zero' when 1.5 then 'more' end from h",
        "select x.id as one, y.id as other from h x join h y on x.f = y.f where x.id < 9 and y.id in (29, 30)",
        "select max(f), min(f) from h where id = 3",
        "select id, max(f) over (order by id rows 1 preceding), count(*) over (partition by f) from h",
    ),
    "zeros": (
        "select f, count(*) from h group by f",
        "select distinct f from h",
        "select f from h union select f from h",
        "select id, -f, f * -1, abs(f), f + 0 from h",
        "select id, 0 / -1, 0 / k, k / -3 from h",
        "select count(distinct f) from h",
    ),
    "capitals": (
        "select id, upper(s), ucase(s) from h",
        "select id, lower(s) from h",
        "select id, lcase(s) from h",
        "select id, initcap(s) from h",
        "select id, lower(t), lower(c), lower(upper(s)) from h",
        "select id, lower(concat(s, t)), lower(concat(t, '.', s)), initcap(concat(t, ' ', s)) from h",
        "select id, length(s), reverse(s), trim(s), concat(s, t), instr(s, 'y') from h",
        "select id, substr(s, 2), substr(s, 1, 1), substr(s, -1), substr(s, 1, 2), substr(s, -2, 1) from h",
        "select id, lpad(s, 2, '*'), rpad(s, 2, '*'), lpad(s, 9, 'ab'), rpad(s, 1, 'x') from h",
    ),
    "moments as strings": (
        "select id, cast(s as date) from h",
        "select id, cast(s as timestamp) from h where s is null or not s like '%-%' or (s rlike "
        "'^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}(.[0-9]{1,3})?)?$' and "
        "s not rlike '24:00|-02-[23]|-13-|-32|-00|^0')",
        "select id, cast('2019-2-8' as timestamp) from h",
        "select id, year(s), month(s), day(s) from h where not s rlike '^[0-9]{1,2}-|^(000|1582)'",
        "select id, date_add(s, 1) from h where s is null or not s rlike '^(0|1582|9999|10000)|^[0-9]{1,2}-'",
        "select id, datediff(s, '2020-01-01') from h where not s rlike '^(0|1582|9999|10000)|^[0-9]{1,2}-'",
        "select id, to_date(s), last_day(s), quarter(s), weekofyear(s) from h "
        "where not s rlike '^(000|1582|1000)|^[0-9]{1,2}-'",
        "select id, year(s), month(s), year(v), month(t) from h where s rlike '^[0-9]{1,2}-'",
        "select id, trunc(s, 'MM') from h where not s rlike '^[0-9]{1,2}-|^1000'",
        "select id from h where to_date(s) >= '2020-01-01' and year(s) < 2021",
        "select id, cast('2020-02-30' as date), cast(' 2020-01-31 ' as date), cast('2020-1-1' as date) from h",
        "select id, to_date('2020-01-31abc'), to_date('2020-02-30') from h",
        "select id, to_date('2020-01-31'), year('2020-01-31'), datediff(dt, '2020-01-01') from h",
        "select id, ts <= '2020-02-29', ts = '2020-02-29', ts > '2020-02-29' from h",
        "select id, ts between '1900-01-01' and '2020-12-31' from h",
        "select id, dt > '2020-01-01', ts >= '2020-01-01 10:00:00', ts < '2020-01-01' from h",
    ),
    "moments": (
        "select id, trunc(dt, 'MM'), trunc(dt, 'YEAR') from h",
        "select id, trunc(dt, 'mm') from h",
        "select id, dt in ('2020-01-31', '1600-03-01'), dt not in ('2020-02-29') from h",
        "select id, year(dt), month(ts), day(dt), quarter(dt), weekofyear(dt), dayofweek(dt), last_day(dt) from h",
        "select id, date_add(dt, k), date_sub(dt, k), datediff(ts, dt), date_format(ts, 'yyyy-MM-dd HH:mm:ss') from h",
        "select id, cast(ts as string), cast(dt as string), hour(ts), minute(ts), second(ts) from h",
        "select id, cast(dt as timestamp), cast(ts as date), dt = ts, dt < ts from h",
    ),
    "what is too large": (
        "select id, e * e * e from h",
        "select id, e * g, d * g, g * d from h",
        "select id, g * k, g * 7, g * ti from h",
        "select sum(d) * sum(e) * 3, max(g) * 2.5 from h",
        "select id, e * e, d * d, d + d, d - e, d * e, d / e from h",
        "select id, g + g, g * k from h",
        "select id, d / k from h where k = 7",
        "select q from (select e / k as q, k as n from h) x where not n <> 7",
        "select x.id, x.d / y.k as q from h x join h y on x.k = y.k where y.k = 7 and x.id < 20 and y.id < 20",
        "select id, d % 7 from h where d = 1.25",
        "select id, d / n from (select id, d, 7 as n from h) x",
        "select id, round(d / (3 + 4), 9), round(d / cast(7 as decimal(10,2)), 9) from h",
        "select id, 1.5 % 7, 20.5 % 7 from h",
        "select id, b between null and 7, b between 7 and null from h",
        "select id, d / k from h where k in (7, 10) or k = 2",
        "select id, cast(g as double) from h",
        "select id, cast(d as tinyint), cast(e as tinyint), cast(e as smallint), cast(e as int) from h",
        "select id, cast(g as bigint), cast(e * 7 as int) from h",
        "select id, arr[2147483647], arr[k], arr[0], tags[k] from h",
        "select id, repeat(s, 10001) from h",
        "select id, cast(f as decimal(10,2)) from h",
        "select sum(d), avg(d), sum(e), avg(e), sum(k), avg(k) from h",
    ),
    "of Hive": (
        "select id, sqrt(f), sqrt(d), ln(f), log10(f), log2(f), exp(d) from h where f < 100 and d < 100",
        "select var_samp(f), stddev_samp(f) from h where id = 8",
        "select var_pop(f), stddev_pop(f) from h where id = 8",
        "select id, concat_ws(',', tags) from h",
        "select id, concat_ws(',', s, t, v) from h",
        "select id, map_keys(m) from h",
        "select id, map_values(m) from h",
        "select id, arr is null, m is null from h",
        "select id from h where st is not null",
        "select id, nullif(k, 7), nullif(s, '7') from h",
        "select id, nullif(k, b) from h",
        "select id, size(arr), size(m), size(tags), array_contains(arr, k), m['a'], st.x from h",
    ),
    "characters": (
        "select id, c, v from h",
        "select id, length(c), length(v), concat(c, 'x'), concat(v, 'x') from h",
        "select id, c = 'a', v = 'a', v = 'a  ', c = v, c < 'b' from h",
        "select id from h where c in ('a', 'abcde')",
        "select id from h where c in (' ', s)",
        "select id from h where c between ' ' and 'a '",
        "select id from h where 'a ' between c and 'b'",
        "select id from h where 'a ' in (c, 'b')",
        "select id, case when id > 9 then c else 'a ' end = 'a ' from h",
        "select id, coalesce(c, k, 1) from h",
        "select id, case c when ' ' then 1 when 'a  ' then 2 end, case ' ' when c then 1 else 0 end from h",
        "select id, c = ' ', c <> 'a ', c < ' ', c <=> ' ' from h",
        "select id, c = 'abcde', c in ('abcde', 'edcba'), c < 'abcde' from h",
        "select id from h where c = 'abcde'",
        "select id, concat(c, '|'), length(c) from h where c = 'a'",
        "select x.id as one, y.id as other from h x join h y on x.c = y.v and x.id < 30 and y.id < 40",
        "select c, count(*) from h group by c",
        "select max(v), min(v) from h",
        "select id, cast(s as varchar(3)), cast(s as char(3)) from h",
    ),
    "elsewhere": (
        "select id, x from h lateral view explode(arr) a as x",
        "select id, x from h lateral view outer explode(tags) a as x",
        "select count(distinct s), count(distinct c), count(distinct dt), min(s), max(s) from h",
        "select s, count(*), sum(k) from h group by s",
        "select distinct dt, ts, ok, v from h",
        "select x.id as one, y.id as other from h x join h y on x.s = y.t",
        "select x.id as one, y.id as other from h x left join h y on x.k = y.i and y.id < 20",
        "select id, s, t, row_number() over (order by s, id) from h",
        "select id, var_pop(f), stddev_pop(s), std(r), covar_pop(f, d), covar_pop(s, r), corr(f, k) from h group by id",
        "select k, var_pop(f), stddev_pop(r), covar_pop(f, d) from h where abs(f) < 1e9 and abs(r) < 9 group by k",
        "select k, corr(f, id), corr(r, id), corr(d, f), corr(k, id) from h group by k",
        "select k, var_samp(f), stddev_samp(r), stddev_samp(f) from h group by k",
        "select id div 4, var_pop(id + 1000000000), variance(id + 1000000) from h group by id div 4",
        "select id, sum(s), avg(s), stddev_pop(s), var_samp(v), count(s) from h group by id",
        "select id div 4, sum(s), avg(t), min(f), max(r), sum(f) from h group by id div 4",
        "select sum(distinct v), avg(distinct s), sum(distinct k), avg(distinct d) from h",
        "select k div 2, corr(k, id), corr(3, id), corr(f, 1) from h group by k div 2",
        "select k, stddev_pop(id), var_samp(sm), stddev(d), var_pop(e), stddev_samp(ti), avg(i) from h group by k",
        "select id, sum(k) over (order by id range between 2 preceding and current row) from h",
        "select id, avg(d) over (order by id rows between 1 preceding and unbounded following) from h",
        "select id, sum(distinct k) over (order by id rows 1 preceding) from h",
        "select id, last_value(ts, true) over (partition by ok order by id rows between 1 preceding and 2 following) "
        "from h",
        "select id, first_value(i, true) over (partition by ok order by id rows between 1 preceding and 2 following) "
        "from h",
        "select id, rank() over (order by arr) from h",
        "select id, rank() over (order by tags desc nulls last), dense_rank() over (order by st) from h",
        "select id, st from h order by st, id limit 5",
        "select id, array_contains(array(arr, arr), arr) from h",
        "select id, lag(s) over (order by id), first_value(f) over (order by id) from h",
        "select id, lag(s, 2, 'none') over (order by id), lead(k, 1, -1) over (order by id) from h",
        "select id, first_value(s, true) over (order by id), last_value(k, true) over (order by id) from h",
        "select count(distinct s, t), count(distinct c, k), count(distinct dt, ts, ok) from h",
        "select id, count(*) over (order by k range between 1 preceding and 1 following) from h",
        "select id, sum(k) over (order by i range 2147483647 preceding) from h",
        "select id, sum(k) over (order by i range 2147483646 preceding), count(*) over (order by ti range 2 preceding) "
        "from h",
        "select id, sum(k) over (order by k desc range between 3 preceding and 1 preceding) from h",
        "select id, sum(k) over (order by k range between unbounded preceding and 1 preceding) from h",
        "select id, count(k) over (order by k range between 1 following and unbounded following) from h",
        "select id, s like 'a\\_b', s like '100\\%', s like 'back\\\\slash', s like '%\\_%', s like 'a\\n_' from h",
        "select id, locate('a', s, 2), locate('y', s, 2), locate('x', t, 99) from h",
        "select id, sort_array(arr), sort_array(tags) from h",
        "select id, instr(t, ''), instr(s, t), instr(t, k), locate('', s) from h",
        "select id, struct(k, st.x, d), struct(s, 1), struct(1, h.ts) from h",
        "select id, date_format(dt, ''), date_format(ts, 'yyyy[-MM]') from h",
        "select id, dt + interval 1 month, dt - interval 13 month, dt + interval 1 year from h",
        "select id, months_between(dt, '2020-02-29'), months_between(ts, dt) from h",
        "select id, regexp_replace(s, '(.)(.)', '$2$1'), regexp_replace(s, '([a-z]+)$', '<$1>') from h",
        "select id, s, k from h order by 3 desc, 2, 1 limit 20",
        "select var_samp(f), stddev_samp(k), stddev(k), variance(d) from h where id = 30",
        "select k, var_samp(i), stddev_samp(d) from h group by k",
        "select id, cast(ok as string) from h",
        "select id, lag(d, 1, 0) over (order by id), lead(e, 2, 7) over (order by id) from h",
        "select id, pi(), e(), sign(f), sign(k), sign(d), sign(s), sign(b), sign(e) from h",
        "select id, sha2(s, 256), sha2(t, 512), sha2(s, 0), sha1(s), sha(t) from h",
        "select corr(k, id), covar_pop(k, id), corr(i, sm) from h",
        "select k, corr(i, id), covar_pop(sm, id) from h group by k",
    ),
    "groups of patterns": (
        "select id, regexp_extract(s, '(a|b)-?(c|l)', 2), regexp_extract(s, '([0-9]+)(a|b)?', 1) from h",
        "select id, regexp_extract(s, '([0-9]+)([a-z])?', 2), regexp_extract(s, '(a)|(b)', 2) from h",
        "select id, regexp_extract(s, '(a)?', 1), regexp_extract(s, '(x)*', 1), regexp_extract(s, '(a)|(b)', 0) from h",
        "select id, regexp_replace(s, '(a)|(b)', '<$1$2>'), regexp_replace(s, '([0-9]+)(-)?', '$2$1') from h",
        "select id, regexp_extract(s, '(?:(2020)|(20))-([0-9]+)', 1) from h",
        "select id, regexp_extract(s, '([0-9]+)(-[0-9]+)*', 2), regexp_extract(s, '(a|b)*', 1) from h",
    ),
    "percentiles": (
        "select percentile(id, 0.5), percentile(i, 0.25), percentile(b, 0), percentile(sm, 1.0) from h",
        "select percentile(k, array(0.1, 0.5, 0.9, 1)) from h",
        "select k, percentile(id, 0.5), percentile(ti, 0.33) from h group by k",
        "select percentile(k, 0.5), percentile(k, array(0.5)) from h where k is null",
        "select percentile(k * 3, 0.7), percentile(i, 0.999) from h where i < 1000",
    ),
    "rows and groups": (
        "select x, y from (select stack(2, s, k, t, i) as (x, y) from h) q",
        "select id, p.one, p.other from h lateral view stack(2, 'd', d, 'k') p as one, other",
        "select id, p.x1, p.x2, p.x3 from h lateral view parse_url_tuple(concat('http://ex.com/', t, '?k=', s), "
        "'PATH', 'QUERY:k', 'HOST') p as x1, x2, x3",
        "select year(dt), k, count(*), grouping__id from h group by year(dt), k with rollup",
        "select year(h.dt) as y, upper(h.v), sum(h.k), count(*) from h group by year(h.dt), upper(h.v) with cube",
        "select extract(year from dt), extract(week from dt), extract(quarter from dt), extract(month from ts) from h",
        "select extract(day from dt), extract(dayofweek from dt), extract(second from ts) from h",
        "select k, s, count(*), grouping(k), grouping(s) from h group by k, s with rollup",
        "select coalesce(s, 'none'), count(*), sum(d) from h group by coalesce(s, 'none'), ok with rollup",
        "select upper(s), k % 3, count(distinct id) from h group by upper(s), k % 3 with cube",
        "select year(dt), month(dt), sum(d), count(*) from h group by year(dt), month(dt) with rollup",
        "select ok, k, sum(d) from h group by ok, k grouping sets ((ok, k), (ok), ())",
        "select ok, k, count(*) from h group by cube(ok, k)",
    ),
    "averages over windows": (
        "select id, avg(d) over (partition by k), avg(e) over (partition by ti) from h",
        "select id, avg(d) over (order by id rows 2 preceding), d - avg(d) over (partition by k) from h",
        "select id, avg(e) over (), round(avg(d) over (partition by sm), 1) from h",
    ),
    "months": (
        "select id, add_months(dt, 1), add_months(dt, -1), add_months(dt, k), add_months(dt, 12) from h",
        "select id, add_months(ts, 1), add_months(ts, k), add_months('2020-01-31', 1) from h",
        "select id, add_months(s, 1) from h where s is null or not s rlike '^(0|1582|9999|10000|1000)|^[0-9]{1,2}-'",
        "select id, add_months(last_day(dt), -13), year(add_months(dt, 6)) from h",
        "select id, next_day(dt, 'MO'), next_day(ts, 'sunday'), next_day(dt, 'Tue') from h",
        "select id, next_day(s, 'WE') from h where s is null or not s rlike '^(0|1582|9999|10000|1000)|^[0-9]{1,2}-'",
        "select id, next_day(dt, 'XX') from h",
    ),
    "delimiters": (
        "select id, concat_ws(',', tags), concat_ws('', tags), concat_ws('-', s, tags, t), concat_ws(s, tags) from h",
        "select k, concat_ws(',', sort_array(collect_set(s))), concat_ws('|', collect_set('x')) from h group by k",
        "select id, concat_ws(',', split(s, '-')), concat_ws(s, 'a', t), concat_ws(null, s) from h",
        "select id, substring_index(s, '-', 1), substring_index(s, '-', 2), substring_index(s, '-', -1) from h",
        "select id, substring_index(s, ' ', -2), substring_index(s, '-', 0), substring_index(t, '.', -9) from h",
        "select id, str_to_map(s, '-', ':'), str_to_map(t, ' ', '-'), str_to_map(s) from h",
        "select id, str_to_map(s, ':', '-')['2020'], size(str_to_map(s, ' ', '=')) from h",
        "select id, str_to_map(concat('a=1;b;a=2;', t, ';;'), ';', '=') from h",
        "select id, str_to_map(s, '|', '='), substring_index(s, 'ab', 1) from h",
        "select id, find_in_set(s, 'a,7,,1.0'), find_in_set(s, t), find_in_set(concat(s, ','), t) from h",
        "select id, translate(s, 'a2-', 'xy'), translate(s, 'aa0', '1'), translate(s, 'a', '') from h",
        "select id, concat('<', space(3), space(0), '>'), length(space(20)) from h",
    ),
    "written numbers": (
        "select id, format_number(d, 2), format_number(e, 4), format_number(d, 5), format_number(g, 10) from h",
        "select id, format_number(i, 0), format_number(b, 0), format_number(i, 2), format_number(b, 3) from h",
        "select id, format_number(d, 1), format_number(f, 2) from h",
        "select id, printf('%s', s), printf('%d|%5d|%05d', i, k, sm), printf('%s-%02d%%', t, k) from h",
        "select id, printf('%10s|%-5s|', s, t), printf('%s %s', i, s), printf('%d', b) from h",
    ),
    "tens": (
        "select id, round(d, -1), round(d, -2), round(e, -3), round(g, -2), round(k, -1) from h",
        "select id, round(i, -1), round(i, -3) from h where i between -999 and 999999",
        "select id, round(f, -1) from h",
    ),
    "angles": (
        "select id, sin(f), cos(f), asin(f), acos(f), atan(f), degrees(f), radians(f) from h where abs(f) < 1000",
        "select id, sin(d), cos(k), tan(e), asin(k), acos(d), radians(i), atan(b) from h where abs(e) < 99",
        "select id, sin(f), cos(f), tan(f), atan(f), radians(f) from h where f is null or f <> f or abs(f) > 1e100",
    ),
    "the most": (
        "select id, greatest(f, 0), least(f, 0), greatest(0, f), least(0, f), greatest(f, 1.5, k), least(f, d) from h",
        "select id, greatest(x.f, y.f), least(x.f, y.f) from (select id, f from h) x join "
        "(select id as j, f from h where id < 20) y on x.id <> y.j",
        "select id, greatest(f, b), least(b, f), greatest(f, k, d), least(d, e, i), greatest(k, b, sm) from h",
        "select id, greatest(d, 1000), least(g, 0.5), greatest(f, null), least(k, 2.5) from h",
    ),
    "dates beside strings": (
        "select id, dt = s, dt < s, dt >= t, s > dt, s <> dt from h",
        "select id, dt <=> s from h",
        "select id, dt in (s, t) from h",
        "select id, dt between s and t, case dt when s then 1 else 0 end from h",
        "select id from h where dt = v",
        "select x.id as one, y.id as other from h x join h y on x.dt = y.s",
        "select id, dt >= add_months('2020-05-31', -12), dt < last_day(ts), dt = concat(substr(t, 1, 4), '-01-31') "
        "from h",
    ),
    "nothing for a value": (
        "select id, nullif(k, 7), nullif(d, 0), nullif(d, k), nullif(b, 0), nullif(e, 2.5) from h",
        "select id, nullif(b, i), nullif(b, k), nullif(g, 7), nullif(g, d), nullif(e, k) from h",
        "select id, nullif(k, b), nullif(k, d), nullif(d, e) from h",
        "select k / nullif(sum(d), 0), sum(e) / nullif(count(*), 0), d / nullif(k, 0) from h group by k, d",
        "select id, nullif(f, 0) from h",
    ),
}
"""By subject, as in the corpus."""
