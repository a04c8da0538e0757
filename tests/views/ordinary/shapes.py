"""Ordinary views of arrays, maps and structs; of telephones and places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VIEWS: Mapping[str, Sequence[str]] = {
    "semi-structured": (
        """
        select user_id, interest from profiles lateral view explode(interests) i as interest
        """,
        """
        select user_id, pos + 1 as place, interest from profiles lateral view outer posexplode(interests) i as pos,
            interest
        """,
        """
        select user_id, subject, score from profiles lateral view explode(scores) s as subject,
            score where score >= 60
        """,
        """
        select user_id, address.city as city, address.zip as zip, scores['math'] as math,
            interests[0] as first_interest,
               size(interests) as n
        from profiles
        """,
        """
        select user_id, d.os as os, d.version as version, d.opened as opened
        from profiles lateral view explode(devices) x as d
        """,
        """
        select category, collect_set(brand) as brands, concat_ws('|', sort_array(collect_set(brand))) as brand_list
        from products group by category
        """,
        """
        select sku, tag from products lateral view explode(tags) t as tag where array_contains(tags, 'sale')
        """,
        """
        select sku, attrs['color'] as color, coalesce(attrs['size'], 'one size') as size, size(attrs) as n,
               concat_ws(',', map_keys(attrs)) as keys_of_attrs
        from products
        """,
        """
        select tag, count(distinct p.product_id) as products, sum(i.qty) as sold
        from (select product_id, tag from products lateral view explode(tags) t as tag) p
        left join order_items i on i.product_id = p.product_id group by tag
        """,
        """
        select user_id, str_to_map(options, ';', '=')['lang'] as lang, word
        from profiles lateral view explode(split(options, ';')) o as word
        """,
        """
        select user_id, named_struct('city', address.city, 'zip', address.zip) as place, map('n',
            size(marks)) as facts,
               array(user_id, address.city) as texts
        from profiles
        """,
        """
        select user_id, sort_array(collect_set(mark)) as sorted_marks, sum(mark) as total
        from profiles lateral view outer explode(marks) m as mark group by user_id
        """,
        """
        select user_id, concat_ws(' ', interests) as words, concat_ws('-', user_id, address.street,
            address.city) as label
        from profiles
        """,
        """
        select user_id, a.interest, b.os from profiles
        lateral view explode(interests) a as interest lateral view inline(devices) b as os, version, opened
        """,
        """
        select customer_id, collect_list(struct(order_id, amount)) as orders from orders group by customer_id
        """,
        """
        select customer_id, concat_ws(',', collect_list(cast(order_id as string))) as ids
        from orders where customer_id is not null group by customer_id
        """,
        """
        select word, count(*) as n from app_log lateral view explode(split(lower(message), '[^a-z0-9]+')) w as word
        where word <> '' group by word
        """,
    ),
    "telephones": (
        """
        select caller, count(*) as calls, sum(seconds) as seconds, round(sum(seconds) / 60, 1) as minutes,
               sum(ceil(seconds / 60)) as billed
        from calls where result = 'ok' group by caller
        """,
        """
        select call_id, case when callee like '+47%' then 'domestic' when callee like '+%' then 'foreign'
               when length(callee) <= 3 then 'emergency' else 'unknown' end as kind,
               substr(callee, 1, 3) as prefix, regexp_replace(caller, '[0-9]{4}$', 'XXXX') as masked
        from calls
        """,
        """
        select cell_id, hour(started) as h, count(*) as calls, sum(if(result in ('busy', 'failed'), 1, 0)) as lost,
               round(sum(if(result in ('busy', 'failed'), 1, 0)) * 100.0 / count(*), 2) as lost_percent
        from calls group by cell_id, hour(started)
        """,
        """
        select call_id, round(bytes_down / 1024 / 1024, 2) as mb, round((bytes_up + bytes_down) / power(1024, 3),
            3) as gb,
               bytes_down div 1048576 as whole_mb
        from calls
        """,
        """
        select tariff, percentile(seconds, 0.5) as median, avg(seconds) as average, max(seconds) as longest
        from calls where seconds is not null group by tariff
        """,
        """
        select call_id, started, cast(unix_timestamp(started) + seconds as bigint) as ended_s,
               from_unixtime(unix_timestamp(started) + seconds) as ended
        from calls
        """,
        """
        select concat(lpad(cast(floor(seconds / 3600) as string), 2, '0'), ':',
                      lpad(cast(floor(seconds % 3600 / 60) as string), 2, '0'), ':',
                      lpad(cast(seconds % 60 as string), 2, '0')) as clock, call_id
        from calls
        """,
        """
        select c.call_id, x.region, x.technology from calls c left outer join cells x on c.cell_id = x.cell_id
        where x.cell_id is null or x.technology in ('4G', '5G')
        """,
        """
        select a.cell_id, b.cell_id as other,
               2 * 6371 * asin(sqrt(power(sin(radians(b.lat - a.lat) / 2), 2)
                 + cos(radians(a.lat)) * cos(radians(b.lat)) * power(sin(radians(b.lon - a.lon) / 2), 2))) as km
        from cells a cross join cells b where a.cell_id < b.cell_id
        """,
        """
        select cell_id, round(lat, 1) as lat1, round(lon, 1) as lon1, floor(lat) as lat_cell,
            cast(lon as int) as lon_cell,
               concat(cast(round(lat, 2) as string), ',', cast(round(lon, 2) as string)) as place
        from cells
        """,
        """
        select caller, dt, count(*) as calls, count(distinct callee) as callees, count(distinct cell_id) as cells,
               sum(bytes_down) as bytes
        from calls where dt >= '20240331' group by caller, dt having count(*) >= 1
        """,
        """
        select a.caller, a.callee, count(*) as n, sum(a.seconds) as seconds from calls a
        join calls b on a.caller = b.callee and a.callee = b.caller group by a.caller, a.callee
        """,
        """
        select call_id, lag(cell_id) over (partition by caller order by started) as from_cell, cell_id as to_cell,
               (unix_timestamp(started) - lag(unix_timestamp(started)) over (partition by caller order by started))
                   / 60
                 as minutes
        from calls
        """,
        """
        select caller, regexp_extract(caller, '^\\\\+(47|46|1)([0-9]*)$', 1) as country_code,
               substr(caller, -4) as last_digits, concat('***', substr(caller, length(caller) - 3)) as hidden
        from calls
        """,
    ),
}
