"""Ordinary views of sales: running totals, the best of each group, pivots, subtotals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VIEWS: Mapping[str, Sequence[str]] = {
    "sales windows": (
        """
        select customer_id, order_date, amount,
               sum(amount) over (partition by customer_id order by order_date, order_id
                                 rows between unbounded preceding and current row) as running
        from orders
        """,
        """
        select order_date, amount, avg(amount) over (order by order_date,
            order_id rows between 6 preceding and current row)
               as moving_average
        from orders where order_date is not null
        """,
        """
        select order_id, amount, amount / sum(amount) over (partition by store_id) as share_of_store
        from orders where status = 'paid'
        """,
        """
        select order_id, round(100 * amount / sum(amount) over (), 2) as pct, max(amount) over () as biggest
        from orders where amount is not null
        """,
        """
        select store_id, dt, sum(amount) as amount, sum(sum(amount)) over (partition by store_id order by dt) as
            running,
               rank() over (partition by store_id order by sum(amount) desc) as day_rank
        from orders where dt is not null group by store_id, dt
        """,
        """
        select order_id, customer_id, order_date,
               row_number() over (partition by customer_id order by order_date, order_id) as nth,
               count(*) over (partition by customer_id) as orders_of_customer,
               first_value(order_date) over (partition by customer_id order by order_date, order_id) as first_order
        from orders
        """,
        """
        select i.order_id, sum(i.qty * i.unit_price) as net, sum(i.qty * i.unit_price * (1 + i.tax_rate)) as gross,
               count(*) as lines
        from order_items i group by i.order_id
        """,
        """
        select p.category, sum(i.qty) as pieces, sum(i.qty * i.unit_price) as revenue,
               sum(i.qty * (i.unit_price - p.cost)) as margin,
               round(sum(i.qty * (i.unit_price - p.cost)) / sum(i.qty * i.unit_price), 4) as margin_rate
        from order_items i join products p on i.product_id = p.product_id group by p.category
        """,
        """
        select c.country, s.region, count(*) as n, sum(o.amount - nvl(o.discount, 0)) as net, avg(o.amount) as average
        from orders o
        left join customers c on o.customer_id = c.customer_id
        left join stores s on o.store_id = s.store_id
        group by c.country, s.region
        """,
        """
        select order_id, case when amount >= 1000 then 'large' when amount >= 100 then 'middle' else 'small' end as
            size,
               amount * 0.25 as tax, amount * 1.25 as gross, round(amount * 0.1, 1) as provision,
                   shipping + amount as total
        from orders
        """,
        """
        select customer_id, sum(amount) as amount, count(*) as n, sum(amount) / count(*) as per_order,
               max(amount) - min(amount) as spread, ntile(3) over (order by sum(amount) desc, customer_id) as third
        from orders where customer_id is not null group by customer_id
        """,
        """
        select order_id, upper(coupon) as coupon, nvl(upper(coupon), 'NONE') as campaign,
               if(coupon is not null and coupon <> '', 1, 0) as has_coupon
        from orders
        """,
        """
        select o.order_id, o.amount, i.lines, i.total, o.amount - i.total as difference
        from orders o left join (select order_id, count(*) as lines,
            cast(sum(qty * unit_price) as decimal(12,2)) as total
                                 from order_items group by order_id) i on o.order_id = i.order_id
        """,
        """
        select /*+ MAPJOIN(s) */ o.order_id, s.name, s.region, o.amount
        from orders o join stores s on o.store_id = s.store_id
        """,
    ),
    "top n": (
        """
        select category, name, revenue from (
          select p.category, p.name, sum(i.qty * i.unit_price) as revenue,
                 row_number() over (partition by p.category order by sum(i.qty * i.unit_price) desc, p.name) as rn
          from order_items i join products p on i.product_id = p.product_id group by p.category, p.name) x
        where rn <= 3
        """,
        """
        select customer_id, sum(amount) as amount from orders where customer_id is not null
        group by customer_id order by amount desc, customer_id limit 3
        """,
        """
        select name, amount from (
          select c.name, sum(o.amount) as amount, dense_rank() over (order by sum(o.amount) desc) as place
          from customers c join orders o on c.customer_id = o.customer_id group by c.name) x
        where place <= 5
        """,
        """
        select store_id, max(struct(amount, order_id)).col2 as best_order from orders where amount is not null
        group by store_id
        """,
        """
        select sku, name, list_price, rank() over (partition by brand order by list_price desc) as price_rank
        from products
        """,
        """
        select dept_id, name, salary from (
          select dept_id, name, salary, dense_rank() over (partition by dept_id order by salary desc) as r
          from employees) e where r = 1
        """,
        """
        select product_id, qty, pareto from (
          select product_id, qty, sum(qty) over (order by qty desc, product_id) / sum(qty) over () as pareto
          from (select product_id, sum(qty) as qty from order_items where product_id is not null group by
              product_id) a) b
        where pareto <= 0.8
        """,
    ),
    "pivots": (
        """
        select store_id,
               sum(case when channel = 'web' then amount else 0 end) as web,
               sum(case when channel = 'app' then amount else 0 end) as app,
               sum(case when channel = 'store' then amount else 0 end) as store
        from orders group by store_id
        """,
        """
        select year(order_date) as y, sum(if(quarter(order_date) = 1, amount, 0)) as q1,
               sum(if(quarter(order_date) = 2, amount, 0)) as q2, sum(if(quarter(order_date) = 3, amount, 0)) as q3,
               sum(if(quarter(order_date) = 4, amount, 0)) as q4
        from orders where order_date is not null group by year(order_date)
        """,
        """
        select customer_id, max(case status when 'paid' then order_date end) as last_paid,
               max(case status when 'returned' then order_date end) as last_returned,
               count(case status when 'cancelled' then 1 end) as cancelled
        from orders group by customer_id
        """,
        """
        select sku, coalesce(max(case when warehouse = 'A' then qty end), 0) as a,
               coalesce(max(case when warehouse = 'B' then qty end), 0) as b
        from stock where snap_date = '2024-03-31' group by sku
        """,
        """
        select store_id, kind, value from (
          select store_id, sum(amount) as amount, cast(count(*) as decimal(22,2)) as n from orders group by
              store_id) o
        lateral view explode(map('amount', amount, 'orders', n)) m as kind, value
        """,
        """
        select emp_id, what, amount from employees
        lateral view stack(2, 'salary', cast(salary as double), 'commission', commission) s as what, amount
        """,
        """
        select c.segment, count(distinct case when o.channel = 'web' then o.customer_id end) as web_customers,
               avg(case when o.channel = 'app' then o.amount end) as app_average,
               sum(case when o.discount > 0 then 1 else 0 end) / count(*) as discounted
        from orders o join customers c on o.customer_id = c.customer_id group by c.segment
        """,
        """
        select customer_id, str_to_map(concat_ws(',', collect_set(concat(channel, ':', status))), ',',
            ':')['web'] as web
        from orders where channel = 'web' and status = 'paid' group by customer_id
        """,
    ),
    "subtotals": (
        """
        select channel, status, count(*) as n, sum(amount) as amount from orders group by channel, status with rollup
        """,
        """
        select o.channel, o.status, grouping__id as level, sum(o.amount) as amount from orders o
        group by o.channel, o.status grouping sets ((o.channel, o.status), (o.channel), ())
        """,
        """
        select region, city, count(*) as n from (
          select s.region, c.city from orders o join stores s on o.store_id = s.store_id
          join customers c on c.customer_id = o.customer_id) x
        group by region, city with cube
        """,
        """
        select coalesce(channel, 'all') as channel, coalesce(currency, 'all') as currency, sum(amount) as amount
        from orders where channel is not null group by rollup(channel, currency)
        """,
        """
        select o.y, o.m, sum(o.amount) as amount, grouping(o.y) as of_all, grouping(o.m) as of_year
        from (select year(order_date) as y, month(order_date) as m, amount from orders) o
        group by o.y, o.m grouping sets ((o.y, o.m), (o.y), ())
        """,
        """
        select year(order_date) as y, store_id, sum(amount) as amount from orders
        group by year(order_date), store_id with rollup
        """,
        """
        select if(grouping(e.dept_id) = 1, -1, e.dept_id) as dept_id, e.job, sum(e.salary) as salaries, count(*) as n
        from employees e group by e.dept_id, e.job with rollup
        """,
    ),
}
