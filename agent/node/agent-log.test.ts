import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAgentLog, type LogSettings, severityOf } from './agent-log.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/na-log-');
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));

const settings = (more: Partial<LogSettings> = {}): LogSettings => ({
  logging: {
    format: 'text',
    verbosity: 0,
    vmodule: [],
    flushFrequency: 5000,
    options: { json: { splitStream: false, infoBufferSize: '0' } },
  },
  logtostderr: false,
  alsologtostderr: false,
  stderrthreshold: 'FATAL',
  logDir: '',
  logFile: join(dir, 'a.log'),
  logFileMaxSize: 0,
  skipHeaders: true,
  ...more,
});

test('a file contains the lines, errors immediately', async () => {
  const log = createAgentLog(settings(), { node: 'n' });
  log.info({}, 'first');
  log.error({}, 'second');
  expect(await readFile(join(dir, 'a.log'), 'utf8')).toBe('"first" node="n"\n"second" node="n"\n');
});

test('a directory contains a file, which is rotated at its size', async () => {
  const sub = join(dir, 'sub');
  const log = createAgentLog(settings({ logFile: '', logDir: sub, logFileMaxSize: 1 }), {});
  const padding = 'x'.repeat(700_000);
  for (const name of ['one', 'two', 'three']) log.error({ padding }, name);
  expect((await readdir(sub)).sort()).toEqual(['nodeagent.log', 'nodeagent.log.1']);
  expect((await readFile(join(sub, 'nodeagent.log.1'), 'utf8')).match(/^"\w+"/gm)).toEqual([
    '"one"',
    '"two"',
  ]);
  expect((await readFile(join(sub, 'nodeagent.log'), 'utf8')).match(/^"\w+"/gm)).toEqual(['"three"']);
});

test('a file that cannot be opened is an error', () => {
  expect(() => createAgentLog(settings({ logFile: join(dir, 'no', 'file') }), {})).toThrow('ENOENT');
});

test.each([
  ['"text"', 'I', 0],
  ['"text"', 'W', 1],
  ['"text"', 'E', 2],
  ['{"level":"info"', undefined, 0],
  ['{"level":"warn"', undefined, 1],
  ['{"level":"error"', undefined, 2],
] as const)('severityOf(%s, %s) is %d', (line, letter, severity) => {
  expect(severityOf(line, letter)).toBe(severity);
});
