import { describe, expect, test } from 'vitest';
import { splitWords } from '../../src/signing/split-words.js';

/** `credential_process` is split as by `shlex` of Python on POSIX systems, and as by the C runtime on Windows. The words are botocore 1.43's. */

describe('on POSIX systems', () => {
  test.each<readonly [string, readonly string[] | undefined]>([
    ['', []],
    [' a\tb  c\n', ['a', 'b', 'c']],
    [`'/a b/c' "d e" f`, ['/a b/c', 'd e', 'f']],
    [`a"b c"'d e'f`, ['ab cd ef']],
    [`'' ""`, ['', '']],
    [`a\\ b \\" \\\\`, ['a b', '"', '\\']],
    [`"a\\"b\\\\c\\d$HOME"`, ['a"b\\c\\d$HOME']],
    [`'a\\'b`, ['a\\b']],
    ['$HOME ~ * ; | #x', ['$HOME', '~', '*', ';', '|', '#x']],
    ['"a', undefined],
    [`'a"`, undefined],
    ['a "b\\"', undefined],
    [`"a\\ b" c`, ['a\\ b', 'c']],
    ['a \\', undefined],
  ])('%j is %j', (command, words) => {
    expect(splitWords(command, 'linux')).toEqual(words);
  });
});

describe('on Windows', () => {
  test.each<readonly [string, readonly string[] | undefined]>([
    ['', []],
    ['C:\\keys.exe a\tb', ['C:\\keys.exe', 'a', 'b']],
    ['"C:\\Program Files\\keys.exe" --x', ['C:\\Program Files\\keys.exe', '--x']],
    ['"C:\\dir\\\\" x', ['C:\\dir\\', 'x']],
    ['a\\"b "c\\"d" e\\\\\\"f', ['a"b', 'c"d', 'e\\"f']],
    [`'a b'`, [`'a`, `b'`]],
    ['\\\\server\\keys.exe x', ['\\\\server\\keys.exe', 'x']],
    ['"\\\\server\\a b" x', ['\\\\server\\a b', 'x']],
    ['a\\\\\\\\"b c" "\\\\\\\\" d', ['a\\\\b c', '\\\\', 'd']],
    ['"" a""b', ['', 'ab']],
    ['a\\', ['a\\']],
    ['\\', ['\\']],
    ['"a', undefined],
    ['"a\\"', undefined],
  ])('%j is %j', (command, words) => {
    expect(splitWords(command, 'win32')).toEqual(words);
  });
});
