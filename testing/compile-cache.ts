/** What Node has compiled once, for every program that the tests start: as the unit that is installed has it, and
 *  a start takes a third of the processor time. */
import { resolve } from 'node:path';

const REPOSITORY = resolve(import.meta.dirname, '..');

export const COMPILE_CACHE: Readonly<Record<string, string>> = {
  // That of the run, if it has one.
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? resolve(REPOSITORY, '.cache', 'compiled'),
};
