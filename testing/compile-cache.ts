/** Compile cache of Node shared by all programs that the tests start, as in the installed unit; it reduces
 *  the CPU time of a start to a third. */
import { resolve } from 'node:path';

const REPOSITORY = resolve(import.meta.dirname, '..');

export const COMPILE_CACHE: Readonly<Record<string, string>> = {
  // The run's cache, if it has one.
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? resolve(REPOSITORY, '.cache', 'compiled'),
};
