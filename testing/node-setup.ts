/** Before each file of the node tests: the programs that it starts find what was compiled of them. Not so the process of
 *  the tests itself, which would write there when it ends, after the folder is gone. */
import { compiledBeside, PROGRAMS_VARIABLE } from './programs.ts';

const programs = process.env[PROGRAMS_VARIABLE];
if (programs !== undefined) process.env['NODE_COMPILE_CACHE'] = compiledBeside(programs);
