/** What Node has compiled once, for every program that the tests start: as the unit that is installed has it, and
 *  a start takes a third of the processor time. */
import { resolve } from 'node:path';

export const COMPILE_CACHE: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: resolve(import.meta.dirname, '..', '.cache', 'compiled'),
};
