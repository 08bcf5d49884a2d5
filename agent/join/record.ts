/** Record of a join, next to the agent configuration: flags with which the installed unit starts as the
 *  joined node, and everything to undo when the machine leaves. An environment file as systemd reads it.
 *  Pure. */

export interface JoinRecord {
  /** Flags of the agent, except those that the unit already has. */
  readonly flags: readonly string[];
  /** Settings added to the configuration file, as dotted paths. */
  readonly added: readonly string[];
  /** The configuration file was created by `join`. */
  readonly madeConfig: boolean;
  /** Files of the membership; removed when the machine leaves. */
  readonly files: readonly string[];
}

/** Name of the record next to the configuration file. The unit reads it. */
export const JOIN_RECORD_NAME = 'join.env';

const VARIABLE = 'NODEAGENT_JOIN_FLAGS';
const ADDED = '# added: ';
const MADE = '# made: ';
const FILE = '# file: ';

/** A flag that needs no quotes in an environment file. */
export const isPlainFlag = (flag: string): boolean => /^[\w@%+=:,./-]+$/.test(flag);

export function formatJoinRecord({ flags, added, madeConfig, files }: JoinRecord): string {
  return [
    '# Written by `nodeagent join`, read by nodeagent.service; `nodeagent leave` undoes it. Flags of your own go into',
    '# NODEAGENT_FLAGS in /etc/default/nodeagent, which come after these and win over them.',
    `${ADDED}${added.join(' ')}`,
    `${MADE}${madeConfig ? 'config' : ''}`,
    ...files.map((file) => `${FILE}${file}`),
    `${VARIABLE}="${flags.join(' ')}"`,
    '',
  ].join('\n');
}

export function parseJoinRecord(text: string): JoinRecord {
  const lines = text.split('\n');
  const after = (prefix: string): readonly string[] =>
    lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length).trim());
  const wordsOf = (line = ''): readonly string[] => line.split(' ').filter((word) => word !== '');
  const [flags = ''] = after(`${VARIABLE}=`);
  return {
    flags: wordsOf(flags.replace(/^"(.*)"$/, '$1')),
    added: wordsOf(after(ADDED)[0]),
    madeConfig: after(MADE)[0] === 'config',
    files: after(FILE),
  };
}
