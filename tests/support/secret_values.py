"""Names and texts as people have them in Hive, Spark, Hadoop and the clouds: with secrets, and harmless ones."""

from __future__ import annotations

import json

SECRET = "Zk9/x+Qw7=Lm3Rt5"  # noqa: S105 - as AWS makes them

PLAIN = "Zk9xQw7Lm3Rt5abC"

SECRET_NAMES = """
    password hive.sql.dbcp.password javax.jdo.option.ConnectionPassword PASSWORD dbPassword DBPassword dbpassword passwd
    userpwd pwd passphrase es.net.http.auth.pass es.net.ssl.keystore.pass ssl.key.password ssl.truststore.password.0
    fs.s3a.secret.key fs.s3a.access.key fs.s3a.session.token fs.s3a.bucket.x.secret.key AWS_SECRET_ACCESS_KEY
    aws_access_key_id accessKeyId secretKey secretkey fs.s3a.encryption.key parquet.encryption.key.list
    fs.azure.account.key.x.blob.core.windows.net fs.azure.sas.container.account fs.azure.account.oauth2.client.secret
    google.cloud.auth.service.account.private.key private_key privateKey apiKey api_key x-api-key X-Api-Key apikey
    shared_key signing.key storage.key auth.key masterKey encryptionkey oauth.token accessToken refresh_token authtoken
    client-credential credentials creds Authorization http.header.Authorization bearer jwt X-Amz-Signature sig cookie
    basic.auth.user.info schema.registry.basic.auth.user.info connection.string client_secret kafka.sasl.password
    hive.metastore.truststore.password hive.server2.keystore.password
    hive.metastore.dbaccess.ssl.truststore.password hadoop.security.group.mapping.ldap.bind.password
    hadoop.http.authentication.signature.secret ssl.server.keystore.keypassword spark.authenticate.secret
    spark.ssl.keyPassword spark.hadoop.fs.s3a.secret.key spark.kubernetes.authenticate.oauthToken
    spark.kubernetes.authenticate.submission.oauthToken spark.yarn.access.token spark.sql.catalog.rest.token
    spark.sql.catalog.rest.credential rest.auth.oauth2.credential header.Authorization header.X-Iceberg-Token
    s3.secret-access-key s3.access-key-id s3.session-token adls.auth.shared-key.account.key
    adls.sas-token.acct.dfs.core.windows.net gcs.oauth2.token client.credentials
    fs.azure.account.oauth2.client.secret.acct.dfs.core.windows.net fs.azure.sas.fixed.token
    fs.gs.auth.service.account.private.key fs.gs.auth.service.account.private.key.id fs.gs.encryption.key
    google.cloud.auth.client.secret fs.gs.auth.refresh.token hive.metastore.client.kerberos.password
    kafka.ssl.key.password ssl.keystore.key basic.auth.credentials hoodie.datasource.hive_sync.password
    hoodie.write.lock.zookeeper.password hoodie.datasource.hive_sync.pass hive.sql.dbcp.password.keystore
    hbase.ssl.keystorepassword cassandra.password es.net.proxy.http.pass es.net.http.header.Authorization
    druid.metadata.storage.connector.password dbt.password DBT_ENV_SECRET_TOKEN snowflake_private_key
    private_key_passphrase sfPassword pem_private_key tempdir_aws_secret temporary_aws_session_token aws_iam_secret
    forward.spark.azure.storage.credentials.key azure_storage_sas_token storage_account_key connectionString
    trino.http-client.password internal-communication.shared-secret http-server.authentication.oauth2.client-secret
    jwt-signing-secret kmsMasterKey fernet_key airflow__core__fernet_key secret_access_key access_key
    SecretAccessKey AccessKey sessionToken x-amz-security-token nessie.authentication.token polaris.client-secret
    unity.token databricks.token personal_access_token password1 password2 oldPassword pgpassword PGPASSWORD
    mysql_pwd MYSQL_PWD requirepass bindpw bind_pw ldap.bindpw
""".split()  # noqa: SIM905 - a table of words

HARMLESS_NAMES = """
    numRows numFiles totalSize rawDataSize transient_lastDdlTime EXTERNAL external.table.purge comment owner
    token.delimiter token_separator tokens.count max_tokens numTokens total.tokens token.type token.class tokenizer
    tokenized collection.delim field.delim mapkey.delim serialization.format primary_key foreign_key key keys sort.key
    partition.key partition.key.columns hash.key bucketing.key cluster_key hive.passthrough passthrough pass.through
    passenger passengers bypass compass compassion first.pass.count password.file password.alias
    hadoop.security.credential.provider.path fs.s3a.aws.credentials.provider secret.name secret.arn passwordPolicy
    keyspace keyspaces monkey turkey key.serializer value.serializer userinfo user.name user_id es.net.http.auth.user
    kms.key.id fs.s3a.server-side-encryption-algorithm parquet.compression orc.compress
    avro.schema.url avro.schema.literal
    secretary secretariat tokyo sassafras sastrugi signal signed design assign authority author authors authenticated
    spark.sql.sources.provider spark.sql.sources.schema.partCol.0 hive.sql.table hive.sql.jdbc.driver
    skip.header.line.count
    cookies.enabled signature.version credential.type bearer.format
""".split()  # noqa: SIM905 - a table of words

SECRET_TEXTS = [
    f"s3a://AKIAIOSFODNN7EXAMPLE:{SECRET}@bucket/path",
    f"s3n://AKIA:{SECRET}@bucket/a/b",
    f"s3a://AKIA:12/34{SECRET}@bucket/path",
    f"hdfs://u:p@ss{SECRET}@nn:8020/x",
    f"jdbc:mysql://me:{SECRET}@host:3306/db",
    f"mongodb://me:{SECRET}@h1:27017,h2:27017/db",
    f"https://me:{SECRET}@example.com/x?y=1",
    f"cannot read 's3a://AKIA:{SECRET}@bucket/path': 403",
    f"jdbc:oracle:thin:scott/{SECRET}@",
    f"jdbc:oracle:thin:scott/{SECRET}@//host:1521/svc",
    f"jdbc:oracle:thin:scott/{SECRET}@host:1521:sid",
    f"jdbc:postgresql://db/x?user=me&password={SECRET}",
    f"jdbc:sqlserver://h:1433;user=sa;password={SECRET};encrypt=true",
    f"jdbc:sqlserver://h:1433;user=sa;password={{{SECRET} ;x}};encrypt=true",
    f"jdbc:teradata://h/USER=me,PASSWORD={SECRET},DATABASE=x",
    f"jdbc:snowflake://a.b/?user=me&private_key_pwd={SECRET}",
    f"https://x.blob.core.windows.net/y?sv=2020&sig={SECRET}",
    f"https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA/2020&X-Amz-Signature={SECRET}&X-Amz-Date=2020",
    f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={SECRET}==;EndpointSuffix=core.windows.net",
    f"password = {SECRET};ssl=true",
    f"url=jdbc:mysql://h/db?password={SECRET}",
    f"password: '{SECRET} with a space'",
    f'password="a \\" {SECRET}"',
    f'password="{SECRET} and more words"',
    f'{{"secret": "{SECRET}"}}',
    f'{{"a": 1, "private_key": "-----BEGIN PRIVATE KEY-----\\n{SECRET}\\n-----END PRIVATE KEY-----\\n"}}',
    json.dumps(json.dumps({"user": "x", "password": f"{SECRET} y"})),
    repr({"es.net.http.auth.pass": SECRET}),
    f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    f"Authorization: Bearer {SECRET}",
    f"Authorization: Basic {SECRET}",
    f"{{'Authorization': 'Bearer {SECRET}'}}",
    f"curl -H 'Authorization:Token {SECRET}' https://x",
    f"sent Bearer {SECRET} to the server",
    f"basic.auth.user.info=me:{SECRET}",
    f'org.apache.kafka.PlainLoginModule required username="me" password="{SECRET}";',
    f"spark-submit --password {SECRET} --name x",
    f"CREATE USER x IDENTIFIED BY '{SECRET}'",
    f"AWS_SECRET_ACCESS_KEY={SECRET}",
    f"fs.s3a.secret.key={SECRET} is wrong",
    f"Table(parameters={{password={SECRET}, numRows=1}})",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{SECRET[:3]}.{SECRET.replace('/', '_').replace('+', '-').replace('=', '_')}",
    f"ghp_{SECRET.replace('/', '0').replace('+', '1').replace('=', '2')}0123456789",
    f"jdbc:hive2://h:10000/db;user=me;password={SECRET};ssl=true",
    f"jdbc:hive2://h:10000/db;ssl=true;sslTrustStore=/x;trustStorePassword={SECRET}",
    f"jdbc:hive2://h/db;auth=delegationToken;delegationToken={SECRET}",
    f"jdbc:postgresql://me:{SECRET}@h:5432/db",
    f"jdbc:redshift:iam://c.eu.redshift.amazonaws.com:5439/d?AccessKeyID=AKIA&SecretAccessKey={SECRET}",
    f"jdbc:redshift://h:5439/d?UID=me&PWD={SECRET}",
    f"jdbc:db2://h:50000/SAMPLE:user=me;password={SECRET};",
    f"jdbc:mysql://h/db?user=me&password={SECRET}&trustCertificateKeyStorePassword=x{SECRET}",
    f"jdbc:trino://h:443/hive?user=me&password={SECRET}&SSL=true",
    f"jdbc:trino://h:443/hive?accessToken={SECRET}",
    f"jdbc:bigquery://https://x:443;OAuthType=0;OAuthPvtKey={SECRET};",
    f"jdbc:databricks://h:443/default;httpPath=sql;UID=token;PWD={SECRET}",
    f"jdbc:databricks://h:443;Auth_AccessToken={SECRET}",
    f"jdbc:clickhouse://me:{SECRET}@h:8123/db",
    f"jdbc:sap://h:30015/?user=me&password={SECRET}",
    f"jdbc:vertica://h:5433/db?user=me&password={SECRET}",
    f"jdbc:oracle:thin:@//h:1521/s?user=scott&password={SECRET}",
    f"jdbc:oracle:oci:scott/{SECRET}@tns",
    f"oracle+cx_oracle://scott:{SECRET}@h:1521/?service_name=x",
    f"postgresql+psycopg2://me:{SECRET}@h/db",
    f"mongodb+srv://me:{SECRET}@c.mongodb.net/db?retryWrites=true",
    f"redis://:{SECRET}@h:6379/0",
    f"amqp://guest:{SECRET}@h:5672/",
    f"ftp://me:{SECRET}@h/x.csv",
    f"sftp://me:{SECRET}@h:22/x",
    f"hdfs://webhdfs?delegation={SECRET}",
    f"webhdfs://nn:9870/x?delegation={SECRET}",
    f"https://acct.dfs.core.windows.net/c?sv=2022-11-02&ss=b&srt=sco&sp=rl&se=2026&st=2025&spr=https&sig={PLAIN}%3D",
    f"abfss://c@acct.dfs.core.windows.net/p?sig={PLAIN}",
    f"SharedAccessSignature sr=x&sig={PLAIN}&se=1&skn=k",
    f"Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={SECRET}=",
    f"https://storage.googleapis.com/b/o?GoogleAccessId=x&Expires=1&Signature={SECRET}",
    f"https://storage.googleapis.com/b/o?X-Goog-Credential=x&X-Goog-Signature={PLAIN}",
    f"https://b.s3.amazonaws.com/k?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature={SECRET}&Expires=1",
    f"aws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = {SECRET}\naws_session_token = IQoJ{SECRET}",
    f"export AWS_SESSION_TOKEN={SECRET}",
    f"COPY t FROM 's3://b' CREDENTIALS 'aws_access_key_id=AKIA;aws_secret_access_key={SECRET}'",
    f"COPY INTO t FROM 's3://b' CREDENTIALS=(AWS_KEY_ID='AKIA' AWS_SECRET_KEY='{SECRET}')",
    f"CREATE STAGE s URL='azure://x' CREDENTIALS=(AZURE_SAS_TOKEN='?sv=2020&sig={SECRET}')",
    f"CREATE EXTERNAL TABLE t TBLPROPERTIES ('hive.sql.dbcp.password'='{SECRET}')",
    f'ALTER TABLE t SET TBLPROPERTIES("fs.s3a.secret.key" = "{SECRET}")',
    f"SET fs.s3a.secret.key={SECRET};",
    f"SET spark.hadoop.fs.s3a.secret.key {SECRET}",
    f"spark-shell --conf spark.hadoop.fs.s3a.secret.key={SECRET}",
    f"CREATE USER me WITH PASSWORD '{SECRET}'",
    f"ALTER USER 'me'@'h' IDENTIFIED WITH mysql_native_password BY '{SECRET}'",
    f"GRANT ALL ON *.* TO 'me' IDENTIFIED BY PASSWORD '{SECRET}'",
    f"CREATE SECRET s (TYPE S3, KEY_ID 'AKIA', SECRET '{SECRET}')",
    f"CREATE USER MAPPING FOR me SERVER s OPTIONS (user 'me', password '{SECRET}')",
    f"""CREATE CATALOG c USING postgresql WITH ("connection-password" = '{SECRET}')""",
    f"org.apache.kafka.common.security.scram.ScramLoginModule required username='me' password='{SECRET}';",
    f"OAuthBearerLoginModule required clientId='x' clientSecret='{SECRET}';",
    f"basic.auth.credentials.source=USER_INFO basic.auth.user.info=key:{SECRET}",
    f"schema.registry.url=https://me:{SECRET}@registry",
    f"curl -u me:{SECRET} https://x",
    f"curl --user me:{SECRET} https://x",
    f'curl -H "X-Api-Key: {SECRET}" https://x',
    f"wget --http-password={SECRET} https://x",
    f"PGPASSWORD={SECRET} psql -h h",
    f"hadoop fs -D fs.s3a.secret.key={SECRET} -ls s3a://b",
    f"credential=client-id:{SECRET}",
    f"'credential': 'id:{SECRET}', 'uri': 'https://x'",
    f"OAuth2 error: client_id=x, client_secret={SECRET}, scope=PRINCIPAL_ROLE:ALL",
    f"grant_type=client_credentials&client_id=x&client_secret={SECRET}",
    f"<property><name>fs.s3a.secret.key</name><value>{SECRET}</value></property>",
    f"<password>{SECRET}</password>",
    f"password:\n  {SECRET}",
    f"  password: {SECRET}\n  user: x",
    f"pass: {SECRET}",
    f'Set-Cookie: hive.server2.auth="cu=me&rn=1&s={SECRET}"',
    f"Cookie: JSESSIONID={SECRET}",
    f"Proxy-Authorization: Basic {PLAIN}=",
    f"Authorization: AWS4-HMAC-SHA256 Credential=AKIA/2020/us/s3/aws4_request, SignedHeaders=host, Signature={PLAIN}",
    f"Authorization: AWS AKIA:{SECRET}",
    f"Authorization: Negotiate {SECRET}",
    f"x-ms-encryption-key: {SECRET}",
    f"x-amz-server-side-encryption-customer-key: {SECRET}",
    f"x-amz-security-token: {SECRET}",
    f"https://hooks.slack.com/services/T000/B000/{PLAIN}",
    f"https://x.webhook.office.com/webhookb2/{PLAIN}@{PLAIN}/IncomingWebhook/{PLAIN}",
    f"https://oauth2:{PLAIN}@gitlab.com/x.git",
    f"https://x-access-token:{PLAIN}@github.com/x",
    f"sk-proj-{PLAIN}{PLAIN}",
    f"pypi-AgEIcHlwaS5vcmc{PLAIN}{PLAIN}",
    f"AccountKey={SECRET}==",
    f"SG.{PLAIN}.{PLAIN}{PLAIN}",
    f"ya29.{PLAIN}{PLAIN}{PLAIN}",
    f"xapp-1-A0-{PLAIN}{PLAIN}",
    f"dop_v1_{PLAIN}{PLAIN}{PLAIN}{PLAIN}",
    f"hvs.{PLAIN}{PLAIN}",
    f"glsa_{PLAIN}{PLAIN}_abcdef12",
]

HARMLESS_TEXTS = [
    "s3a://bucket/path/of/table",
    "hdfs://nn:8020/user/a@b/x",
    "hdfs://nn:8020/user/hive/warehouse",
    "http://host:8080/path@v1",
    "thrift://hms:9083",
    "abfss://container@account.dfs.core.windows.net/path",
    "wasbs://c@a.blob.core.windows.net/p:q",
    "jdbc:oracle:thin:@//host:1521/svc",
    "jdbc:oracle:thin:@host:1521:sid",
    "jdbc:mysql://host:3306/db?useSSL=true&user=me",
    "file:/tmp/warehouse/password/x",
    "mail me at me@example.com: it is urgent",
    "select a from t where key = 'x'",
    "partition key=1/day=2020-01-01",
    "token.delimiter=,",
    "password.file=/etc/x",
    "the password is wrong",
    "a secret with 'quotes'",
    "pass the salt",
    "basic configuration of the table",
    "Bearer of bad news",
    "numRows=5, totalSize=7",
    '{"primary_key": "id", "keys": ["a", "b"]}',
    '[{"name": "password", "type": "string"}]',
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    "2026-01-31T12:00:00+00:00",
    "CREATE VIEW v AS SELECT token, secret FROM t",
    "'file:/b' instead of 'file:/a'",
    "Table default.users not found",
    "MetaException(message:java.lang.IllegalArgumentException: java.net.UnknownHostException: nn1)",
    "AlreadyExistsException(message:Table hive.db.tokens already exists)",
    "FAILED: ParseException line 1:14 cannot recognize input near 'FROM' 't' '<EOF>' in table name",
    "mismatched input 'FROM' expecting token 'SELECT'(line 1, pos 7)",
    "unexpected token 'BY' at line 3",
    'AccessControlException: Permission denied: user=me, inode="/user":hdfs:hdfs:drwxr-xr-x',
    "AccessDeniedException: User: arn:aws:sts::123456789012:assumed-role/x/y may not perform: glue:GetTable",
    "The security token included in the request is expired",
    "ExpiredTokenException: the token has expired",
    "NoAwsCredentialsException: Session credentials in Hadoop configuration: No AWS Credentials",
    "fs.s3a.secret.key is missing in core-site.xml",
    "set fs.s3a.secret.key in core-site.xml, not in the table",
    "fs.s3a.aws.credentials.provider=org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "hadoop.security.credential.provider.path=jceks://hdfs@nn/user/me/x.jceks",
    "GSS initiate failed: No valid credentials provided (Mechanism level: Failed to find any Kerberos tgt)",
    "javax.security.sasl.SaslException: GSS initiate failed",
    "Cannot modify hive.exec.dynamic.partition.mode at runtime",
    "comment: number of tokens in the text, by a tokenizer",
    "column 'password_hash' of type string",
    "struct<user:string,password:string,token:bigint>",
    "map<string,struct<secret:string,key:int>>",
    "token string, secret string, pass int",
    "col1 password, col2 token",
    "CREATE TABLE t (password string COMMENT 'the hash', token string)",
    "ALTER TABLE users CHANGE password passwd string",
    "SELECT count(*) FROM secrets WHERE pass = true",
    "s3://bucket/secret/data/part-00000-3b5a7a9e-8a0c-4b9a-9c8f-1d2e3f4a5b6c.snappy.parquet",
    "s3a://bucket/token=abc/day=1",
    "s3://my-bucket/db/t/metadata/00012-3b5a7a9e-8a0c-4b9a-9c8f-1d2e3f4a5b6c.metadata.json",
    "abfss://container@account.dfs.core.windows.net/warehouse/db",
    "gs://bucket/path",
    "hdfs://nameservice1/user/hive/warehouse",
    "hdfs://user@nn:8020/x",
    "ssh://git@github.com/org/repo.git",
    "thrift://hms-1:9083,thrift://hms-2:9083",
    "jdbc:hive2://h:10000/db;principal=hive/_HOST@REALM",
    "jdbc:hive2://zk1:2181,zk2:2181/;serviceDiscoveryMode=zooKeeper;zooKeeperNamespace=hiveserver2",
    "jdbc:postgresql://h:5432/db?ssl=true&sslmode=verify-full",
    "principal=hive/_HOST@EXAMPLE.COM",
    "hive.metastore.kerberos.keytab.file=/etc/hive.keytab",
    "https://sqs.us-east-1.amazonaws.com/123456789012/queue",
    "https://hooks.example.com/services/T000/B000",
    "arn:aws:kms:eu-west-1:123456789012:key/3b5a7a9e-8a0c-4b9a-9c8f-1d2e3f4a5b6c",
    "serialization.format=1, field.delim=,, escape.delim=\\",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    "numFiles=12, numRows=345, rawDataSize=6789, totalSize=98765",
    '{"type":"struct","fields":[{"name":"token","type":"string","nullable":true,"metadata":{}}]}',
    'spark.sql.sources.schema.part.0={"type":"struct","fields":[{"name":"secret","type":"string"}]}',
    "transient_lastDdlTime=1700000000, bucketing_version=2",
    "<name>hive.metastore.uris</name><value>thrift://h:9083</value>",
    "<configuration><property/></configuration>",
    "<token>",
    "List<String> tokens",
    "ConnectionRefusedError: [Errno 111] Connection refused",
    "mail to admin@example.com",
    "cookie banner: shown",
    "author: me, signature: none",
]
