"""Ordinary views of employees, and of ledgers and currencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VIEWS: Mapping[str, Sequence[str]] = {
    "people": (
        """
        select d.dept_name, count(e.emp_id) as heads, avg(e.salary) as average, min(e.salary) as lowest,
               max(e.salary) as highest
        from departments d left join employees e on e.dept_id = d.dept_id group by d.dept_name
        """,
        """
        select dept_id, round(stddev(salary), 2) as spread, round(variance(salary), 2) as var,
            stddev_samp(commission) as c
        from employees group by dept_id
        """,
        """
        select job, percentile(cast(salary as bigint), 0.5) as median,
               percentile(cast(salary as bigint), array(0.25, 0.75)) as quartiles
        from employees group by job
        """,
        """
        select dept_id, percentile_approx(salary, 0.5) as median, percentile_approx(salary, 0.9) as p90
        from employees where salary is not null group by dept_id
        """,
        """
        select corr(cast(salary as double), datediff('2024-06-30', hire_date)) as salary_and_age,
               covar_pop(cast(salary as double), cast(grade as double)) as with_grade
        from employees
        """,
        """
        select e.emp_id, e.name, m.name as manager, level2.name as boss
        from employees e left join employees m on e.manager_id = m.emp_id
        left join employees level2 on m.manager_id = level2.emp_id
        """,
        """
        select emp_id, name, salary, salary - avg(salary) over (partition by dept_id) as above_average,
               percent_rank() over (order by salary) as pr, cume_dist() over (order by salary) as cd
        from employees
        """,
        """
        select emp_id, hire_date, coalesce(end_date, cast('2024-06-30' as date)) as until,
               floor(months_between(coalesce(end_date, cast('2024-06-30' as date)), hire_date) / 12) as years,
               round(datediff(coalesce(end_date, cast('2024-06-30' as date)), hire_date) / 365.25, 1) as years_exact
        from employees
        """,
        """
        select emp_id, salary * (1 + nvl(commission, 0)) as pay, salary * 12 as yearly,
               cast(salary * 1.035 as decimal(10,2)) as next_year, round(salary / 162.5, 2) as hourly
        from employees
        """,
        """
        select y, hired, sum(hired) over (order by y) as headcount
        from (select year(hire_date) as y, count(*) as hired from employees
              where hire_date is not null group by year(hire_date)) h
        """,
        """
        select grade, case when grade is null then 'none' when grade between 1 and 3 then 'junior'
                           when grade in (4, 5, 6) then 'middle' else 'senior' end as level,
               count(*) as n, sum(salary) as total
        from employees group by grade
        """,
        """
        select dept_id, concat_ws(', ', collect_list(name)) as names, count(*) as n
        from employees group by dept_id
        """,
        """
        select e.dept_id, d.budget, sum(e.salary) * 12 as cost, round(sum(e.salary) * 12 / d.budget * 100,
            1) as pct
        from employees e join departments d on e.dept_id = d.dept_id group by e.dept_id, d.budget
        """,
        """
        select emp_id, name, split(name, ' ')[0] as first_name, concat(lower(substr(name, 1, 1)), '.',
               lower(regexp_extract(name, '([A-Za-z]+)$', 1)), '@example.com') as mail, soundex(name) as sound
        from employees
        """,
        """
        select emp_id, greatest(salary, 3000) as at_least, least(coalesce(commission, 0), 0.2) as capped,
               abs(salary - 5000) as off, sign(salary - 5000) as side
        from employees
        """,
        """
        select dept_id, job, histogram_numeric(cast(salary as double), 3) as bins from employees group by dept_id, job
        """,
    ),
    "finance": (
        """
        select account, period, sum(nvl(debit, 0)) as debit, sum(nvl(credit, 0)) as credit,
               sum(nvl(debit, 0) - nvl(credit, 0)) as balance
        from ledger group by account, period
        """,
        """
        select entry_id, account, booked,
               sum(coalesce(debit, 0) - coalesce(credit, 0)) over (partition by account order by booked,
                   entry_id) as balance
        from ledger
        """,
        """
        select l.entry_id, l.currency, r.rate, round(l.debit * r.rate, 2) as debit_eur,
               cast(l.credit * r.rate as decimal(18,2)) as credit_eur
        from ledger l left join fx_rates r on r.currency = l.currency and r.rate_date = '2024-01-01'
        """,
        """
        select entry_id, rate, amount from (
          select l.entry_id, r.rate, l.debit * r.rate as amount,
                 row_number() over (partition by l.entry_id order by r.rate_date desc) as rn
          from ledger l join fx_rates r on l.currency = r.currency where r.rate_date <= l.booked) x
        where rn = 1
        """,
        """
        select substr(account, 1, 1) as class, case substr(account, 1,
            1) when '1' then 'assets' when '4' then 'income'
               when '5' then 'costs' else 'other' end as name, sum(debit) as debit
        from ledger group by substr(account, 1, 1)
        """,
        """
        select period, sum(debit) - sum(credit) as difference, abs(sum(debit) - sum(credit)) < 0.005 as is_balanced
        from ledger group by period
        """,
        """
        select entry_id, concat(currency, ' ', cast(debit as string)) as written, format_number(debit, 2) as pretty,
               concat('#', lpad(cast(entry_id as string), 8, '0')) as number
        from ledger
        """,
        """
        select entry_id, debit, floor(debit) as whole, ceil(debit) as up, round(debit) as rounded, round(debit,
            -2) as hundreds,
               cast(debit as int) % 100 as ending, cast(debit * 100 as bigint) as cents
        from ledger where entry_id <> 9
        """,
        """
        select account, booked, datediff('2024-03-31', booked) as days,
               case when datediff('2024-03-31', booked) <= 30 then '0-30' when datediff('2024-03-31',
                   booked) <= 60 then '31-60'
                    else '60+' end as bucket
        from ledger where booked is not null
        """,
        """
        select currency, rate_date, rate, lag(rate) over (partition by currency order by rate_date) as before_rate,
               round((rate / lag(rate) over (partition by currency order by rate_date) - 1) * 100, 3) as change
        from fx_rates
        """,
        """
        select cast(sum(debit) as decimal(20,4)) / 1000 as thousands, round(avg(debit), 2) as average,
               sum(cast(debit as double)) as as_double, cast(max(debit) as string) as most
        from ledger
        """,
        """
        select entry_id, 1000 * power(1 + 0.05, entry_id) as compound, exp(0.05 * entry_id) as continuous,
               ln(1 + entry_id) as l, sqrt(entry_id) as root, 1000 / entry_id as divided, entry_id % 2 = 0 as is_even
        from ledger
        """,
        """
        select memo, upper(memo) as shouting, initcap(memo) as title, length(memo) as n,
               regexp_extract(memo, '#([0-9]+)/([0-9]{4})', 1) as number, split(memo, ' ')[0] as kind
        from ledger
        """,
        """
        select account, period, debit, cast(debit / nullif(sum(debit) over (partition by period),
            0) as decimal(9,4)) as share
        from ledger
        """,
        """
        select year(booked) as y, sum(case when account like '4%' then credit else 0.00 end) as income,
               sum(case when account like '5%' then debit else 0.00 end) as costs,
               printf('%s-%02d', account, month(booked)) as account_month
        from ledger where booked is not null group by year(booked), printf('%s-%02d', account, month(booked))
        """,
    ),
}
