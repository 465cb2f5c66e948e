export * from '../consent/plan.js';
