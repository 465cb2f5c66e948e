// cspell:disable
/**
 * The words by which people and agents mean the words in names of operations. A line of `synonyms` has phrases before `=`, and terms after it. "_"
 * stands for up to four words, and "+" joins words that belong together.
 */
export const synonyms = `
turn _ off, shut _ down, switch _ off, power _ off, shutdown, pause, halt = stop disable suspend
turn _ off and on, turn it off and on again, power cycle, bounce, restart = reboot restart
turn _ on, switch _ on, power on, boot, activate, allow = enable start authorize put
start, wake = start resume enable
launch, spin up, bring up, fire up, boot up, provision = run create start launch
make, set up, setup, build, new, open, add a, want a, need a, take a, order = create add put request
create = create put run allocate
throw away, throw _ away, get rid of, wipe, destroy, erase, drop, kill, clean up, tear down, remove for good, trash = delete terminate remove purge
delete = delete remove terminate
remove = delete remove detach deregister disassociate revoke
give up, give _ back, hand back, return = release
cancel, abort, call off, interrupt, give up on = cancel abort stop
empty, clear, flush = purge clear flush delete
take _ out, take out of rotation, take _ off, pull out, exclude = deregister+load+balancer remove detach
out of rotation, into rotation, behind = load+balancer target
put _ behind, add _ behind = register+load+balancer
unplug, disconnect, unmount, take off = detach disassociate
plug _ in, connect, mount, hook up, hang = attach associate
change, edit, adjust, alter, set, resize, rename, reconfigure, correct, fix = modify update put set change
modify, update = modify update put change
bigger, larger, grow, enlarge, expand, more space, full, upsize = extend modify increase size resize
smaller, shrink, downsize = modify size
scale, scale up, scale out, scale in = capacity scaling desired update
raise, lift, more = increase update modify
search, look for = search filter
go back, roll back, rollback, bring _ back, recover, undo, revert, way back, undelete, as it was = restore rollback cancel previous
back up, backup, way to go back, save the state, safe copy = backup snapshot create+snapshot create+image
point in time, state from, state of = restore+point+time snapshot
duplicate, clone, second, another copy = copy clone replica
copy, copies = copy replica
move, migrate, transfer = move transfer migrate copy
swap, exchange, substitute = replace
give, grant, let, permit, attach = attach grant authorize add allow put
take away, withdraw, forbid, deny, ban, no longer may, lock out = revoke detach remove deny disable block
block, nobody outside, private, not public, close off = block public access
make _ public, publicly, for everyone = public access policy acl
renew, rotate, replace, fresh = rotate renew replace
prove, confirm, verify, own = verify verification confirm
test, try = test simulate invoke
try my function, run my function, call, trigger, execute = invoke execute run start
send, mail, notify, tell = send publish notify subscribe
notify, alert, warn, be told, let me know, tell me when = subscription alarm notification subscribe put+alarm
wait, hang, stuck = status describe
label, mark, tag = tag tags label
download = download get
upload, put _ into, store, save = put upload
plan, preview, would change, dry run, before running = change+set preview estimate
unused, not used, no longer need, idle = describe last+used unattached
expire, vanish, disappear, gone after, by itself, automatically delete = lifecycle expiration ttl time+live retention
how long, keep for, days = retention period
never more than, at most, limit, cap, quota, limits = concurrency limit quota maximum throttle
usage, used, consumption, how much = usage metric statistics
healthy, health, alive, up, answers = health status
status, state, how far, progress, is it running, running = status state describe
crash, crashed, print, printed, error, errors, last lines, trace, wrote, happened = log logs events
log, logs, logfile = log logs events
cpu, load, performance, graph, chart, slow = metric metrics statistics performance
failed, why, went wrong, broken = events history error status
who did, audit, history, changed by = activities events history

machine, box, server, vm, virtual machine, host, virtual server, computer, node = instance instances server
machines, boxes, servers, vms = instances instance
instance type, size, flavor, flavour, plan = instance+type class
ami, template, golden image, machine image = image template
disk, drive, volume, block storage, data volume, storage volume = volume disk
snapshot = snapshot backup
db, database, mysql, postgres, postgresql, mariadb, oracle, sql server, relational = db database rds rdb
db server, database server, db instance = db+instance
cluster = cluster
read replica, read only copy, reading copy, reports = read+replica replica
public ip, fixed ip, static ip, elastic ip, ip = address ip
address, private ip = address ip network
interface, nic, network card = network+interface
firewall, firewall rule, port = security+group ingress firewall port
firewall group, firewall rules, security group = security+group firewall
ip range, cidr, from the office = ingress cidr
inbound, incoming = ingress
outbound, outgoing = egress
private lan, private network, lan, vlan = private+lan vpc subnet network
vpn, site to site, tunnel, ipsec = vpn+connection vpn
customer router, their router, our side = customer+gateway
client vpn, remote access, dial in = remote+access+vpn client+vpn
load balancer, lb, balancer, load balancing = load+balancer
certificate, cert, ssl, tls, https = certificate ssl
health check = health+check target+health
autoscaling, auto scaling = auto+scaling
object, file, files, blob, document = object objects
many files, several files, at once, in bulk = batch multiple objects
bucket = bucket
content, contents of, in the bucket = objects list
large file, piece, chunk, part, resumable = multipart+upload part
unfinished upload, incomplete upload = multipart+uploads
versioning, versions, old versions = versioning versions
glacier, archive, cold, cheaper storage = glacier lifecycle restore
presigned, temporary link = presigned
queue, message queue = queue sqs
dead letter, dlq = dead+letter
topic, notification = topic sns
message, messages = message messages
function, serverless, lambda, code = function lambda
trigger, whenever, each time, event source = event+source+mapping rule trigger
docker, task, tasks = task container service
count, number of tasks, copies of the service = desired count service
kubernetes, k8s = kubernetes eks nodegroup
registry, repository, docker image, push = repository image ecr
vulnerability, vulnerabilities, cve, cves, scan = scan findings
key, encryption key, cmk, master key = key kms
encrypt, encrypted, encryption = encrypt encryption
decrypt = decrypt
ssh key, key pair, keypair = key+pair
access key, api key, credential, credentials = access+key credential
password, passwords = password login+profile secret
secret, stored password, vault = secret secrets
user, account, colleague, employee, login, person = user users
role, trust, trust relationship, assume = role assume+role
permissions, rights, what may, policy, policies, allowed = policy policies permissions
managed policy, aws managed = attach policy
mfa, second factor, two factor, 2fa = mfa device
who am i, which account, identity = caller+identity identity
dns, record, a record, cname, domain entry, subdomain = resource+record+sets dns
zone, hosted zone, domain = hosted+zone domain
email, e mail, newsletter, mail, mails = email identity
sender, sender address = identity
delivered, reach, arrived, bounce = delivery+log statistics bounce
metric, metrics, measure, monitoring = metric metrics statistics
alarm, alert = alarm alarms
dashboard = dashboard
stack, infrastructure template, cloudformation = stack
change set = change+set
drift = drift
patch, patches, security patches, updates = patch compliance
command, shell, script, run on = send+command command
parameter, parameters, setting, settings, config, configuration = parameter parameters attribute configuration
default, defaults, factory = reset default
maintenance, maintenance window = maintenance+window
table, nosql = table dynamodb
item, row, entry, rows = item items
backup rule, schedule, every night, daily, weekly, nightly = backup+rule schedule scheduled
incident, outage, disturbance = service+status events
failover, switch over, standby = failover promote
engine, engine version, newer version, upgrade = engine+version upgrade
workflow, state machine, execution = state+machine execution
cache, redis, memcached = cache elasticache
nfs, network file system, shared folder, nas, file system = file+system nas
rest api, api, endpoint, stage = rest+api stage
deploy, release = deployment deploy create
cost, price, bill = cost price
region, regions, location, zone, datacenter = region availability+zone
quarantine, isolate = security+group
session, sessions = session sessions
runner, ci = runner
pause, freeze, hold = suspend stop pause
resume, continue, unfreeze = resume start enable
attribute, property, properties = attribute
cross origin, cors = cors
website, static site, homepage = website
replication = replication
parquet, dump, export = export
import, bring in = import
`;

/** Japanese words, before `=`, and what they mean. The same words translate questions and Japanese documentation. */
export const japanese = `
ロードバランサー ロードバランサ = load balancer
マルチロードバランサー = elastic load balancer
データベース DBサーバー = db instance
サーバー サーバ インスタンス マシン = instance
ファイアウォールグループ ファイアウォール セキュリティグループ = security group firewall
プライベートLAN = private lan
プライベート = private
ネットワークインターフェース = network interface
ネットワーク 社内ネットワーク = network
バケット = bucket
オブジェクト ファイル 中身 = object
ディスク ボリューム 増設ディスク = volume
スナップショット = snapshot
バックアップ = backup
ルール = rule
イメージ カスタマイズイメージ = image
ルーター ルータ = router
ルートテーブル = route table
ルート = route
ゲートウェイ = gateway
カスタマー = customer
リモートアクセス = remote access
ユーザー ユーザ 利用者 = user
グループ = group
パラメーター パラメータ = parameter
キーペア SSHキー = key pair
キー 鍵 = key
証明書 = certificate
アラーム 監視 = alarm
アラート 通知 = alert notification
ログ = log
メール = email
送信 = send
配信 = delivery
ドメイン = domain
認証 検証 = verify
ゾーン = zone
レコード = record
付替IPアドレス = address
IPアドレス グローバルIP = address ip
アドレス = address
ポート = port
ヘルスチェック = health check
レプリカ 読み取り専用 リードレプリカ = read replica
メトリクス 統計 グラフ = metric statistics performance
イベント 障害 メンテナンス = event
稼働 稼働状況 状態 ステータス = status
障害 = service status
サブスクリプション = subscription
オートスケール = auto scaling
リージョン = region
タグ = tag
ライフサイクル = lifecycle
バージョン = version
マルチパート = multipart
アップロード = upload
ダウンロード = download
ライセンス = license
料金 利用状況 利用量 = usage
コピー 複製 = copy
作成 作る 作り 作っ 追加 新しく = create
削除 消す 消し 消去 捨て = delete
取得 一覧 見る 見た 見せ 確認 表示 知り 教え 調べ = describe list get
変更 更新 編集 変え 設定 = modify update set
起動 開始 立ち上げ = start run
停止 止め 止ま = stop
再起動 = reboot
登録 = register
解除 外す 外し 取り外 = deregister detach disassociate
許可 つなげ 接続でき = authorize ingress
拒否 禁止 = revoke
接続 = connect connection
アタッチ 取り付け つなぐ = attach
デタッチ = detach
復元 戻す 戻し リストア = restore
拡張 増やす 大きく 容量 = extend increase size
予約 割り当て = allocate
解放 返却 手放 = release
中止 キャンセル 取り消 = cancel abort
置換 交換 入れ替え = replace
アップグレード バージョンアップ = upgrade
初期化 リセット = reset
有効 = enable
無効 = disable
暗号化 = encryption
公開 = public access
権限 ポリシー = policy
パスワード = password
テンプレート = template
クラスター クラスタ = cluster
キュー = queue
メッセージ = message
関数 = function
テーブル = table
シークレット = secret
ロール = role
スタック = stack
インポート 取り込 = import
エクスポート = export
分離 = separate
お客様 自分 = user
`;

/** Words that ask to see something. They say only that a read is wanted, because clouds use `Get`, `List` and `Describe` for the same. */
export const readingWords = `
see show look view tell find which what who whose why how list display all overview is are was were does did has have where when there
get read fetch check inspect describe details know
`;

/** Words that say nothing about an operation, also of questions and times. */
export const fillerWords = `
a an the this that these those my our your his her their its it me us you we i he she they them one ones
is are was were be been being am do does did done has have had having can could may might must shall should will would
and or but if then than as at by for from in into of off on onto out over per so to under up with without within about after again against before
between during through until till while when where whenever every each any some no not never none only just also too very more most much many few
please want wants need needs like would let lets help how what which who whom whose why
now today tonight tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday morning evening night noon week weekend month year
years months weeks days hours minutes hour minute day since ago last next old other another same own such there here yet still already ever
something anything nothing everything somebody nobody anyone everyone thing things way really sure absolutely actually probably maybe
use using used uses via don doesn isn aren wasn ll ve re t s d m aws nifcloud cloud x foo bar test
four five six ten two three hundred several lot lots first second
は が を に へ で と も の や から まで より です ます した する して いる ある ない たい ください
`;

/** Other names of services, and the words by which people mean a kind of service. */
export const serviceKinds = `
ec2 computing compute = server instance volume
s3 storage s3api object-storage = bucket object
rds rdb sql = db database
route53 dns = dns zone record
ses sesv2 ess email = email
efs nas = nas file
sqs queue = queue
sns = topic notification
iam = user role policy
sts = identity session
lambda functions = function
ecs = container task
eks = kubernetes
kms = key encryption
elbv2 elb = load balancer
cloudwatch monitoring = metric alarm
logs = log
secretsmanager = secret
ssm = parameter command patch
dynamodb = table item
cloudformation = stack
ecr = repository image
apigateway = api
stepfunctions = state machine execution
elasticache = cache
autoscaling = auto scaling
`;

/** Names of operations of S3, by the names that HTTP interfaces to storage give them. */
export const foreignNames = `
GetService = ListBuckets
PutBucket = CreateBucket
GetBucket = ListObjects
GetBucketVersion2 = ListObjectsV2
GetBucketObjectVersions = ListObjectVersions
PutObjectCopy = CopyObject
DeleteMultipleObjects = DeleteObjects
InitiateMultipartUpload = CreateMultipartUpload
`;
