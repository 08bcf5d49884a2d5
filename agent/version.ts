/** Version of the program, from its package. */
import { gitCommit } from '#api/kit/git-commit.ts';
import packageFile from '../package.json' with { type: 'json' };

export const AGENT_VERSION: string = packageFile.version;

/** Returns the commit of the program's sources. */
export const agentCommit = (): string => gitCommit(import.meta.dirname);
