import { describe, expect, test } from 'vitest';
import { FLAG_BY_NAME, SETTINGS } from '../table.ts';
import { upstreamFlag } from '../upstream.ts';
import { scanFlags } from './scan.ts';
import { readFlags } from './values.ts';
import { renderHelp } from './yargs.ts';

const upstreamOf = (name: string): string => upstreamFlag(name) ?? '';

const given = async (...argv: string[]): Promise<unknown> =>
  (await scanFlags(argv)).flags.map(({ spelled, texts }) => [spelled, ...texts]);

const errors = async (...argv: string[]): Promise<readonly string[]> =>
  (await scanFlags(argv)).errors.map(({ field, detail }) => `${field}: ${detail}`);

describe('scanFlags', () => {
  test.each<[readonly string[], unknown]>([
    [['--max-pods', '5'], [['--max-pods', '5']]],
    [['--max-pods=5', '--max-pods', '6'], [['--max-pods', '5', '6']]],
    [['--runonce'], [['--runonce', 'true']]],
    [['--runonce=false'], [['--runonce', 'false']]],
    [
      ['--runonce', '--max-pods=5'],
      [
        ['--runonce', 'true'],
        ['--max-pods', '5'],
      ],
    ],
    [['-v', '2'], [['-v', '2']]],
    [['-v2'], [['-v', '2']]],
    [['-v=2'], [['-v', '2']]],
    [['-h'], [['--help', 'true']]],
    [['--version'], [['--version', 'true']]],
    [['--version=raw'], [['--version', 'raw']]],
    [['--oom-score-adj', '-5'], [['--oom-score-adj', '-5']]],
    [['--cgroup-root='], [['--cgroup-root', '']]],
    [['--system-reserved', 'cpu=1,memory=1Gi'], [['--system-reserved', 'cpu=1,memory=1Gi']]],
    [['--logging-format=json'], [['--logging-format', 'json']]],
    [['--max-pods=007'], [['--max-pods', '007']]],
  ])('splits %j', async (argv, flags) => {
    expect(await given(...argv)).toEqual(flags);
    expect(await errors(...argv)).toEqual([]);
  });

  test("accepts upstream's spelling and uses it in messages", async () => {
    const upstream = upstreamOf('platconfig');
    const { flags } = await scanFlags([`--${upstream}=/x`]);
    expect(flags.map(({ entry, spelled }) => [entry.flag.name, spelled])).toEqual([
      ['platconfig', `--${upstream}`],
    ]);
  });

  test.each(['platconfig', 'plat-api-qps', 'plat-api-burst', 'plat-reserved', 'nodeagent-cgroups'])(
    'knows an upstream spelling of --%s',
    (name) => {
      expect(upstreamOf(name)).not.toBe('');
    },
  );

  test.each([
    ['--max-pod=5', '--max-pod: no such flag; did you mean --max-pods?'],
    ['--static-pod-path=/x', '--static-pod-path: no such flag; did you mean --pod-manifest-path?'],
    ['--no-runonce', '--no-runonce: no such flag; did you mean --runonce=false?'],
    ['--quite-something-else', '--quite-something-else: no such flag; --help lists all flags'],
    ['-max-pods=5', '-max-pods: a long flag has two dashes: --max-pods'],
    ['--max-pods', '--max-pods: needs a value: --max-pods=VALUE'],
    ['-v', '-v: needs a value: -v=VALUE'],
    ['manifests', 'arguments: is not a flag'],
    ['--__proto__=x', 'no such flag'],
  ])('rejects %s', async (token, message) => {
    const found = await errors(token);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });

  test('a boolean does not consume the next argument', async () => {
    expect(await given('--runonce', 'false')).toEqual([['--runonce', 'true']]);
    expect(await errors('--runonce', 'false')).toHaveLength(1);
  });

  test('rejects arguments after two dashes', async () => {
    expect(await given('--', '--max-pods=5')).toEqual([]);
    expect(await errors('--', '--max-pods=5')).toHaveLength(1);
  });

  test('reports all errors at once', async () => {
    expect(await errors('x', '--max-pod=5', '--config', '--runonc')).toHaveLength(4);
  });

  test.each([...FLAG_BY_NAME.keys()])('knows --%s', async (name) => {
    const { flags } = await scanFlags([`--${name}=x`]);
    expect(flags.map(({ entry, texts }) => [entry.flag.name, texts])).toEqual([[name, ['x']]]);
  });
});

describe('readFlags', () => {
  const read = async (...argv: string[]): Promise<ReturnType<typeof readFlags>> =>
    readFlags(await scanFlags(argv), '/work dir');

  test('starts relative paths at the working directory', async () => {
    const { values } = await read('--root-dir=a/../b', '--lock-file=/x', '--resolv-conf=');
    expect([...values].map(([key, { value }]) => [key, value.value])).toEqual([
      ['rootDir', '/work dir/b'],
      ['lockFile', '/x'],
      ['resolvConf', ''],
    ]);
  });

  test('warns of all deprecated flags in one line', async () => {
    const { warnings } = await read(
      '--max-pods=5',
      '--max-pods=5',
      '--cloud-provider=x',
      '--redirect-container-streaming',
      '--root-dir=/x',
    );
    expect(warnings).toEqual([
      'Deprecated flags: set these in the file given by --config: --max-pods (maxPods); these will be removed: --cloud-provider',
    ]);
  });

  test('the last of several values wins, with a warning', async () => {
    const { values, warnings } = await read('--root-dir=/a', '--root-dir=/b');
    expect(values.get('rootDir')?.value.value).toBe('/b');
    expect(warnings).toEqual(['--root-dir is set 2 times; the last value "/b" applies']);
  });

  test('merges lists and maps of all occurrences without a warning', async () => {
    const { values, warnings } = await read('--node-labels=a=1', '--node-labels=b=2');
    expect(values.get('nodeLabels')?.value.value).toEqual({ a: '1', b: '2' });
    expect(warnings).toEqual([]);
  });

  test('prefers the first of two flags for one setting', async () => {
    const { values, warnings } = await read(
      '--bootstrap-kubeconfig=/a',
      '--experimental-bootstrap-kubeconfig=/b',
    );
    expect(values.get('bootstrapKubeconfig')?.value.value).toBe('/a');
    expect(warnings).toEqual([
      'Deprecated flags: these will be removed: --experimental-bootstrap-kubeconfig (use --bootstrap-kubeconfig)',
      '--experimental-bootstrap-kubeconfig is an alias of --bootstrap-kubeconfig, which applies',
    ]);
  });

  test('does not repeat a password in a warning', async () => {
    const { warnings } = await read('--storage-driver-password=one', '--storage-driver-password=two');
    expect(warnings.join('\n')).not.toContain('two');
  });

  test('excludes an invalid flag from the values', async () => {
    const {
      values,
      faulty,
      errors: found,
    } = await read('--max-pods=-1', '--port=x', '--cgroup-driver=cgroup');
    expect([...values.keys()]).toEqual([]);
    expect([...faulty]).toEqual(['maxPods', 'port', 'cgroupDriver']);
    expect(found.map(({ field, badValue, detail }) => [field, badValue, detail])).toEqual([
      ['--max-pods', -1, 'must be at least 0'],
      ['--port', 'x', 'must be a whole number'],
      ['--cgroup-driver', 'cgroup', 'must be one of cgroupfs, systemd; did you mean cgroupfs?'],
    ]);
  });
});

describe('renderHelp', () => {
  test('lists every flag in its group, with its default', async () => {
    const help = await renderHelp();
    for (const name of FLAG_BY_NAME.keys()) expect(help).toMatch(new RegExp(`-${name}[, ]`));
    for (const { group } of SETTINGS) expect(help).toContain(`${group}:`);
    expect(help).toMatch(/--max-pods\s.*\[default: 110\]/s);
    expect(help).toContain(`--${upstreamOf('platconfig')}`);
  });
});
