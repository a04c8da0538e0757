"""Ordinary views of what people do on the web: JSON, URLs, visits, funnels, and logs of servers and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VIEWS: Mapping[str, Sequence[str]] = {
    "json and urls": (
        """
        select event_id, get_json_object(payload, '$.page') as page, get_json_object(payload, '$.ms') as ms,
               get_json_object(payload, '$.item.id') as item_id
        from clicks
        """,
        """
        select event_id, parse_url(url, 'HOST') as host, parse_url(url, 'PATH') as path,
               parse_url(url, 'QUERY', 'id') as id, parse_url(url, 'QUERY', 'utm_source') as source
        from clicks
        """,
        """
        select parse_url(referrer, 'HOST') as referrer_host, count(*) as n, count(distinct user_id) as users
        from clicks group by parse_url(referrer, 'HOST')
        """,
        """
        select event_id, j.page, j.total from clicks lateral view json_tuple(payload, 'page', 'total') j as page,
            total
        """,
        """
        select event_id, cast(get_json_object(payload, '$.total') as decimal(10,2)) as total,
               get_json_object(payload, '$.ok') = 'true' as is_ok
        from clicks where action = 'buy'
        """,
        """
        select event_id, get_json_object(payload, '$.items[0].id') as first_item,
               get_json_object(payload, '$.item.tags') as tags, get_json_object(payload, '$.ab.test') as test_group
        from clicks
        """,
        """
        select coalesce(parse_url(url, 'QUERY', 'utm_source'), 'direct') as channel,
               sum(if(action = 'buy', 1, 0)) as purchases, count(*) as events
        from clicks group by coalesce(parse_url(url, 'QUERY', 'utm_source'), 'direct')
        """,
        """
        select event_id, regexp_extract(url, '^https?://([^/?#]+)', 1) as host,
               regexp_extract(url, '[?&]id=([^&#]*)', 1) as id, regexp_replace(url, '\\\\?.*$', '') as bare
        from clicks
        """,
        """
        select event_id, p.host, p.path, p.query from clicks
        lateral view parse_url_tuple(url, 'HOST', 'PATH', 'QUERY') p as host, path, query
        """,
        """
        select event_id, str_to_map(parse_url(url, 'QUERY'), '&', '=')['utm_campaign'] as campaign from clicks
        """,
        """
        select avg(cast(get_json_object(payload, '$.ms') as int)) as ms,
               max(cast(get_json_object(payload, '$.ms') as int)) as slowest, get_json_object(payload,
                   '$.page') as page
        from clicks group by get_json_object(payload, '$.page')
        """,
        """
        select event_id, split(parse_url(url, 'PATH'), '/')[1] as section,
               case when parse_url(url, 'PROTOCOL') = 'https' then 1 else 0 end as is_secure
        from clicks where url is not null and url <> ''
        """,
    ),
    "visits": (
        """
        select user_id, event_ts, lag(event_ts) over (partition by user_id order by event_ts) as before,
               epoch - lag(epoch) over (partition by user_id order by epoch) as seconds
        from clicks where user_id is not null
        """,
        """
        select user_id, event_id, sum(is_new) over (partition by user_id order by epoch rows unbounded preceding)
            as visit
        from (select user_id, event_id, epoch,
                     case when epoch - lag(epoch, 1, 0) over (partition by user_id order by epoch) > 1800
                          then 1 else 0 end as is_new
              from clicks where user_id is not null) x
        """,
        """
        with marked as (
          select user_id, event_ts, action, unix_timestamp(event_ts) as s,
                 unix_timestamp(event_ts) - unix_timestamp(lag(event_ts) over (partition by user_id order by
                     event_ts)) as gap
          from clicks where user_id is not null),
        numbered as (
          select user_id, event_ts, action, s,
                 sum(if(gap is null or gap > 1800, 1, 0)) over (partition by user_id order by event_ts) as visit
          from marked)
        select user_id, visit, min(event_ts) as began, max(event_ts) as ended, max(s) - min(s) as seconds,
            count(*) as events
        from numbered group by user_id, visit
        """,
        """
        select user_id, dt, min(event_ts) as first_event, max(event_ts) as last_event,
               unix_timestamp(max(event_ts)) - unix_timestamp(min(event_ts)) as seconds
        from clicks group by user_id, dt
        """,
        """
        select user_id, first_value(url) over (partition by user_id order by event_ts) as landing,
               last_value(url) over (partition by user_id order by event_ts
                                     rows between unbounded preceding and unbounded following) as leaving
        from clicks
        """,
        """
        select concat(user_id, '-', dt) as visit_key, count(*) as events, concat_ws('>', collect_list(action)) as path
        from (select user_id, dt, action from clicks where user_id is not null) x group by concat(user_id, '-', dt)
        """,
        """
        select user_id, event_ts, action, lead(action, 1, 'end') over (partition by user_id order by event_ts) as
            next_action,
               lead(event_ts) over (partition by user_id order by event_ts) as next_ts
        from clicks where user_id is not null
        """,
        """
        select h, events, users, events / sum(events) over () as share
        from (select hour(event_ts) as h, count(*) as events, count(distinct user_id) as users
              from clicks group by hour(event_ts)) x
        """,
        """
        select event_id, from_unixtime(epoch) as at, from_unixtime(epoch, 'yyyy-MM-dd HH') as hour_key,
               floor(epoch / 300) * 300 as slot, to_date(from_unixtime(epoch)) as day
        from clicks
        """,
        """
        select event_id, from_utc_timestamp(event_ts, 'America/New_York') as there,
               to_utc_timestamp(event_ts, 'Europe/Oslo') as utc, hour(from_utc_timestamp(event_ts, 'Asia/Tokyo')) as h
        from clicks
        """,
    ),
    "funnels": (
        """
        select user_id, max(if(action = 'view', 1, 0)) as viewed, max(if(action = 'add', 1, 0)) as added,
               max(if(action = 'buy', 1, 0)) as bought
        from clicks where user_id is not null group by user_id
        """,
        """
        select sum(viewed) as viewed, sum(added) as added, sum(bought) as bought,
               round(sum(bought) / sum(viewed), 4) as conversion
        from (select user_id, max(case when action = 'view' then 1 else 0 end) as viewed,
                     max(case when action = 'add' then 1 else 0 end) as added,
                     max(case when action = 'buy' then 1 else 0 end) as bought
              from clicks group by user_id) u
        """,
        """
        select count(distinct case when action = 'view' then user_id end) as viewers,
               count(distinct case when action = 'add' then user_id end) as adders,
               count(distinct case when action = 'buy' then user_id end) as buyers
        from clicks
        """,
        """
        select v.user_id, v.first_view, a.first_add, b.first_buy
        from (select user_id, min(event_ts) as first_view from clicks where action = 'view' group by user_id) v
        left join (select user_id, min(event_ts) as first_add from clicks where action = 'add' group by user_id) a
          on a.user_id = v.user_id and a.first_add >= v.first_view
        left join (select user_id, min(event_ts) as first_buy from clicks where action = 'buy' group by user_id) b
          on b.user_id = v.user_id and b.first_buy >= a.first_add
        """,
        """
        select step, users, users / first_value(users) over (order by step) as share
        from (select 1 as step, count(distinct user_id) as users from clicks where action = 'view'
              union all select 2, count(distinct user_id) from clicks where action = 'add'
              union all select 3, count(distinct user_id) from clicks where action = 'buy') s
        """,
        """
        select user_id, concat_ws(',', sort_array(collect_set(action))) as actions, size(collect_set(action)) as n,
               array_contains(collect_set(action), 'buy') as is_buyer
        from clicks where user_id is not null group by user_id
        """,
        """
        select status, count(*) as n, concat(round(count(*) * 100.0 / sum(count(*)) over (), 1), '%') as share
        from orders group by status
        """,
    ),
    "logs": (
        """
        select host, split(request, ' ')[0] as method, split(request, ' ')[1] as target,
            cast(status as int) as status,
               cast(bytes as bigint) as bytes
        from access_log
        """,
        """
        select from_unixtime(unix_timestamp(substr(request_time, 1, 20), 'dd/MMM/yyyy:HH:mm:ss'),
            'yyyy-MM-dd HH:mm') as at,
               count(*) as hits, sum(cast(bytes as bigint)) as bytes
        from access_log
        group by from_unixtime(unix_timestamp(substr(request_time, 1, 20), 'dd/MMM/yyyy:HH:mm:ss'),
            'yyyy-MM-dd HH:mm')
        """,
        """
        select concat(substr(status, 1, 1), 'xx') as class, count(*) as hits,
               sum(case when bytes = '-' then 0 else cast(bytes as int) end) as bytes
        from access_log where status <> '' group by concat(substr(status, 1, 1), 'xx')
        """,
        """
        select case when agent like '%bot%' then 'bot' when agent like '%iPhone%' or agent like '%Android%' then
            'mobile'
                    when agent is null or agent = '' then 'none' else 'desktop' end as kind, count(*) as hits
        from access_log
        group by case when agent like '%bot%' then 'bot' when agent like '%iPhone%' or agent like '%Android%' then
            'mobile'
                    when agent is null or agent = '' then 'none' else 'desktop' end
        """,
        """
        select regexp_extract(request, '^([A-Z]+) ([^ ?]+)(\\\\?[^ ]*)? (HTTP/[0-9.]+)$', 2) as path,
               regexp_extract(request, '^([A-Z]+) ([^ ?]+)(\\\\?[^ ]*)? (HTTP/[0-9.]+)$', 3) as query, status
        from access_log
        """,
        """
        select logged, upper(level) as level, message, cast(regexp_extract(message, 'id=([0-9]+)', 1) as int) as id,
               cast(regexp_extract(message, '([0-9]+) ms', 1) as int) as ms
        from app_log
        """,
        """
        select node, to_date(logged) as day, sum(if(upper(level) in ('ERROR', 'FATAL'), 1, 0)) as errors,
            count(*) as n,
               max(logged) as last_seen
        from app_log group by node, to_date(logged)
        """,
        """
        select substr(logged, 1, 13) as hour_key, lower(level) as level, count(*) as n from app_log
        where logged >= '2024-03-01' and logger like 'com.example.%'
        group by substr(logged, 1, 13), lower(level)
        """,
        """
        select host, cast(split(host, '\\\\.')[0] as bigint) * 16777216
               + cast(split(host, '\\\\.')[1] as bigint) * 65536
               + cast(split(host, '\\\\.')[2] as bigint) * 256
               + cast(split(host, '\\\\.')[3] as int) as ip_number,
               host like '10.%' or host rlike '^192\\\\.168\\\\.' as is_private
        from access_log where host <> ''
        """,
        """
        select logger, regexp_extract(logger, '([^.]+)$', 1) as class_name, substring_index(logger, '.',
            2) as package,
               locate('failed', message) > 0 as has_failed
        from app_log
        """,
        """
        select percentile(cast(regexp_extract(message, '([0-9]+) ms', 1) as int), 0.5) as median,
               percentile_approx(cast(regexp_extract(message, '([0-9]+) ms', 1) as int), 0.95) as p95
        from app_log where message like '%ms'
        """,
    ),
}
