import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { array, assert, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { decideCompletion } from './complete.ts';
import { completionScript } from './scripts.ts';
import { splitWords } from './words.ts';

describe('words of a command line', () => {
  test.each([
    ['nodeagent', [], ''],
    ['nodeagent ', [], ''],
    ['nodeagent lo', [], 'lo'],
    ['nodeagent logs ', ['logs'], ''],
    ['nodeagent logs "a b" c\\ d', ['logs', 'a b'], 'c d'],
    ["nodeagent get pods -o 'json", ['get', 'pods', '-o'], 'json'],
  ])('%j', (line, before, current) => {
    expect(splitWords(line)).toEqual({ before, current });
  });

  test('quoted words survive', () => {
    assert(
      property(array(string({ maxLength: 20 }), { maxLength: 5 }), (words) => {
        const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
        expect(splitWords(['nodeagent', ...quoted, ''].join(' ')).before).toEqual(words);
      }),
    );
  });
});

const COMMANDS = [
  { name: 'logs', summary: 'print logs' },
  { name: 'exec', summary: 'run a command' },
];
const LOGS = {
  name: 'logs',
  summary: '',
  options: {
    follow: { type: 'boolean', short: 'f', help: 'follow' },
    container: { type: 'string', short: 'c', help: 'container' },
    namespace: { type: 'string', short: 'n', help: 'namespace' },
    output: { type: 'string', short: 'o', help: 'format' },
  },
} as const;

describe('candidates', () => {
  const texts = (line: string): readonly string[] | string => {
    const completion = decideCompletion(splitWords(line), COMMANDS, LOGS);
    if (completion.kind === 'fixed') return completion.candidates.map(({ text }) => text);
    const { prefix, source, namespace = '-', operands } = completion;
    return `${prefix}${source} in ${namespace} after ${operands.join(' ')}`;
  };

  test.each([
    ['nodeagent ', ['logs', 'exec', 'help', 'run']],
    ['nodeagent lo', ['logs']],
    ['nodeagent logs ', 'pods in - after '],
    ['nodeagent logs -n shop w', 'pods in shop after '],
    ['nodeagent logs -fn shop w', 'pods in shop after '],
    ['nodeagent logs --namespace=shop web ', 'containers in shop after web'],
    ['nodeagent logs web -c ', 'containers in - after web'],
    ['nodeagent logs web --container=', '--container=containers in - after web'],
    ['nodeagent logs --f', ['--follow']],
    ['nodeagent logs -o j', ['json', 'jsonpath=']],
    ['nodeagent logs --output=y', ['--output=yaml']],
    ['nodeagent logs web -- ', []],
  ])('%j', (line, expected) => {
    expect(texts(line)).toEqual(expected);
  });
});

const has = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'exit 0']);
    return true;
  } catch {
    return false;
  }
};

/** A program that responds to every completion with fixed candidates, and records the line. */
const FAKE = `#!/bin/sh
printf '%s' "$2" > "$(dirname "$0")/line"
case $2 in
  *--output=*) printf -- '--output=json\\t\\n--output=yaml\\t\\n';;
  *files*) echo :files;;
  *) printf 'web\\ta pod\\nweb-2\\t\\n';;
esac
`;

async function inShell(shell: 'bash' | 'zsh' | 'fish', script: string): Promise<string> {
  await using dir = await createTempDir();
  writeFileSync(join(dir.path, 'nodeagent'), FAKE);
  chmodSync(join(dir.path, 'nodeagent'), 0o755);
  writeFileSync(join(dir.path, 'script'), completionScript(shell));
  writeFileSync(join(dir.path, 'data file'), '');
  return execFileSync(shell, shell === 'zsh' ? ['-f', '-c', script] : ['-c', script], {
    cwd: dir.path,
    env: { PATH: `${dir.path}:${process.env['PATH'] ?? ''}`, HOME: dir.path, TERM: 'dumb' },
    encoding: 'utf8',
  });
}

describe('bash', () => {
  const reply = (line: string, words: string): Promise<string> =>
    inShell(
      'bash',
      `source ./script; compopt() { printf "compopt %s %s\\n" "$@"; }
       COMP_LINE=${JSON.stringify(line)}; COMP_POINT=\${#COMP_LINE}; COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
       _nodeagent; printf '%s\\n' "\${COMPREPLY[@]}"; echo "line $(cat line)"; complete -p nodeagent`,
    );

  test('completes names', async () => {
    expect(await reply('nodeagent logs we', 'nodeagent logs we')).toBe(
      'web\nweb-2\nline nodeagent logs we\ncomplete -F _nodeagent nodeagent\n',
    );
  });

  test('completes the value after an equals sign, at which the shell splits words', async () => {
    expect(await reply('nodeagent get --output=', 'nodeagent get --output =')).toMatch(/^json\nyaml\n/);
    expect(await reply('nodeagent get --output=y', 'nodeagent get --output = y')).toMatch(/^yaml\nline/);
  });

  test('leaves file names to the shell', async () => {
    expect(await reply('nodeagent files ', 'nodeagent files ""')).toMatch(/^compopt -o default\n/);
  });
});

describe.runIf(has('zsh'))('zsh', () => {
  test('passes the line up to the cursor, and adds names with descriptions', async () => {
    const out = await inShell(
      'zsh',
      `compdef() { print "compdef $*" }; source ./script
       compadd() { print "compadd $*: $texts / $descriptions" }
       LBUFFER='nodeagent logs we'; _nodeagent; print "line $(cat line)"`,
    );
    expect(out).toBe(
      'compdef _nodeagent nodeagent\ncompadd -d descriptions -a texts: web web-2 / web  a pod web-2  \nline nodeagent logs we\n',
    );
  });
});

describe.runIf(has('fish'))('fish', () => {
  test('completes names and files', async () => {
    expect(await inShell('fish', `source ./script; complete -C 'nodeagent logs we'`)).toBe(
      'web\ta pod\nweb-2\n',
    );
    expect(await inShell('fish', `source ./script; complete -C 'nodeagent files '`)).toContain('data file');
  });
});
