"""Expressions: each kind of node of the tree that is known has a rule here; any other is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from pysync.base.text import whole_number
from pysync.hiveql.differences import accept
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.aggregates import AGGREGATES, WINDOWS
from pysync.views.arithmetic import BITWISE, arithmetic, has_other_digits, negative, whole_quotient
from pysync.views.casts import cast, compared, is_constant, unified
from pysync.views.collections import field_of, item_of, row
from pysync.views.conditions import chosen, is_null, truth
from pysync.views.functions import call
from pysync.views.moments import moved
from pysync.views.scopes import Scope
from pysync.views.sliding import SLIDING, slid
from pysync.views.strings import like, regexp_like
from pysync.views.typed_expressions import Aggregate, Typed, condition, repeated, text
from pysync.views.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, VOID, Columns, decimal, parse_type
from pysync.views.windows import begins_at_a_row, over, sliding

Subquery = Callable[[exp.Query, Scope], tuple[str, Columns]]
"""Translates a query within an expression: its text, and its columns."""

_NULL_SAFE = "IS NOT DISTINCT FROM"
_COMPARISONS = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: _NULL_SAFE,
}
_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_BITWISE = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|"}
_LONG, _INT = 2**63 - 1, 2**31 - 1
_PARTS = {it: it for it in ("year", "quarter", "month", "day", "dayofweek", "hour", "minute", "second")}
_PARTS |= {"week": "weekofyear"}
_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
_CALLED_BY_NAME = frozenset({"current_date", "current_timestamp"})
GROUPING_ID = "grouping__id"
"""A column of Hive that says which columns a row is grouped by: in the tree a function of these."""


class Expressions:
    """The translation of the expressions of one SELECT."""

    def __init__(self, scope: Scope, subquery: Subquery) -> None:
        self._scope = scope
        self._subquery = subquery

    def __call__(self, node: exp.Expression) -> Typed:
        """The expression in Trino's language. Raises CannotTranslate."""
        value = repeated(self._translated(node), 1)
        if self._scope.trace is not None:
            self._scope.trace.append((node, value.sql))
        return value

    def _translated(self, node: exp.Expression) -> Typed:
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        if type(node) in _COMPARISONS:
            return self._compared(self._side(node.this), _COMPARISONS[type(node)], self._side(node.expression))
        if type(node) in _ARITHMETIC:
            return self._calculated(node, _ARITHMETIC[type(node)])
        if type(node) in _BITWISE:
            return self._bits(node)
        raise CannotTranslate(f"{node.key.upper()} in {node.sql('hive')[:60]!r}")

    def many(self, nodes: Sequence[exp.Expression]) -> list[Typed]:
        """Several of them."""
        return [self(it) for it in nodes]

    # --- names and constants

    def column(self, node: exp.Column) -> Typed:
        """A column, or a field of a struct in one."""
        if isinstance(node.this, exp.Star):
            raise CannotTranslate("* among other things than columns")
        parts = [it.name.lower() for it in node.parts]
        if len(parts) == 1 and parts[0] in _CALLED_BY_NAME and not self._scope.has_column(parts[0]):
            return self._call(parts[0], [])
        column, fields = self._scope.column(parts)
        self._scope.rules.read(column.type)
        for name in fields:
            column = field_of(column, name)
        return column

    def dot(self, node: exp.Dot) -> Typed:
        """A field of a struct that is no column."""
        return field_of(self(node.this), node.expression.name)

    def item(self, node: exp.Bracket) -> Typed:
        """An item of an array or a map."""
        if len(node.expressions) != 1 or node.args.get("offset"):
            raise CannotTranslate("several items at once")
        of, index = self(node.this), self(node.expressions[0])
        self._scope.rules.calculate(of, "[]", index)
        return item_of(of, index)

    def literal(self, node: exp.Literal) -> Typed:
        """A number or a string."""
        value = str(node.this)
        if node.is_string:
            return Typed(text(value), STRING, value)
        if "e" in value.lower():
            return Typed(f"double {text(value)}", DOUBLE)
        if "." in value:
            return _decimal(value)
        return _integer(value)

    def boolean(self, node: exp.Boolean) -> Typed:
        """TRUE or FALSE."""
        return Typed("true" if node.this else "false", BOOLEAN)

    # --- arithmetic

    def divided(self, node: exp.IntDiv) -> Typed:
        """DIV."""
        one, other = self(node.this), self(node.expression)
        self._scope.rules.calculate(one, "div", other)
        return whole_quotient(one, other)

    def negative(self, node: exp.Neg) -> Typed:
        """`-value`."""
        value = self(node.this)
        self._scope.rules.calculate(value, "-", value)
        return negative(value)

    # --- conditions

    def connected(self, node: exp.Connector) -> Typed:
        """AND and OR."""
        word = "AND" if isinstance(node, exp.And) else "OR"
        return condition(f" {word} ".join(truth(self(it)).sql for it in node.flatten(unnest=False)))

    def negated(self, node: exp.Not) -> Typed:
        """NOT."""
        return condition(f"NOT {truth(self(node.this)).sql}")

    def is_it(self, node: exp.Is) -> Typed:
        """IS NULL, IS TRUE, IS FALSE."""
        value = self(node.this)
        if isinstance(node.expression, exp.Null):
            return is_null(value)
        if isinstance(node.expression, exp.Boolean):
            return condition(f"{truth(value).sql} IS NOT DISTINCT FROM {self(node.expression).sql}")
        raise CannotTranslate("IS with a value")

    def between(self, node: exp.Between) -> Typed:
        """BETWEEN, as two comparisons."""
        value, least, most = (self._side(it) for it in (node.this, node.args["low"], node.args["high"]))
        if value.type.is_text and least.type.is_text != most.type.is_text:
            raise CannotTranslate("a string BETWEEN a string and something else")
        if VOID in {value.type, least.type, most.type}:  # NULL in Hive 2.3, in Hive 4 false if the other test is
            raise CannotTranslate("BETWEEN with a NULL that is written there")
        low, high = self._compared(value, ">=", least), self._compared(value, "<=", most)
        is_read = value.type.is_text and not least.type.is_text  # NULL if it is no number
        if self._scope.rules.of_spark or (is_constant(least) and not is_read):
            return condition(f"{low.sql} AND {high.sql}")
        return Typed(f"IF({low.sql}, {high.sql}, {low.sql})", BOOLEAN)  # NULL if the first is, whatever the second

    def within(self, node: exp.In) -> Typed:
        """IN, as comparisons with each, or of a query."""
        value = self(node.this)
        query = node.args.get("query")
        if query is not None:
            return self._within_query(value, query)
        if not node.expressions:
            raise CannotTranslate("IN of nothing")
        repeated(value, len(node.expressions))
        items = self.many(node.expressions)
        tests = [self._compared(value, "=", it).sql for it in items]
        _assert_alike([value, *items], "IN")
        return condition(" OR ".join(tests))

    def exists(self, node: exp.Exists) -> Typed:
        """EXISTS."""
        return condition(f"EXISTS ({self._subquery(_query(node.this), self._scope)[0]})")

    def matched(self, node: exp.Expression) -> Typed:
        """LIKE and RLIKE; NOT before them is a mark on the node."""
        value, pattern = self(node.this), self(node.expression)
        rules = self._scope.rules
        if isinstance(node, exp.Like):
            match = like(value, pattern, of_spark=rules.of_spark, matches_lines=rules.matches_lines)
        else:
            match = regexp_like(value, pattern)
        return condition(f"NOT {match.sql}") if node.args.get("negate") else match

    def cased(self, node: exp.Case) -> Typed:
        """CASE."""
        of = repeated(self(node.this), len(node.args["ifs"])) if node.this is not None else None
        whens = [self(it.this) for it in node.args["ifs"]]
        tests = [truth(it) if of is None else self._compared(of, "=", it) for it in whens]
        if of is not None and not self._scope.rules.of_spark:
            _assert_alike([of, *whens], "CASE")
        default = self(node.args["default"]) if node.args.get("default") is not None else Typed("NULL", VOID)
        results = [*(self(it.args["true"]) for it in node.args["ifs"]), default]
        self._scope.rules.mix([it.type for it in results])
        kind, values = unified(results)
        cases = " ".join(f"WHEN {test.sql} THEN {it.sql}" for test, it in zip(tests, values, strict=False))
        return Typed(f"(CASE {cases} ELSE {values[-1].sql} END)", kind)

    def iffed(self, node: exp.If) -> Typed:
        """IF(a, b, c)."""
        if node.args.get("false") is None:
            raise CannotTranslate("IF without a third argument")
        one, other = self(node.args["true"]), self(node.args["false"])
        self._scope.rules.mix((one.type, other.type))
        return chosen(self(node.this), one, other)

    # --- calls

    def called(self, node: exp.Anonymous) -> Typed:
        """A function by its name."""
        aggregate = self._aggregate(node)
        if aggregate is not None:
            return aggregate("")
        name = node.name.lower()
        if name in {"grouping", GROUPING_ID}:
            return self._grouping(node)
        if name == "struct" and self._scope.rules.of_spark:
            return self._struct_of_spark(node)
        return self._read_and_written(node) or self._call(name, self.many(node.expressions))

    def filtered(self, node: exp.Filter) -> Typed:
        """An aggregate with FILTER."""
        aggregate = self._aggregate(node.this)
        if aggregate is None:
            raise CannotTranslate("FILTER of no aggregate")
        return aggregate(f" FILTER (WHERE {truth(self(node.expression.this)).sql})")

    def windowed(self, node: exp.Window) -> Typed:
        """A function over a window."""
        function, node = node.this, self._window(node)
        if not isinstance(function, exp.Anonymous):
            raise CannotTranslate(f"{function.key.upper()} over a window")
        name = function.name.lower()
        if name in WINDOWS:
            arguments = self.many(function.expressions)
            self._scope.rules.aggregate(name, arguments, over=True)
            is_past_nulls = name.endswith("_value") and [it.sql for it in arguments[1:]] == ["true"]
            if is_past_nulls and begins_at_a_row(node) and not self._scope.rules.of_spark:
                raise CannotTranslate(f"{name} past NULLs over some rows, which Hive may take from before them")
            return WINDOWS[name](arguments)(self._over(node, has_frame=name.endswith("_value")))
        frames = sliding(node, self) if name in SLIDING and not self._scope.rules.of_spark else None
        if frames is not None and len(function.expressions) == 1 and not function.find(exp.Distinct):
            value = self(function.expressions[0])
            return slid(name, value, frames, is_null_of_nothing=self._scope.rules.sums_nothing_to_null)
        aggregate = self._aggregate(function, over=True)
        if aggregate is None or name.startswith("collect_") or function.find(exp.Distinct):
            raise CannotTranslate(f"the function {name} over a window")
        return aggregate(self._over(node, has_frame=True))

    def converted(self, node: exp.Cast) -> Typed:
        """CAST."""
        value, to = self(node.this), parse_type(node.to.sql("hive"))
        return cast(self._scope.rules.cast(value, to), to)

    def concatenated(self, node: exp.Expression) -> Typed:
        """`||`, and strings one behind the other."""
        operands = node.expressions or [node.this, node.expression]
        if any(isinstance(it, exp.Binary) and not isinstance(it, exp.DPipe) for it in operands):
            raise CannotTranslate("|| beside other operators without parentheses")
        return self._call("concat", self.many(operands))

    def extracted(self, node: exp.Extract) -> Typed:
        """EXTRACT(unit FROM value): the function of that name."""
        unit = node.name.lower()
        if unit not in _PARTS or self._scope.rules.of_spark:  # whose seconds have a fraction
            raise CannotTranslate(f"EXTRACT of {unit}{' in a view of Spark' if self._scope.rules.of_spark else ''}")
        return self._call(_PARTS[unit], [self(node.expression)])

    def trimmed(self, node: exp.Trim) -> Typed:
        """TRIM, also with the side FROM which."""
        return self._call(_TRIMS[str(node.args.get("position") or "BOTH").upper()], [self(node.this)])

    def scalar(self, node: exp.Subquery) -> Typed:
        """A query that gives one value."""
        sql, columns = self._subquery(_query(node), self._scope)
        if len(columns) != 1:
            raise CannotTranslate("a query with several columns as a value")
        return Typed(f"({sql})", columns[0][1])

    # --- within

    def _call(self, name: str, arguments: Sequence[Typed]) -> Typed:
        self._scope.rules.call(name, arguments)
        if name == "concat" or (name in {"coalesce", "nvl"} and any(it.type.is_text for it in arguments)):
            arguments = [self._scope.rules.decimal_as_text(it) for it in arguments]
        return call(name, arguments, self._scope.rules.functions)

    def _read_and_written(self, node: exp.Anonymous) -> Typed | None:
        """`from_unixtime(unix_timestamp(…), …)`, if there is a rule for both at once."""
        inner = node.expressions[0] if node.name.lower() == "from_unixtime" and node.expressions else None
        is_read = isinstance(inner, exp.Anonymous) and inner.name.lower() in {"unix_timestamp", "to_unix_timestamp"}
        if inner is None or not is_read or not inner.expressions:
            return None
        return self._scope.rules.read_and_written(self.many(inner.expressions), self.many(node.expressions[1:]))

    def _struct_of_spark(self, node: exp.Anonymous) -> Typed:
        """A struct whose fields have the names of the columns that are in it."""
        self._scope.rules.call("struct", values := self.many(node.expressions))
        names = (
            it.name if isinstance(it, exp.Column) else f"col{place}" for place, it in enumerate(node.expressions, 1)
        )
        return row(list(names), values)

    def _calculated(self, node: exp.Binary, operator: str) -> Typed:
        if isinstance(node.expression, exp.Interval) and operator in {"+", "-"}:
            return self._moved(node, self(node.this))
        one, other = self(node.this), self(node.expression)
        self._scope.rules.calculate(one, operator, other)
        result = arithmetic(one, operator, other, self._scope.rules.long_products)
        if any(map(self._scope.is_fixed, (one, other))) and has_other_digits(one, operator, other, result):
            raise CannotTranslate(f"{operator} with a column that a condition fixes, of which Hive makes a constant")
        return result

    def _compared(self, one: Typed, operator: str, other: Typed) -> Typed:
        self._scope.rules.compare(one, other)
        if operator != _NULL_SAFE:
            one, other = self._beside_date(one, other), self._beside_date(other, one)
        if self._is_filled_up(one, other) or self._is_filled_up(other, one):
            accept(
                "char-blanks", "a char that a condition fixes, of which Hive makes a constant, filled up with blanks"
            )
        return compared(one, operator, other)

    def _beside_date(self, value: Typed, other: Typed) -> Typed:
        """The date that Hive makes of a string which it compares with one."""
        is_read = other.type == DATE and value.type.is_text and value.type.name != "char"
        if is_read and value.literal is None and not self._scope.rules.of_spark:
            return cast(self._scope.rules.cast(value, DATE), DATE)
        return value

    def _is_filled_up(self, value: Typed, other: Typed) -> bool:
        """Whether Hive takes it for a char that is a constant, which has blanks at its end that others have not."""
        if value.type.name != "char" or not self._scope.is_fixed(value):
            return False
        return not isinstance(other.literal, str) or len(other.literal) != value.type.numbers[0]

    def _side(self, node: exp.Expression) -> Typed:
        """A side of a comparison. There it makes no difference that Hive has a timestamp where Spark has a date."""
        while isinstance(node, exp.Paren):
            node = node.this
        interval = node.args.get("expression") if isinstance(node, exp.Add | exp.Sub) else None
        if not isinstance(interval, exp.Interval):
            return self(node)
        value = self._side(node.this)
        return self._moved(node, value, moved if value.type == DATE else self._scope.rules.move)

    def _moved(self, node: exp.Binary, value: Typed, move: Callable[[Typed, int, str], Typed] | None = None) -> Typed:
        """A value plus or minus an interval."""
        interval = node.args["expression"]
        count, unit = str(interval.name), str(interval.args.get("unit") or "").lower().removesuffix("s")
        number = whole_number(count)
        if number is None:
            raise CannotTranslate(f"an interval of {count} {unit} beside {value.type}")
        return (move or self._scope.rules.move)(value, -number if isinstance(node, exp.Sub) else number, unit)

    def _over(self, node: exp.Window, *, has_frame: bool) -> str:
        return over(node, self, has_frame=has_frame, by_values=self._scope.rules.frames_by_values)

    def _window(self, node: exp.Window) -> exp.Window:
        """The window that WINDOW gives the name to, if there is only a name."""
        if node.args.get("alias") is None:
            return node
        named = self._scope.windows.get(node.args["alias"].name.lower())
        if named is None or any(node.args.get(it) for it in ("partition_by", "order", "spec")):
            raise CannotTranslate("a window with a name and more")
        return named

    def _aggregate(self, node: exp.Expression, *, over: bool = False) -> Aggregate | None:
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        rules = self._scope.rules
        name = (rules.aggregates_over if over else rules.aggregates).get(name, name)
        if name not in AGGREGATES:
            return None
        values, distinct = node.expressions, ""
        if len(values) == 1 and isinstance(values[0], exp.Distinct):
            values, distinct = values[0].expressions, "DISTINCT "
        if name == "count" and len(values) == 1 and isinstance(values[0], exp.Star) and not distinct:
            values = []
        elif not values:
            raise CannotTranslate(f"the function {name} of nothing")
        arguments = self.many(values)
        rules.aggregate(name.partition(" ")[0], arguments, over=over)
        return AGGREGATES[name](arguments, distinct)

    def _grouping(self, node: exp.Anonymous) -> Typed:
        kind = INT if node.name.lower() == "grouping" else BIGINT
        if (kind == INT and len(node.expressions) != 1) or any(
            not isinstance(it, exp.Column) for it in node.expressions
        ):
            raise CannotTranslate("the function grouping of other things than a column")
        columns = ", ".join(it.sql for it in self.many(node.expressions))
        return Typed(f"CAST(grouping({columns}) AS {kind.trino})", kind)

    def _within_query(self, value: Typed, query: exp.Expression) -> Typed:
        sql, columns = self._subquery(_query(query), self._scope)
        if len(columns) != 1:
            raise CannotTranslate("IN of a query with several columns")
        one, other = value.type, columns[0][1]
        if one != other and not (one.is_integer and other.is_integer):
            raise CannotTranslate(f"{one} IN a query of {other}")
        return condition(f"{value.sql} IN ({sql})")

    def _bits(self, node: exp.Binary) -> Typed:
        if any(isinstance(it, exp.Binary) for it in (node.this, node.expression)):
            raise CannotTranslate("bits beside other operators without parentheses")
        return BITWISE[_BITWISE[type(node)]](self(node.this), self(node.expression))


def _assert_alike(values: Sequence[Typed], what: str) -> None:
    """Engines compare a string and a number as strings here; and doubles bit by bit, where -0.0 is not 0.0.

    Blanks at the end of a constant count beside a char and a string, and do not beside a char alone.
    """
    types = [it.type for it in values if it.type != VOID]
    are_mixed = any(it.is_text for it in types) and not all(it.is_text or it == DATE for it in types)
    has_blanks = any(it.name == "char" for it in types) and any(
        it.type.name != "char" for it in values if it.literal is None
    )
    reason = f"{what} of {' and '.join(dict.fromkeys(map(str, types)))}"
    # In a list Hive compares them as strings.
    has_unread = what == "IN" and DATE in types and any(it.type.is_text and it.literal is None for it in values)
    if are_mixed or has_unread:
        raise CannotTranslate(reason)
    if has_blanks:
        accept("char-blanks", f"{reason}, where Hive counts blanks at the end of a char")
    if any(it.name in {"double", "float"} for it in types):
        accept("negative-zero", f"{reason}, where 0.0 and -0.0 are two values")


def _decimal(value: str) -> Typed:
    """Hive does not count zeros at the end."""
    whole, _, behind = value.partition(".")
    whole, behind = whole.lstrip("0"), behind.rstrip("0")
    point = "." if behind else ""
    return Typed(f"decimal '{whole or 0}{point}{behind}'", decimal(max(len(whole) + len(behind), 1), len(behind)))


def _integer(digits: str) -> Typed:
    value = whole_number(digits)
    if value is None or value > _LONG:
        raise CannotTranslate("a number that is too large")
    if value > _INT:
        return Typed(f"bigint '{value}'", BIGINT, value)
    return Typed(str(value), INT, value)


def _query(node: exp.Expression) -> exp.Query:
    while isinstance(node, exp.Subquery) and not node.alias:
        node = node.this
    if not isinstance(node, exp.Query):
        raise CannotTranslate(f"{node.key.upper()} where a query is needed")
    return node


_RULES: Mapping[type[exp.Expression], Callable[[Expressions, exp.Expression], Typed]] = {
    exp.And: Expressions.connected,
    exp.Anonymous: Expressions.called,
    exp.Between: Expressions.between,
    exp.Boolean: Expressions.boolean,
    exp.Bracket: Expressions.item,
    exp.Case: Expressions.cased,
    exp.Cast: Expressions.converted,
    exp.Column: Expressions.column,
    exp.Concat: Expressions.concatenated,
    exp.DPipe: Expressions.concatenated,
    exp.Dot: Expressions.dot,
    exp.Exists: Expressions.exists,
    exp.Extract: Expressions.extracted,
    exp.Filter: Expressions.filtered,
    exp.If: Expressions.iffed,
    exp.In: Expressions.within,
    exp.IntDiv: Expressions.divided,
    exp.Is: Expressions.is_it,
    exp.Like: Expressions.matched,
    exp.Literal: Expressions.literal,
    exp.Neg: Expressions.negative,
    exp.Not: Expressions.negated,
    exp.Null: lambda _, __: Typed("NULL", VOID),
    exp.Or: Expressions.connected,
    exp.Paren: lambda translate, it: translate(it.this),
    exp.RegexpLike: Expressions.matched,
    exp.Subquery: Expressions.scalar,
    exp.Trim: Expressions.trimmed,
    exp.TryCast: Expressions.converted,
    exp.Window: Expressions.windowed,
}
