import * as z from 'zod';

// Keeps zod from compiling schemas to code, because this program holds keys. Every command must import this file before the MCP SDK.
z.config({ jitless: true });
