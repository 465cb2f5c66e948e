import * as z from 'zod';

// By default, zod compiles a function for each schema with `new Function`. Compiling is slower for the few values that most servers check, and
// a program that holds keys should not turn text into code. A schema keeps the setting with which it was made, so every command imports this
// file before the MCP SDK, which makes many schemas (test/package/bundle.test.ts).
z.config({ jitless: true });
