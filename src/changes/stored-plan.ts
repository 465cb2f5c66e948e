export * from '../consent/stored-plan.js';
