// cspell:disable
/**
 * The words by which people and agents mean the words in names of operations. A line of `synonyms` has phrases before `=`, and terms after it. "_"
 * stands for up to four words, and "+" joins words that belong together.
 */
export const synonyms = `
turn _ off, shut _ down, switch _ off, power _ off, shutdown, halt = stop disable
turn _ off and on, turn _ off and on again, power cycle, bounce, restart, reboot, hangs, hang = reboot restart
turn _ on, switch _ on, power on, boot, activate = enable start put activate
start, wake = start resume run
launch, spin up, bring up, fire up = run create start launch
stop = stop cancel
pause, freeze, hold = suspend stop pause
resume, continue, unfreeze, unpause = resume start enable
make, set up, setup, build, new, open a, add a, want a, need a, order, provision = create add put request run
create = create put run allocate request add register
add = add create put authorize register increase attach
throw _ away, get rid of, wipe, destroy, erase, drop, kill, clean up, tear down, remove for good, trash, no longer need, don t need = delete terminate remove purge
delete, terminate = delete terminate remove
remove = delete remove detach deregister disassociate revoke
give _ up, give _ back, hand back, return = release
cancel, abort, call off, interrupt = cancel abort stop
empty, clear, throw away everything, drain = purge clear flush drain
flush, invalidate = flush clear
take _ out of rotation, out of rotation, take _ out of the load balancer = deregister+load+balancer deregister+targets
put _ into rotation, put _ behind, add _ behind, join _ load balancer = register+load+balancer register+targets
take _ out, pull _ out, take _ off, exclude = remove detach deregister
unplug, disconnect, unmount, unlink = detach disassociate
detach = detach disassociate
plug _ in, connect, mount, hook _ up, link = attach associate connection
attach = attach associate
change, edit, adjust, alter, set, reconfigure, correct, configure = modify update put set change
modify, update = modify update put change set
rename = modify+name update+name modify update
bigger, larger, grow, enlarge, expand, resize, more space, more memory, more cpu, more power, faster = modify extend update increase size configuration
smaller, shrink, downsize, less = modify decrease size
scale, scale up, scale out, scale in, scale down, number of machines, instead of = desired+capacity update capacity scaling
at least, minimum, keep at least = min+size update
raise, lift = increase update modify
search, look for, query = search filter query
go back, roll _ back, rollback, bring _ back, get _ back, set _ back, move _ back, recover, undo, revert, undelete, way back = restore rollback previous cancel
back to yesterday, back to this morning, point in time, yesterday, this morning, state from, before the = restore+point+time snapshot
back up, backup, save the, keep _ way to go back, way to go back later, save the state, safe copy = backup snapshot create+snapshot create+image
duplicate, clone, second, another copy = copy clone replica
copy, copies = copy replica replication
to another region, other region, across regions = replication copy region
move, migrate, transfer = move transfer migrate copy
swap, exchange, substitute, replace, put in the new = replace update set
give, grant, permit, let, allow = add authorize grant attach put allow permission
open, allow port, let in = authorize+ingress open
open port, open _ port, port _ open, allow port, firewall rule, let _ through = authorize+security+group+ingress
close port, close _ port, port _ closed, lock down port = revoke+security+group+ingress
take away, withdraw, forbid, deny, ban, no longer may, lock out, revoke = revoke detach remove deny
block public, nobody outside, not public, close off, make private, keep private, nobody else = public+access+block block
make _ public, publicly, for everyone = public+access policy acl
renew, rotate, refresh, fresh = rotate renew refresh
replaced every, every year = rotation
prove, confirm, own the = verify confirm
try, simulate = test simulate invoke
call, call my, trigger, execute, try my, run my = invoke execute run start
send, mail = send publish
notify, alert me, warn, let me know, tell me when, be told, text me, message me = subscription alarm notification subscribe
mark, label, tag, tags = tag tags
download = download get
upload, put _ into, put _ in, store, save = put upload update
plan, preview, would change, what would, dry run, before running = change+set preview estimate
expire, vanish, disappear, gone after, by themselves, by itself, automatically delete, delete _ after, delete old, clean up old = lifecycle retention expiration time+live
ttl = time+live
how long, keep for, keep _ for, retention = retention lifecycle
never more than, at most, no more than, limit, cap, copies at the same time = concurrency limit quota maximum throttle
quota, quotas, limits, how many may, still send = quota limits
throttle, throttles, throttled, rate limit = throttle capacity usage+plan
usage, used, consumption, how much = usage statistics
how full, free space, full = metric statistics
health, healthy, alive, unhealthy, sick = health status
status, state, how far, progress, through yet, done yet, finished = status state
crash, crashed, print, printed, error, errors, last lines, wrote, output, stack trace = log+events logs log
log, logs, logfile = log logs
cpu, load, performance, graph, chart, slow, draw = metric metrics statistics performance
happened, why did, went wrong, went on, incident history = events activities history
who did, who opened, who changed, who deleted, who stopped, audit, changed by = activities history events
who can, who may, may read, may connect, allowed to, has access, access to = policy acl grants security+group permission
last used, not been used, never used, unused, idle, nobody uses = last+used last+accessed
not attached, unattached, free, orphaned, not used = -
accidental, accidentally, protect, protection, by mistake = protection attribute

machine, box, server, vm, virtual machine, virtual server, computer, web box = instance instances server
machines, boxes, servers, vms, hosts, host, nodes = instance instances
node = node nodegroup
instance type, flavor, flavour = instance+type class
ami, golden image, machine image = image
template = template image
disk, drive, hard disk, block storage, data volume = volume disk
volume = volume disk
extend volume, extend disk, bigger disk, grow disk, larger disk, bigger volume, more disk = extend+volume+size modify+volume extend+disk
snapshot, snapshots = snapshot
db, database, databases, mysql, postgres, postgresql, mariadb, oracle, sql server, relational, dba, dbas = db database rds rdb
db server, database server, database machine, db machine, db instance, database instance, mysql instance, mysql server = db+instance
read replica, read only copy, reading copy, replica = read+replica replica
main, primary, master, standby, take over, failover, switch over = failover promote
of its own, independent, standalone = promote
engine, newer version, newest release, new release, latest version, upgrade = upgrade engine+version latest+version version
public ip, fixed ip, static ip, elastic ip, floating ip, fixed address, static address, public address = address ip
ip, ip address, address = address ip
private ip, internal ip = private+ip network network+interface
interface, nic, network card = network+interface
firewall, firewall rules, firewall group = security+group firewall ingress
port = port ingress
from the office, ip range, cidr, range, anywhere, to the world = ingress cidr
inbound, incoming = ingress
outbound, outgoing = egress
private lan, private network, vlan = private+lan vpc subnet
lan = lan vpc
network = network vpc subnet
connect two, connect vpcs, peering = peering
private machines reach, reach the internet, internet access = nat+gateway internet+gateway
port forwarding, forward port, nat = nat+rule nat
network traffic, traffic log = flow+logs
vpn, site to site, tunnel, ipsec = vpn+connection vpn
customer router, their router, customer s router, on premises = customer+gateway
client vpn, remote access, dial in, dial, vpn login, remote worker, home office = remote+access+vpn client+vpn
load balancer, lb, load balancing, balancer = load+balancer
listener, path, rule, send _ to the = rule listener
behind it, machines behind, backend = target
certificate, cert, ssl, tls, https = certificate ssl
health check = health+check
autoscaling, auto scaling, automatically, automatic, traffic grows, under load, rush = auto+scaling scaling
replacing broken, replace unhealthy, replacing = auto+scaling+processes
different hosts, physical, spread, apart, anti affinity, separate = separate placement
launch settings, user data = launch+template
spot, cheap, spare = spot
console, boot messages, at boot, screen = console
windows password, administrator password = password+data
object, file, files, blob = object objects
folder = objects prefix
bucket = bucket
content, contents, in the bucket = objects list
at once, in one go, many files, several files, in bulk, multiple, all files = multiple batch objects
large file, piece, pieces, chunk, chunks, part, resumable = multipart+upload part
unfinished, incomplete, never finished, half finished, uploads = multipart+uploads abort+multipart
versioning, versions, old versions = versioning versions
glacier, archive, cold, cheaper storage, colder = archive glacier lifecycle restore
objects to glacier, files to glacier, after 7 days, move old, gone = lifecycle
back from the archive, from glacier = restore+object
presigned, temporary link = presigned
cors, cross origin, another domain, other domain, browser = cors
website, static site, homepage, web page, host a = website
encrypt, encrypted, encryption, encrypt everything = encryption encrypt
decrypt = decrypt
readable, read = read
queue, message queue = queue sqs
dead letter, dlq = dead+letter
failed messages, redrive, back into the queue = message+move redrive
how many messages, queue length, messages waiting, backlog = queue+attributes
topic = topic
message, messages = message messages
sms, phone, text message = sms phone subscribe
function, serverless, lambda = function lambda
code, new code, source = code
environment variable, environment variables, memory, timeout = configuration
trigger, whenever, each time a, every time a, event source = event+source+mapping trigger
call my function, may call, may invoke, invoke permission = permission
concurrency, same time, in parallel = concurrency
alias, version before, previous version, traffic shift = alias
docker, task, tasks, one container, run container, containers = task container
count, number of tasks, number of containers, desired = desired+count desired service update+service
kubernetes, k8s = kubernetes eks cluster
kubernetes cluster = cluster
registry, docker image, container image, push, repository = repository image ecr
log docker in, docker login, login to registry, registry token = authorization+token
vulnerability, vulnerabilities, cve, cves, scan = scan findings
key, encryption key, cmk, master key = key
encryption keys, kms key, kms = kms key encryption
unusable, unusable for good = schedule+key+deletion disable+key
ssh key, key pair, keypair, public key = key+pair
access key, credential, credentials, keys = access+key credential
api key, key for _ api, partner key = api+key
password, passwords = password login+profile secret
password rule, password rules, passwords must, characters = password+policy
secret, vault, stored password, database password = secret secret+value
user, account, colleague, employee, person, her an account, him an account = user
login = login login+profile user
which account, who am i = caller+identity
group, admins, team, department = group
role, trust, trust relationship, assume = role assume+role
managed policy, aws managed = attach+policy
permissions, rights, what may, policy, policies = policy policies permissions
may this user, would _ be allowed, is it allowed = simulate
mfa, second factor, two factor, 2fa = mfa
denied, encoded text, encoded message = authorization+message decode
dns, record, a record, cname, domain entry, subdomain, dns entries, dns entry, point _ to = resource+record+sets
zone, hosted zone = hosted+zone
domain = domain hosted+zone
email, e mail, newsletter, mails, emails = email
sender, sender address, sender domain = identity
delivered, reach, arrived, received, bounced = delivery delivery+log statistics
metric, metrics, measure, monitoring, values = metric metrics statistics data
alarm, alert, alerts = alarm alert
silence, mute, snooze, quiet = disable+alarm+actions disable
dashboard = dashboard
stack, infrastructure, cloudformation, environment, whole environment = stack
change set = change+set
drift, by hand, manual changes = drift
patch, patches, security patches, install updates, security updates, updates = patch patches
command, shell command, run command, script = send+command command
open a shell, shell, ssh, terminal = session start+session
parameter, parameters, setting, settings, config, configuration, max connections = parameter parameters configuration attribute
default, defaults, factory = reset default
maintenance, maintenance window, planned maintenance = maintenance event
table, nosql = table
item, row, entry, rows, the order with, record with = item items get+item query
backup rule, schedule, every night, daily, weekly, nightly, each night, at night = backup+rule schedule scheduled
incident, outage, disturbance, down, broken = service+status events health
workflow, state machine, process flow = state+machine execution
start the _ workflow, run the workflow, start state machine, run state machine = start+execution
step, which step = execution history
cache, redis, memcached = cache elasticache
nfs, network file system, shared folder, share, file share, network drive, nas, file system = file+system nas mount
rest api, api = rest+api api
stage, live, go live, prod, production = stage deployment
deploy, release, deployment = deployment deploy
cost, price, bill = cost
region, regions, location, datacenter, data center = region availability+zone
runner, ci, ci runner, build machine = runner
gitlab = devops gitlab
attribute, property, properties = attribute
replication = replication
parquet, export, dump = export
import, bring in, bring our own = import
legal hold = legal+hold
object lock, worm, immutable = object+lock
ip pool = pool
compliance, compliant = compliance
inventory, installed software = inventory
right now, quick, sure, absolutely = -
a key, keys for = access+key key
`;

/** Words of German, French, Spanish, Portuguese and Italian, as in `synonyms`. */
export const otherLanguages = `
zeig, zeige, zeigen, welche, welcher, liste, auflisten, montre, montrer, affiche, afficher, quels, quelles, quel, quelle, lister, muestra, mostrar, listar, cuales, que, quais, mostra, elenca, quali = list describe get
erstellen, erstelle, anlegen, lege _ an, neue, neuen, creer, cree, ajouter, crear, crea, anadir, nuevo, nueva, criar, creare, aggiungi = create add run
loschen, losche, entfernen, entferne, supprimer, supprime, effacer, eliminar, borrar, elimina, borra, apagar, eliminare, rimuovi = delete terminate remove
stoppen, stoppe, anhalten, herunterfahren, fahre _ herunter, arreter, arrete, eteindre, detener, parar, apaga, detiene, fermare, spegni = stop
starten, starte, demarrer, demarre, lancer, iniciar, arrancar, inicia, avviare, avvia = start run
neu starten, neustarten, redemarrer, redemarre, reiniciar, reinicia, riavvia = reboot restart
andern, andere, aktualisieren, modifier, changer, mettre a jour, cambiar, actualizar, modificar, cambia, alterar, modificare, aggiorna = modify update put set
vergrossern, erhohen, mehr, agrandir, augmenter, aumentar, aumenta, ampliar, ingrandire = increase extend modify update
wiederherstellen, restaurer, restaurar, ripristina = restore
sichern, sicherung, datensicherung, sauvegarde, sauvegarder, copia de seguridad, respaldo, backup = backup snapshot
kopieren, kopie, copier, copie, copiar, copia = copy
anhangen, attacher, attache, attaches, adjuntar, conectar, collegare = attach associate
abhangen, trennen, detacher, separar, desconectar, staccare = detach disassociate
rechner, maschine, maschinen, serveur, serveurs, machines virtuelles, servidor, servidores, maquina, maquinas, macchina = instance instances server
festplatte, festplatten, platte, disque, disques, disco, discos, volumen, volumenes, volumi = volume volumes disk
datenbank, datenbanken, base de donnees, bases de donnees, base de datos, bases de datos, banco de dados = db database rds
datei, dateien, fichier, fichiers, archivo, archivos, arquivo, file = object objects
benutzer, nutzer, utilisateur, utilisateurs, usuario, usuarios, utente, utenti = user
passwort, kennwort, mot de passe, contrasena, senha = password secret
schlussel, cle, cles, clave, claves, llave, chave, chiave = key
netzwerk, netz, reseau, red, rede, rete = network vpc subnet
lastverteiler, repartiteur de charge, equilibreur de charge, balanceador = load+balancer
warteschlange, file d attente, cola, colas, fila, coda = queue
nachricht, nachrichten, mensaje, mensajes, mensagem, messaggio = message
funktion, funktionen, fonction, fonctions, funcion, funciones, funcao, funzione = function
aufgabe, aufgaben, tache, taches, tarea, tareas, tarefa = task desired
anzahl, nombre, numero, cantidad = count desired capacity
dienst, servicio, servicios, servico, servizio = service
zertifikat, certificat, certificado, certificato = certificate
protokoll, protokolle, journaux, registros, registro = log logs
rolle, rol, papel, ruolo = role
richtlinie, politique, politica, rechte, droits, permisos = policy
laufend, laufende, laufenden, en cours, activos, en marcha = running
regel, regeln, regle, regles, regla, reglas = rule
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
see show look view tell find which what who whose why how list display overview
get read fetch check inspect describe details know
`;

/** Words that say nothing about an operation, also of questions and times. */
export const fillerWords = `
a an the this that these those my our your his her their its it me us you we i he she they them one ones
all is are was were be been being am do does did done has have had having where when there can could may might must shall should will would
and or but if then than as at by for from in into of off on onto out over per so to under up with without within about after again against before
between during through until till while when where whenever every each any some no not never none only just also too very more most much many few
please want wants need needs like would let lets help how what which who whom whose why
now today tonight tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday morning evening night noon week weekend month year
years months weeks days hours minutes hour minute day since ago last next old other another same own such there here yet still already ever
something anything nothing everything somebody nobody anyone everyone thing things way really sure absolutely actually probably maybe
use using used uses via don doesn isn aren wasn ll ve re t s d m aws nifcloud cloud x foo bar test
four five six ten two three hundred several lot lots first second
mir alle die der das den dem ein eine einen und mit fur auf von vom zum zur nicht ist sind im am aus
le la les un une des du au aux et pour sur dans ne sont est mon ma mes aucun
el los las una unos del al y para con mi mis os do da dos das um uma il lo gli per a
は が を に へ で と も の や から まで より です ます した する して いる ある ない たい ください
`;

/** Everyday words. If no operation knows one of them, this says nothing. */
export const commonWords = `
able above absolutely accidentally across actually ahead allowed alone along already also although always anybody anyway anywhere apart around asked
away back bad because become been began behind being below best better big bit both bought boss bring broke broken brought business busy buy
called came cannot care case certain chance changed cheap cheaper check clean clear clearly close closed colleague come comes coming company complete
completely correct correctly could couple crash current currently customer customers daily damn date deal debug decide different difficult done double
down during early easily easy either else empty end enough entire especially even evening everybody everyone exact exactly expect extra fail failed
fails far fast faster few final finally find fine finish fixed flat follow following forever forgot free fresh friday full fully further gave
general generally gets getting give given gives go goes going gone good got great guy half happen happened happens hard hardly having head hear help
here high higher himself hold holiday home hope huge idea immediately important inner inside instead itself job jobs just keep keeps kept
kind knew know known knows large larger last late later latest least leave leaves left less let letter light likely line little live lives local
long longer look looks lose lost lot loud low lower made main makes making manually matter mean means meet middle might mind mine missing mistake
moment monthly months more morning mostly moved much must myself name named near nearly needed never newer newest nice night nobody none normal
normally note noon nor notice numbers obviously office often okay older oldest once ones only open opened opposite otherwise ought ours ourselves
outer outside over own owner paid part particular partner past pay people percent perhaps person physical place plain please pleased possible
pretty prevent previous probably problem problems program properly proper pull push put quickly quiet quite rather reach ready real really reason
recent recently remember rest right room rough round runs safe said same sat say says second seem seems seen separate seriously several
shall short shortly should show side simply single sit site sites slow slowly small smaller sometimes somewhere soon sorry sort sound special
stay steady still stopped story straight strange strictly stuff stupid such suddenly sure taken takes talk team tell ten terrible than thank thanks
themselves think third thought three through tight tired together told tomorrow tonight took top total toward tried trouble true trying turn twice
type under unknown unless until unwanted upon upset urgent urgently used useful uses usual usually various wait waiting walk want wanted wants warm
was watch weak wear website weekend weekly went whatever while whole why will wish within wonder wondering word work worked working works world worry
worse would wrong www yes yet young yourself zero web app apps
`;

/** Names of services of one kind, and the words by which people mean this kind. */
export const serviceKinds = `
ec2 computing compute = server instance volume
s3 storage s3api object-storage = bucket object storage
rds rdb sql = db database
route53 dns = dns zone record
ses sesv2 ess email = email
efs nas = nas file
sqs = queue
sns = topic notification
iam = user role policy
sts = identity session
lambda = function
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
stepfunctions = state machine workflow
elasticache = cache
autoscaling = auto scaling
`;

/** Words for kinds of services after "=", which mean that a question cannot be answered if no service of this kind is loaded. */
export const kindsByWords = `
ses sesv2 ess email pinpoint workmail smtp = e-mail; email; mail to; mails to
eks hatoba gke aks kubernetes = kubernetes; k8s
guardduty = guardduty; threat detection
support = support case; support ticket; ticket with
route53domains domains = register domain; buy the domain; buy a domain; buy domain; transfer the domain; domain registration; registrar; register a domain; domain name registration
ce budgets cur billing savingsplans = invoice; invoices; billing; bill; our spending; cost per month; cost us; cost and usage; budget; savings plan
cloudfront cdn = cdn; content delivery; cloudfront
sagemaker bedrock ml = machine learning; train a model; training job; language model; sagemaker; bedrock; chatbot
redshift = data warehouse; redshift
rekognition textract = detect faces; faces; rekognition; photo; text recognition
translate comprehend transcribe polly = translate; transcribe; text to speech; sentiment
codecommit codebuild codepipeline = git repository; codecommit; codebuild; codepipeline; pull request
chime connect = video call; meeting; chat room; phone call; call center
cognito-idp cognito = user pool; cognito
wafv2 waf shield = web application firewall; waf; web acl; ddos
athena glue emr = athena; etl; spark; hadoop
kinesis kafka mq = kinesis; data stream; kafka; rabbitmq
opensearch es = opensearch; elasticsearch
docdb neptune mongodb = mongodb; documentdb; graph database
organizations = organization unit; organizational unit; new aws account
backup = backup vault
cloudtrail = cloudtrail
config securityhub macie inspector = config rule; security hub; macie; sensitive data
iam = iam
lambda = lambda; serverless
ecs = fargate
kubectl helm = pod; pods; kubectl; helm
azure = azure
gcp google = google cloud; gcp; bigquery
workspaces = virtual desktop; workspaces
iot = iot; sensor
quicksight = business intelligence; quicksight
snowball = snowball
batch = batch job
fsx = lustre; fsx
directconnect = direct connect; leased line
ds = active directory
events eventbridge = event bus; eventbridge
xray = x ray; tracing
acm = certificate manager; order a certificate; order a tls certificate; order certificate; request a certificate; request certificate; request tls certificate; request ssl certificate; issue a certificate
sso = single sign on
mediaconvert = transcode; video stream
lightsail = lightsail
servicequotas = service quota; service quotas
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
