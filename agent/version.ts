/** The version of the program, as its package says. */
import packageFile from '../package.json' with { type: 'json' };

export const AGENT_VERSION: string = packageFile.version;
