export * from '../consent/required-consent.js';
