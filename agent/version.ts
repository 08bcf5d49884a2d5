/** Version of the program, from its package. */
import packageFile from '../package.json' with { type: 'json' };

export const AGENT_VERSION: string = packageFile.version;
