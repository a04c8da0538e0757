"""Ordinary views that clean what arrives, take duplicates out and count what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VIEWS: Mapping[str, Sequence[str]] = {
    "staging": (
        """
        select cast(customer_no as bigint) as customer_id,
               initcap(trim(first_name)) as first_name,
               trim(last_name) as last_name,
               lower(trim(email)) as email,
               upper(trim(country)) as country
        from stg_customers
        where customer_no is not null and customer_no <> ''
        """,
        """
        select customer_no,
               case when vip in ('Y', 'y', '1', 'true') then true else false end as is_vip,
               cast(regexp_replace(balance, ',', '') as decimal(12,2)) as balance,
               coalesce(nullif(trim(phone), ''), 'unknown') as phone
        from stg_customers
        """,
        """
        select customer_no, to_date(born) as birth_date, cast(substr(born, 1, 4) as int) as birth_year,
               cast(created as timestamp) as created_at
        from stg_customers
        where born rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
        """,
        """
        select customer_no, regexp_replace(phone, '[^0-9+]', '') as phone,
               length(regexp_replace(phone, '[^0-9]', '')) as digits
        from stg_customers
        """,
        """
        select customer_no, concat(trim(first_name), ' ', trim(last_name)) as full_name,
               concat_ws(', ', last_name, first_name) as sort_name,
               substr(trim(first_name), 1, 1) as initial
        from stg_customers
        """,
        """
        select customer_no, from_unixtime(unix_timestamp(updated, 'yyyyMMdd'), 'yyyy-MM-dd') as updated_on
        from stg_customers
        """,
        """
        select customer_no, to_date(from_unixtime(unix_timestamp(updated, 'yyyyMMdd'))) as updated_date,
               datediff('2024-03-01', to_date(from_unixtime(unix_timestamp(updated, 'yyyyMMdd')))) as age_days
        from stg_customers
        """,
        """
        select s.customer_no, nvl(c.name, concat(s.first_name, ' ', s.last_name)) as name,
               coalesce(c.email, lower(s.email), 'none') as email,
               if(c.customer_id is null, 'new', 'known') as kind
        from stg_customers s left join customers c on lower(c.email) = lower(trim(s.email))
        """,
        """
        select customer_no, split(email, '@')[0] as mailbox, split(email, '@')[1] as domain,
               size(split(email, '@')) as parts
        from stg_customers
        """,
        """
        select customer_no, translate(phone, '()- ', '') as phone, lpad(zip, 8, '0') as zip,
               rpad(country, 3, '.') as country3
        from stg_customers
        """,
        """
        select md5(concat_ws('|', customer_no, first_name, last_name)) as row_key,
               sha2(coalesce(email, ''), 256) as email_hash, customer_no
        from stg_customers
        """,
        """
        select customer_no, cast(balance as double) as balance,
               case when cast(balance as double) < 0 then 'debt'
                    when cast(balance as double) >= 1000 then 'rich' else 'usual' end as class
        from stg_customers
        where balance rlike '^-?[0-9]+(\\\\.[0-9]+)?$'
        """,
        """
        select customer_no, cast(zip as int) as zip_number, trim(both from country) as country
        from stg_customers
        where zip is not null
        """,
        """
        select customer_no, ltrim(phone) as phone, instr(email, '@') as at_sign,
               substring(email, instr(email, '@') + 1) as domain, reverse(customer_no) as reversed
        from stg_customers
        """,
    ),
    "deduplication": (
        """
        select customer_no, first_name, last_name, updated
        from (select s.*, row_number() over (partition by customer_no order by updated desc) as rn
              from stg_customers s) x
        where rn = 1
        """,
        """
        with ranked as (
          select customer_id, name, email, updated_at,
                 row_number() over (partition by lower(email) order by updated_at desc, customer_id) as rn
          from customers)
        select customer_id, name, email, updated_at from ranked where rn = 1 and email is not null
        """,
        """
        select distinct customer_no, trim(first_name) as first_name, trim(last_name) as last_name
        from stg_customers
        """,
        """
        select customer_no, count(*) as copies, min(updated) as first_seen, max(updated) as last_seen
        from stg_customers group by customer_no having count(*) > 1
        """,
        """
        select s.customer_no, s.email, s.updated
        from stg_customers s
        join (select customer_no, max(updated) as updated from stg_customers group by customer_no) m
          on s.customer_no = m.customer_no and s.updated = m.updated
        """,
        """
        select product_id, price, status, valid_from, count(*) as copies
        from product_history group by product_id, price, status, valid_from
        """,
        """
        select emp_id, name, rnk from (
          select emp_id, name, rank() over (partition by dept_id order by hire_date) as rnk from employees) e
        where rnk <= 2
        """,
        """
        select a.customer_id, b.customer_id as twin_id, a.email
        from customers a join customers b on lower(a.email) = lower(b.email) and a.customer_id < b.customer_id
        """,
        """
        select event_id, user_id, url,
               row_number() over (partition by user_id, url order by event_ts, event_id) > 1 as is_repeat
        from clicks
        """,
    ),
    "data quality": (
        """
        select count(*) as total, sum(case when email is null then 1 else 0 end) as no_email,
               sum(case when trim(email) = '' then 1 else 0 end) as empty_email,
               sum(if(email rlike '^[^@ ]+@[^@ ]+\\\\.[a-z]{2,}$', 1, 0)) as good_email
        from stg_customers
        """,
        """
        select count(*) - count(email) as no_email, count(*) - count(phone) as no_phone,
               round(count(email) / count(*) * 100, 1) as email_percent
        from stg_customers
        """,
        """
        select 'orders' as table_name, 'customer_id' as column_name, count(*) as broken
        from orders o left join customers c on o.customer_id = c.customer_id
        where o.customer_id is not null and c.customer_id is null
        union all
        select 'order_items', 'product_id', count(*)
        from order_items i left join products p on i.product_id = p.product_id
        where i.product_id is not null and p.product_id is null
        """,
        """
        select customer_no, born,
               case when born is null then 'missing'
                    when born not rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' then 'bad form'
                    when to_date(born) > '2024-01-01' then 'future' else 'ok' end as verdict
        from stg_customers
        """,
        """
        select order_id, amount, case when amount < 0 then 'negative' when amount = 0 then 'zero'
               when amount is null then 'missing' else 'ok' end as verdict
        from orders where status <> 'returned' or status is null
        """,
        """
        select dt, count(*) as n, count(distinct order_id) as ids, count(distinct customer_id) as customers
        from orders group by dt
        """,
        """
        select o.order_id, o.amount, i.total, abs(o.amount - i.total) as off
        from orders o
        join (select order_id, sum(qty * unit_price) as total from order_items group by order_id) i
          on o.order_id = i.order_id
        where abs(o.amount - i.total) > 0.01
        """,
        """
        select min(length(zip)) as shortest, max(length(zip)) as longest, avg(length(zip)) as average,
               min(created) as first_created, max(created) as last_created
        from stg_customers
        """,
        """
        select customer_no from stg_customers
        where phone is null or trim(phone) = '' or length(trim(phone)) < 7 or email not like '%@%.%'
        """,
        """
        select sku, sku rlike '^[A-Z]{2}-[0-9]{3}(-[A-Z]{3})?$' as is_good,
               regexp_extract(sku, '^([A-Z]{2})-([0-9]{3})(-([A-Z]{3}))?$', 4) as color,
               regexp_extract(sku, '^([A-Z]+)-', 1) as prefix
        from products
        """,
        """
        select order_id, order_date, dt from orders
        where date_format(order_date, 'yyyyMMdd') <> dt or to_date(order_ts) <> order_date
        """,
    ),
    "set operations": (
        """
        select customer_id, name from customers where country = 'NO'
        union all
        select customer_id, name from customers where segment = 'gold'
        """,
        """
        select city from customers union select location from departments union select city from employees
        """,
        """
        select c.customer_id, c.name from customers c
        where exists (select 1 from orders o where o.customer_id = c.customer_id and o.status = 'paid')
        """,
        """
        select c.customer_id, c.name from customers c
        where not exists (select 1 from orders o where o.customer_id = c.customer_id)
        """,
        """
        select product_id, name from products
        where product_id not in (select product_id from order_items where product_id is not null)
        """,
        """
        select order_id, amount from orders
        where customer_id in (select customer_id from customers where segment in ('gold', 'silver'))
        """,
        """
        select c.customer_id, c.name from customers c left semi join orders o on c.customer_id = o.customer_id
        """,
        """
        select source, n from (
          select 'customers' as source, count(*) as n from customers
          union all select 'orders', count(*) from orders
          union all select 'clicks', count(*) from clicks) u
        where n > 0
        """,
        """
        select customer_id, amount from orders where amount > (select avg(amount) from orders where status = 'paid')
        """,
        """
        select 'in' as way, order_date as day, cast(amount as double) as amount from orders
        union all
        select 'out' as way, booked as day, -cast(credit as double) as amount from ledger
        """,
        """
        select customer_id from customers where is_active
        intersect
        select customer_id from orders where order_date >= '2024-01-01'
        """,
    ),
}
