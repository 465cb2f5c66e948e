import * as z from 'zod';

// zod would compile a function for each schema with `new Function`. Most servers check too little for that to pay, and a program that
// holds keys should make no code of text. A schema keeps to what was set when it was made, so every command
// imports this before the MCP SDK, which makes many (test/package/bundle.test.ts).
z.config({ jitless: true });
