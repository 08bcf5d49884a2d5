import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../testing/wait.ts';
import { createAgentLog, type LogSettings } from './agent-log.ts';
import { severityOf } from './severity.ts';

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
  oneOutput: false,
  skipHeaders: true,
  skipLogHeaders: true,
  addDirHeader: false,
  logBacktraceAt: ':0',
  ...more,
});

test('a file contains the lines, errors immediately', async () => {
  const log = createAgentLog(settings(), { node: 'n' });
  log.info({}, 'first');
  log.error({}, 'second');
  expect(await readFile(join(dir, 'a.log'), 'utf8')).toBe('"first" node="n"\n"second" node="n"\n');
});

test('a file is rotated at its size, and the previous one is retained', async () => {
  const log = createAgentLog(settings({ logFileMaxSize: 1 }), {});
  const padding = 'x'.repeat(700_000);
  for (const name of ['one', 'two', 'three']) log.error({ padding }, name);
  expect((await readdir(dir)).sort()).toEqual(['a.log', 'a.log.1']);
  expect((await readFile(join(dir, 'a.log.1'), 'utf8')).match(/^"\w+"/gm)).toEqual(['"one"', '"two"']);
  expect((await readFile(join(dir, 'a.log'), 'utf8')).match(/^"\w+"/gm)).toEqual(['"three"']);
});

const messagesIn = async (link: string): Promise<readonly string[] | null> =>
  (await readFile(link, 'utf8')).match(/^"\w+"/gm);

test.each([
  [false, ['"info"', '"warning"', '"error"'], ['"warning"', '"error"']],
  [true, ['"info"'], ['"warning"']],
])(
  'a directory has a file and a link for each severity; --one-output=%s',
  async (oneOutput, infos, warnings) => {
    const logDir = join(dir, 'sub');
    const { logging } = settings();
    const often = { ...logging, flushFrequency: 10 };
    const log = createAgentLog(settings({ logFile: '', logDir, oneOutput, logging: often }), {});
    log.info({}, 'info');
    log.warn({}, 'warning');
    log.error({}, 'error');
    await eventually(async () => {
      expect(await messagesIn(join(logDir, 'nodeagent.INFO'))).toEqual(infos);
      expect(await messagesIn(join(logDir, 'nodeagent.WARNING'))).toEqual(warnings);
      return true;
    });
    expect(await messagesIn(join(logDir, 'nodeagent.ERROR'))).toEqual(['"error"']);
    const [file] = (await readdir(logDir)).filter((name) => name.includes('.log.ERROR.'));
    expect(await readlink(join(logDir, 'nodeagent.ERROR'))).toBe(file);
  },
);

test('files of a directory are rotated, and the current and the previous one are retained', async () => {
  const logDir = join(dir, 'sub');
  const log = createAgentLog(settings({ logFile: '', logDir, logFileMaxSize: 1, oneOutput: true }), {});
  const padding = 'x'.repeat(1_100_000);
  for (const name of ['one', 'two', 'three']) log.error({ padding }, name);
  log.error({}, 'four');
  const files = (await readdir(logDir)).filter((name) => name.includes('.log.ERROR.'));
  expect(files).toHaveLength(2);
  expect(await messagesIn(join(logDir, 'nodeagent.ERROR'))).toEqual(['"four"']);
});

test('a file in text format has a header unless --skip-log-headers', async () => {
  createAgentLog(settings({ skipHeaders: false, skipLogHeaders: false }), {}).error({}, 'first');
  expect(await readFile(join(dir, 'a.log'), 'utf8')).toMatch(
    /^Log file created at: .*\nRunning on machine: .*\nBinary: nodeagent v.*\nLog line format: .*\nE/,
  );
  createAgentLog(settings({ logFile: join(dir, 'b.log'), skipHeaders: false }), {}).error({}, 'first');
  expect(await readFile(join(dir, 'b.log'), 'utf8')).toMatch(/^E\d{4} /);
});

test('lines have the location of their call with --add-dir-header', async () => {
  createAgentLog(settings({ skipHeaders: false, addDirHeader: true }), {}).error({}, 'first');
  expect(await readFile(join(dir, 'a.log'), 'utf8')).toMatch(/ log\/agent-log\.test\.ts:\d+\] "first"/);
});

test('a line has a stack trace with --log-backtrace-at', async () => {
  const write = (name: string, more: Partial<LogSettings>): void =>
    createAgentLog(settings({ logFile: join(dir, name), skipHeaders: false, ...more }), {}).error(
      {},
      'first',
    );
  write('a.log', { addDirHeader: true });
  const location = / log\/(?<at>agent-log\.test\.ts:\d+)\]/.exec(await readFile(join(dir, 'a.log'), 'utf8'));
  write('b.log', { logBacktraceAt: location?.groups?.['at'] ?? '' });
  expect(await readFile(join(dir, 'b.log'), 'utf8')).toMatch(/stack="at write /);
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
