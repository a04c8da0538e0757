"""Ordinary views of days and periods: date dimensions, partitions named by days, one year beside another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VIEWS: Mapping[str, Sequence[str]] = {
    "calendar": (
        """
        select day, year(day) as y, quarter(day) as q, month(day) as m, day(day) as d, weekofyear(day) as w,
               dayofweek(day) as dow
        from days
        """,
        """
        select cast(date_format(day, 'yyyyMMdd') as int) as date_key, day, date_format(day, 'EEEE') as day_name,
               date_format(day, 'MMMM') as month_name, date_format(day, 'yyyy-MM') as month_key
        from days where day is not null
        """,
        """
        select day, last_day(day) as month_end, trunc(day, 'MM') as month_begin, trunc(day, 'YEAR') as year_begin,
               day = last_day(day) as is_month_end
        from days
        """,
        """
        select day, date_sub(next_day(day, 'MO'), 7) as week_begin, date_sub(next_day(day, 'SU'), 1) as week_end
        from days
        """,
        """
        select day, concat(year(day), '-Q', quarter(day)) as quarter_name,
               concat(cast(year(day) as string), '-', lpad(cast(month(day) as string), 2, '0')) as month_name
        from days
        """,
        """
        select day, case when date_format(day, 'u') in ('6', '7') then 'weekend' else 'workday' end as kind
        from days
        """,
        """
        select day, add_months(day, 1) as next_month, add_months(day, -12) as year_ago, date_add(day, 7) as next_week,
               months_between(day, '2024-01-31') as months
        from days
        """,
        """
        select day, if(month(day) >= 7, year(day) + 1, year(day)) as fiscal_year, pmod(month(day) - 7,
            12) + 1 as fiscal_month,
               floor(pmod(month(day) - 7, 12) / 3) + 1 as fiscal_quarter
        from days
        """,
        """
        select date_add('2024-02-26', pos) as day, pos as n
        from (select posexplode(split(space(9), ' ')) as (pos, x)) s
        """,
        """
        select d.day, count(o.order_id) as orders, nvl(sum(o.amount), 0) as amount
        from days d left join orders o on o.order_date = d.day group by d.day
        """,
        """
        select day, datediff(day, '1970-01-01') as days_since, unix_timestamp(day) as seconds,
               date_format(day, 'dd.MM.yyyy') as written, dayofmonth(last_day(day)) as days_in_month
        from days
        """,
        """
        select day, extract(year from day) as y, extract(month from day) as m,
               case when year(day) % 4 = 0 and (year(day) % 100 <> 0 or year(day) % 400 = 0) then 1 else 0 end as leap
        from days
        """,
        """
        select day, pmod(datediff(day, '1900-01-08'), 7) + 1 as iso_weekday, ceil(day(day) / 7) as week_of_month
        from days
        """,
    ),
    "periods": (
        """
        select substr(dt, 1, 6) as month, count(*) as n, sum(amount) as amount from orders
        where dt between '20240101' and '20241231' group by substr(dt, 1, 6)
        """,
        """
        select dt, concat_ws('-', substr(dt, 1, 4), substr(dt, 5, 2), substr(dt, 7, 2)) as day,
               to_date(concat(substr(dt, 1, 4), '-', substr(dt, 5, 2), '-', substr(dt, 7, 2))) as order_day
        from orders
        """,
        """
        select order_id, amount from orders where dt >= date_format(date_sub(current_date, 30), 'yyyyMMdd')
        """,
        """
        select this.m, this.amount, before.amount as year_ago,
               round((this.amount - before.amount) / before.amount * 100, 2) as growth
        from (select year(order_date) as y, month(order_date) as m, sum(amount) as amount from orders
              group by year(order_date), month(order_date)) this
        left join (select year(order_date) as y, month(order_date) as m, sum(amount) as amount from orders
              group by year(order_date), month(order_date)) before on before.y = this.y - 1 and before.m = this.m
        where this.y = 2024
        """,
        """
        select month, amount, lag(amount, 1) over (order by month) as last_month
        from (select date_format(order_date, 'yyyy-MM') as month, sum(amount) as amount
              from orders where order_date is not null group by date_format(order_date, 'yyyy-MM')) m
        """,
        """
        select order_id, from_unixtime(unix_timestamp(dt, 'yyyyMMdd'), 'yyyy-MM-dd') as day,
               date_add(from_unixtime(unix_timestamp(dt, 'yyyyMMdd'), 'yyyy-MM-dd'), 14) as due
        from orders
        """,
        """
        select year(order_date) * 100 + month(order_date) as period, sum(amount) as amount,
               sum(case when status = 'paid' then amount else 0 end) as paid
        from orders where order_date is not null group by year(order_date) * 100 + month(order_date)
        """,
        """
        select order_id, order_ts, to_date(order_ts) as day, hour(order_ts) as h, minute(order_ts) as mi,
               cast(order_ts as date) as d2, date_format(order_ts, 'HH:mm') as clock
        from orders
        """,
        """
        select trunc(order_date, 'MM') as month, count(distinct customer_id) as customers,
               sum(amount - coalesce(discount, 0)) as net
        from orders where order_date >= add_months('2024-05-31', -12) group by trunc(order_date, 'MM')
        """,
        """
        select order_id from orders
        where order_date between date_sub('2024-03-31', 90) and '2024-03-31' and year(order_date) = 2024
        """,
        """
        select order_id, order_ts, order_ts + interval 1 day as tomorrow, order_date + interval 1 month as next_month
        from orders
        """,
        """
        select cast(dt as int) div 100 as month, max(dt) as last_dt, min(cast(dt as int)) as first_dt
        from orders where dt is not null group by cast(dt as int) div 100
        """,
        """
        select customer_id, signup_date, floor(months_between('2024-06-30', signup_date)) as months,
               floor(datediff('2024-06-30', birth_date) / 365.25) as age,
               datediff(current_date, signup_date) > 365 as is_old
        from customers
        """,
        """
        select order_id, unix_timestamp(order_ts) as seconds, from_unixtime(unix_timestamp(order_ts) + 3600) as later,
               cast(from_unixtime(unix_timestamp(order_ts), 'yyyyMM') as int) as month
        from orders
        """,
    ),
    "cohorts": (
        """
        with firsts as (select customer_id, min(order_date) as first_date from orders
                        where customer_id is not null group by customer_id)
        select date_format(f.first_date, 'yyyy-MM') as cohort,
               cast(months_between(trunc(o.order_date, 'MM'), trunc(f.first_date, 'MM')) as int) as month,
               count(distinct o.customer_id) as customers
        from orders o join firsts f on o.customer_id = f.customer_id
        where o.order_date is not null
        group by date_format(f.first_date, 'yyyy-MM'),
                 cast(months_between(trunc(o.order_date, 'MM'), trunc(f.first_date, 'MM')) as int)
        """,
        """
        select c.customer_id, c.signup_date, min(o.order_date) as first_order,
               datediff(min(o.order_date), c.signup_date) as days_to_order
        from customers c left join orders o on o.customer_id = c.customer_id
        group by c.customer_id, c.signup_date
        """,
        """
        select year(signup_date) as cohort, count(*) as customers,
               sum(case when is_active then 1 else 0 end) as active,
               round(sum(case when is_active then 1 else 0 end) / count(*), 3) as retention
        from customers group by year(signup_date)
        """,
        """
        select a.dt, count(distinct a.user_id) as users, count(distinct b.user_id) as came_back,
               count(distinct b.user_id) / count(distinct a.user_id) as share
        from clicks a left join clicks b on a.user_id = b.user_id
         and b.event_ts > a.event_ts and datediff(b.event_ts, a.event_ts) between 1 and 30
        where a.user_id is not null
        group by a.dt
        """,
        """
        select customer_id, count(*) as orders, max(order_date) as last_order,
               case when max(order_date) >= '2024-03-01' then 'active'
                    when max(order_date) >= '2023-06-01' then 'sleeping' else 'lost' end as state
        from orders where customer_id is not null group by customer_id
        """,
        """
        select customer_id, order_date,
               datediff(order_date, lag(order_date) over (partition by customer_id order by order_date)) as gap,
               case when lag(order_date) over (partition by customer_id order by order_date) is null then 'new'
                    else 'repeat' end as kind
        from orders where order_date is not null
        """,
        """
        select r.customer_id, r.recency, f.frequency, m.money,
               ntile(4) over (order by r.recency, r.customer_id) as r_score,
               ntile(4) over (order by f.frequency desc, r.customer_id) as f_score
        from (select customer_id, datediff('2024-06-30', max(order_date)) as recency from orders group by
            customer_id) r
        join (select customer_id, count(*) as frequency from orders group by customer_id) f
          on r.customer_id = f.customer_id
        join (select customer_id, sum(amount) as money from orders group by customer_id) m
          on r.customer_id = m.customer_id
        """,
    ),
    "snapshots": (
        """
        select s.sku, s.warehouse, s.qty, s.snap_date from stock s
        join (select sku, warehouse, max(snap_date) as snap_date from stock group by sku, warehouse) m
          on s.sku = m.sku and s.warehouse = m.warehouse and s.snap_date = m.snap_date
        """,
        """
        select product_id, price, valid_from, valid_to from product_history
        where '2024-01-15' between valid_from and coalesce(valid_to, cast('9999-12-31' as date))
        """,
        """
        select product_id, price, valid_from,
               lead(valid_from) over (partition by product_id order by valid_from) as next_from,
               date_sub(lead(valid_from) over (partition by product_id order by valid_from), 1) as valid_until
        from product_history where valid_from is not null
        """,
        """
        select o.order_id, i.product_id, i.unit_price, h.price as list_price
        from orders o join order_items i on o.order_id = i.order_id
        join product_history h on h.product_id = i.product_id
        where o.order_date >= h.valid_from and o.order_date <= h.valid_to
        """,
        """
        select sku, snap_date, qty, qty - lag(qty, 1, 0) over (partition by sku,
            warehouse order by snap_date) as change
        from stock
        """,
        """
        select sku, warehouse, sum(qty * unit_cost) as stock_value, sum(qty) - sum(reserved) as available,
               max(case when qty <= 0 then 1 else 0 end) as ran_out
        from stock group by sku, warehouse
        """,
        """
        select sku, warehouse, snap_date,
               last_value(qty, true) over (partition by sku, warehouse order by snap_date) as known_qty,
               greatest(coalesce(qty, 0) - coalesce(reserved, 0), 0) as free
        from stock
        """,
        """
        select product_id, price, lag(price, 1, 0) over (partition by product_id order by valid_from) as old_price,
               price - lag(price) over (partition by product_id order by valid_from) as step
        from product_history where valid_from is not null
        """,
        """
        select sku, avg(qty) as average, min(unit_cost) as cheapest, round(avg(unit_cost), 2) as cost,
               least(min(qty), 100) as low, count(distinct warehouse) as places
        from stock group by sku
        """,
        """
        select product_id, max(case when is_current then price end) as price, max(valid_from) as since,
               count(*) as versions, collect_list(status) as statuses
        from product_history group by product_id
        """,
    ),
}
