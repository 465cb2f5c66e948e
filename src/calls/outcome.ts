export * from '../consent/outcome.js';
