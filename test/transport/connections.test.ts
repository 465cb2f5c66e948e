import { describe, expect, test } from 'vitest';
import { proxyFor } from '../../src/transport/connections.js';

const proxies = { httpProxy: 'http://plain.proxy:3128', httpsProxy: 'http://secure.proxy:3129' };

test.each([
  ['https://store.example', proxies, 'secure.proxy:3129'],
  ['http://store.example', proxies, 'plain.proxy:3128'],
  ['https://store.example', { httpProxy: proxies.httpProxy }, 'plain.proxy:3128'],
  ['http://store.example', { httpsProxy: proxies.httpsProxy }, undefined],
  ['http://store.example', {}, undefined],
  ['http://127.0.0.1:9000', proxies, undefined],
  ['http://localhost:9000', proxies, undefined],
  ['https://[::1]', proxies, undefined],
])('the proxy for %s with %j', (url, configured, host) => {
  expect(proxyFor(new URL(url), configured)?.host).toBe(host);
});

describe('NO_PROXY', () => {
  test.each([
    // A domain names itself and all hosts in it.
    ['objects.corp.example', 'https://objects.corp.example', true],
    ['corp.example', 'https://objects.corp.example', true],
    ['.corp.example', 'https://objects.corp.example', true],
    ['.corp.example', 'https://corp.example', true],
    ['*.corp.example', 'https://objects.corp.example', true],
    ['*corp.example', 'https://objects-corp.example', true],
    ['corp.example.', 'https://objects.corp.example', true],
    ['corp.example', 'https://objects.corp.example.', true],
    ['CORP.Example', 'https://objects.corp.example', true],
    ['corp.example', 'https://objectscorp.example', false],
    ['objects.corp.example', 'https://corp.example', false],
    // Several entries, in any spelling of a list.
    ['localhost,corp.example', 'https://objects.corp.example', true],
    ['localhost, corp.example ,', 'https://objects.corp.example', true],
    ['localhost corp.example', 'https://objects.corp.example', true],
    ['*', 'https://objects.corp.example', true],
    ['localhost,*', 'https://objects.corp.example', true],
    ['', 'https://objects.corp.example', false],
    // Ports.
    ['corp.example:9000', 'http://objects.corp.example:9000', true],
    ['corp.example:9000', 'http://objects.corp.example:9001', false],
    ['corp.example:443', 'https://objects.corp.example', true],
    ['corp.example:80', 'http://objects.corp.example', true],
    ['corp.example', 'http://objects.corp.example:9000', true],
    ['[fd12::7]:9000', 'http://[fd12::7]:9000', true],
    ['[fd12::7]:9000', 'http://[fd12::7]', false],
    // Addresses and blocks of addresses.
    ['10.20.30.40', 'http://10.20.30.40:9000', true],
    ['10.20.30.40', 'http://10.20.30.41', false],
    ['10.20.0.0/16', 'http://10.20.30.40', true],
    ['10.20.0.0/16', 'http://10.21.30.40', false],
    ['10.20.30.41/31', 'http://10.20.30.40', true],
    ['0.0.0.0/0', 'http://10.20.30.40', true],
    ['10.20.*', 'http://10.20.30.40', true],
    ['10.20.*', 'http://10.120.30.40', false],
    ['.30.40', 'http://10.20.30.40', false],
    ['fd12::7', 'http://[fd12::7]', true],
    ['[fd12::7]', 'http://[fd12::7]', true],
    ['FD12:0:0:0:0:0:0:7', 'http://[fd12::7]', true],
    ['fd12::/16', 'http://[fd12:1::7]', true],
    ['[fd12::]/16', 'http://[fd12:1::7]', true],
    ['fd12::/16', 'http://[fd13::7]', false],
    ['10.20.0.0/16', 'https://objects.corp.example', false],
    // What cannot be read names no host.
    ['10.20.0.0/33', 'http://10.20.30.40', false],
    ['10.20.0.0/x', 'http://10.20.30.40', false],
    ['10.20.0.0/', 'http://10.20.30.40', false],
    ['/16', 'http://10.20.30.40', false],
    [':9000', 'http://10.20.30.40:9000', false],
    ['(.+)+', 'https://objects.corp.example', false],
  ])('%j: whether %s is reached without a proxy: %j', (noProxy, url, isDirect) => {
    expect(proxyFor(new URL(url), { ...proxies, noProxy }) === undefined).toBe(isDirect);
  });
});
