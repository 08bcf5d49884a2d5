/** Setup before each file of the node tests: programs that it starts use the compile cache. The test
 *  process itself does not, since it would write at its exit, after the directory is gone. */
import { compiledBeside, PROGRAMS_VARIABLE } from './programs.ts';

const programs = process.env[PROGRAMS_VARIABLE];
if (programs !== undefined) process.env['NODE_COMPILE_CACHE'] = compiledBeside(programs);
