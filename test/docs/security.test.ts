import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** Which tests try each threat of docs/SECURITY.md, by file and by (part of) their title. */

const triedBy: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  'A misled agent changes something': [
    ['test/changes/required-consent.test.ts', 'every input has one row'],
    ['test/changes/refusals.test.ts', 'binds the agents of all clients of its caller, for the same change'],
    ['test/changes/store.ts', 'is needed to begin: not a change that is %s'],
  ],
  'A client agrees by itself, with nobody there': [
    ['test/changes/clients.test.ts', 'an agreement that comes after %i ms'],
    ['test/changes/ask-user.test.ts', 'that nobody can have read is told with its time: %s'],
  ],
  'A person is asked until they give in': [
    [
      'test/changes/refusals.test.ts',
      'end the questions of their caller, whatever its client calls itself, and of no other',
    ],
    ['test/changes/refusals.test.ts', 'end the questions of their client if callers have no names'],
    ['test/changes/refusals.test.ts', 'end no question at a terminal: whoever sits there made the call'],
  ],
  'A refusal is undone by `confirm_change`, or lost': [
    ['test/changes/refusals.test.ts', 'binds an agent that had its plan before'],
    ['test/changes/refusals.test.ts', 'a refusal binds in this process, and is written as soon as that is possible'],
  ],
  "Somebody decides on the page who may not: by the link, from another site, with another's cookie, as an agent": [
    ['test/http/decisions.test.ts', 'who may not decide'],
    ['test/http/sign-in.test.ts', 'nobody is signed in'],
    ['test/http/sign-in.test.ts', 'a person stays signed in for as long as their token is good'],
    ['test/http/sign-in.test.ts', 'who approves with a scope for %s is treated as a caller is'],
    ['test/http/issuer.test.ts', 'cloudops:approve among other scopes is ignored'],
    ['test/browser/decisions.test.ts', 'a link of another site shows the plan and decides nothing'],
    ['test/http/url-question.test.ts', 'who opens the page has agreed to nothing'],
    ['test/changes/required-consent.test.ts', 'who decides on the page'],
  ],
  'Strangers flood the sign-in': [
    ['test/http/decisions.test.ts', 'strangers whose forms never end leave room for people'],
    ['test/http/decisions.test.ts', 'guesses of a token are logged with their address, and do not flood the log'],
    ['test/http/sign-in.test.ts', 'an issuer is not asked by each stranger who comes to sign in'],
    ['test/http/sign-in.test.ts', 'a sign-in cookie works once'],
    ['test/http/sign-in.test.ts', 'with an issuer that hangs, 32 requests wait for it'],
  ],
  'An agent reads plans that wait in the journal': [
    ['test/mcp/views/views.test.ts', 'cannot be clicked by whoever reads the journal'],
    ['test/changes/sqlite-file.test.ts', 'only the owner may read the files of a journal, also if others could before'],
  ],
  'A caller floods those who decide, or the store, with plans': [
    ['test/changes/store.ts', 'of many processes at once keep the limit'],
    [
      'test/changes/store.ts',
      'that no person is asked about are at most a hundred for each caller: the oldest make room',
    ],
    ['test/changes/announcement.test.ts', 'twenty times in ten minutes for each caller'],
  ],
  'A tool is called that the configuration excludes': [
    ['test/calls/policy.test.ts', 'a tool that the policy excludes is refused when it is called, and nothing is sent'],
  ],
  'What a person agreed to is not what is sent': [
    ['test/changes/plan-on-the-wire.test.ts', 'the plan is the request'],
    ['test/changes/question.test.ts', 'has long values, long names and long map keys whole'],
    ['test/changes/question.test.ts', 'is not asked if it would be longer than 2,000 characters'],
  ],
  'A `changeId` is guessed, used twice or used by somebody else': [
    ['test/mcp/views/views.test.ts', 'one that was altered in any place is refused'],
    ['test/changes/store.ts', 'of many at once counts once'],
    ['test/changes/store.ts', 'is carried out by the process that took it, once'],
    ['test/http/auth.test.ts', 'a plan is for the caller that asked for it'],
  ],
  "An agent clicks in its user's place": [
    ['test/mcp/views/views.test.ts', 'never shows a model a ticket'],
    ['test/mcp/views/views.test.ts', 'one of another caller is refused'],
  ],
  'The address of the page that opens by itself reaches an agent, or another user of the machine': [
    ['test/http/local-decision-page.test.ts', 'a plan that nobody else could decide on opens the page'],
    ['test/browser/local-page.test.ts', 'the file with the address is ours alone, and gone once the tab is up'],
  ],
  'A change is made twice': [
    ['test/changes/repeats.test.ts', '%s: the second is refused'],
    ['test/changes/store.ts', 'of many at once in several processes, one begins'],
    ['test/transport/retry.test.ts', 'a change is sent again only where it cannot have been acted on'],
  ],
  'A change is lost or misreported, or the server is killed in the middle of one': [
    ['test/calls/changes.process.test.ts', '200 changes of 50 servers that are killed at every step'],
    ['test/calls/telling.test.ts', 'cannot be made: accepted, in the journal and for the caller'],
  ],
  'The journal is torn, replaced, full or unreachable': [
    ['test/changes/sqlite-file.test.ts', 'something else at the path is refused at once, and left as it is'],
    [
      'test/changes/sqlite-file.test.ts',
      'lets nothing begin, with a reason, and the ending of a change is written when there is room',
    ],
    ['test/changes/sqlite-file.test.ts', 'takes the ending of a change that was sent meanwhile'],
    ['test/changes/postgres.process.test.ts', 'while the database is away nothing begins'],
    ['test/changes/carry-out.test.ts', 'an outcome that the journal does not take at once is written'],
  ],
  'An argument chooses where a request goes': [
    ['test/calls/endpoint.test.ts', 'the key %s is refused below a path'],
    ['test/config/load-config.test.ts', 'endpoints'],
    ['test/calls/policy.test.ts', 'another region'],
  ],
  'A huge or odd argument blocks the server': [
    ['test/calls/validate.test.ts', '90,000 of them are refused before anything is compared'],
    ['test/tools/bounds.test.ts', 'of %i characters is refused in few words'],
    ['test/http/serve.test.ts', 'a message has 5,000 values at most'],
    ['test/http/attacks.process.test.ts', '%s take little memory, and health is told meanwhile'],
  ],
  'Text in an answer gives the agent orders': [
    ['test/calls/telling.test.ts', 'fields with the names of ours stand under the answer, in text and structure'],
    ['test/transport/faults.test.ts', 'text of the service that would pass for ours'],
  ],
  'A name or a region reads like words of the server, in a question that a person agrees to': [
    ['test/models/marker.test.ts', 'shows texts from outside in quotation marks only'],
    ['test/util/safe-text.test.ts', 'one file makes it, and no other'],
  ],
  'An answer is huge, slow, deep or broken': [
    ['test/calls/telling.test.ts', 'told within 200,000 characters, and accepted'],
    ['test/transport/faults.test.ts', 'a body that drips is ended by the time of the whole call'],
  ],
  'A list never ends, or its pages fill the memory': [
    ['test/calls/run-read.test.ts', 'that go on for ever end after %s, and the answer says of what it is'],
    ['test/calls/read-limits.test.ts', 'all calls have no more bytes than all may, until calls end'],
    ['test/http/attacks.process.test.ts', 'reads of %s neither end the process nor keep health from being told'],
    [
      'test/calls/changes.process.test.ts',
      'a process that ends at the limit of its heap leaves the change under way as unknown, with the time at which it was sent',
    ],
  ],
  'Secrets leak': [
    ['test/models/nifcloud.test.ts', 'its log has neither the signature nor a value of the body'],
    ['test/transport/redact.test.ts', '16 characters at an end make the difference'],
    ['test/calls/changes.process.test.ts', 'no secret is in anything that the process writes or answers'],
    ['test/calls/insert-secrets.test.ts', 'does not exist for an agent, which is told what does'],
    ['test/config/problems.test.ts', '%j is one problem, which names the setting and shows no secret'],
  ],
  'Somebody on the network reads or alters a request': [
    ['test/transport/network.process.test.ts', 'an untrusted certificate ends the call before anything is sent'],
    [
      'test/cli/doctor-command.process.test.ts',
      'certificates that nobody checks are a warning, here and in the log of a server',
    ],
    ['test/transport/retry.test.ts', 'time only if that is less than a day away'],
    [
      'test/models/nifcloud.test.ts',
      'is refused over plain http, because its headers would be good for any other request',
    ],
  ],
  'A stranger calls the HTTP server': [
    ['test/http/issuer.test.ts', 'one %s is refused'],
    ['test/http/identity-provider.test.ts', 'a token that was altered is refused'],
    ['test/http/issuer.test.ts', 'strangers whose tokens name unknown keys do not lock out a caller'],
    ['test/http/issuer-keys.test.ts', 'wait 32 at a time; the others are told to come again'],
    ['test/http/issuer.test.ts', '%s without end are not read to their end'],
    ['test/http/tokens-file.test.ts', 'tokens that were taken out stop, new ones work, scopes change'],
    ['test/http/limited-log.test.ts', 'from many addresses do not flood the log'],
    ['test/http/host-header.test.ts', 'twice is 400'],
  ],
  'One caller uses up the server': [
    [
      'test/http/attacks.process.test.ts',
      'an attack is refused, the process lives, and its memory is back within 10 % afterwards',
    ],
    ['test/http/limits.test.ts', 'one caller leaves room for others'],
    ['test/http/serve.test.ts', 'a caller whose bodies come slowly leaves room for those of others'],
    ['test/http/serve.test.ts', 'requests at the same time are limited in total'],
    ['test/changes/postgres.process.test.ts', 'readers of lists have two connections of their own'],
  ],
  'Somebody answers a question for the person': [
    ['test/changes/ask-user.test.ts', 'is nobody with the proof %s'],
    ['test/changes/ask-user.test.ts', 'is nothing to another caller'],
    ['test/mcp/views/views.test.ts', 'one of another caller is refused'],
    ['test/http/decisions.test.ts', 'the proof of one session is none for another'],
  ],
  'A caller sees what others do': [
    ['test/http/auth.test.ts', 'the journal shows %s: %s sees %j'],
    ['test/changes/repeats.test.ts', 'what is said of the first change'],
    ['test/config/load-config.test.ts', 'callers over HTTP are shown how calls behave, but no key ID, path or address'],
  ],
  'A caller or an agent uses an account that is not its own': [
    ['test/http/accounts.test.ts', 'each caller lists, calls and reads its own accounts'],
    ['test/calls/accounts.test.ts', 'an account that %s is refused'],
  ],
  'An agent in a loop changes more and more': [
    ['test/changes/store.ts', 'lets no more begin of many at once, in several processes'],
    ['test/changes/check-budget.test.ts', 'changes beyond it are refused'],
  ],
  'The program that prints keys hangs, floods or prints a secret elsewhere': [
    ['test/signing/run-program.test.ts', 'its exit is told, and none of its output'],
  ],
  'A caller chooses what is traced, or reads traces for secrets': [
    ['test/observe/telemetry.test.ts', 'who cannot choose the trace or switch it off'],
  ],
  'A file of operations or a model has mistakes, or would run code, or choose a host or a header of the signature': [
    ['test/models/load-operations.test.ts', '%s is refused, and no code of it runs'],
    ['test/models/load-operations.test.ts', 'is refused with %s'],
    ['test/models/check-supported.test.ts', 'headers that sign'],
    ['test/models/check-supported.test.ts', '%s is no beginning of a host'],
  ],
  'A poisoned package': [
    ['test/package/install.test.ts', 'brings no other package'],
    ['test/package/install.test.ts', 'name every package of which code is bundled'],
    ['test/cli/start.process.test.ts', 'neither the start nor a call makes code of text'],
  ],
};

const [, list = ''] = readFileSync('docs/SECURITY.md', 'utf8').split(/^## (?:Threats|How each promise is kept)$/m);
const threats = [...list.matchAll(/^- \[.*?\): (.+)\.$/gm)].flatMap(([, of = '']) => of.split('; '));

test('each threat is tried', () => {
  expect(threats.length).toBeGreaterThan(15);
  expect(Object.keys(triedBy).sort()).toEqual(threats.toSorted());
});

describe.each(Object.entries(triedBy))('%s', (_threat, tests) => {
  test.each(tests)('%s: %s', (file, title) => {
    const strings = readFileSync(file, 'utf8').match(/(["'`])(?:\\.|(?!\1).)*\1/g) ?? [];
    expect(strings.some((text) => text.includes(title))).toBe(true);
  });
});
