// Stands in for zod's index of locales, and leaves all but English out. Operation files get the whole of zod, which would be twice as
// large with them.
export { default as en } from '../node_modules/zod/v4/locales/en.js';
