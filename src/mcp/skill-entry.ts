// First, so that the bundle configures zod before the SDK makes its schemas.
import '../config/configure-zod.js';

export { skillEntry } from '@modelcontextprotocol/server/ext/skills';
