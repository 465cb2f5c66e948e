/** This file has the names that this server, hosts and views share (MCP Apps, protocol 2026-01-26). */

/** The extension that a client declares if it can show views. */
export const appsExtension = 'io.modelcontextprotocol/ui';

export const viewMimeType = 'text/html;profile=mcp-app';

export const viewUris = { upload: 'ui://cloudops/upload', change: 'ui://cloudops/change' } as const;

export type ViewName = keyof typeof viewUris;

/** The tool behind the buttons of the change view. Models do not see it. */
export const decideTool = 'decide_change';
