"""The tables that ordinary views read: a shop's staging area and warehouse, its people, ledger, web and telephones.

Rows are lines whose fields end with `|`, items of collections with `,` and those within these with `:`. Beside usual
rows there are NULLs (`\\N`), empty texts, duplicates, days at which clocks change, and what people mistype.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

STAGING: Mapping[str, str] = {
    "stg_customers": "customer_no string, first_name string, last_name string, email string, phone string, "
    "born string, country string, zip string, created string, balance string, vip string, updated string",
    "access_log": "host string, request_time string, request string, status string, bytes string, referrer string, "
    "agent string",
    "app_log": "logged string, level string, logger string, message string, node string, dt string",
}
"""The columns of text tables."""

WAREHOUSE: Mapping[str, str] = {
    "customers": "customer_id bigint, name string, email string, country string, city string, segment string, "
    "birth_date date, signup_date date, signup_ts timestamp, credit_limit decimal(12,2), is_active boolean, "
    "updated_at timestamp",
    "orders": "order_id bigint, customer_id bigint, store_id int, order_ts timestamp, order_date date, dt string, "
    "status string, channel string, currency string, amount decimal(12,2), discount decimal(12,2), shipping double, "
    "coupon string",
    "order_items": "order_id bigint, line int, product_id int, qty int, unit_price decimal(10,2), "
    "tax_rate decimal(5,4)",
    "products": "product_id int, sku string, name string, category string, brand string, list_price decimal(10,2), "
    "cost decimal(10,4), weight double, attrs map<string,string>, tags array<string>",
    "stores": "store_id int, name string, region string, opened date, area_m2 int",
    "clicks": "event_id bigint, user_id string, event_ts timestamp, epoch bigint, url string, referrer string, "
    "action string, payload string, ip string, dt string",
    "employees": "emp_id int, name string, dept_id int, manager_id int, job string, salary decimal(10,2), "
    "commission double, hire_date date, end_date date, grade tinyint, city string",
    "departments": "dept_id int, dept_name string, location string, budget decimal(14,2)",
    "ledger": "entry_id bigint, account string, booked date, debit decimal(18,2), credit decimal(18,2), "
    "currency string, memo string, period string",
    "fx_rates": "currency string, rate_date date, rate decimal(12,6)",
    "stock": "sku string, warehouse string, snap_date date, qty int, reserved int, unit_cost decimal(10,4)",
    "product_history": "product_id int, price decimal(10,2), status string, valid_from date, valid_to date, "
    "is_current boolean",
    "profiles": "user_id string, interests array<string>, scores map<string,int>, "
    "address struct<street:string,city:string,zip:string>, "
    "devices array<struct<os:string,version:string,opened:int>>, marks array<int>, options string",
    "calls": "call_id bigint, caller string, callee string, cell_id string, started timestamp, seconds int, "
    "bytes_up bigint, bytes_down bigint, result string, tariff string, dt string",
    "cells": "cell_id string, lat double, lon double, region string, technology string",
    "days": "day date",
}
"""The columns of ORC tables."""

LINES: Mapping[str, str] = {
    "stg_customers": r"""
1001| Ann |Lee|ANN.LEE@Example.com|+47 22 33 44 55|1980-05-17|no|0150|2021-03-28 02:30:00|1250.50|Y|20240101
1002|bob|O'Neil|bob@example.org|(555) 010-2030|1975-12-31|US|94016-1234|2020-02-29 12:00:00|0|N|20240102
1003|Çelik|Öz|celik@örnek.com.tr||1990-01-01|TR|34000|2023-10-29 02:59:59|-17.25|y|20231229
1003|Çelik|Öz|celik@örnek.com.tr||1990-01-01|TR|34000|2023-10-29 02:59:59|-17.25|y|20231231
1004|  |\N|no at sign|12345|17.05.1980|DE||\N|abc||20240103
|Dan|Brown|dan@@example.com|0049-30-1234|1968-02-30|de|10115|2022-07-01 00:00:00|1,000.00|1|20240101
1005|Eve|Adams|\N|\N|\N|\N|\N|\N|\N|\N|\N
1006|FAY|van der Berg|fay@ex.co.uk|  +44 20 7946 0000 |2001-09-09|GB |SW1A|2019-12-31 23:59:59|9999999.99|true|20230630
1007|Gus|Ng|gus.ng+shop@example.com|5550102030|1999-1-5|sg|018989|2024-01-01 00:00:00|12|no|20240229
""",
    "access_log": r"""
10.0.0.1|12/Mar/2024:10:11:12 +0000|GET /cart?item=42&qty=2 HTTP/1.1|200|5120|https://ex.com/?q=red+shoes|Chrome/122.0
10.0.0.1|12/Mar/2024:10:12:59 +0000|POST /checkout HTTP/1.1|302|0|https://ex.com/cart?item=42|Chrome/122.0
192.168.7.20|31/Mar/2024:03:30:00 +0200|GET /img/logo.png HTTP/1.1|304|-|-|Mozilla/5.0 (iPhone) Safari/604.1
172.16.0.9|27/Oct/2024:02:15:00 +0200|GET /item/77?ref=mail#reviews HTTP/2|404|312|http://mail.ex.org/|Somebot/2.1
8.8.8.8|01/Jan/2024:00:00:00 +0000|HEAD / HTTP/1.0|500|17|\N|curl/8.4.0
10.0.0.2|12/Mar/2024:10:11:12 +0000|GET /item/77 HTTP/1.1|200|2048|https://www.ex.com/|Mozilla/5.0 (X11) Firefox/123.0
||||||
\N|\N|\N|\N|\N|\N|\N
10.0.0.3|29/Feb/2024:23:59:59 +0000|GET /download/report%202024.pdf?token=abc%3D%3D HTTP/1.1|206|1048576|https://intra.ex.com:8443/a?x=1|Edge/121.0
""",
    "app_log": r"""
2024-03-12 10:11:12|INFO|com.example.Pay|payment id=981 took 120 ms|node-1|2024-03-12
2024-03-12 10:11:13|ERROR|com.example.Pay|payment id=982 failed: TIMEOUT after 3000 ms|node-1|2024-03-12
2024-03-12 10:11:13|ERROR|com.example.Pay|payment id=983 failed: DECLINED after 80 ms|node-2|2024-03-12
2024-03-31 02:30:00|WARN|com.example.Cache|evicted 42 entries|node-2|2024-03-31
2024-03-31 03:00:01|INFO|com.example.Cache|hit ratio 0.87|node-2|2024-03-31
2024-10-27 02:15:00|error|com.example.Db|deadlock found; retry=2|node-3|2024-10-27
2024-10-27 02:15:00|FATAL|com.example.Db||node-3|2024-10-27
2024-10-28 00:00:00|DEBUG|org.lib.Http$Conn|GET http://api.example.com/v1/items?id=7 200|node-1|2024-10-28
\N|\N|\N|\N|\N|\N
2024-10-28 00:00:05|INFO|com.example.Pay|payment id=990 took 95 ms|node-1|2024-10-28
""",
    "customers": r"""
1|Ann Lee|ann.lee@example.com|NO|Oslo|gold|1980-05-17|2021-03-28|2021-03-28 12:30:00|5000.00|true|2024-01-01 08:00:00
2|Bob O'Neil|bob@ex.org|US|San Mateo|silver|1975-12-31|2020-02-29|2020-02-29 12:00:00|1500.50|true|2024-01-02 00:00:00
3|Çelik Öz|celik@example.com.tr|TR|İzmir|gold|1990-01-01|2022-10-30|2022-10-30 23:59:59|0.00|false|2023-12-31 23:59:59
4|Dan Brown|\N|DE|Berlin|bronze|1968-02-29|2022-07-01|2022-07-01 00:00:00|\N|true|2024-03-03 03:03:03
5|Eve|eve@example.com|DE|\N|\N|\N|2023-01-31|2023-01-31 18:45:00|250.00|\N|\N
6|fay|FAY@EXAMPLE.CO.UK|GB|London|silver|2001-09-09|2023-12-31|2023-12-31 23:00:00|999999.99|true|2024-02-29 10:00:00
7|||\N||bronze|1999-01-05|\N|\N|10.00|false|2024-02-29 10:00:00
8|Gus Ng|gus@example.com|SG|Singapore|gold|1985-11-30|2023-05-15|2023-05-15 06:07:08|7500.00|true|2024-01-15 12:00:00
""",
    "orders": r"""
100|1|1|2023-01-15 09:30:00|2023-01-15|20230115|paid|web|EUR|120.50|10.00|4.9|WELCOME10
101|1|1|2023-02-14 23:59:59|2023-02-14|20230214|paid|web|EUR|75.00|0.00|4.9|\N
102|2|2|2023-03-26 12:00:00|2023-03-26|20230326|shipped|store|USD|999.99|99.99|0.0|VIP
103|3|2|2023-03-26 12:00:00|2023-03-26|20230326|cancelled|web|EUR|15.25|\N|2.5|
104|4|3|2023-10-29 10:00:00|2023-10-29|20231029|paid|app|GBP|42.00|2.10|\N|AUTUMN
105|1|1|2023-12-31 23:00:00|2023-12-31|20231231|paid|app|EUR|310.10|0.00|0.0|\N
106|5|\N|2024-01-01 00:00:00|2024-01-01|20240101|new|web|EUR|0.00|0.00|4.9|\N
107|2|2|2024-01-15 08:15:30|2024-01-15|20240115|returned|store|USD|-50.00|0.00|0.0|\N
108|2|2|2024-02-29 17:45:00|2024-02-29|20240229|paid|web|USD|250.75|25.00|9.95|VIP
109|6|3|2024-02-29 18:00:00|2024-02-29|20240229|paid|app|GBP|87.30|0.00|3.5|welcome10
110|6|3|2024-03-31 12:30:00|2024-03-31|20240331|shipped|app|GBP|87.30|0.00|3.5|\N
111|8|1|2024-03-31 13:30:00|2024-03-31|20240331|paid|web|SGD|1200.00|120.00|15.0|VIP
112|\N|1|2024-04-01 00:00:00|2024-04-01|20240401|paid|web|EUR|9.99|0.00|4.9|\N
113|99|1|\N|\N|\N|new|\N|EUR|20.00|\N|\N|\N
114|1|2|2024-04-15 11:11:11|2024-04-15|20240415|\N|web|EUR|\N|\N|4.9|\N
115|8|1|2024-05-05 05:05:05|2024-05-05|20240505|paid|web|SGD|640.40|64.04|15.0|VIP
""",
    "order_items": r"""
100|1|10|1|100.00|0.2500
100|2|11|2|10.25|0.2500
101|1|12|3|25.00|0.1500
102|1|10|9|100.00|0.0875
102|2|13|1|99.99|0.0875
103|1|11|1|15.25|0.2500
104|1|14|4|10.50|0.2000
105|1|10|3|99.90|0.2500
105|2|11|1|10.40|0.2500
107|1|13|-1|50.00|0.0875
108|1|12|10|25.00|0.0875
108|2|15|1|0.75|\N
109|1|14|1|87.30|0.2000
110|1|14|1|87.30|0.2000
111|1|10|12|100.00|0.0900
112|1|\N|1|9.99|0.2500
115|1|10|6|100.00|0.0900
115|2|99|4|10.10|0.0900
""",
    "products": r"""
10|SH-001-RED|Red Shoe|shoes|Acme|110.00|61.2500|0.85|color:red,size:42|sale,summer
11|SO-002-BLU|Blue Sock|socks|Acme|10.25|2.1000|0.05|color:blue,size:M|sale
12|TS-003-WHT|White Shirt|shirts|Bolt|25.00|9.9900|0.2|color:white|
13|CO-004-BLK|Black Coat|coats|Bolt|149.99|70.0000|1.75|color:black,lining:wool|winter,new
14|HA-005-GRN|Green Hat|hats|Cray|\N|4.5000|0.1|\N|\N
15|GI-000|Gift wrap|extras|\N|0.75|0.1000|0.01||gift
16|XX-999-???|Unsold, odd|\N|Acme|1.00|\N|\N|color:\N|sale,sale
""",
    "stores": r"""
1|Oslo Central|north|2015-04-01|450
2|San Mateo|west|2018-11-11|1200
3|London Bridge|\N|2020-02-29|300
4|Closed one|north|\N|\N
""",
    "clicks": r"""
1|u1|2024-03-12 10:00:00|1710237600|https://www.example.com/shop?utm_source=mail&utm_campaign=spring&id=7|https://mail.example.org/|view|{"page":"home","ms":120,"ab":{"test":"A"}}|10.1.2.3|20240312
2|u1|2024-03-12 10:04:30|1710237870|https://www.example.com/shop/item/10|https://www.example.com/shop|view|{"page":"item","ms":310,"item":{"id":10,"price":110.5,"tags":["sale","summer"]}}|10.1.2.3|20240312
3|u1|2024-03-12 10:40:00|1710240000|https://www.example.com/cart|https://www.example.com/shop/item/10|add|{"page":"cart","items":[{"id":10,"qty":1},{"id":11,"qty":2}],"total":131.0}|10.1.2.3|20240312
4|u1|2024-03-12 10:41:00|1710240060|https://www.example.com/checkout?step=2#pay|https://www.example.com/cart|buy|{"page":"checkout","ok":true,"total":131}|10.1.2.3|20240312
5|u2|2024-03-12 23:59:00|1710287940|http://m.example.com/?utm_source=ads|\N|view|{"page":"home","ms":null}|192.168.0.7|20240312
6|u2|2024-03-13 00:10:00|1710288600|http://m.example.com/shop?q=a%20b||add|{"page":"cart","items":[]}|192.168.0.7|20240313
7|u3|2024-03-31 12:59:59|1711889999|https://www.example.com/shop?id=|https://google.com/?q=shoes|view|{}|8.8.8.8|20240331
8|u3|2024-03-31 13:00:00|1711890000|https://www.ex.com/?id=9&id=10|https://google.com/|view|not json|8.8.8.8|20240331
9|\N|2024-03-31 13:00:00|1711890000|\N|\N|view|\N|\N|20240331
10|u4|2024-10-27 12:30:00|1730032200||-|buy|{"page":"checkout","ok":false,"note":"caf\u00e9 \"x\""}||20241027
11|u2|2024-03-13 00:11:00|1710288660|http://m.example.com/checkout|http://m.example.com/shop|buy|{"page":"checkout","ok":true,"total":20}|192.168.0.7|20240313
12|u1|2024-04-02 08:00:00|1712044800|https://www.example.com/shop|https://www.bing.com/search?q=example|view|{"page":"home","ms":95}|10.1.2.4|20240402
""",
    "employees": r"""
1|Kim King|10|\N|president|15000.00|\N|2010-01-04|\N|9|Oslo
2|Lou Low|20|1|manager|8200.50|0.1|2012-06-15|\N|7|Oslo
3|May Day|20|2|analyst|5200.00|\N|2019-02-28|\N|5|Bergen
4|Ned Ted|20|2|analyst|5200.00|0.05|2020-02-29|2023-08-31|5|Bergen
5|Oda Ray|30|1|manager|7900.00|0.12|2015-09-01|\N|7|London
6|Pat Poe|30|5|sales|3100.25|0.3|2021-10-31|\N|3|London
7|Quo Vad|30|5|sales|2900.75|0.25|2022-12-31|\N|3|\N
8|Rex Tor|30|5|sales|\N|0.0|2024-02-29|\N|2|London
9|Sue Sol|40|1|clerk|2500.00|\N|2018-05-05|2024-01-31|2|Oslo
10|Tim Tam|\N|\N|intern|0.00|\N|\N|\N|\N|\N
""",
    "departments": r"""
10|Board|Oslo|1000000.00
20|Research|Bergen|2500000.50
30|Sales|London|750000.00
40|Office|Oslo|\N
50|Empty|\N|0.00
""",
    "ledger": r"""
1|1000|2024-01-01|1000.00|0.00|EUR|opening balance|2024-01
2|4000|2024-01-15|0.00|250.55|EUR|sale 100|2024-01
3|1000|2024-01-15|250.55|0.00|EUR|sale 100|2024-01
4|5000|2024-01-31|99.99|0.00|USD|rent #1/2024|2024-01
5|1000|2024-02-29|0.00|99.99|USD|rent #1/2024|2024-02
6|4000|2024-02-29|0.00|0.01|EUR|rounding|2024-02
7|1000|2024-03-31|\N|33.33|GBP|\N|2024-03
8|4000-10|2024-03-31|33.33|\N|GBP||2024-03
9|1000|2024-03-31|123456789012.34|0.00|JPY|big one|2024-03
10|\N|\N|5.00|5.00|\N|no account|\N
11|1000|2023-12-31|10.00|0.00|EUR|last year|2023-12
""",
    "fx_rates": r"""
EUR|2024-01-01|1.000000
USD|2024-01-01|0.912345
USD|2024-02-01|0.925000
USD|2024-03-01|0.923456
GBP|2024-01-01|1.150001
GBP|2024-03-31|1.170000
JPY|2024-01-01|0.006123
SGD|2024-01-01|\N
""",
    "stock": r"""
SH-001-RED|A|2024-03-30|10|2|61.2500
SH-001-RED|A|2024-03-31|7|0|61.2500
SH-001-RED|B|2024-03-31|0|0|60.0000
SO-002-BLU|A|2024-03-30|500|25|2.1000
SO-002-BLU|A|2024-03-31|\N|25|2.1000
SO-002-BLU|A|2024-04-02|450|30|2.0500
CO-004-BLK|B|2024-02-29|3|3|70.0000
CO-004-BLK|B|2024-03-31|1|4|71.5000
ZZ-404|B|2024-03-31|-2|0|\N
CO-004-BLK|B|2024-04-01|1|0|71.5000
""",
    "product_history": r"""
10|99.00|active|2020-01-01|2022-12-31|false
10|105.00|active|2023-01-01|2023-12-31|false
10|110.00|active|2024-01-01|9999-12-31|true
11|10.25|active|2021-06-01|9999-12-31|true
12|20.00|active|2019-01-01|2021-02-28|false
12|25.00|retired|2021-03-01|2023-06-30|false
13|149.99|active|2022-02-28|9999-12-31|true
13|149.99|active|2022-02-28|9999-12-31|true
14|\N|new|2024-02-29|\N|true
15|0.75|active|\N|9999-12-31|\N
""",
    "profiles": r"""
u1|sport,music,sport|math:90,art:75|Main St 1,Oslo,0150|ios:17.3:2023,android:14:2024|3,1,2|theme=dark;lang=no;beta
u2|music|math:60|5th Ave,New York,10001|android:13:2022|7|theme=light;lang=en
u3|||,,|||
u4|\N|\N|\N|\N|\N|\N
u5|art,,travel|art:\N,math:0|Long Rd 2,\N,0161|ios:\N:\N|5,\N,5|lang=
""",
    "calls": r"""
1|+4790000001|+4790000002|NO-1|2024-03-30 23:50:00|125|0|0|ok|flat|20240330
2|+4790000001|+4690000003|NO-1|2024-03-31 03:10:00|61|0|0|ok|flat|20240331
3|+4790000002|+4790000001|NO-2|2024-03-31 12:00:00|0|0|0|busy|prepaid|20240331
4|+4790000002|\N|NO-2|2024-03-31 18:30:15|3600|1048576|734003200|data|prepaid|20240331
5|+4690000003|+4790000001|SE-7|2024-04-01 00:00:00|59|10|20|ok|flat|20240401
6|+4690000003|112|SE-7|2024-04-01 08:00:00|240|0|0|ok|\N|20240401
7|unknown|+4790000001|XX|2024-04-01 08:00:01|\N|\N|\N|failed|flat|20240401
8|+4790000001|+4790000002|NO-1|2024-04-01 09:30:00|1800|5368709120|21474836480|data|flat|20240401
9|+4790000002|+4790000001|NO-3|2024-04-01 23:59:59|30|0|0|ok|prepaid|20240401
10|+4790000001|+4790000009|NO-1|\N|12|0|0|ok|flat|\N
""",
    "cells": r"""
NO-1|59.9139|10.7522|Oslo|5G
NO-2|60.3913|5.3221|Bergen|4G
NO-3|\N|\N|\N|4G
SE-7|59.3293|18.0686|Stockholm|5G
SE-8|-0.5|-0.25|Nowhere|3G
""",
    "days": r"""
1999-12-31
2000-02-29
2020-12-31
2021-01-01
2021-01-03
2021-03-28
2023-01-01
2023-10-29
2024-02-28
2024-02-29
2024-03-01
2024-03-31
2024-04-30
2024-06-30
2024-09-09
2024-10-27
2024-12-29
2024-12-30
2024-12-31
2025-01-31
\N
""",
}
"""The rows of each table."""


def lines(table: str) -> str:
    """The rows of a table, as its text file has them."""
    return LINES[table].removeprefix("\n")


def tables(directory: Path) -> Iterator[tuple[str, str]]:
    """A name and a statement each: those of the staging area as text, in files here, those of the warehouse as ORC."""
    for name, columns in {**STAGING, **WAREHOUSE}.items():
        files = directory / f"lines_{name}"
        files.mkdir()
        (files / "lines").write_text(lines(name))
        text = name if name in STAGING else f"lines_{name}"
        yield text, _of_text(text, columns, files)
        if name in WAREHOUSE:
            yield name, f"create table {name} stored as orc as select * from {text}"


def _of_text(name: str, columns: str, files: Path) -> str:
    return (
        f"create external table {name} ({columns}) row format delimited fields terminated by '|' "
        f"collection items terminated by ',' map keys terminated by ':' location 'file:{files}'"
    )
